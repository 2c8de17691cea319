// Locks without a database: who waits, for how long, and who is refused. With simulated threads, so that each test's
// schedule is its own.
#include "db/engine/transaction/lock_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "sepal/simulation/simulated_world.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/base/random.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

const ColumnFamilyId kFamily(1);
const KeyOrder kOrder;

class LockTableTest : public ::testing::Test {
 protected:
  absl::Status Lock(LockTable::Owner* owner, std::string_view key, LockMode mode = LockMode::kExclusive,
                    milliseconds timeout = milliseconds(0)) {
    return locks.LockKey(owner, kFamily, kOrder, key, mode, timeout);
  }
  absl::Status LockRange(LockTable::Owner* owner, std::string_view begin, std::string_view end,
                         milliseconds timeout = milliseconds(0)) {
    return locks.LockRange(owner, kFamily, kOrder,
                           {.begin = std::string(begin), .end = std::string(end), .end_inclusive = false}, timeout);
  }
  // In a thread of its own, after so long: locks the key, notes `name`, and lets go.
  void Ask(LockTable::Owner* owner, std::string_view key, LockMode mode, uint64_t after_micros, std::string_view name) {
    world.Spawn([=, this] {
      world.SleepMicros(after_micros);
      EXPECT_OK(Lock(owner, key, mode, milliseconds(10'000)));
      let_in += std::string(name) + " ";
      locks.ReleaseAll(owner);
    });
  }
  void Release(LockTable::Owner* owner, uint64_t after_micros) {
    world.Spawn([=, this] {
      world.SleepMicros(after_micros);
      locks.ReleaseAll(owner);
    });
  }
  void TearDown() override {
    for (LockTable::Owner* owner : {&a, &b, &c}) locks.ReleaseAll(owner);
    EXPECT_EQ(locks.size(), 0u);
    EXPECT_EQ(budget.used(MemoryPart::kTransactions), 0u);
  }

  SimulatedWorld world{SimulationOptions{.seed = 5}};
  MemoryBudget budget{size_t{1} << 20};
  LockTable locks{&budget, &world};
  LockTable::Owner a{1}, b{2}, c{3};
  std::string let_in;  // the order in which they were
};

TEST_F(LockTableTest, AnExclusiveLockKeepsOthersOutUntilItIsReleased) {
  ASSERT_OK(Lock(&a, "k"));
  EXPECT_OK(Lock(&a, "k"));
  EXPECT_OK(Lock(&b, "other"));
  const absl::Status refused = Lock(&b, "k");
  EXPECT_TRUE(absl::IsDeadlineExceeded(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("key \"k\""));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Lock(&b, "k", LockMode::kShared)));
  locks.ReleaseAll(&a);
  EXPECT_OK(Lock(&b, "k"));
}

TEST_F(LockTableTest, TheSameKeyOfAnotherFamilyIsAnotherLock) {
  ASSERT_OK(Lock(&a, "k"));
  EXPECT_OK(locks.LockKey(&b, ColumnFamilyId(2), kOrder, "k", LockMode::kExclusive, milliseconds(0)));
}

TEST_F(LockTableTest, SharedLocksGoTogetherAndOneAloneBecomesExclusive) {
  ASSERT_OK(Lock(&a, "k", LockMode::kShared));
  ASSERT_OK(Lock(&b, "k", LockMode::kShared));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Lock(&a, "k")));
  locks.ReleaseAll(&b);
  EXPECT_OK(Lock(&a, "k"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Lock(&b, "k", LockMode::kShared)));
}

TEST_F(LockTableTest, ARangeExcludesKeysAndRangesThatReachIntoIt) {
  ASSERT_OK(LockRange(&a, "c", "f"));
  EXPECT_OK(Lock(&a, "d"));
  EXPECT_OK(Lock(&b, "b"));
  EXPECT_OK(Lock(&b, "f"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Lock(&b, "c")));
  EXPECT_TRUE(absl::IsDeadlineExceeded(LockRange(&b, "a", "d")));
  EXPECT_OK(LockRange(&b, "f", "z"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(LockRange(&c, "a", "bb"))) << "b is locked";
  locks.ReleaseAll(&b);
  EXPECT_OK(LockRange(&c, "a", "bb"));
}

TEST_F(LockTableTest, AnOwnerHoldsEachKeyAndRangeOnceHoweverOftenItAsks) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(Lock(&a, "b"));
    ASSERT_OK(LockRange(&a, "c", "f"));
    ASSERT_OK(LockRange(&a, "d", "f"));
  }
  EXPECT_EQ(locks.size(), 2u);
  ASSERT_OK(LockRange(&a, "d", "g"));
  EXPECT_EQ(locks.size(), 3u);
}

