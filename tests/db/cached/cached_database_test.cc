// Databases whose tables lie on a remote store, through a cache on a local disk.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "sepal/cached_file_system.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

constexpr Capabilities kRemoteTables = {.hard_link = true, .remote = true, .outlives_process = false, .fences = true};

constexpr uint64_t kBytesOfAPage = uint64_t{16} << 10;

// The database's own file system is the remote one, and can fail; so can the local one.
struct CachedDatabase {
  explicit CachedDatabase(Threads threads = Threads::kReal, uint64_t seed = 1,
                          uint64_t bytes_of_cache = uint64_t{64} << 20)
      : database(threads, {.seed = seed, .switch_one_in = 8}, MemoryFileSystem(kRemoteTables)),
        cache_bytes(bytes_of_cache) {
    database.tuning.memtable_bytes = size_t{256} << 10;
    database.tuning.memtable_limit_bytes = size_t{1} << 20;
    database.tuning.table_bytes = size_t{128} << 10;
    database.tuning.value_file_bytes = uint64_t{100} << 10;
  }
  ~CachedDatabase() { database.db.reset(); }

  absl::Status Open() {
    database.db.reset();
    cached.reset();
    cached = CachedFileSystem::Open(&database.files, {.directory = "/ssd", .bytes = cache_bytes, .file_system = &local})
                 .value();
    database.options.env.file_system = cached.get();
    database.files.SetDecider([this](const FileCall& call) {
      const bool table = call.name.ends_with(".sst") || call.name.ends_with(".val");
      if (call.op == FileOp::kRead && table) ++remote_reads;
      return Fault::kNone;
    });
    return database.Open();
  }
  DB* db() { return database.db.get(); }

  MemoryFileSystem disk;
  FaultFileSystem local{&disk};
  TestDatabase database;
  std::unique_ptr<CachedFileSystem> cached;
  const uint64_t cache_bytes;
  std::atomic<uint64_t> remote_reads{0};
};

std::string LongValue(uint64_t i) {
  Random random(i + 1);
  std::string value(400, '\0');
  for (char& c : value) c = static_cast<char>('a' + random.Uniform(26));
  return value;
}

TEST(CachedDatabaseTest, WithAWarmCacheNoTableIsReadFromTheRemoteStore) {
  CachedDatabase all;
  ASSERT_OK(all.Open());
  constexpr int kManyKeys = 5000;
  for (int i = 0; i < kManyKeys; ++i) ASSERT_OK(all.db()->Put(NumberedKey(i), LongValue(i)));
  ASSERT_OK(all.db()->Flush());
  ASSERT_OK(all.db()->CompactRange());
  const auto read_all = [&] {
    for (int i = 0; i < kManyKeys; ++i) ASSERT_EQ(Value(all.db(), NumberedKey(i)), LongValue(i)) << i;
    int found = 0;
    for (const auto& [key, value] : all.db()->Scan()) {
      ASSERT_EQ(value, LongValue(found));
      ++found;
    }
    ASSERT_EQ(found, kManyKeys);
    ASSERT_OK(all.db()->VerifyChecksums());
  };
  // What flushes and compactions wrote is there.
  all.remote_reads = 0;
  read_all();
  EXPECT_EQ(all.remote_reads, 0u);
  EXPECT_GT(all.cached->Counts().hits, 100u);
  // And after a restart, and after the local disk lost its power.
  ASSERT_OK(all.db()->Close());
  ASSERT_OK(all.Open());
  all.remote_reads = 0;
  read_all();
  EXPECT_EQ(all.remote_reads, 0u);
  EXPECT_EQ(all.cached->Counts().damaged, 0u);
  ASSERT_OK(all.db()->Close());
  all.disk.Crash(CrashMode::kLoseUnsynced);
  ASSERT_OK(all.Open());
  read_all();
  EXPECT_GT(all.remote_reads, 0u);
  all.remote_reads = 0;
  ASSERT_OK(all.db()->Close());
  ASSERT_OK(all.Open());
  read_all();
  EXPECT_EQ(all.remote_reads, 0u);
}

TEST(CachedDatabaseTest, ACacheThatIsFilledByReadsServesMultiGetAndLargeValues) {
  CachedDatabase all;
  all.database.options.family.separate_from = 300;
  ASSERT_OK(all.Open());
  for (int i = 0; i < 2000; ++i) ASSERT_OK(all.db()->Put(NumberedKey(i), LongValue(i)));
  ASSERT_OK(all.db()->Flush());
  ASSERT_OK(all.db()->Close());
  const auto read_all = [&] {
    std::vector<std::string> keys;
    for (int i = 0; i < 2000; i += 7) keys.push_back(NumberedKey(i));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    const std::vector<absl::StatusOr<std::string>> values = all.db()->MultiGet(views);
    for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i].value(), LongValue(7 * i));
  };
  ASSERT_OK(all.Open());
  read_all();
  ASSERT_OK(all.db()->Close());
  ASSERT_OK(all.Open());
  all.remote_reads = 0;
  read_all();
  EXPECT_EQ(all.remote_reads, 0u);
}

