// How often a database waits for a store that is far away: each call that waits takes a round trip, and what was asked
// for ahead travels meanwhile.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

constexpr Capabilities kFarAway = {.remote = true, .outlives_process = false, .fences = true};
constexpr uint64_t kMiB = uint64_t{1} << 20;

// A clock of the store, in round trips. Bytes that are appended wait for the file's next sync.
class RoundTripClock {
 public:
  Fault Note(const FileCall& call) {
    const uint64_t before = now_;
    switch (call.op) {
      case FileOp::kReadAhead:
        coming_[call.name].push_back({call.offset, call.offset + call.length, now_ + 1});
        break;
      case FileOp::kRead:
        if (call.name.ends_with(".sst")) bytes_read_ += call.length;
        now_ = call.together > 0 ? std::max(now_, BeginOf(call) + 1) : ArrivalOf(call);
        break;
      case FileOp::kSync:
        now_ = call.together > 0 ? std::max(now_, BeginOf(call) + 1) : now_ + 1;
        break;
      // Of what the holder of the lock knows, or nobody waits for.
      case FileOp::kOpenRead:
      case FileOp::kFileSize:
      case FileOp::kAppend:
      case FileOp::kWriteAt:
      case FileOp::kAllocate:
      case FileOp::kSyncRange:
      case FileOp::kTruncate:  // to what was written
      case FileOp::kClose:
      case FileOp::kDirectorySync:
      case FileOp::kFreeBytes:
        break;
      default:
        ++now_;
        break;
    }
    if (::gettid() == thread_) own_ += now_ - before;
    return Fault::kNone;
  }
  // Since the last call of this.
  uint64_t Take() { return now_ - std::exchange(taken_, now_); }
  // Of those that the thread which made this waits for itself, since the last call of this.
  uint64_t TakeOwn() { return own_ - std::exchange(taken_own_, own_); }
  uint64_t bytes_read() const { return bytes_read_; }
  // Reads of what had not been asked for.
  uint64_t unasked() const { return unasked_; }

 private:
  struct Coming {
    uint64_t begin, end, arrives;
  };
  // When the first of those that go together began.
  uint64_t BeginOf(const FileCall& call) { return groups_.try_emplace(call.together, now_).first->second; }
  uint64_t ArrivalOf(const FileCall& call) {
    // What was asked for is there for one read.
    std::vector<Coming>& coming = coming_[call.name];
    for (auto it = coming.begin(); it != coming.end(); ++it) {
      if (it->begin > call.offset || call.offset + call.length > it->end) continue;
      const uint64_t arrives = it->arrives;
      coming.erase(it);
      return std::max(now_, arrives);
    }
    ++unasked_;
    return now_ + 1;
  }

  const pid_t thread_ = ::gettid();
  std::map<std::string, std::vector<Coming>> coming_;
  std::map<uint64_t, uint64_t> groups_;
  uint64_t now_ = 0, taken_ = 0, own_ = 0, taken_own_ = 0, bytes_read_ = 0, unasked_ = 0;
};

class RoundTripsTest : public testing::Test {
 protected:
  RoundTripsTest() : database_(Threads::kSimulated, {.seed = 1, .switch_one_in = 1000}, MemoryFileSystem(kFarAway)) {
    database_.options.memory_limit = 256 * kMiB;
    database_.options.family.block_bytes = 4096;
    database_.options.family.compression = CompressionKind::kNone;
    database_.tuning = Tuning::From(database_.options);
    database_.files.SetDecider([this](const FileCall& call) { return clock_.Note(call); });
  }
  void SetUp() override {
    ASSERT_OK(database_.Open());
    Begin();
  }
  // What was begun beside is over, and counts no more.
  void Begin() {
    database_.world->RunUntilIdle();
    clock_.Take();
  }
  DB* db() { return database_.db.get(); }
  void Fill(int begin, int end) {
    for (int i = begin; i < end; ++i) ASSERT_OK(db()->Put(NumberedKey(i), std::string(100, 'v')));
    ASSERT_OK(db()->Flush());
  }

  RoundTripClock clock_;  // the database's last calls are noted too
  TestDatabase database_;
};

