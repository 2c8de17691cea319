// The fixture of tests of recovery and salvage: logs and manifests with good checksums that no writer of ours need have
// made, work in which each file call fails once, and files that change while they are read.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db/act/log/log_salvage.h"
#include "db/format/file_names.h"
#include "db/format/manifest_format.h"
#include "db/format/version_edit.h"
#include "tests/db/act/files/passing_directory.h"
#include "tests/db/act/log/log_fixture.h"
#include "util/base/status.h"

namespace sepal {

// A directory with unstable reads: `on_read` may change, and shorten, the result of each read.
class UnsteadyDirectory final : public PassingDirectory {
 public:
  // `bytes` are those at `offset` of the file `name`.
  using OnRead = std::function<void(std::string_view name, uint64_t offset, std::string* bytes)>;
  UnsteadyDirectory(Directory* base, OnRead on_read) : PassingDirectory(base), on_read_(std::move(on_read)) {}

  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(std::string_view name, ReadMode mode) override {
    ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, PassingDirectory::OpenForRead(name, mode));
    return std::make_unique<File>(this, std::string(name), std::move(file));
  }

 private:
  class File final : public ReadableFile {
   public:
    File(const UnsteadyDirectory* directory, std::string name, std::unique_ptr<ReadableFile> base)
        : directory_(directory), name_(std::move(name)), base_(std::move(base)) {}
    absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
      std::string bytes(length, '\0');
      ASSIGN_OR_RETURN(const size_t got, base_->Read(offset, length, bytes.data()));
      bytes.resize(got);
      directory_->on_read_(name_, offset, &bytes);
      std::memcpy(buffer, bytes.data(), bytes.size());
      return bytes.size();
    }
    absl::StatusOr<uint64_t> Size() const override { return base_->Size(); }

   private:
    const UnsteadyDirectory* const directory_;
    const std::string name_;
    const std::unique_ptr<ReadableFile> base_;
  };

  const OnRead on_read_;
};

class RecoveryFixture : public LogFixture {
 protected:
  struct Fragment {
    uint64_t sequence;
    LogRecordKind kind;
    std::string payload;
    uint64_t durable = 0;
  };

  void WriteFile(const std::string& name, std::string_view bytes) {
    ASSERT_TRUE(memory_.WriteFileContents("db/" + name, bytes).ok());
  }

  static LogHeader Header(uint64_t number) {
    LogHeader header;
    header.database_id = kDatabase;
    header.number = FileNumber(number);
    header.salt = 5;
    return header;
  }

  // A log of good checksums.
  static std::string LogOf(const LogHeader& header, const std::vector<Fragment>& fragments) {
    std::string bytes = header.Encode();
    for (const Fragment& fragment : fragments) {
      char record[kLogRecordHeaderBytes];
      EncodeLogRecordHeader(record, header.salt, header.PositionAt(bytes.size()), SequenceNumber(fragment.sequence),
                            fragment.kind, LogPosition(fragment.durable), fragment.payload);
      bytes.append(record, sizeof record);
      bytes += fragment.payload;
    }
    return bytes;
  }

  absl::StatusOr<LogRecovery> RecoverOne(const std::vector<Fragment>& fragments) {
    WriteFile(LogFileName(FileNumber(1)), LogOf(Header(1), fragments));
    return Recover();
  }

  absl::Status Salvage(std::vector<LogGap>* gaps, FileNumber minimum = {}, uint64_t database_id = kDatabase) {
    return SalvageFrom(directory_.get(), gaps, minimum, database_id);
  }
  absl::Status SalvageFrom(Directory* directory, std::vector<LogGap>* gaps, FileNumber minimum = {},
                           uint64_t database_id = kDatabase) {
    return SalvageFrom(directory, gaps, {.database_id = database_id, .minimum = minimum});
  }
  absl::Status SalvageFrom(Directory* directory, std::vector<LogGap>* gaps, const LogRecoveryOptions& options) {
    delivered_.clear();
    gaps->clear();
    ASSIGN_OR_RETURN(const std::vector<LogFile> logs, ListLogs(directory));
    return SalvageLogs(
        directory, logs, options,
        [&](SequenceNumber first, std::string_view batch) {
          delivered_.push_back(absl::StrFormat("%u %s", first.value(), batch));
          return absl::OkStatus();
        },
        gaps);
  }

  // Each file call of `work`, which succeeds without faults, fails once; `work` must return the error.
  void FailEachCall(const std::function<absl::Status()>& work) {
    const uint64_t before = faults_.CallCount();
    ASSERT_TRUE(work().ok()) << work();
    const uint64_t calls = faults_.CallCount() - before;
    ASSERT_GT(calls, 0u);
    for (uint64_t skip = 0; skip < calls; ++skip) {
      faults_.Inject({.fault = Fault::kIoError, .skip = skip});
      const absl::Status status = work();
      faults_.Clear();
      EXPECT_TRUE(absl::IsInternal(status)) << "call " << skip << " of " << calls << ": " << status;
    }
  }
  // The same if the caller may ignore unreadable data, but must not be misled.
  void FailEachCallSoftly(const std::function<absl::Status()>& work) {
    const uint64_t before = faults_.CallCount();
    ASSERT_TRUE(work().ok());
    const uint64_t calls = faults_.CallCount() - before;
    for (uint64_t skip = 0; skip < calls; ++skip) {
      faults_.Inject({.fault = Fault::kIoError, .skip = skip});
      const absl::Status status = work();
      faults_.Clear();
      EXPECT_TRUE(status.ok() || absl::IsInternal(status)) << status;
    }
  }
};

// The result of reading a manifest's records.
class ManifestRecords {
 public:
  explicit ManifestRecords(uint64_t number) : bytes_(ManifestHeader{FileNumber(number), 1}.Encode()) {
    header_ = checksum_ = ManifestHeaderChecksum(bytes_);
  }
  ManifestRecords& Add(ManifestRecordKind kind, std::string_view payload) {
    checksum_ = AppendManifestRecord(&bytes_, kind, payload, checksum_);
    return *this;
  }
  ManifestRecords& Edit() {
    VersionEdit edit;
    edit.database_id = 1;
    return Edit(edit);
  }
  ManifestRecords& Edit(const VersionEdit& edit) {
    ++edits_;
    return Add(ManifestRecordKind::kEdit, edit.Encode());
  }
  ManifestRecords& Seal(uint64_t more_records = 0, uint64_t other_checksum = 0) {
    return Add(ManifestRecordKind::kSeal, EncodeManifestSeal(edits_ + more_records, checksum_ ^ other_checksum));
  }
  ManifestRecords& Control(ManifestRecordKind kind, uint64_t value) {
    return Add(kind, EncodeManifestControl(kind, value, bytes_.size(), header_));
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  uint64_t header_ = 0;
  uint64_t checksum_ = 0;
  uint64_t edits_ = 0;
};

}  // namespace sepal