TEST(CachedDatabaseTest, TheLogSaysWhatCacheThereIs) {
  CachedDatabase all;
  ASSERT_OK(all.Open());
  const std::string log = all.database.memory.ReadFileContents("/db/LOG").value();
  EXPECT_THAT(log, HasSubstr("the cache of table bytes in /ssd has 0 of 67"));
}

TEST(CachedDatabaseTest, TablesThatCompactionsRemoveLeaveTheCache) {
  CachedDatabase all;
  ASSERT_OK(all.Open());
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 1000; ++i) ASSERT_OK(all.db()->Put(NumberedKey(i), LongValue(i + round)));
    ASSERT_OK(all.db()->CompactRange());
  }
  ASSERT_OK(all.db()->Close());
  uint64_t pages = 0;
  const auto directory = all.database.memory.OpenDirectory("/db", false).value();
  const std::vector<DirectoryEntry> entries = directory->List().value();
  for (const DirectoryEntry& entry : entries) {
    if (entry.name.ends_with(".sst")) pages += (entry.size_bytes + kBytesOfAPage - 1) / kBytesOfAPage;
  }
  EXPECT_GT(all.cached->Counts().bytes, 0u);
  EXPECT_LE(all.cached->Counts().bytes, pages * kBytesOfAPage);
}

// Whatever happens to either side, reads are right.
void RunCachedHistory(uint64_t seed, Threads threads) {
  Random random(seed);
  CachedDatabase all(threads, seed, (uint64_t{1} << 20) * (1 + seed % 3));
  if (seed % 2 == 0) all.database.options.family.separate_from = 300;
  std::map<std::string, std::string> model;
  ASSERT_OK(all.Open());
  for (int step = 0; step < 60; ++step) {
    SCOPED_TRACE(step);
    switch (random.Uniform(8)) {
      case 0:
        ASSERT_OK(all.db()->Flush());
        break;
      case 1:
        ASSERT_OK(all.db()->CompactRange());
        break;
      case 2: {  // a restart, with a crash of either side
        ASSERT_OK(all.db()->Sync());
        const bool closed = random.OneIn(2);
        if (closed) ASSERT_OK(all.db()->Close());
        if (random.OneIn(2)) all.disk.Crash(CrashMode::kAnySubset, random.Next());
        if (random.OneIn(2)) all.database.memory.Crash(CrashMode::kAnySubset, random.Next());
        if (!closed) all.database.memory.Crash(CrashMode::kKillProcess, random.Next());
        ASSERT_OK(all.Open());
        break;
      }
      case 3: {  // the local disk fails, for a while or for good, until the next opening
        all.local.Clear();
        all.local.Inject({.fault = random.OneIn(2) ? Fault::kIoError : Fault::kShortWrite,
                          .skip = random.Uniform(30),
                          .sticky = random.OneIn(3)});
        break;
      }
      case 4: {
        const absl::StatusOr<std::string> pages = all.disk.ReadFileContents("/ssd/pages");
        for (int flips = 0; pages.ok() && !pages->empty() && flips < 20; ++flips) {
          ASSERT_OK(all.disk.FlipBit("/ssd/pages", random.Uniform(pages->size()), 2));
        }
        break;
      }
      default:
        for (int i = 0; i < 300; ++i) {
          const std::string key = NumberedKey(random.Uniform(2000));
          if (random.OneIn(5)) {
            ASSERT_OK(all.db()->Delete(key));
            model.erase(key);
          } else {
            model[key] = LongValue(random.Next());
            ASSERT_OK(all.db()->Put(key, model[key]));
          }
        }
    }
    for (int i = 0; i < 100; ++i) {
      const std::string key = NumberedKey(random.Uniform(2000));
      const auto found = model.find(key);
      ASSERT_EQ(Value(all.db(), key), found == model.end() ? "NOT_FOUND" : found->second) << key;
    }
    ASSERT_LE(all.disk.UsedBytes(), all.cache_bytes);
  }
  auto expected = model.begin();
  for (const auto& [key, value] : all.db()->Scan()) {
    ASSERT_NE(expected, model.end());
    ASSERT_EQ(key, expected->first);
    ASSERT_EQ(value, expected->second);
    ++expected;
  }
  ASSERT_EQ(expected, model.end());
}

TEST(CachedDatabaseTest, RandomHistoriesWithCrashesDamageAndFailuresReadRight) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_NO_FATAL_FAILURE(RunCachedHistory(seed, Threads::kSimulated));
  }
}

TEST(CachedDatabaseTest, ConcurrentHistoriesReadRight) {
  for (uint64_t seed = 101; seed <= 104; ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_NO_FATAL_FAILURE(RunCachedHistory(seed, Threads::kReal));
  }
}

}  // namespace
}  // namespace sepal
