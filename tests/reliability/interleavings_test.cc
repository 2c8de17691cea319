#include <gtest/gtest.h>

#include <string>

#include "tests/reliability/expect_nothing_found.h"
#include "tests/reliability/interleaved_history.h"
#include "tests/reliability/interleaved_run.h"

namespace sepal::reliability {
namespace {

using Seen = std::vector<InterleavedHistory::SeenVersion>;

InterleavedHistory HistoryOf(std::vector<uint64_t> values) {
  InterleavedHistory history(static_cast<uint32_t>(values.size()));
  history.Begin({.values = std::move(values)});
  return history;
}

bool Says(const InterleavedHistory& history, std::string_view what) {
  return history.broken().find(what) != std::string::npos;
}

// Reads as of the beginning, then writes.
void ReadAndWrite(InterleavedHistory* history, uint64_t number, const Seen& seen, uint32_t key) {
  history->Commit({.number = number, .serializable = true, .snapshot = 0, .seen = seen, .writes = {{key, number}}},
                  /*prepared=*/false, /*durable=*/false);
}

TEST(InterleavedHistoryTest, TransactionsOneAfterAnotherAreRight) {
  InterleavedHistory history = HistoryOf({7, kNothing});
  for (uint64_t number = 1; number <= 3; ++number) {
    const uint32_t now = history.position();
    history.Commit({.number = number,
                    .serializable = true,
                    .snapshot = now,
                    .seen = {history.Read(number, 0, now == 0 ? 7 : 10 * (number - 1), now),
                             history.Read(number, 1, kNothing, now)},
                    .writes = {{0, 10 * number}}},
                   /*prepared=*/false, /*durable=*/number == 2);
  }
  EXPECT_FALSE(history.HasCycle(/*all_reads=*/true));
  history.Survive({.values = {20, kNothing}}, /*everything=*/false);
  history.Survive({.values = {30, kNothing}}, /*everything=*/true);
  EXPECT_EQ(history.broken(), "");
}

TEST(InterleavedHistoryTest, ALostUpdateIsSeen) {
  InterleavedHistory history = HistoryOf({7});
  const Seen first = {history.Read(1, 0, 7, 0)};
  const Seen second = {history.Read(2, 0, 7, 0)};
  ReadAndWrite(&history, 1, first, 0);
  EXPECT_EQ(history.broken(), "");
  ReadAndWrite(&history, 2, second, 0);
  EXPECT_TRUE(Says(history, "lost update")) << history.broken();
  EXPECT_TRUE(history.HasCycle(/*all_reads=*/false));
}

TEST(InterleavedHistoryTest, ABlindWriteOverWhatCameAfterTheSnapshotIsALostUpdate) {
  InterleavedHistory history = HistoryOf({7});
  ReadAndWrite(&history, 1, {}, 0);
  ReadAndWrite(&history, 2, {}, 0);
  EXPECT_TRUE(Says(history, "lost update")) << history.broken();
}

// Each read before the other one's write.
TEST(InterleavedHistoryTest, WriteSkewIsACycleOfSerializableReads) {
  for (const bool serializable : {false, true}) {
    InterleavedHistory history = HistoryOf({7, 8});
    const Seen first = {history.Read(1, 0, 7, 0), history.Read(1, 1, 8, 0)};
    const Seen second = {history.Read(2, 0, 7, 0), history.Read(2, 1, 8, 0)};
    history.Commit({.number = 1, .serializable = serializable, .snapshot = 0, .seen = first, .writes = {{0, 1}}}, false,
                   false);
    history.Commit({.number = 2, .serializable = serializable, .snapshot = 0, .seen = second, .writes = {{1, 2}}},
                   false, false);
    EXPECT_EQ(history.broken(), "");
    EXPECT_EQ(history.HasCycle(/*all_reads=*/false), serializable);
    EXPECT_TRUE(history.HasCycle(/*all_reads=*/true));
  }
}

// Both looked whether the other one's key is there.
TEST(InterleavedHistoryTest, APhantomIsACycle) {
  InterleavedHistory history = HistoryOf({kNothing, kNothing});
  const Seen first = {history.Read(1, 1, kNothing, 0)};
  const Seen second = {history.Read(2, 0, kNothing, 0)};
  ReadAndWrite(&history, 1, first, 0);
  ReadAndWrite(&history, 2, second, 1);
  EXPECT_EQ(history.broken(), "");
  EXPECT_TRUE(history.HasCycle(/*all_reads=*/false));
}

// The delete may have left no trace.
TEST(InterleavedHistoryTest, AKeyThatIsNotThereAgainIsAsItWas) {
  InterleavedHistory history = HistoryOf({kNothing, 8});
  const Seen first = {history.Read(1, 0, kNothing, 0), history.Read(1, 1, 8, 0)};
  ReadAndWrite(&history, 2, {}, 0);
  const Seen third = {history.Read(3, 1, 8, 1)};
  history.Commit({.number = 3, .serializable = true, .snapshot = 1, .seen = third, .writes = {{0, kNothing}}}, false,
                 false);
  ReadAndWrite(&history, 1, first, 0);
  EXPECT_EQ(history.broken(), "");
  EXPECT_FALSE(history.HasCycle(/*all_reads=*/true));
}

TEST(InterleavedHistoryTest, ReadSkewIsSeen) {
  InterleavedHistory history = HistoryOf({7, 8});
  history.Read(2, 0, 7, 0);
  history.Commit({.number = 1, .writes = {{0, 1}, {1, 2}}}, false, false);
  EXPECT_EQ(history.broken(), "");
  history.Read(2, 1, 2, 0);
  EXPECT_TRUE(Says(history, "as of its snapshot")) << history.broken();
}

TEST(InterleavedHistoryTest, AReadThatMissesACommitIsSeen) {
  InterleavedHistory history = HistoryOf({7});
  history.Commit({.number = 1, .writes = {{0, 1}}}, false, false);
  history.Read(2, 0, 7, history.position());
  EXPECT_TRUE(Says(history, "as of its snapshot")) << history.broken();
}

TEST(InterleavedHistoryTest, ADirtyReadIsSeen) {
  InterleavedHistory history = HistoryOf({7});
  history.Read(2, 0, 99, 0);
  EXPECT_TRUE(Says(history, "never committed")) << history.broken();
}

TEST(InterleavedHistoryTest, AWriteBesideALockIsSeen) {
  InterleavedHistory history = HistoryOf({7, 8});
  history.Hold(1, 0);
  history.Commit({.number = 2, .writes = {{1, 2}}}, false, false);
  history.Commit({.number = 1, .writes = {{0, 3}}}, false, false);
  EXPECT_EQ(history.broken(), "");
  history.Commit({.number = 2, .writes = {{0, 4}}}, false, false);
  EXPECT_TRUE(Says(history, "holds the lock")) << history.broken();
  InterleavedHistory twice = HistoryOf({7});
  twice.Hold(1, 0);
  twice.Hold(2, 0);
  EXPECT_TRUE(Says(twice, "got the lock")) << twice.broken();
}

TEST(InterleavedHistoryTest, ALostDurableCommitIsSeen) {
  InterleavedHistory history = HistoryOf({7});
  history.Commit({.number = 1, .writes = {{0, 1}}}, false, /*durable=*/false);
  history.Commit({.number = 2, .writes = {{0, 2}}}, false, /*durable=*/true);
  history.Commit({.number = 3, .writes = {{0, 3}}}, false, /*durable=*/false);
  history.Survive({.values = {2}}, /*everything=*/false);
  history.Survive({.values = {3}}, /*everything=*/false);
  EXPECT_EQ(history.broken(), "");
  history.Survive({.values = {1}}, /*everything=*/false);
  EXPECT_TRUE(Says(history, "durable")) << history.broken();
}

TEST(InterleavedHistoryTest, AfterTheDeathOfTheProcessAloneEverythingStands) {
  InterleavedHistory history = HistoryOf({7});
  history.Commit({.number = 1, .writes = {{0, 1}}}, false, false);
  history.Survive({.values = {7}}, /*everything=*/false);
  EXPECT_EQ(history.broken(), "");
  history.Survive({.values = {7}}, /*everything=*/true);
  EXPECT_NE(history.broken(), "");
}

TEST(InterleavedHistoryTest, HalfATransactionAfterACrashIsSeen) {
  InterleavedHistory history = HistoryOf({7, 8});
  history.Commit({.number = 1, .writes = {{0, 1}, {1, 2}}}, false, false);
  history.Survive({.values = {1, 8}}, /*everything=*/false);
  EXPECT_TRUE(Says(history, "a part")) << history.broken();
}

TEST(InterleavedHistoryTest, ALaterCommitWithoutAnEarlierOneIsSeen) {
  InterleavedHistory history = HistoryOf({7, 8});
  history.Commit({.number = 1, .writes = {{0, 1}}}, false, false);
  history.Commit({.number = 2, .writes = {{1, 2}}}, false, false);
  history.Survive({.values = {7, 2}}, /*everything=*/false);
  EXPECT_NE(history.broken(), "");
}

TEST(InterleavedHistoryTest, WhatWasPreparedComesBackUntilItsEndIsThere) {
  const auto after = [](const InterleavedHistory::Standing& standing) {
    InterleavedHistory history = HistoryOf({7});
    history.Prepare(1);
    history.Commit({.number = 1, .writes = {{0, 1}}}, /*prepared=*/true, /*durable=*/false);
    history.Survive(standing, /*everything=*/false);
    return history.broken();
  };
  EXPECT_EQ(after({.values = {7}, .prepared = {1}}), "");
  EXPECT_EQ(after({.values = {1}, .prepared = {}}), "");
  EXPECT_NE(after({.values = {7}, .prepared = {}}), "");
  EXPECT_NE(after({.values = {1}, .prepared = {1}}), "");
  InterleavedHistory ended = HistoryOf({7});
  ended.Prepare(1);
  ended.RollBackPrepared(1);
  ended.Survive({.values = {7}, .prepared = {1}}, /*everything=*/false);
  EXPECT_NE(ended.broken(), "");
}

// 100,000 transactions.
TEST(InterleavingsHarnessTest, ASampleOfTransactionsBesideEachOtherIsSerializable) {
  ExpectNothingFound("interleavings", {.count = 10});
}

TEST(InterleavingsHarnessTest, EverythingHappensBesideEverythingElse) {
  InterleavedRun run({.seed = 2});
  ASSERT_EQ(run.Run(), "");
  const InterleavedRun::Counts& counts = run.counts();
  EXPECT_GT(counts.skewed, 0u);
  EXPECT_GT(counts.aborted, 100u);
  EXPECT_GT(counts.refused, 100u);
  EXPECT_GT(counts.prepared, 50u);
  EXPECT_GT(counts.came_back, 10u);
  EXPECT_GT(counts.read_only, 500u);
  EXPECT_GT(counts.committed, 6000u);
}

TEST(InterleavingsHarnessTest, ASeedGivesTheSameTransactionsAgain) {
  const auto fingerprint_of = [](const SeededCase& what) {
    InterleavedRun run(what);
    EXPECT_EQ(run.Run(), "");
    return run.fingerprint();
  };
  EXPECT_EQ(fingerprint_of({.seed = 6}), fingerprint_of({.seed = 6}));
  EXPECT_NE(fingerprint_of({.seed = 6}), fingerprint_of({.seed = 7}));
  EXPECT_NE(fingerprint_of({.seed = 6}), fingerprint_of({.seed = 6, .parts = Parts({1, 2, 3, 50, 51, 52})}));
}

}  // namespace
}  // namespace sepal::reliability
