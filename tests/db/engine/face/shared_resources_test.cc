// Many databases with one limit of memory and one set of threads.
#include "sepal/shared_resources.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "db/engine/core/shared_resources_impl.h"
#include "sepal/db.h"
#include "sepal/simulation/fault_file_system.h"
#include "sepal/simulation/memory_file_system.h"
#include "tests/child_exit.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

size_t ThreadsOfProcess() {
  size_t threads = 0;
  DIR* const tasks = opendir("/proc/self/task");
  while (const dirent* const entry = readdir(tasks)) threads += entry->d_name[0] != '.';
  closedir(tasks);
  return threads;
}

// Databases with real threads, each of its own file system in memory.
class SharedResourcesTest : public ::testing::Test {
 protected:
  struct Database {
    MemoryFileSystem memory;
    FaultFileSystem files{&memory};
    std::unique_ptr<DB> db;
  };

  void Share(size_t memory_limit, int background_threads = 0) {
    auto made = SharedResources::Make({.memory_limit = memory_limit, .background_threads = background_threads});
    ASSERT_OK(made.status());
    shared_ = *std::move(made);
  }
  Options OptionsFor(Database* database) const {
    Options options;
    options.create_if_missing = true;
    options.info_log = false;
    options.shared = shared_;
    options.env.file_system = &database->files;
    return options;
  }
  Database& Open() {
    databases_.push_back(std::make_unique<Database>());
    Reopen(databases_.back().get());
    return *databases_.back();
  }
  void Reopen(Database* database) const {
    database->db.reset();
    absl::StatusOr<std::unique_ptr<DB>> opened = DB::Open(OptionsFor(database), "/db");
    ASSERT_OK(opened.status());
    database->db = *std::move(opened);
  }
  // Keys [begin, end), with values of a KiB that begin with `tag`.
  static void Fill(DB* db, uint64_t begin, uint64_t end, std::string_view tag = "v") {
    for (uint64_t i = begin; i < end; ++i) {
      std::string value = std::string(tag) + std::to_string(i);
      value.resize(1024, static_cast<char>('a' + i % 26));
      ASSERT_OK(db->Put(NumberedKey(i), value));
    }
  }
  static std::string Head(DB* db, uint64_t i) {
    const absl::StatusOr<std::string> value = db->Get(NumberedKey(i));
    return value.ok() ? value->substr(0, value->find_first_not_of("-0123456789", 1)) : value.status().ToString();
  }
  static uint64_t Runs(DB* db) {
    const absl::StatusOr<Properties> properties = db->GetProperties();
    return properties.ok() ? properties->runs : 0;
  }
  const SharedMemory& memory() const { return *SharedResourcesAccess::Of(*shared_).memory; }

  std::shared_ptr<SharedResources> shared_;
  std::vector<std::unique_ptr<Database>> databases_;
};

TEST_F(SharedResourcesTest, AHundredDatabasesTakeElevenThreadsAndOneLimit) {
  const size_t before = ThreadsOfProcess();
  Share(64 * kMiB);
  for (int i = 0; i < 100; ++i) Open();
  size_t most = 0;
  for (uint64_t round = 0; round < 20; ++round) {
    for (const auto& each : databases_) {
      Fill(each->db.get(), 64 * round, 64 * (round + 1));
      most = std::max(most, shared_->memory_used());
    }
  }
  EXPECT_LE(ThreadsOfProcess() - before, 11u);
  EXPECT_EQ(shared_->databases(), 100u);
  EXPECT_LE(most, 64 * kMiB / 10 * 11);
  for (const auto& each : databases_) {
    for (uint64_t i = 0; i < 1280; i += 100) EXPECT_EQ(Head(each->db.get(), i), "v" + std::to_string(i));
    EXPECT_LE(shared_->memory_used(), 64 * kMiB / 10 * 11);
  }
  databases_.clear();
  EXPECT_EQ(shared_->databases(), 0u);
  EXPECT_EQ(memory().budget.unreclaimable(), 0u) << memory().budget.ToString();
}