TEST_F(RoundTripsTest, APutWaitsForNothingAndASyncedOneForItsSync) {
  ASSERT_OK(db()->Put("a", "1"));
  EXPECT_EQ(clock_.Take(), 0u);
  ASSERT_OK(db()->Put("b", "2", {.sync = true}));
  EXPECT_EQ(clock_.Take(), 1u);
}

// The log goes on in a file that is there, whose header travels with the first records.
TEST_F(RoundTripsTest, PutsWaitForNothingWhileLogsAreSwitched) {
  database_.tuning.memtable_bytes = size_t{64} << 10;
  ASSERT_OK(database_.Reopen());
  database_.world->RunUntilIdle();
  clock_.TakeOwn();
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_OK(db()->Put(NumberedKey(i), std::string(100, 'v')));
    if (i % 50 == 0) database_.world->RunUntilIdle();
  }
  EXPECT_GT(database_.Metrics().Sample("sepal_flushes_total"), 10);
  EXPECT_EQ(clock_.TakeOwn(), 0u);
}

// With the lock that all writers need.
TEST_F(RoundTripsTest, AFlushMakesNoLogItself) {
  for (int i = 0; i < 10; ++i) {
    clock_.TakeOwn();
    Fill(100 * i, 100 * i + 100);
    EXPECT_EQ(clock_.TakeOwn(), 0u) << i;
  }
}

// The table's name and its bytes, both logs, the manifest, and the name of the log that goes; and of a new log.
TEST_F(RoundTripsTest, AFlushTakesFiveAndTheNextLogTwo) {
  Fill(0, 100);
  Begin();
  Fill(100, 200);
  database_.world->RunUntilIdle();
  EXPECT_LE(clock_.Take(), 7u);
}

