// Two databases in memory and a sync of them, with faults of the stream and of their disks.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/sync/sync_session.h"
#include "sepal/db.h"
#include "sepal/simulation/fault_file_system.h"
#include "sepal/simulation/memory_file_system.h"
#include "util/base/random.h"
#include "util/thread/sync.h"

namespace sepal {

using Contents = std::map<std::string, std::string>;

class SyncDatabase {
 public:
  explicit SyncDatabase(ColumnFamilyOptions family = {}, size_t memtable_bytes = 0)
      : family_(std::move(family)), memtable_bytes_(memtable_bytes) {
    Open();
  }
  DB* db() { return db_.get(); }
  FaultFileSystem& faults() { return faults_; }
  void Reopen() {
    db_.reset();
    Open();
  }
  void Put(const Contents& entries) {
    for (const auto& [key, value] : entries) ASSERT_TRUE(db_->Put(key, value).ok());
  }
  Contents All() { return AllOf(db_->DefaultColumnFamily()); }
  Contents AllOf(const ColumnFamily& family) {
    Contents all;
    const std::unique_ptr<Iterator> it = db_->NewIterator(family);
    for (it->SeekToFirst(); it->Valid(); it->Next()) all.emplace(it->key(), it->value());
    EXPECT_TRUE(it->status().ok()) << it->status();
    return all;
  }

 private:
  void Open() {
    Options options;
    options.create_if_missing = true;
    options.memory_limit = size_t{16} << 20;
    options.memtable_bytes = memtable_bytes_;
    options.env.file_system = &faults_;
    options.family = family_;
    db_ = DB::Open(options, "db").value();
  }

  const ColumnFamilyOptions family_;
  const size_t memtable_bytes_;
  MemoryFileSystem files_;
  FaultFileSystem faults_{&files_};
  std::unique_ptr<DB> db_;
};

// Over a socket.
class SocketChannel final : public SyncChannel {
 public:
  explicit SocketChannel(int end) : end_(end) {}
  absl::Status Read(char* to, size_t size) override {
    while (size > 0) {
      const ssize_t got = ::read(end_, to, size);
      if (got <= 0) return absl::UnavailableError("end");
      to += got;
      size -= static_cast<size_t>(got);
    }
    return absl::OkStatus();
  }
  absl::Status Write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t put = ::send(end_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (put < 0) return absl::UnavailableError("end");
      bytes.remove_prefix(static_cast<size_t>(put));
    }
    return absl::OkStatus();
  }

 private:
  const int end_;
};

// Ends after so many bytes have been written, or flips a bit of the byte before.
class FaultyStream final : public SyncChannel {
 public:
  FaultyStream(SyncChannel* inner, uint64_t left, bool flips) : inner_(inner), left_(left), flips_(flips) {}
  absl::Status Read(char* to, size_t size) override {
    return ended_ ? absl::UnavailableError("cut") : inner_->Read(to, size);
  }
  absl::Status Write(std::string_view bytes) override {
    std::string copy(bytes);
    if (!ended_ && copy.size() > left_) {
      if (flips_) {
        copy[left_] = static_cast<char>(copy[left_] ^ 4);
        left_ = UINT64_MAX;
        return inner_->Write(copy);
      }
      inner_->Write(std::string_view(copy).substr(0, left_)).IgnoreError();
      ended_ = true;
    }
    if (ended_) return absl::UnavailableError("cut");
    left_ -= left_ == UINT64_MAX ? 0 : copy.size();
    return inner_->Write(copy);
  }

 private:
  SyncChannel* const inner_;
  uint64_t left_;
  const bool flips_;
  bool ended_ = false;
};

// The bytes that were written to a stream, to be read again.
class TapeStream final : public SyncChannel {
 public:
  absl::Status Read(char* to, size_t size) override {
    if (bytes.size() - read < size) return absl::UnavailableError("end");
    bytes.copy(to, size, read);
    read += size;
    return absl::OkStatus();
  }
  absl::Status Write(std::string_view more) override {
    bytes += more;
    return absl::OkStatus();
  }
  std::string bytes;
  size_t read = 0;
};

struct Synced {
  absl::StatusOr<SyncReport> report = absl::InternalError("not run");
  absl::Status served;
};
struct SyncFault {
  uint64_t after_bytes = UINT64_MAX;
  bool flips = false;
  bool of_server = false;
};

inline Synced RunBoth(SyncDatabase* a, SyncDatabase* b, ConflictPolicy policy = ConflictPolicy::kReport,
                      const SyncTuning& tuning = {}, uint64_t seed = 1, const SyncFault& fault = {}) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Synced synced;
  const auto side = [&](int end, bool faulty, const auto& run) {
    SocketChannel plain(end);
    FaultyStream stream(&plain, faulty ? fault.after_bytes : UINT64_MAX, fault.flips);
    run(&stream);
    close(end);
  };
  Thread server([&] {
    side(ends[1], fault.of_server, [&](SyncChannel* stream) { synced.served = ServeSync(b->db(), stream, tuning); });
  });
  side(ends[0], !fault.of_server, [&](SyncChannel* stream) {
    synced.report = BeginSync(a->db(), stream, {.policy = policy, .seed = seed}, tuning);
  });
  server.Join();
  return synced;
}

inline std::string SyncKey(uint64_t i) { return absl::StrFormat("key%06u", i); }

// Of `numbers` keys each database has most; some have two values.
inline void FillPair(Random* random, uint64_t numbers, SyncDatabase* a, SyncDatabase* b) {
  Contents of_a, of_b;
  for (uint64_t i = 0; i < numbers; ++i) {
    const std::string value = "value" + std::to_string(random->Uniform(1000));
    const uint64_t lot = random->Uniform(100);
    if (lot != 0) of_a[SyncKey(i)] = value;
    if (lot != 1) of_b[SyncKey(i)] = lot == 2 ? value + "b" : value;
  }
  a->Put(of_a);
  b->Put(of_b);
}

}  // namespace sepal
