// Databases that another client takes over (Options::take_over), on the in-memory store.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

constexpr Capabilities kRemote = {.remote = true, .outlives_process = false, .fences = true};

// One process with the database.
struct Holder {
  Holder(Threads threads, uint64_t seed, MemoryFileSystem client)
      : database(threads, {.seed = seed, .switch_one_in = 8}, std::move(client)) {
    database.options.take_over = true;
    // Every other seed has its large values in files of their own.
    if (seed % 2 == 1) database.options.family.separate_from = 64;
  }
  TestDatabase database;
};

void ExpectAborted(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
  EXPECT_THAT(std::string(ToStd(status.message())), HasSubstr("taken"));
}

TEST(TakeOverTest, TheFencedWriterIsToldByEveryCallAndNothingAcknowledgedIsLost) {
  for (const Capabilities capabilities : {kRemote, Capabilities{.map = true, .hard_link = true, .fences = true}}) {
    Holder first(Threads::kReal, 1, MemoryFileSystem(capabilities));
    ASSERT_OK(first.database.Open());
    DB* const db = first.database.db.get();
    for (int i = 0; i < 300; ++i) {
      ASSERT_OK(db->Put(NumberedKey(i), "synced", {.sync = true}));
    }
    ASSERT_OK(db->Put("maybe", "not synced"));

    Holder second(Threads::kReal, 2, first.database.memory.AnotherClient());
    ASSERT_OK(second.database.Open());
    ExpectAborted(db->Put("late", "synced", {.sync = true}));
    ExpectAborted(db->Put("later", "synced", {.sync = true}));
    ExpectAborted(db->Flush());
    EXPECT_FALSE(db->Sync().ok());
    EXPECT_EQ(Value(db, NumberedKey(7)), "synced");  // its reads go on
    ExpectAborted(db->Close());

    DB* const now = second.database.db.get();
    for (int i = 0; i < 300; ++i) EXPECT_EQ(Value(now, NumberedKey(i)), "synced") << i;
    EXPECT_EQ(Value(now, "late"), "NOT_FOUND");
    ASSERT_OK(now->Put("new", "owner", {.sync = true}));
    ASSERT_OK(second.database.Reopen());
    EXPECT_EQ(Value(second.database.db.get(), "new"), "owner");
  }
}

TEST(TakeOverTest, EachWritersPutsAreAPrefixHoweverOftenItIsTakenOver) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    std::vector<std::unique_ptr<Holder>> holders;
    std::vector<int> acknowledged;
    holders.push_back(std::make_unique<Holder>(Threads::kSimulated, seed, MemoryFileSystem(kRemote)));
    for (int round = 0; round < 5; ++round) {
      if (round > 0) {
        MemoryFileSystem& before = holders.back()->database.memory;
        if ((seed + round) % 3 == 0) before.ExpireLocks();
        if ((seed + round) % 3 == 1) before.KillClient(seed);
        holders.push_back(std::make_unique<Holder>(Threads::kReal, seed * 100 + round, before.AnotherClient()));
        // One simulation runs all of them.
        holders.back()->database.options.env.clock = holders.front()->database.clock.get();
        holders.back()->database.options.env.executor = holders.front()->database.world.get();
        holders.back()->database.options.take_over = (seed + round) % 3 == 2;
      }
      ASSERT_OK(holders.back()->database.Open());
      DB* const db = holders.back()->database.db.get();
      int synced = 0;
      for (int i = 0; i < 200; ++i) {
        const bool sync = (i * 7 + seed) % 31 == 0;
        ASSERT_OK(db->Put(std::to_string(round) + "/" + NumberedKey(i), std::string(100, 'v'), {.sync = sync}));
        if (sync) synced = i + 1;
      }
      acknowledged.push_back(synced);
      for (int of = 0; of < round; ++of) {
        int there = 0;
        const auto key = [&](int i) { return std::to_string(of) + "/" + NumberedKey(i); };
        while (there < 200 && Value(db, key(there)) != "NOT_FOUND") ++there;
        EXPECT_GE(there, acknowledged[of]) << "writer " << of << " of seed " << seed;
        for (int i = there; i < 200; ++i) EXPECT_EQ(Value(db, key(i)), "NOT_FOUND") << "a hole before " << i;
      }
    }
    for (size_t i = 0; i + 1 < holders.size(); ++i) {
      EXPECT_FALSE(holders[i]->database.db->Put("late", "v", {.sync = true}).ok());
      EXPECT_FALSE(holders[i]->database.db->Close().ok());
    }
    EXPECT_EQ(Value(holders.back()->database.db.get(), "late"), "NOT_FOUND");
    while (!holders.empty()) holders.pop_back();  // the first has the simulation
  }
}

TEST(TakeOverTest, WithoutTheOptionTheDatabaseIsInUse) {
  Holder first(Threads::kReal, 1, MemoryFileSystem(kRemote));
  ASSERT_OK(first.database.Open());
  Holder second(Threads::kReal, 2, first.database.memory.AnotherClient());
  second.database.options.take_over = false;
  EXPECT_EQ(second.database.Open().code(), absl::StatusCode::kUnavailable);
  ASSERT_OK(first.database.db->Put("k", "v", {.sync = true}));
}

TEST(TakeOverTest, ALogDirectoryIsTakenOverToo) {
  Holder first(Threads::kReal, 1, MemoryFileSystem(kRemote));
  first.database.options.log_directory = "/logs";
  ASSERT_OK(first.database.Open());
  ASSERT_OK(first.database.db->Put("k", "v", {.sync = true}));
  Holder second(Threads::kReal, 2, first.database.memory.AnotherClient());
  ASSERT_OK(second.database.Open());
  EXPECT_EQ(Value(second.database.db.get(), "k"), "v");
  ExpectAborted(first.database.db->Put("late", "v", {.sync = true}));
}

TEST(TakeOverTest, AFileSystemThatCannotFenceIsRefusedBeforeAnythingIsMade) {
  Holder holder(Threads::kReal, 1, MemoryFileSystem({.map = true}));
  const absl::Status refused = holder.database.Open();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(ToStd(refused.message())), HasSubstr("open it without take_over"));
  EXPECT_TRUE(holder.database.memory.OpenDirectory(holder.database.path, true).value()->List()->empty());
  holder.database.options.read_only = true;
  holder.database.options.create_if_missing = false;
  EXPECT_EQ(holder.database.Open().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sepal