TEST_F(RoundTripsTest, AnOpeningTakesTwenty) {
  Fill(0, 10'000);
  ASSERT_OK(database_.db->Close());
  Begin();
  ASSERT_OK(database_.Open());
  EXPECT_LE(clock_.Take(), 20u);
}

TEST_F(RoundTripsTest, TheFirstGetOfATableTakesTwoAndAnotherOneOne) {
  Fill(0, 100'000);
  ASSERT_OK(database_.Reopen());
  Begin();
  EXPECT_EQ(Value(db(), NumberedKey(77'000)), std::string(100, 'v'));
  EXPECT_EQ(clock_.Take(), 2u);
  EXPECT_EQ(Value(db(), NumberedKey(3'000)), std::string(100, 'v'));
  EXPECT_EQ(clock_.Take(), 1u);
  EXPECT_EQ(Value(db(), "absent"), "NOT_FOUND");
  EXPECT_EQ(clock_.Take(), 0u);
}

// Guard and leaf pages, of small blocks, are more than its end of 1 MiB holds: they come together, before the block.
TEST_F(RoundTripsTest, TheFirstGetOfATableWithALargeIndexTakesThree) {
  database_.options.family.block_bytes = 256;
  ASSERT_OK(database_.Reopen());
  for (int i = 0; i < 400'000; ++i) ASSERT_OK(db()->Put(NumberedKey(i), "0123456789"));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(database_.Reopen());
  Begin();
  EXPECT_EQ(Value(db(), NumberedKey(3'000)), "0123456789");
  EXPECT_EQ(clock_.Take(), 3u);
}

TEST_F(RoundTripsTest, ASeekReadsAllRunsTogether) {
  for (int run = 0; run < 4; ++run) {
    for (int i = run; i < 40'000; i += 4) ASSERT_OK(db()->Put(NumberedKey(i), std::string(100, 'v')));
    ASSERT_OK(db()->Flush());
  }
  ASSERT_OK(database_.Reopen());
  const auto it = db()->NewIterator();
  it->Seek(NumberedKey(100));  // opens the tables
  ASSERT_TRUE(it->Valid());
  Begin();
  it->Seek(NumberedKey(30'000));
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), NumberedKey(30'000));
  EXPECT_LE(clock_.Take(), 1u);
}

// Opening asks for the ends of all, and then each for its block.
TEST_F(RoundTripsTest, AFirstSeekOpensAllRunsTogether) {
  for (int run = 0; run < 4; ++run) {
    for (int i = run; i < 40'000; i += 4) ASSERT_OK(db()->Put(NumberedKey(i), std::string(100, 'v')));
    ASSERT_OK(db()->Flush());
  }
  ASSERT_OK(database_.Reopen());
  Begin();
  const auto it = db()->NewIterator();
  it->Seek(NumberedKey(30'000));
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), NumberedKey(30'000));
  EXPECT_LE(clock_.Take(), 2u);

  ASSERT_OK(database_.Reopen());
  Begin();
  const auto from_begin = db()->NewIterator();
  from_begin->SeekToFirst();
  ASSERT_TRUE(from_begin->Valid());
  EXPECT_EQ(from_begin->key(), NumberedKey(0));
  EXPECT_LE(clock_.Take(), 1u + 4u);
}

class ManyTables : public RoundTripsTest, public testing::WithParamInterface<bool> {};

// More than are opened at once.
TEST_P(ManyTables, AMultiGetOfTablesThatAreNotOpenWaitsFourTimesAtMost) {
  const bool several_runs = GetParam();
  database_.tuning.table_bytes = size_t{64} << 10;
  database_.tuning.runs_per_level = 4;
  ASSERT_OK(database_.Reopen());
  constexpr int kEntries = 64'000;
  Fill(0, kEntries);
  ASSERT_OK(db()->CompactRange());
  for (int run = 0; several_runs && run < 3; ++run) {
    for (int i = run * 97; i < kEntries; i += 500) ASSERT_OK(db()->Put(NumberedKey(i), "run " + std::to_string(run)));
    ASSERT_OK(db()->Flush());
  }
  ASSERT_OK(database_.Reopen());
  const std::vector<std::string> files = FilesIn(&database_.memory, database_.path);
  EXPECT_GT(std::count_if(files.begin(), files.end(), [](const auto& name) { return name.ends_with(".sst"); }), 64);
  std::vector<std::string> names;
  for (int i = 0; i < 64; ++i)
    names.push_back(NumberedKey(i * (kEntries / 64) + (several_runs && i % 2 == 0 ? 97 : 0)));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  Begin();
  const auto values = db()->MultiGet(keys);
  EXPECT_LE(clock_.Take(), 4u);
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_OK(values[i].status());
    EXPECT_EQ(*values[i], Value(db(), keys[i])) << keys[i];
  }
}
INSTANTIATE_TEST_SUITE_P(Runs, ManyTables, testing::Bool());

TEST_F(RoundTripsTest, AScanAsksForItsNextWindowAhead) {
  Fill(0, 100'000);
  ASSERT_OK(database_.Reopen());
  Begin();
  const uint64_t unasked = clock_.unasked();
  int entries = 0;
  for (const auto& [key, value] : db()->Scan()) entries += value.size() == 100;
  EXPECT_EQ(entries, 100'000);
  EXPECT_LE(clock_.Take(), 10u);              // of 13 MB in two tables
  EXPECT_LE(clock_.unasked() - unasked, 6u);  // of each table its end, its first block and a first window
}

TEST_F(RoundTripsTest, ChecksReadWindowsOfOneMebibyte) {
  Fill(0, 100'000);
  ASSERT_OK(database_.Reopen());
  Begin();
  const uint64_t before = clock_.bytes_read();
  ASSERT_OK(db()->VerifyChecksums());
  const uint64_t bytes = clock_.bytes_read() - before;
  EXPECT_GT(bytes, 12 * kMiB);
  EXPECT_LE(clock_.Take(), bytes / kMiB + 6);
}

TEST_F(RoundTripsTest, ACompactionReadsLargeWindows) {
  Fill(0, 100'000);
  Fill(50'000, 150'000);
  Begin();
  const uint64_t before = clock_.bytes_read();
  ASSERT_OK(db()->CompactRange());
  const uint64_t bytes = clock_.bytes_read() - before;
  EXPECT_LE(clock_.Take(), bytes / kMiB + 24);
}

}  // namespace
}  // namespace sepal
