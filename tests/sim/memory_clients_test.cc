// Several clients of one in-memory store: how each dies alone, what it loses, and who fences whom.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "sepal/simulation/memory_file_system.h"

namespace sepal {
namespace {

constexpr Capabilities kRemote = {.remote = true, .outlives_process = false, .fences = true};

std::unique_ptr<Directory> OpenDb(MemoryFileSystem& of) { return of.OpenDirectory("/db", true).value(); }
std::unique_ptr<WritableFile> CreateIn(Directory& directory, std::string_view name) {
  return directory.OpenForWrite(name, WriteMode::kCreateNew).value();
}

TEST(MemoryClientsTest, AClientDiesAloneAndLetsItsLocksGo) {
  MemoryFileSystem a;
  MemoryFileSystem b = a.AnotherClient();
  const auto db_a = OpenDb(a), db_b = OpenDb(b);
  const auto lock = db_a->Lock("LOCK").value();
  const auto file = CreateIn(*db_b, "f");
  a.KillClient();
  EXPECT_EQ(lock->Check().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(db_a->List().status().code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(file->Append("x").ok());
  EXPECT_TRUE(db_b->Lock("LOCK").ok());
  EXPECT_TRUE(OpenDb(a)->OpenForRead("f").ok());
}

TEST(MemoryClientsTest, WithoutOutlivesProcessAnySuffixOfWhatWasNotSyncedIsLost) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    MemoryFileSystem a(kRemote);
    MemoryFileSystem b = a.AnotherClient();
    const auto db = OpenDb(a), other = OpenDb(b);
    const auto file = CreateIn(*db, "f");
    ASSERT_TRUE(file->Append("synced").ok());
    ASSERT_TRUE(file->Sync().ok());
    for (const char* part : {"1", "2", "3"}) ASSERT_TRUE(file->Append(part).ok());
    const auto theirs = CreateIn(*other, "g");
    ASSERT_TRUE(theirs->Append("not synced either").ok());
    seed % 2 == 0 ? a.KillClient(seed) : a.Crash(CrashMode::kKillProcess, seed);
    seen.insert(b.ReadFileContents("/db/f").value());
    if (seed % 2 == 0) {
      EXPECT_EQ(b.ReadFileContents("/db/g").value(), "not synced either");
    }
  }
  EXPECT_EQ(seen, (std::set<std::string>{"synced", "synced1", "synced12", "synced123"}));
}

TEST(MemoryClientsTest, WhatIsTakenBackIsWhatWasThereBefore) {
  MemoryFileSystem a(kRemote);
  MemoryFileSystem b = a.AnotherClient();
  const auto db = OpenDb(a);
  const auto file = CreateIn(*db, "f");
  ASSERT_TRUE(file->Append("0123456789").ok());
  ASSERT_TRUE(file->Sync().ok());
  const auto lock = db->Lock("LOCK").value();
  ASSERT_TRUE(file->WriteAt(2, "ab").ok());
  ASSERT_TRUE(file->Truncate(5).ok());
  ASSERT_TRUE(file->WriteAt(8, "xyz").ok());
  ASSERT_TRUE(file->Truncate(20).ok());
  const auto taken = OpenDb(b)->Lock("LOCK", LockRequest::kTakeOver).value();
  EXPECT_EQ(b.ReadFileContents("/db/f").value(), "0123456789");
  // Its own reads and those of others agree.
  std::string buffer(20, '?');
  EXPECT_EQ(db->OpenForRead("f").value()->Read(0, 20, buffer.data()).value(), 10u);
}

TEST(MemoryClientsTest, WithOutlivesProcessNothingWrittenIsLost) {
  MemoryFileSystem a;
  const auto db = OpenDb(a);
  const auto file = CreateIn(*db, "f");
  ASSERT_TRUE(file->Append("written").ok());
  a.KillClient(7);
  EXPECT_EQ(a.ReadFileContents("/db/f").value(), "written");
}

TEST(MemoryClientsTest, WhoTakesAnExpiredLockFencesItsHolder) {
  MemoryFileSystem a(kRemote);
  MemoryFileSystem b = a.AnotherClient();
  const auto db = OpenDb(a);
  const auto lock = db->Lock("LOCK").value();
  const auto file = CreateIn(*db, "f");
  a.ExpireLocks();
  EXPECT_TRUE(lock->Check().ok());  // nobody has taken it yet
  const auto theirs = OpenDb(b);
  const auto taken = theirs->Lock("LOCK").value();
  EXPECT_EQ(file->Append("late").code(), absl::StatusCode::kAborted);
  EXPECT_EQ(lock->Check().code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(taken->Check().ok());
  // A process that begins anew is no longer fenced, but waits for its turn.
  a.KillClient();
  EXPECT_EQ(OpenDb(a)->Lock("LOCK").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(OpenDb(a)->Lock("LOCK", LockRequest::kTakeOver).ok());
  EXPECT_EQ(taken->Check().code(), absl::StatusCode::kAborted);
}

TEST(MemoryClientsTest, AFileThatAnotherClientRemovedIsReadNoMore) {
  MemoryFileSystem a;
  MemoryFileSystem b = a.AnotherClient();
  const auto db_a = OpenDb(a), db_b = OpenDb(b);
  ASSERT_TRUE(CreateIn(*db_a, "f")->Append("x").ok());
  const auto mine = db_a->OpenForRead("f").value(), theirs = db_b->OpenForRead("f").value();
  ASSERT_TRUE(db_a->Remove("f").ok());
  char byte = 0;
  EXPECT_TRUE(mine->Read(0, 1, &byte).ok());
  EXPECT_EQ(theirs->Read(0, 1, &byte).status().code(), absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace sepal
