// Recovery and salvage of files that are longer than the window through which they are read, each read of which fails
// once, and of files that change or become shorter while they are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/act/files/buffered_file_reader.h"
#include "db/act/manifest/manifest_recovery.h"
#include "db/act/manifest/manifest_salvage.h"
#include "db/format/file_names.h"
#include "tests/db/act/log/recovery_fixture.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr size_t kWindow = size_t{1} << 20;
constexpr size_t kLongPayload = 700'000;

class RecoveryLongFileTest : public RecoveryFixture {
 protected:
  // Of a directory in which the reads of files whose name begins with `name`, from the n-th (from 0) on, end at
  // `size_bytes`.
  UnsteadyDirectory::OnRead CutAtRead(std::string name, int n, uint64_t size_bytes) {
    return [name, n, size_bytes, reads = 0](std::string_view file, uint64_t offset, std::string* bytes) mutable {
      if (!file.starts_with(name) || reads++ < n) return;
      bytes->resize(std::min<uint64_t>(bytes->size(), size_bytes > offset ? size_bytes - offset : 0));
    };
  }

  // Log 1 of whole batches, log 2 with one and then a long bad end.
  void MakeLongLogs() {
    const std::string batch = Batch(std::string(kLongPayload, 'a'));
    const LogHeader first = Header(1);
    const std::string bytes = LogOf(first, {{1, LogRecordKind::kFull, batch},
                                            {2, LogRecordKind::kFull, batch},
                                            {3, LogRecordKind::kFirst, batch.substr(0, 100)},
                                            {3, LogRecordKind::kLast, batch.substr(100)}});
    LogHeader second = Header(2);
    second.predecessor = {first.number, first.salt, bytes.size()};
    second.start = first.PositionAt(bytes.size());
    WriteFile("000001.log", bytes);
    WriteFile("000002.log",
              LogOf(second, {{4, LogRecordKind::kFull, batch}}) + std::string(kWindow + kWindow / 4, 'g'));
  }

  // A manifest of `edits` long edits, the last of which is behind the seal, and a mark that it was synced.
  static std::string LongManifest(int edits) {
    VersionEdit edit;
    edit.database_id = 1;
    edit.created_families.push_back({ColumnFamilyId(1), std::string(kLongPayload / 2, 'n'), "order", false});
    ManifestRecords records(1);
    for (int i = 0; i + 1 < edits; ++i) records.Edit(edit);
    records.Seal().Edit(edit);
    return records.Control(ManifestRecordKind::kSynced, records.bytes().size()).bytes();
  }
  absl::StatusOr<ManifestRecovery> RecoverManifestIn(Directory* directory) {
    edits_ = 0;
    return RecoverManifest(directory, {}, /*other_files=*/true, [this](const VersionEdit&) {
      ++edits_;
      return absl::OkStatus();
    });
  }
  // Ok if it is `DataLoss`.
  static absl::Status WantDataLoss(const absl::Status& status) {
    if (absl::IsDataLoss(status)) return absl::OkStatus();
    return status.ok() ? absl::UnknownError("no damage was told") : status;
  }

  int edits_ = 0;
};

TEST_F(RecoveryLongFileTest, EveryFailedReadOfLongLogsEndsTheirRecovery) {
  MakeLongLogs();
  FailEachCall([&] { return Recover().status(); });
  const absl::StatusOr<LogRecovery> recovered = Recover();
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  EXPECT_THAT(delivered_, SizeIs(4));
  EXPECT_EQ(recovered->dropped_bytes, kWindow + kWindow / 4);
}

TEST_F(RecoveryLongFileTest, EveryFailedReadOfLongLogsEndsTheirSalvage) {
  MakeLongLogs();
  std::vector<LogGap> gaps;
  FailEachCall([&] { return Salvage(&gaps); });
  ASSERT_TRUE(Salvage(&gaps).ok());
  EXPECT_THAT(delivered_, SizeIs(4));
  ASSERT_THAT(gaps, SizeIs(1));
  EXPECT_EQ(gaps[0].name, "000002.log");
  EXPECT_EQ(gaps[0].end_offset - gaps[0].begin_offset, kWindow + kWindow / 4);
}

TEST_F(RecoveryLongFileTest, EveryFailedReadOfALongManifestEndsItsRecovery) {
  WriteFile("MANIFEST-000001", LongManifest(7));
  FailEachCall([&] { return RecoverManifestIn(directory_.get()).status(); });
  ASSERT_TRUE(RecoverManifestIn(directory_.get()).ok());
  EXPECT_EQ(edits_, 7);
}

