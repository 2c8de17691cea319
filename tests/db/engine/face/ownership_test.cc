// Who may write: the process that opened the database, as long as the lock file is the one that it locked. And a log
// that proves the manifest to lack its end.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <vector>

#include "sepal/event_listener.h"
#include "tests/child_exit.h"
#include "tests/db/engine/engine_fixture.h"
#include "tests/db/engine/face/held_flush.h"
#include "util/base/random.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

using OwnershipTest = EngineTest;

// Whether the child ended well by itself. One that hangs is killed.
bool EndsWell(pid_t child) {
  constexpr int kMostMillis = 60'000;
  int status = -1;
  for (int millis = 0; ::waitpid(child, &status, WNOHANG) == 0; ++millis) {
    if (millis == kMostMillis) ::kill(child, SIGKILL);
    Thread::SleepMicros(1000);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ForkTest, AForkedChildCanNeitherWriteNorCloseAndHarmsNothing) {
  char root[] = "/tmp/sepal_fork_test_XXXXXX";
  ASSERT_NE(::mkdtemp(root), nullptr);
  const std::string path = root + std::string("/db"), other = root + std::string("/other");
  Options options{.create_if_missing = true, .memory_limit = size_t{16} << 20};
  options.log_directory = root + std::string("/logs");
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, path);
  ASSERT_OK(db.status());
  ASSERT_OK((*db)->Put("parent", "1"));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool refused = absl::IsFailedPrecondition((*db)->Put("child", "1")) &&
                         absl::IsFailedPrecondition((*db)->Sync()) && absl::IsFailedPrecondition((*db)->Flush()) &&
                         absl::IsFailedPrecondition((*db)->Close());
    db->reset();
    ExitChild(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  // The parent still holds both locks, and goes on.
  EXPECT_TRUE(absl::IsUnavailable(DB::Open(options, path).status()));
  EXPECT_TRUE(absl::IsUnavailable(DB::Open(options, other).status()));
  ASSERT_OK((*db)->Put("parent", "2", {.sync = true}));
  ASSERT_OK((*db)->Flush());
  ASSERT_OK((*db)->Close());
  db = DB::Open(options, path);
  ASSERT_OK(db.status());
  EXPECT_EQ(Value(db->get(), "parent"), "2");
  EXPECT_EQ(Value(db->get(), "child"), "NOT_FOUND");
  ASSERT_OK((*db)->Close());
  ASSERT_OK(DB::Destroy(options, path));
  EXPECT_TRUE(std::filesystem::is_empty(options.log_directory));
  std::filesystem::remove_all(root);
}

// What snapshots held back is the parent's to merge, whoever lets go of them.
TEST(ForkTest, AForkedChildLetsGoOfASnapshotBehindItsDatabase) {
  TestDatabase database(Threads::kReal);
  ASSERT_OK(database.Open());
  for (uint64_t i = 0; i < 500; ++i) ASSERT_OK(database.db->Put(NumberedKey(i), std::string(60, 'a')));
  std::shared_ptr<const Snapshot> snapshot = database.db->GetSnapshot();
  for (uint64_t i = 0; i < 500; ++i) ASSERT_OK(database.db->Put(NumberedKey(i), std::string(60, 'b')));
  ASSERT_OK(database.db->CompactRange());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    database.db.reset();
    snapshot.reset();
    ExitChild(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(NumberProperty(database.db.get(), "sepal.num-entries"), 1000u);
}

// The job and what it holds are the parent's.
TEST(ForkTest, AForkedChildLetsGoOfADatabaseWithAJobUnderWay) {
  char path[] = "/tmp/sepal_fork_test_XXXXXX";
  ASSERT_NE(::mkdtemp(path), nullptr);
  const auto flush = std::make_shared<HeldFlush>();
  Options options{.create_if_missing = true, .memory_limit = size_t{16} << 20};
  options.listeners = {flush};
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, path);
  ASSERT_OK(db.status());
  ASSERT_OK((*db)->Put("first", "1"));
  ASSERT_OK((*db)->Flush());
  ASSERT_EQ(Value(db->get(), "first"), "1");  // the table's file is open
  flush->holds.store(true);
  ASSERT_OK((*db)->Put("second", "2"));
  ASSERT_OK((*db)->Flush({.wait = false}));
  flush->begun.WaitForNotification();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    db->reset();
    ExitChild(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  flush->go_on.Notify();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(Value(db->get(), "second"), "2");
  ASSERT_OK((*db)->Close());
  ASSERT_OK(DB::Destroy(options, path));
}

// A table is opened under a lock, and closed under it.
TEST(ForkTest, AForkedChildLetsGoOfWhatAThreadOfItsParentHasLocked) {
  TestDatabase database(Threads::kReal);
  ASSERT_OK(database.Open());
  ASSERT_OK(database.db->Put("k", "1"));
  ASSERT_OK(database.db->Flush());
  ASSERT_OK(database.Reopen());
  Notification opens, go_on;
  database.files.SetDecider([&](const FileCall& call) {
    if (call.op == FileOp::kOpenRead && call.name.ends_with(".sst")) {
      opens.Notify();
      go_on.WaitForNotification();
    }
    return Fault::kNone;
  });
  Thread reader([&] { EXPECT_EQ(Value(database.db.get(), "k"), "1"); });
  opens.WaitForNotification();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    database.db.reset();
    ExitChild(0);
  }
  EXPECT_TRUE(EndsWell(child));
  go_on.Notify();
  reader.Join();
  database.files.Clear();
  ASSERT_OK(database.db->Put("k", "2", {.sync = true}));
}

// What was handed out, taken some time before the fork, so that it holds what the database itself does not any more.
class HandedOut {
 public:
  explicit HandedOut(DB* db) : snapshot_(db->GetSnapshot()), family_(*db->FindColumnFamily("default")) {
    iterator_ = db->NewIterator({.snapshot = snapshot_.get()});
    iterator_->SeekToFirst();
    for (size_t i = 0; i < values_.size(); ++i) (void)db->Get(NumberedKey(i), values_[i]);
  }
  void LetGo() {
    values_ = {};
    iterator_.reset();
    family_.reset();
    snapshot_.reset();
  }

 private:
  std::shared_ptr<const Snapshot> snapshot_;
  std::shared_ptr<ColumnFamily> family_;
  std::unique_ptr<Iterator> iterator_;
  std::array<PinnedValue, 100> values_;
};

TEST(ForkTest, AForkedChildLetsGoOfEverythingBesideWritersAndReaders) {
  char path[] = "/tmp/sepal_fork_test_XXXXXX";
  ASSERT_NE(::mkdtemp(path), nullptr);
  const Options options{
      .create_if_missing = true, .memory_limit = size_t{16} << 20, .memtable_bytes = size_t{256} << 10};
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, path);
  ASSERT_OK(db.status());
  std::atomic<bool> stop{false};
  std::vector<Thread> threads;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    threads.emplace_back([&, seed] {
      Random random(seed);
      const std::string value(1000, 'v');
      while (!stop.load()) {
        (void)(*db)->Put(NumberedKey(random.Uniform(20'000)), value);
        PinnedValue read;
        (void)(*db)->Get(NumberedKey(random.Uniform(20'000)), read);
        if (random.OneIn(100)) (*db)->NewIterator()->SeekToFirst();
      }
    });
  }
  threads.emplace_back([&] {
    while (!stop.load()) {
      (void)(*db)->GetSnapshot();
      (void)(*db)->FindColumnFamily("default");
    }
  });
  bool all_end = true;
  for (int i = 0; i < 90 && all_end; ++i) {
    HandedOut handed_out(db->get());
    Thread::SleepMicros(10'000);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (i % 3 == 0) db->reset();
      handed_out.LetGo();
      db->reset();
      ExitChild(absl::IsUnavailable(DB::Open(options, path).status()) ? 0 : 1);  // the parent's lock stands
    }
    all_end = EndsWell(child);
    EXPECT_TRUE(all_end) << i;
  }
  stop.store(true);
  threads.clear();
  ASSERT_OK((*db)->Close());
  ASSERT_OK(DB::Destroy(options, path));
}

ptrdiff_t OpenFiles() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

// A table that was merged into another is closed with the last who reads it, but in a child, where somebody may be at
// it.
TEST(ForkTest, WhatAForkedChildLetsGoOfStaysOpen) {
  char path[] = "/tmp/sepal_fork_test_XXXXXX";
  ASSERT_NE(::mkdtemp(path), nullptr);
  const Options options{.create_if_missing = true, .memory_limit = size_t{16} << 20};
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, path);
  ASSERT_OK(db.status());
  ASSERT_OK((*db)->Put("a", "1"));
  ASSERT_OK((*db)->Put("z", "1"));
  ASSERT_OK((*db)->Flush());
  EXPECT_EQ(Value(db->get(), "a"), "1");
  ASSERT_OK((*db)->Put("m", std::string(10'000, 'v')));
  std::unique_ptr<Iterator> iterator = (*db)->NewIterator();
  PinnedValue value;
  ASSERT_OK((*db)->Get("m", value));
  ASSERT_OK((*db)->CompactRange());
  ASSERT_OK((*db)->WaitForBackgroundWork());
  const auto closed_files = [&] {
    const ptrdiff_t before = OpenFiles();
    iterator.reset();
    value.Reset();
    return before - OpenFiles();
  };
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ExitChild(closed_files() == 0 ? 0 : 1);
  EXPECT_TRUE(EndsWell(child));
  EXPECT_GE(closed_files(), 1);
  ASSERT_OK((*db)->Close());
  ASSERT_OK(DB::Destroy(options, path));
}

}  // namespace
}  // namespace sepal