// Both have the same keys in tables of the same numbers.
TEST_F(SharedResourcesTest, TheCacheTellsDatabasesApartAndForgetsThoseThatAreClosed) {
  Share(64 * kMiB);
  Database& a = Open();
  Database& b = Open();
  Fill(a.db.get(), 0, 2000, "a-");
  Fill(b.db.get(), 0, 2000, "b-");
  for (const auto& each : databases_) {
    ASSERT_OK(each->db->Flush());
    Reopen(each.get());
  }
  for (int round = 0; round < 2; ++round) {
    for (uint64_t i = 0; i < 2000; ++i) {
      ASSERT_EQ(Head(a.db.get(), i), "a-" + std::to_string(i));
      ASSERT_EQ(Head(b.db.get(), i), "b-" + std::to_string(i));
    }
  }
  const size_t both = memory().budget.used(MemoryPart::kDataBlocks);
  EXPECT_GT(both, 3 * kMiB);
  a.db.reset();
  EXPECT_LT(memory().budget.used(MemoryPart::kDataBlocks), both / 10 * 6);
  for (uint64_t i = 0; i < 2000; ++i) ASSERT_EQ(Head(b.db.get(), i), "b-" + std::to_string(i));
  b.db.reset();
  EXPECT_EQ(memory().budget.used(MemoryPart::kDataBlocks), 0u);
}