TEST_F(RecoveryLongFileTest, EveryFailedReadOfALongDamagedManifestIsToldAsThatAndNotAsDamage) {
  const std::string whole = LongManifest(7);
  // In the first edit; in the header's checksum; in what the header's checksum covers.
  for (const size_t offset : {kManifestHeaderBytes + 100, kManifestHeaderBytes - 1, size_t{25}}) {
    SCOPED_TRACE(offset);
    std::string damaged = whole;
    damaged[offset] ^= 1;
    WriteFile("MANIFEST-000001", damaged);
    FailEachCall([&] { return WantDataLoss(RecoverManifestIn(directory_.get()).status()); });
  }
}

TEST_F(RecoveryLongFileTest, EveryFailedReadOfALongManifestEndsItsSalvageAndWhatIsBehindABadEditIsKept) {
  const std::string whole = LongManifest(7);
  const size_t record = (whole.size() - kManifestHeaderBytes) / 7;
  // The first edit, one whose successor leaves the window, the next one, and the length of the first edit's record.
  for (const auto& [offset, edits] :
       {std::pair{kManifestHeaderBytes + 100, size_t{6}}, std::pair{kManifestHeaderBytes + record + 100, size_t{6}},
        std::pair{kManifestHeaderBytes + 2 * record + 100, size_t{6}},
        std::pair{kManifestHeaderBytes + 2, size_t{0}}}) {
    SCOPED_TRACE(offset);
    std::string damaged = whole;
    damaged[offset] ^= 1;
    WriteFile("MANIFEST-000001", damaged);
    FailEachCall([&] { return SalvageManifest(directory_.get()).status(); });
    const absl::StatusOr<SalvagedManifest> salvaged = SalvageManifest(directory_.get());
    ASSERT_TRUE(salvaged.ok()) << salvaged.status();
    EXPECT_THAT(salvaged->edits, SizeIs(edits));
  }
}

// --- files that change while they are read ---

TEST_F(RecoveryLongFileTest, ALogThatBecomesShorterWhileItIsReadEndsThere) {
  MakeLongLogs();
  const uint64_t two_records =
      kLogHeaderBytes + 2 * (kLogRecordHeaderBytes + Batch(std::string(kLongPayload, 'a')).size());
  // The header of each log is one read; the second window of log 1 is missing a part, or is not there.
  for (const uint64_t size : {two_records - 1000, kWindow, uint64_t{0}}) {
    SCOPED_TRACE(size);
    UnsteadyDirectory unsteady(directory_.get(), CutAtRead("000001", 2, size));
    std::vector<LogFile> logs = ListLogs(&unsteady).value();
    const auto recover = [&] {
      delivered_.clear();
      return RecoverLogs(&unsteady, logs, {.database_id = kDatabase}, [&](SequenceNumber, std::string_view) {
        delivered_.emplace_back();
        return absl::OkStatus();
      });
    };
    const absl::StatusOr<LogRecovery> recovered = recover();
    ASSERT_TRUE(recovered.ok()) << recovered.status();
    EXPECT_NE(recovered->torn, "");
    EXPECT_THAT(delivered_, SizeIs(1));
  }
}

TEST_F(RecoveryLongFileTest, ALogThatBecomesShorterWhileWitnessesAreSoughtBehindAHoleIsATornEnd) {
  MakeLongLogs();
  // Log 2: its header, its record, the window at the bad end, then those of the search.
  for (const int read : {3, 4, 5}) {
    SCOPED_TRACE(read);
    UnsteadyDirectory unsteady(directory_.get(), CutAtRead("000002", read, kLogHeaderBytes + kWindow));
    const std::vector<LogFile> logs = ListLogs(&unsteady).value();
    const absl::StatusOr<LogRecovery> recovered = RecoverLogs(
        &unsteady, logs, {.database_id = kDatabase}, [](SequenceNumber, std::string_view) { return absl::OkStatus(); });
    ASSERT_TRUE(recovered.ok()) << recovered.status();
    EXPECT_NE(recovered->torn, "");
    EXPECT_EQ(recovered->batches, 4u);
    EXPECT_LE(recovered->dropped_bytes, kWindow + kWindow / 4);
  }
}

TEST_F(RecoveryLongFileTest, WhatALogLosesWhileItIsSalvagedIsAGap) {
  MakeLongLogs();
  for (const uint64_t size : {kWindow, kLogHeaderBytes + kWindow + 5, uint64_t{0}}) {
    UnsteadyDirectory unsteady(directory_.get(), CutAtRead("000001", 2, size));
    std::vector<LogGap> gaps;
    ASSERT_TRUE(SalvageFrom(&unsteady, &gaps).ok());
    EXPECT_THAT(delivered_, SizeIs(2)) << "the first of log 1 and that of log 2";
    ASSERT_FALSE(gaps.empty());
    EXPECT_EQ(gaps[0].name, "000001.log");
  }
}

