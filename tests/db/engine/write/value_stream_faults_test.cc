// Values that are written in parts, when the power goes, the disk is full or fails, and beside other writers.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/db/engine/write/value_streams_fixture.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

constexpr uint64_t kFaultBytes = 2 * kTestChunk + 10;

using ValueStreamFaultsTest = ValueStreamsTest;

// `at`: of the calls of the file system during the put, the one from which on all fail.
void StreamUntil(uint64_t at, CrashMode mode, bool sync, bool* reached) {
  SCOPED_TRACE("call " + std::to_string(at) + ", mode " + std::to_string(static_cast<int>(mode)));
  TestDatabase database;
  database.tuning.streamed_from = 1000;
  ASSERT_OK(database.Open());
  ASSERT_OK(database.db->Put("k", "old", {.sync = true}));
  uint64_t calls = 0;
  database.files.SetDecider([&](const FileCall&) { return calls++ >= at ? Fault::kIoError : Fault::kNone; });
  MadeSource source(1, kFaultBytes, /*most=*/kTestChunk);
  const absl::Status status = database.db->PutStream("k", kFaultBytes, source, {.sync = sync});
  *reached = database.files.FaultCount() > 0;
  database.files.Clear();
  ASSERT_OK(database.CrashAndReopen(mode, at));
  const std::string value = Value(database.db.get(), "k");
  const bool is_new = value == Made(1, 0, kFaultBytes);
  EXPECT_TRUE(is_new || value == "old") << value.size();
  const bool stays = status.ok() && (sync || mode == CrashMode::kKillProcess);
  EXPECT_TRUE(is_new || !stays) << "an acknowledged put is lost";
  EXPECT_OK(database.db->VerifyChecksums({}));
  EXPECT_OK(database.db->CheckConsistency());
  ASSERT_OK(database.db->Close());
  size_t files = 0;
  for (const std::string& name : FilesIn(&database.memory, "/db")) files += name.ends_with(".val") ? 1 : 0;
  EXPECT_EQ(files, is_new ? 1u : 0u) << "a file that nothing refers to";
}

TEST(ValueStreamCrashTest, AfterACrashAtAnyStepTheKeyHasTheOldValueOrTheWholeNewOne) {
  for (const bool sync : {true, false}) {
    for (const CrashMode mode : {CrashMode::kKillProcess, CrashMode::kLoseUnsynced, CrashMode::kAnySubset}) {
      bool reached = true;
      uint64_t calls = 0;
      for (; reached; ++calls) ASSERT_NO_FATAL_FAILURE(StreamUntil(calls, mode, sync, &reached));
      EXPECT_GT(calls, 5u);
    }
  }
}

TEST_F(ValueStreamFaultsTest, TheDiskIsFullWhileAStreamIsWritten) {
  ASSERT_OK(db()->Put("k", "old"));
  for (const FileOp op : {FileOp::kOpenWrite, FileOp::kAllocate, FileOp::kWriteAt, FileOp::kSync}) {
    for (const Fault fault : {Fault::kNoSpace, Fault::kShortWrite}) {
      if (fault == Fault::kShortWrite && op != FileOp::kWriteAt) continue;
      database.files.Inject({.fault = fault, .op = op, .name_contains = ".val", .sticky = true});
      const absl::Status status = PutMade("k", 1, kFaultBytes);
      EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
      database.files.Clear();
      EXPECT_EQ(Value(db(), "k"), "old");
      ASSERT_OK(db()->Put("other", "is still written"));
    }
  }
  AwaitFiles(0);
  EXPECT_EQ(StreamFiles(), 0u);
  ASSERT_OK(PutMade("k", 1, kFaultBytes));
  ASSERT_NO_FATAL_FAILURE(ExpectMade("k", 1, kFaultBytes));
}

// Nothing refers to it, so that what the page cache has of it does not matter.
TEST_F(ValueStreamFaultsTest, AFailedSyncOfAStreamEndsThatPutAlone) {
  for (const FileOp op : {FileOp::kSync, FileOp::kWriteAt}) {
    database.files.Inject({.fault = Fault::kIoError, .op = op, .name_contains = ".val"});
    EXPECT_TRUE(absl::IsInternal(PutMade("k", 1, kFaultBytes)));
    database.files.Clear();
    EXPECT_EQ(Value(db(), "k"), "NOT_FOUND");
    ASSERT_OK(db()->Put("other", Large("o"), {.sync = true}));
    ASSERT_OK(PutMade("k" + std::to_string(static_cast<int>(op)), 1, kFaultBytes));
  }
}

TEST_F(ValueStreamFaultsTest, AnOpeningTakesItAsItIsAndReadsNextToNothingOfIt) {
  ASSERT_OK(db()->Put("first", "opens a log"));
  ASSERT_OK(PutMade("k", 1, uint64_t{2} << 20));
  const std::vector<std::string> files = Files(FileKind::kValues);
  database.memory.Crash(CrashMode::kKillProcess, 0);
  database.db.reset();
  uint64_t read = 0;
  database.files.SetDecider([&](const FileCall& call) {
    if (call.op == FileOp::kRead && call.name.ends_with(".val")) read += call.length;
    return Fault::kNone;
  });
  ASSERT_OK(database.Open());
  database.files.Clear();
  EXPECT_LE(read, 1000u);
  EXPECT_EQ(Files(FileKind::kValues), files) << "it was not written anew";
  ASSERT_NO_FATAL_FAILURE(ExpectMade("k", 1, uint64_t{2} << 20));
}

TEST(ConcurrentValueStreamsTest, StreamsAndPutsOfSeveralThreadsAllLand) {
  TestDatabase database(Threads::kReal);
  database.options.memory_limit = size_t{64} << 20;
  database.options.family.separate_from = 100;
  database.tuning.streamed_from = 1000;
  ASSERT_OK(database.Open());
  DB* const db = database.db.get();
  constexpr int kThreads = 4, kRounds = 12;
  std::vector<Thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < kRounds; ++round) {
        const std::string key = "key" + std::to_string(thread);
        const uint64_t bytes = 1000 + static_cast<uint64_t>(round) * 20'000;
        MadeSource source(static_cast<uint64_t>(thread * 100 + round), bytes, 5000);
        EXPECT_OK(db->PutStream(key, bytes, source, {.sync = round % 3 == 0}));
        EXPECT_OK(db->Put("put" + key, Large(key, 400)));
        std::string buffer(500, '\0');
        EXPECT_OK(db->ReadValue(key, 100, buffer).status());
        // Another thread's, of which no more is known than that it is there in the end.
        const absl::Status other = db->ReadValue("key" + std::to_string((thread + 1) % kThreads), 400, buffer).status();
        EXPECT_TRUE(other.ok() || absl::IsNotFound(other)) << other;
        if (round % 5 == 4) {
          EXPECT_OK(db->Flush());
        }
      }
    });
  }
  threads.clear();
  for (int thread = 0; thread < kThreads; ++thread) {
    const uint64_t bytes = 1000 + (kRounds - 1) * 20'000;
    EXPECT_TRUE(Value(db, "key" + std::to_string(thread)) ==
                Made(static_cast<uint64_t>(thread * 100 + kRounds - 1), 0, bytes));
  }
  EXPECT_OK(db->VerifyChecksums({}));
  ASSERT_OK(database.Reopen());
  EXPECT_OK(database.db->VerifyChecksums({}));
}

}  // namespace
}  // namespace sepal