TEST_F(LockTableTest, InAnOrderThatHoldsBytesEqualAKeyIsLockedInAllItsSpellings) {
  class FirstLetter final : public Comparator {
   public:
    int Compare(std::string_view x, std::string_view y) const override {
      return x.substr(0, 1).compare(y.substr(0, 1));
    }
    std::string_view Name() const override { return "test.FirstLetter"; }
    bool EqualMeansIdentical() const override { return false; }
  };
  const FirstLetter first_letter;
  const KeyOrder order(&first_letter);
  const auto lock = [&](LockTable::Owner* owner, std::string_view key, LockMode mode) {
    return locks.LockKey(owner, kFamily, order, key, mode, milliseconds(0));
  };
  ASSERT_OK(lock(&a, "xa", LockMode::kShared));
  EXPECT_OK(lock(&b, "xb", LockMode::kShared));
  EXPECT_TRUE(absl::IsDeadlineExceeded(lock(&b, "xc", LockMode::kExclusive)));
  EXPECT_OK(lock(&b, "ya", LockMode::kExclusive));
  EXPECT_OK(lock(&b, "yb", LockMode::kExclusive));
  EXPECT_TRUE(absl::IsDeadlineExceeded(lock(&a, "yc", LockMode::kShared)));
  EXPECT_EQ(locks.size(), 3u);
}