// It has nobody who writes to it, and would keep its memtables for good.
TEST_F(SharedResourcesTest, TheLargestMemtablesAreFlushedForOthers) {
  Share(32 * kMiB);
  Database& idle = Open();
  Database& small = Open();
  Database& busy = Open();
  // Not in order, which would be flushed early.
  for (uint64_t i = 0; i < 5000; ++i) Fill(idle.db.get(), i * 2999 % 5000, i * 2999 % 5000 + 1);
  Fill(small.db.get(), 0, 20);
  EXPECT_EQ(Runs(idle.db.get()), 0u);
  for (uint64_t i = 0; i < 20'000 && Runs(idle.db.get()) == 0; i += 100) Fill(busy.db.get(), i, i + 100);
  EXPECT_GT(Runs(idle.db.get()), 0u);
  EXPECT_EQ(Runs(small.db.get()), 0u) << "it has hardly anything";
  EXPECT_EQ(Head(idle.db.get(), 4999), "v4999");
}

TEST_F(SharedResourcesTest, DatabasesOnFullDisksDoNotStopTheOthers) {
  Share(32 * kMiB);
  // More than there are threads for flushes.
  std::vector<Database*> full;
  for (int i = 0; i < 6; ++i) full.push_back(&Open());
  Database& other = Open();
  for (Database* each : full) {
    each->files.Inject({.fault = Fault::kNoSpace, .op = FileOp::kAppend, .name_contains = ".sst", .sticky = true});
    Fill(each->db.get(), 0, 300);
    ASSERT_OK(each->db->Flush(FlushOptions{.wait = false}));
  }
  Fill(other.db.get(), 0, 40'000);
  ASSERT_OK(other.db->Flush());
  EXPECT_EQ(Head(other.db.get(), 39'999), "v39999");
  // Closing gives up at once; the log has all.
  full.front()->db.reset();
  for (Database* each : full) each->files.Clear();
  Reopen(full.front());
  for (Database* each : full) {
    ASSERT_OK(each->db->Flush());
    EXPECT_EQ(Head(each->db.get(), 299), "v299");
  }
}

TEST_F(SharedResourcesTest, ADatabaseWhoseDiskFailsDoesNotStopTheOthers) {
  Share(32 * kMiB);
  Database& failing = Open();
  Database& other = Open();
  Fill(failing.db.get(), 0, 6000);
  failing.files.Inject({.fault = Fault::kIoError, .op = FileOp::kAppend, .name_contains = ".sst", .sticky = true});
  EXPECT_FALSE(failing.db->Flush().ok());
  Fill(other.db.get(), 0, 40'000);
  EXPECT_EQ(Head(failing.db.get(), 5999), "v5999");
  EXPECT_FALSE(failing.db->Put("k", "v").ok());
  failing.files.Clear();
  Reopen(&failing);
  EXPECT_EQ(Head(failing.db.get(), 5999), "v5999");
}

TEST_F(SharedResourcesTest, SomeAreClosedAndOpenedWhileOthersWork) {
  Share(16 * kMiB, /*background_threads=*/2);
  for (int i = 0; i < 6; ++i) Open();
  std::atomic<bool> stop{false};
  std::vector<Thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      DB* const db = databases_[static_cast<size_t>(t)]->db.get();
      for (uint64_t i = 0; !stop.load(); ++i) {
        Fill(db, i * 50 % 4000, i * 50 % 4000 + 50);
        ASSERT_EQ(Head(db, i * 50 % 4000), "v" + std::to_string(i * 50 % 4000));
      }
    });
  }
  for (uint64_t round = 0; round < 30; ++round) {
    Database* const each = databases_[3 + round % 3].get();
    Fill(each->db.get(), round * 30, round * 30 + 200);
    std::unique_ptr<Iterator> held = each->db->NewIterator();
    held->SeekToFirst();
    ASSERT_TRUE(held->Valid());
    Reopen(each);
    ASSERT_EQ(Head(each->db.get(), round * 30), "v" + std::to_string(round * 30));
  }
  stop.store(true);
  for (Thread& thread : threads) thread.Join();
}

TEST_F(SharedResourcesTest, WhatUsersHoldOutlivesDatabasesAndTheirSharedMemory) {
  Share(32 * kMiB);
  Database& a = Open();
  Database& b = Open();
  Fill(a.db.get(), 0, 2000);
  ASSERT_OK(a.db->Flush());
  PinnedValue pinned;
  ASSERT_OK(a.db->Get(NumberedKey(7), pinned));
  std::unique_ptr<Iterator> iterator = a.db->NewIterator();
  iterator->SeekToFirst();
  const std::shared_ptr<const Snapshot> snapshot = a.db->GetSnapshot();
  shared_.reset();
  a.db.reset();
  Fill(b.db.get(), 0, 100);
  EXPECT_EQ(pinned.value().substr(0, 2), "v7");
  iterator->Next();
  EXPECT_TRUE(absl::IsFailedPrecondition(iterator->status())) << iterator->status();
  b.db.reset();
  EXPECT_EQ(pinned.value().substr(0, 2), "v7");
  iterator.reset();
}

TEST_F(SharedResourcesTest, OptionsThatContradictItAreRefusedByName) {
  EXPECT_TRUE(absl::IsInvalidArgument(SharedResources::Make({.memory_limit = kMiB}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(SharedResources::Make({.background_threads = -1}).status()));
  Share(32 * kMiB);
  Database database;
  Options options = OptionsFor(&database);
  SimulatedWorld world({.seed = 1});
  options.env.executor = &world;
  absl::Status refused = DB::Open(options, "/db").status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_NE(refused.message().find("SharedOptions::env.executor"), std::string_view::npos);
  options.env.executor = nullptr;
  options.scrub_seconds = 10;
  refused = DB::Open(options, "/db").status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_NE(refused.message().find("VerifyChecksums"), std::string_view::npos);
  options.scrub_seconds = 0;
  options.follow_milliseconds = 10;
  options.read_only = true;
  refused = DB::Open(options, "/db").status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_NE(refused.message().find("CatchUp"), std::string_view::npos);
  options.follow_milliseconds = 0;
  options.read_only = false;
  options.memtable_bytes = 17 * kMiB;  // over half of what is shared
  refused = DB::Open(options, "/db").status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
}

TEST_F(SharedResourcesTest, AForkedChildCannotUseItAndLetsItGo) {
  Share(32 * kMiB);
  Database& parents = Open();
  Fill(parents.db.get(), 0, 10);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    Database database;
    const absl::Status refused = DB::Open(OptionsFor(&database), "/db").status();
    parents.db.reset();
    shared_.reset();
    ExitChild(absl::IsFailedPrecondition(refused) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Head(parents.db.get(), 9), "v9");
}

// The whole of it on simulated threads: each seed is another order of events.
TEST(SharedResourcesSimulation, TwoDatabasesOnOneSimulatedExecutor) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SimulatedWorld world({.seed = seed, .switch_one_in = 8});
    MemoryFileSystem memory;
    auto shared = SharedResources::Make({.memory_limit = 8 * kMiB, .env = {.clock = &world, .executor = &world}});
    ASSERT_OK(shared.status());
    Options options;
    options.create_if_missing = true;
    options.family.block_bytes = 256;
    options.shared = *std::move(shared);
    options.env = {.file_system = &memory, .clock = &world, .random_seed = seed};
    Tuning tuning = SmallTuning();
    std::vector<std::unique_ptr<DB>> dbs;
    for (const char* path : {"/a", "/b"}) {
      Options with_limits = SharedResourcesAccess::WithLimits(options);
      absl::StatusOr<std::unique_ptr<DB>> opened = Engine::Open(with_limits, tuning, path);
      ASSERT_OK(opened.status());
      dbs.push_back(*std::move(opened));
    }
    for (uint64_t i = 0; i < 1500; ++i) {
      for (const auto& db : dbs)
        ASSERT_OK(db->Put(NumberedKey(i % 700), std::string(40, static_cast<char>('a' + i % 26))));
    }
    dbs.front().reset();
    for (uint64_t i = 800; i < 1500; ++i) {
      const absl::StatusOr<std::string> value = dbs.back()->Get(NumberedKey(i % 700));
      ASSERT_OK(value.status());
      ASSERT_EQ(value->front(), static_cast<char>('a' + i % 26)) << seed;
    }
  }
}

}  // namespace
}  // namespace sepal
