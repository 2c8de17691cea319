// Writes with conditions.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/db/engine/engine_fixture.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

class WriteIfTest : public EngineTest {};

TEST_F(WriteIfTest, PutIfAbsentPutsOnce) {
  EXPECT_TRUE(db()->PutIfAbsent("k", "1").value());
  EXPECT_FALSE(db()->PutIfAbsent("k", "2").value());
  EXPECT_EQ(Value(db(), "k"), "1");
  ASSERT_OK(db()->Delete("k"));
  EXPECT_TRUE(db()->PutIfAbsent("k", "3").value());
  EXPECT_EQ(Value(db(), "k"), "3");
}

TEST_F(WriteIfTest, CompareAndSetChangesWhatIsExpectedAlone) {
  EXPECT_FALSE(db()->CompareAndSet("k", "1", "2").value());
  EXPECT_TRUE(db()->CompareAndSet("k", std::nullopt, "1").value());
  EXPECT_FALSE(db()->CompareAndSet("k", std::nullopt, "2").value());
  EXPECT_FALSE(db()->CompareAndSet("k", "", "2").value());
  EXPECT_TRUE(db()->CompareAndSet("k", "1", "2").value());
  EXPECT_TRUE(db()->CompareAndSet("k", "2", std::nullopt).value());
  EXPECT_EQ(Value(db(), "k"), "NOT_FOUND");
}

TEST_F(WriteIfTest, DeleteIfDeletesWhatIsExpectedAlone) {
  ASSERT_OK(db()->Put("k", "1"));
  EXPECT_FALSE(db()->DeleteIf("k", "2").value());
  EXPECT_TRUE(db()->DeleteIf("k", "1").value());
  EXPECT_FALSE(db()->DeleteIf("k", "1").value());
}

TEST_F(WriteIfTest, AllConditionsOfABatchMustHoldInAllFamilies) {
  const std::shared_ptr<ColumnFamily> other = db()->CreateColumnFamily("other").value();
  ASSERT_OK(db()->Put("a", "1"));
  ASSERT_OK(db()->Put(*other, "a", "2"));
  WriteBatch batch;
  batch.Put("done", "yes");
  batch.Put(*other, "done", "yes");
  WriteConditions conditions;
  conditions.Present("a").Equals(*other, "a", "2").Absent("b").Present(*other, "b");
  EXPECT_FALSE(db()->WriteIf(conditions, batch).value());
  EXPECT_EQ(Value(db(), "done"), "NOT_FOUND");
  ASSERT_OK(db()->Put(*other, "b", ""));
  EXPECT_TRUE(db()->WriteIf(conditions, batch, {.sync = true}).value());
  EXPECT_EQ(Value(db(), "done"), "yes");
  EXPECT_EQ(db()->Get(*other, "done").value(), "yes");
  EXPECT_TRUE(db()->WriteIf(WriteConditions(), WriteBatch()).value()) << "no conditions hold";
}

TEST_F(WriteIfTest, ConditionsLookIntoTablesAndDeletedRanges) {
  Fill(0, 300);
  ASSERT_OK(db()->CompactRange());
  EXPECT_FALSE(db()->PutIfAbsent(NumberedKey(100), "x").value());
  ASSERT_OK(db()->DeleteRange(NumberedKey(50), NumberedKey(150)));
  EXPECT_TRUE(db()->PutIfAbsent(NumberedKey(100), "x").value());
}

TEST_F(WriteIfTest, BadInputIsRefused) {
  TestDatabase elsewhere;
  ASSERT_OK(elsewhere.Open());
  const std::shared_ptr<ColumnFamily> foreign = elsewhere.db->CreateColumnFamily("foreign").value();
  EXPECT_TRUE(absl::IsInvalidArgument(db()->PutIfAbsent(*foreign, "k", "v").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(db()->PutIfAbsent(std::string(kMaxKeyBytes + 1, 'k'), "v").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(db()->PutIfAbsent("k", "v", {.sync = true, .disable_wal = true}).status()));
  ASSERT_OK(db()->Close());
  EXPECT_TRUE(absl::IsFailedPrecondition(db()->PutIfAbsent("k", "v").status()));
}

TEST_F(WriteIfTest, ARefusedWriteLeavesNoTraceAfterACrash) {
  ASSERT_OK(db()->Put("k", "1", {.sync = true}));
  EXPECT_FALSE(db()->CompareAndSet("k", "2", "3", {.sync = true}).value());
  EXPECT_TRUE(db()->CompareAndSet("k", "1", "4", {.sync = true}).value());
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(Value(db(), "k"), "4");
}

// Each increment must be of what the last one left: none is lost, whatever the schedule.
TEST_F(WriteIfTest, ConcurrentIncrementsAreAllCounted) {
  constexpr int kWriters = 4, kEach = 60;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    TestDatabase simulated(Threads::kSimulated, seed, 4);
    ASSERT_OK(simulated.Open());
    ASSERT_OK(simulated.db->Put("n", "0"));
    for (int writer = 0; writer < kWriters; ++writer) {
      simulated.world->Spawn([&, db = simulated.db.get(), writer] {
        for (int done = 0; done < kEach;) {
          const std::string now = *db->Get("n");
          const std::string next = std::to_string(std::stoi(now) + 1);
          const absl::StatusOr<bool> set = db->CompareAndSet("n", now, next);
          ASSERT_OK(set.status());
          done += *set ? 1 : 0;
          ASSERT_OK(db->Put(NumberedKey(static_cast<uint64_t>(writer * 1000 + done)), std::string(200, 'f')));
        }
      });
    }
    simulated.world->RunUntilIdle();
    EXPECT_EQ(Value(simulated.db.get(), "n"), std::to_string(kWriters * kEach)) << "seed " << seed;
  }
}

// Without the fixture, whose simulated world would schedule this thread's waits.
TEST(WriteIfThreadsTest, ThreadsPutEachKeyIfAbsentOnceInParallel) {
  TestDatabase real(Threads::kReal);
  ASSERT_OK(real.Open());
  std::atomic<int> put{0};
  {
    std::vector<Thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (uint64_t i = 0; i < 500; ++i) {
          const absl::StatusOr<bool> done = real.db->PutIfAbsent(NumberedKey(i), std::to_string(t));
          ASSERT_OK(done.status());
          put += *done ? 1 : 0;
        }
      });
    }
  }
  EXPECT_EQ(put, 500);
}

}  // namespace
}  // namespace sepal