TEST_F(LockTableTest, WaitersAreLetInInTheOrderInWhichTheyCame) {
  ASSERT_OK(Lock(&a, "k"));
  Ask(&b, "k", LockMode::kExclusive, 0, "b");
  Ask(&c, "k", LockMode::kExclusive, 1000, "c");
  world.Spawn([&] {
    world.SleepMicros(100'000);
    EXPECT_EQ(let_in, "");
    locks.ReleaseAll(&a);
  });
  world.RunUntilIdle();
  EXPECT_EQ(let_in, "b c ");
}

TEST_F(LockTableTest, AReaderDoesNotOvertakeAWriterThatWaits) {
  ASSERT_OK(Lock(&a, "k", LockMode::kShared));
  Ask(&b, "k", LockMode::kExclusive, 0, "writer");
  Ask(&c, "k", LockMode::kShared, 1000, "reader");
  Release(&a, 100'000);
  world.RunUntilIdle();
  EXPECT_EQ(let_in, "writer reader ");
}

TEST_F(LockTableTest, AWaitEndsAtItsTimeAndLeavesNothingBehind) {
  ASSERT_OK(Lock(&a, "k"));
  world.Spawn([&] {
    const uint64_t began = world.MonotonicMicros();
    EXPECT_TRUE(absl::IsDeadlineExceeded(Lock(&b, "k", LockMode::kExclusive, milliseconds(50))));
    EXPECT_GE(world.MonotonicMicros() - began, 50'000u);
  });
  world.RunUntilIdle();
  locks.ReleaseAll(&a);
  EXPECT_OK(Lock(&c, "k"));
}

TEST_F(LockTableTest, TheYoungestOfADeadlockIsRefusedAndTheOthersGoOn) {
  ASSERT_OK(Lock(&a, "x"));
  ASSERT_OK(Lock(&b, "y"));
  absl::Status younger;
  world.Spawn([&] {
    younger = Lock(&b, "x", LockMode::kExclusive, milliseconds(10'000));
    locks.ReleaseAll(&b);
  });
  world.Spawn([&] {
    world.SleepMicros(1000);
    EXPECT_OK(Lock(&a, "y", LockMode::kExclusive, milliseconds(10'000)));
  });
  const uint64_t began = world.MonotonicMicros();
  world.RunUntilIdle();
  EXPECT_LT(world.MonotonicMicros() - began, 1'000'000u) << "found at once, and not by a timeout";
  EXPECT_TRUE(absl::IsAborted(younger)) << younger;
  EXPECT_THAT(std::string(younger.message()), HasSubstr("1 for key \"y\", 2 for key \"x\""));
}

TEST_F(LockTableTest, TwoThatBothWantTheirSharedLockExclusivelyAreADeadlock) {
  ASSERT_OK(Lock(&a, "k", LockMode::kShared));
  ASSERT_OK(Lock(&b, "k", LockMode::kShared));
  absl::Status first, second;
  world.Spawn([&] { first = Lock(&a, "k", LockMode::kExclusive, milliseconds(10'000)); });
  world.Spawn([&] {
    world.SleepMicros(1000);
    second = Lock(&b, "k", LockMode::kExclusive, milliseconds(10'000));
    locks.ReleaseAll(&b);
  });
  world.RunUntilIdle();
  EXPECT_OK(first);
  EXPECT_TRUE(absl::IsAborted(second)) << second;
}

// In line before the upgrade stands a writer, which waits for the very lock that is upgraded: no deadlock.
TEST_F(LockTableTest, AnUpgradeGoesBeforeAWriterThatWaitsForIt) {
  ASSERT_OK(Lock(&a, "k", LockMode::kShared));
  Ask(&b, "k", LockMode::kExclusive, 0, "writer");
  Ask(&a, "k", LockMode::kExclusive, 1000, "upgraded");
  world.RunUntilIdle();
  EXPECT_EQ(let_in, "upgraded writer ");
}

// A scan has locked a range around the key for which a writer waits, in line before the one that has scanned.
TEST_F(LockTableTest, TheOwnerOfARangeAroundAKeyGoesBeforeAWriterThatWaitsForIt) {
  ASSERT_OK(locks.LockRange(&a, kFamily, kOrder, {.begin = "a", .end = "z"}, milliseconds(0), LockMode::kShared));
  ASSERT_OK(Lock(&c, "k", LockMode::kShared));
  Ask(&b, "k", LockMode::kExclusive, 0, "writer");
  Ask(&a, "k", LockMode::kExclusive, 1000, "scanner");
  Release(&c, 2000);
  world.RunUntilIdle();
  EXPECT_EQ(let_in, "scanner writer ");
}

// A reader in line behind the writer waits for it, and so for the upgrade: the upgrade does not wait for the reader.
TEST_F(LockTableTest, AnUpgradeGoesBeforeAReaderThatWaitsBehindAWriter) {
  ASSERT_OK(Lock(&a, "k", LockMode::kShared));
  Ask(&b, "k", LockMode::kExclusive, 0, "writer");
  Ask(&c, "k", LockMode::kShared, 1000, "reader");
  Ask(&a, "k", LockMode::kExclusive, 2000, "upgraded");
  world.RunUntilIdle();
  EXPECT_EQ(let_in, "upgraded writer reader ");
}

// `b` waits for `c` alone. The range that `a` asks for has a key of its own in it, and `b`'s: it waits for `b`, and `b`
// not for it.
TEST_F(LockTableTest, ARequestForARangeDoesNotOvertakeOneThatWaitsForAnother) {
  ASSERT_OK(Lock(&a, "n"));
  ASSERT_OK(Lock(&b, "x"));
  ASSERT_OK(Lock(&c, "m"));
  Ask(&b, "m", LockMode::kExclusive, 0, "b");
  world.Spawn([&] {
    world.SleepMicros(1000);
    EXPECT_OK(LockRange(&a, "k", "z", milliseconds(10'000)));
    let_in += "a ";
  });
  Release(&c, 2000);
  world.RunUntilIdle();
  EXPECT_EQ(let_in, "b a ");
}

// `b` stands in line behind `d`, which waits for `a`. Once `a` waits for `b`, `d` does too, and `b` need not wait for
// it.
TEST_F(LockTableTest, AWaitLetsInARequestThatWasBehindOneThatNowWaitsForIt) {
  LockTable::Owner d{4};
  ASSERT_OK(Lock(&a, "k", LockMode::kShared));
  ASSERT_OK(Lock(&b, "m"));
  Ask(&d, "k", LockMode::kExclusive, 0, "d");
  Ask(&b, "k", LockMode::kShared, 1000, "b");
  Ask(&a, "m", LockMode::kExclusive, 2000, "a");
  const uint64_t began = world.MonotonicMicros();
  world.RunUntilIdle();
  EXPECT_LT(world.MonotonicMicros() - began, 1'000'000u);
  EXPECT_EQ(let_in, "b a d ");
}

TEST_F(LockTableTest, OnceItIsClosedNobodyWaits) {
  ASSERT_OK(Lock(&a, "k"));
  absl::Status waiting;
  world.Spawn([&] { waiting = Lock(&b, "k", LockMode::kExclusive, milliseconds(10'000)); });
  world.Spawn([&] {
    world.SleepMicros(1000);
    locks.Close();
  });
  const uint64_t began = world.MonotonicMicros();
  world.RunUntilIdle();
  EXPECT_LT(world.MonotonicMicros() - began, 1'000'000u);
  EXPECT_TRUE(absl::IsFailedPrecondition(waiting)) << waiting;
  EXPECT_TRUE(absl::IsFailedPrecondition(Lock(&c, "k", LockMode::kShared, milliseconds(10'000))));
  EXPECT_OK(Lock(&c, "free"));
}

// Owners that lock some of few keys in any order and mode, and a range at times, and hold them for a while.
void LockAtRandom(LockTable* table, Clock* clock, uint64_t seed, std::atomic<uint64_t>* next_id, int rounds) {
  Random random(seed);
  for (int round = 0; round < rounds; ++round) {
    LockTable::Owner owner(next_id->fetch_add(1));
    for (uint64_t count = 1 + random.Uniform(4); count > 0; --count) {
      const std::string key(1, static_cast<char>('a' + random.Uniform(5)));
      const auto mode = random.OneIn(2) ? LockMode::kShared : LockMode::kExclusive;
      const milliseconds timeout(random.Uniform(4));
      const absl::Status status = random.OneIn(8)
                                      ? table->LockRange(&owner, kFamily, kOrder, {.begin = key, .end = "d"}, timeout)
                                      : table->LockKey(&owner, kFamily, kOrder, key, mode, timeout);
      ASSERT_TRUE(status.ok() || absl::IsAborted(status) || absl::IsDeadlineExceeded(status)) << status;
      if (absl::IsAborted(status)) break;
      if (random.OneIn(4)) clock->SleepMicros(random.Uniform(2000));
    }
    table->ReleaseAll(&owner);
  }
}

TEST_F(LockTableTest, NothingIsLeftOfOwnersThatLockAtRandom) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SimulatedWorld random_world(SimulationOptions{.seed = seed, .switch_one_in = 3});
    LockTable table(&budget, &random_world);
    std::atomic<uint64_t> next_id{1};
    for (uint64_t thread = 0; thread < 5; ++thread) {
      random_world.Spawn([&, thread] { LockAtRandom(&table, &random_world, 100 * seed + thread, &next_id, 20); });
    }
    random_world.RunUntilIdle();
    ASSERT_EQ(table.size(), 0u) << "seed " << seed;
  }
}

// Without the fixture, whose simulated world would schedule this thread's waits.
TEST(LockTableThreadsTest, NothingIsLeftOfThreadsThatLockAtRandom) {
  MemoryBudget budget(size_t{1} << 20);
  LockTable table(&budget, Clock::System());
  std::atomic<uint64_t> next_id{1};
  {
    std::vector<Thread> threads;
    for (uint64_t thread = 0; thread < 6; ++thread) {
      threads.emplace_back([&, thread] { LockAtRandom(&table, Clock::System(), thread, &next_id, 200); });
    }
  }
  EXPECT_EQ(table.size(), 0u);
}

TEST_F(LockTableTest, LocksAreRefusedWhenTheyDoNotFitIntoTheLimit) {
  absl::Status status;
  int taken = 0;
  for (; status.ok(); ++taken) status = Lock(&a, std::to_string(taken) + std::string(1000, 'k'));
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_GT(taken, 400);
  EXPECT_LE(budget.total(), budget.limit_bytes() / 2);
  // The write gate has let in a write without a transaction.
  LockTable::Owner plain(4, LockTable::Owner::Kind::kPlainWrite);
  EXPECT_OK(Lock(&plain, std::string(1000, 'p')));
  locks.ReleaseAll(&plain);
  locks.ReleaseAll(&a);
  EXPECT_OK(Lock(&a, "k"));
}

}  // namespace
}  // namespace sepal