TEST_F(RecoveryLongFileTest, AManifestThatBecomesShorterWhileItIsReadIsToldAsThat) {
  WriteFile("MANIFEST-000001", LongManifest(7));
  // The first reading, and the second, which delivers.
  for (const int read : {1, 5}) {
    UnsteadyDirectory unsteady(directory_.get(), CutAtRead("MANIFEST", read, kWindow + 1000));
    const absl::Status status = RecoverManifestIn(&unsteady).status();
    EXPECT_TRUE(absl::IsAborted(status)) << status;
    EXPECT_THAT(std::string(ToStd(status.message())), HasSubstr("MANIFEST-000001 became shorter"));
  }
}

TEST_F(RecoveryLongFileTest, AManifestThatEndsEarlierWhenItIsReadAgainIsToldAsThat) {
  const std::string whole = ManifestRecords(1).Edit().Seal().Edit().bytes();
  const uint64_t without_the_last = ManifestRecords(1).Edit().Seal().bytes().size();
  WriteFile("MANIFEST-000001", whole);
  UnsteadyDirectory unsteady(directory_.get(), CutAtRead("MANIFEST", 1, without_the_last));
  const absl::Status status = RecoverManifestIn(&unsteady).status();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
}

TEST_F(RecoveryLongFileTest, AManifestThatIsDamagedWhenItIsReadAgainIsDataLoss) {
  WriteFile("MANIFEST-000001", ManifestRecords(1).Edit().Seal().Edit().bytes());
  UnsteadyDirectory unsteady(directory_.get(), [reads = 0](std::string_view, uint64_t, std::string* bytes) mutable {
    if (reads++ == 1) bytes->back() ^= 1;
  });
  const absl::Status status = RecoverManifestIn(&unsteady).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_EQ(edits_, 1);
}

TEST_F(RecoveryLongFileTest, AManifestThatBecomesShorterWhileWitnessesAreSoughtIsJudgedByWhatIsThere) {
  std::string damaged = LongManifest(7);
  damaged[kManifestHeaderBytes + 100] ^= 1;
  WriteFile("MANIFEST-000001", damaged);
  for (const size_t size : {kWindow, kWindow + 1000}) {
    UnsteadyDirectory unsteady(directory_.get(), CutAtRead("MANIFEST", 1, size));
    EXPECT_TRUE(absl::IsDataLoss(RecoverManifestIn(&unsteady).status()));
  }
  // Salvage: with the edit's length damaged all of the file is searched.
  damaged[kManifestHeaderBytes + 2] ^= 1;
  WriteFile("MANIFEST-000001", damaged);
  for (const size_t size : {kWindow, kWindow + 1000}) {
    UnsteadyDirectory again(directory_.get(), CutAtRead("MANIFEST", 1, size));
    const absl::StatusOr<SalvagedManifest> salvaged = SalvageManifest(&again);
    ASSERT_TRUE(salvaged.ok()) << salvaged.status();
    EXPECT_THAT(salvaged->edits, SizeIs(0));
  }
}

TEST_F(RecoveryLongFileTest, ASalvagedManifestThatBecomesShorterGivesWhatIsThere) {
  WriteFile("MANIFEST-000001", LongManifest(7));
  UnsteadyDirectory unsteady(directory_.get(), CutAtRead("MANIFEST", 1, kWindow + 1000));
  const absl::StatusOr<SalvagedManifest> salvaged = SalvageManifest(&unsteady);
  ASSERT_TRUE(salvaged.ok()) << salvaged.status();
  EXPECT_THAT(salvaged->edits, SizeIs(2));
}

// --- the window itself ---

TEST_F(RecoveryLongFileTest, AWindowGivesAnyPieceOfAFileAndNothingBehindItsEnd) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes += static_cast<char>(i);
  WriteFile("f", bytes);
  BufferedFileReader window = BufferedFileReader::Open(directory_.get(), "f", /*window_bytes=*/16).value();
  EXPECT_EQ(window.size(), 300u);
  for (uint64_t offset = 0; offset < 310; ++offset) {
    for (const uint64_t length : {uint64_t{0}, uint64_t{1}, uint64_t{16}, uint64_t{100}, ~uint64_t{0}}) {
      const std::string expected = offset < 300 ? bytes.substr(offset, length) : "";
      ASSERT_EQ(window.At(offset, length).value(), expected) << offset << " " << length;
      ASSERT_EQ(window.At(300 - offset % 300, length).value(), bytes.substr(300 - offset % 300, length));
    }
  }
}

TEST_F(RecoveryLongFileTest, AWindowWhoseReadFailedReadsAgain) {
  WriteFile("f", std::string(100, 'f'));
  BufferedFileReader window = BufferedFileReader::Open(directory_.get(), "f", /*window_bytes=*/16).value();
  ASSERT_EQ(window.At(0, 4).value(), "ffff");
  faults_.Inject({.fault = Fault::kIoError, .op = FileOp::kRead});
  EXPECT_TRUE(absl::IsInternal(window.At(50, 4).status()));
  EXPECT_EQ(window.At(50, 4).value(), "ffff");
  EXPECT_EQ(window.At(0, 4).value(), "ffff");
}

}  // namespace
}  // namespace sepal
