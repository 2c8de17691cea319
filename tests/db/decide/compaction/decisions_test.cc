// The smaller decisions: where tables end, how fast writers go, which files go.
#include <gtest/gtest.h>

#include "db/decide/compaction/level_targets.h"
#include "db/decide/pacing/background_pace.h"
#include "db/decide/pacing/stray_files.h"
#include "db/decide/pacing/throttle.h"
#include "db/decide/writing/flush_splitter.h"
#include "db/decide/writing/output_splitter.h"

namespace sepal {
namespace {

TEST(OutputSplitterTest, BeginsATableOnceTheLastIsFull) {
  OutputSplitter splitter({.max_table_bytes = 100});
  EXPECT_FALSE(splitter.BeginsTable("a", true, 0));
  EXPECT_FALSE(splitter.BeginsTable("b", true, 99));
  EXPECT_TRUE(splitter.BeginsTable("c", true, 100));
}

TEST(OutputSplitterTest, NeverSeparatesTheVersionsOfAKey) {
  OutputSplitter splitter({.max_table_bytes = 100, .max_overlap_bytes = 1, .grandparents = {{"a", 100}, {"b", 100}}});
  EXPECT_FALSE(splitter.BeginsTable("a", true, 0));
  EXPECT_FALSE(splitter.BeginsTable("c", false, 1000));
  EXPECT_TRUE(splitter.BeginsTable("d", true, 1000));
}

TEST(OutputSplitterTest, EndsWithTheNextLevelsTablesOnceHalfFull) {
  OutputSplitter splitter({.max_table_bytes = 100, .grandparents = {{"d", 10}, {"h", 10}, {"m", 10}}});
  EXPECT_FALSE(splitter.BeginsTable("a", true, 0));
  EXPECT_FALSE(splitter.BeginsTable("d", true, 30));
  EXPECT_FALSE(splitter.BeginsTable("e", true, 40));  // passed "d", but too small
  EXPECT_FALSE(splitter.BeginsTable("h", true, 80));  // nothing passed: "h" is in the table that ends there
  EXPECT_TRUE(splitter.BeginsTable("i", true, 81));
  EXPECT_FALSE(splitter.BeginsTable("k", true, 60));
}

TEST(OutputSplitterTest, LimitsWhatATableOverlapsBelow) {
  OutputSplitter splitter({.max_table_bytes = 1000,
                           .max_overlap_bytes = 25,
                           .grandparents = {{"b", 10}, {"d", 10}, {"f", 10}, {"h", 10}, {"j", 10}}});
  EXPECT_FALSE(splitter.BeginsTable("a", true, 0));
  EXPECT_FALSE(splitter.BeginsTable("e", true, 2));  // overlaps 20
  EXPECT_TRUE(splitter.BeginsTable("g", true, 3));   // would overlap 30
  EXPECT_FALSE(splitter.BeginsTable("i", true, 1));  // the count began again
}

TEST(OutputSplitterTest, ATableEndsBeforeItWouldReachOverACarriedOne) {
  OutputSplitter splitter({.max_table_bytes = 100, .carried = {"c", "d", "p"}});
  EXPECT_FALSE(splitter.BeginsTable("a", true, 0));
  EXPECT_FALSE(splitter.BeginsTable("b", true, 1));
  EXPECT_FALSE(splitter.BeginsTable("b", false, 2));
  EXPECT_TRUE(splitter.BeginsTable("e", true, 3));
  EXPECT_FALSE(splitter.BeginsTable("f", true, 1));
  EXPECT_TRUE(splitter.BeginsTable("q", true, 2));
  EXPECT_FALSE(splitter.BeginsTable("r", true, 1));
}

TEST(OutputSplitterTest, ThePlanMakesItsOptions) {
  CompactionPlan plan;
  plan.grandparents = {{"m", 5}};
  for (const char* largest : {"k", "c"}) {
    TableMetadata m;
    m.largest = InternalKey(largest, kFirstTrailer);
    plan.carried.push_back({1, RunNumber(1), {std::make_shared<TableFile>(m, nullptr)}});
  }
  const OutputSplitterOptions options = MakeSplitterOptions(plan, 7, 21, KeyOrder());
  EXPECT_EQ(options.max_table_bytes, 7u);
  EXPECT_EQ(options.max_overlap_bytes, 21u);
  EXPECT_EQ(options.grandparents.size(), 1u);
  EXPECT_EQ(options.carried, (std::vector<std::string>{"c", "k"}));
}

// Feeds sequence numbers of keys in order to a splitter that takes each entry for one byte; where tables began.
std::vector<size_t> Begins(FlushSplitter splitter, const std::vector<uint64_t>& sequences) {
  std::vector<size_t> begins;
  uint64_t bytes = 0;
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (splitter.BeginsTable(SequenceNumber(sequences[i]), true, [bytes] { return bytes; })) {
      begins.push_back(i);
      bytes = 0;
    }
    ++bytes;
  }
  return begins;
}

// Of writers that take turns, one entry each: the keys of the first, then those of the second, and so on.
std::vector<uint64_t> Interleaved(uint64_t writers, uint64_t entries_of_each) {
  std::vector<uint64_t> sequences;
  for (uint64_t writer = 0; writer < writers; ++writer) {
    for (uint64_t i = 0; i < entries_of_each; ++i) sequences.push_back(1 + writer + i * writers);
  }
  return sequences;
}

TEST(FlushSplitterTest, ATableEndsWhereTheRangeOfOneWriterEnds) {
  EXPECT_EQ(Begins(FlushSplitter({.min_table_bytes = 100}), Interleaved(3, 1000)), (std::vector<size_t>{1000, 2000}));
  EXPECT_EQ(Begins(FlushSplitter({.min_table_bytes = 100}), Interleaved(1, 1000)), std::vector<size_t>{});
}

TEST(FlushSplitterTest, ATableIsNotMadeSmallerThanItsLeast) {
  EXPECT_EQ(Begins(FlushSplitter({.min_table_bytes = 1500}), Interleaved(5, 1000)), (std::vector<size_t>{2000, 4000}));
}

TEST(FlushSplitterTest, TheRestOfARangeThatAnotherPartBeganIsATable) {
  std::vector<uint64_t> sequences = Interleaved(3, 1000);
  sequences.erase(sequences.begin(), sequences.begin() + 700);
  EXPECT_EQ(Begins(FlushSplitter({.min_table_bytes = 500}), sequences), std::vector<size_t>{1300});
  EXPECT_EQ(Begins(FlushSplitter({.min_table_bytes = 500, .continues = true}), sequences),
            (std::vector<size_t>{300, 1300}));
}

TEST(FlushSplitterTest, FewKeysInOrderAreNoRange) {
  constexpr uint64_t kFew = 50;
  EXPECT_EQ(Begins(FlushSplitter({.min_ascending = kFew, .min_table_bytes = 1}), Interleaved(4, kFew - 1)),
            std::vector<size_t>{});
  EXPECT_EQ(Begins(FlushSplitter({.min_ascending = kFew, .min_table_bytes = 1}), Interleaved(4, kFew)),
            (std::vector<size_t>{kFew, 2 * kFew, 3 * kFew}));
}

TEST(FlushSplitterTest, AShortRangeBehindMuchThatIsOutOfOrderEndsNoTable) {
  std::vector<uint64_t> sequences;
  for (uint64_t i = 0; i < 2000; ++i) sequences.push_back(5000 + (i * 7919) % 2000);
  for (uint64_t i = 0; i < 500; ++i) sequences.push_back(7000 + i);
  sequences.push_back(1);
  EXPECT_EQ(Begins(FlushSplitter({.min_table_bytes = 1}), sequences), std::vector<size_t>{});
  sequences.erase(sequences.begin(), sequences.begin() + 1000);
  EXPECT_EQ(Begins(FlushSplitter({.min_table_bytes = 1}), sequences), std::vector<size_t>{1500});
}

TEST(FlushSplitterTest, OlderVersionsOfAKeyAreNoEndOfARange) {
  FlushSplitter splitter({.min_table_bytes = 1});
  const auto ten = [] { return uint64_t{10}; };
  uint64_t begins = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    begins += splitter.BeginsTable(SequenceNumber(10'000 + i), true, ten) ? 1 : 0;
    begins += splitter.BeginsTable(SequenceNumber(i), false, ten) ? 1 : 0;
  }
  EXPECT_EQ(begins, 0u);
  EXPECT_TRUE(splitter.BeginsTable(SequenceNumber(5000), true, ten));
}

ThrottleLimits Limits() {
  return {.memtable_allowance_bytes = 1000,
          .memory_limit_bytes = 10000,
          .soft_level0_runs = 10,
          .hard_level0_runs = 30,
          .soft_debt_bytes = 1000,
          .hard_debt_bytes = 9000};
}

TEST(ThrottleTest, IsSilentBelowEverySoftPoint) {
  EXPECT_EQ(NextThrottleRate(Limits(), {}, {}), ThrottleRate{});
  EXPECT_EQ(NextThrottleRate(
                Limits(),
                {.memtable_bytes = 800, .unreclaimable_memory_bytes = 9000, .level0_runs = 10, .debt_bytes = 1000}, {}),
            ThrottleRate{});
  const uint64_t soft = SoftMemtableBytes(Limits());
  EXPECT_EQ(NextThrottleRate(Limits(), {.memtable_bytes = soft}, {}), ThrottleRate{});
  EXPECT_FALSE(NextThrottleRate(Limits(), {.memtable_bytes = soft + 1}, {}).unlimited());
}

// Applied until it rests.
ThrottleRate Settle(const ThrottleInput& input) {
  ThrottleRate rate;
  for (int i = 0; i < 60; ++i) rate = NextThrottleRate(Limits(), input, rate);
  return rate;
}

TEST(ThrottleTest, AShortWriteIsHeldToTheRateToo) {
  EXPECT_EQ(NanosAtRate(100, 400'000'000), 250u);
  EXPECT_EQ(NanosAtRate(100, kMaxThrottledRate), 93u);
  EXPECT_EQ(NanosAtRate(uint64_t{1} << 40, kMinThrottledRate), uint64_t{1'048'576} * 1'000'000'000);
}

TEST(ThrottleTest, TheRateFallsSmoothlyWithDebt) {
  double last = static_cast<double>(kMaxThrottledRate);
  for (uint64_t debt = 1000; debt <= 9000; debt += 80) {
    const ThrottleRate rate = Settle({.debt_bytes = debt});
    const double now =
        rate.unlimited() ? static_cast<double>(kMaxThrottledRate) : static_cast<double>(rate.bytes_per_second);
    EXPECT_LE(now, last);
    EXPECT_GT(now, last * 0.9) << "a cliff at " << debt;
    last = now;
  }
  EXPECT_NEAR(last, static_cast<double>(kMinThrottledRate), 2);
  EXPECT_EQ(Settle({.debt_bytes = 1u << 30}).bytes_per_second, Settle({.debt_bytes = 9000}).bytes_per_second);
}

TEST(ThrottleTest, OneStepGoesHalfOfTheWay) {
  const ThrottleRate first = NextThrottleRate(Limits(), {.level0_runs = 30}, {});
  EXPECT_EQ(first.bytes_per_second, uint64_t{1} << 25);  // between 2^30 and 2^20
  EXPECT_EQ(first.reason, "runs in level 0: 30 of 30");
  const ThrottleRate back = NextThrottleRate(Limits(), {}, first);
  EXPECT_GT(back.bytes_per_second, first.bytes_per_second);
  EXPECT_FALSE(back.unlimited());
  EXPECT_EQ(NextThrottleRate(Limits(), {}, NextThrottleRate(Limits(), {}, NextThrottleRate(Limits(), {}, back))),
            ThrottleRate{});
}

TEST(ThrottleTest, TheGreatestPressureGivesTheReason) {
  EXPECT_EQ(NextThrottleRate(Limits(), {.level0_runs = 11, .debt_bytes = 5000}, {}).reason,
            "compaction debt: 4.9 KiB of 8.8 KiB");
  EXPECT_EQ(NextThrottleRate(Limits(), {.memtable_bytes = 900, .level0_runs = 11}, {}).reason,
            "memtables: 900 B of 1000 B");
}

TEST(ThrottleTest, TellsWhetherCompactionsLagBehind) {
  EXPECT_TRUE(NextThrottleRate(Limits(), {.level0_runs = 11}, {}).compactions_lag);
  EXPECT_TRUE(NextThrottleRate(Limits(), {.debt_bytes = 5000}, {}).compactions_lag);
  EXPECT_FALSE(NextThrottleRate(Limits(), {.memtable_bytes = 900, .level0_runs = 11}, {}).compactions_lag);
  EXPECT_FALSE(NextThrottleRate(Limits(), {.unreclaimable_memory_bytes = 9900}, {}).compactions_lag);
  const ThrottleRate slowed = NextThrottleRate(Limits(), {.debt_bytes = 5000}, {});
  EXPECT_FALSE(NextThrottleRate(Limits(), {}, slowed).compactions_lag) << "the pressure is gone";
}

TEST(ThrottleTest, OnlyMemoryStopsWriters) {
  EXPECT_FALSE(Settle({.level0_runs = 100000, .debt_bytes = UINT64_MAX}).stopped());
  EXPECT_FALSE(Settle({.memtable_bytes = 999}).stopped());
  const ThrottleRate stopped = NextThrottleRate(Limits(), {.memtable_bytes = 1000}, {});
  EXPECT_TRUE(stopped.stopped());
  EXPECT_EQ(stopped.reason, "stopped, memtables: 1000 B of 1000 B");
  EXPECT_TRUE(NextThrottleRate(Limits(), {.unreclaimable_memory_bytes = 10000}, {}).stopped());
  EXPECT_FALSE(NextThrottleRate(Limits(), {}, stopped).stopped());
}

TEST(ThrottleTest, LimitsFollowFromThePolicy) {
  CompactionPolicy policy;
  policy.memtable_bytes = 100;
  const ThrottleLimits limits = MakeThrottleLimits(policy, 5, 7);
  EXPECT_EQ(limits.memtable_allowance_bytes, 5u);
  EXPECT_EQ(limits.memory_limit_bytes, 7u);
  EXPECT_GT(limits.soft_level0_runs, policy.runs_per_level);
  EXPECT_GT(limits.hard_level0_runs, limits.soft_level0_runs);
  // The ordinary debt, all of level 0 into a full last level, must not slow writers.
  EXPECT_GT(limits.soft_debt_bytes, LevelCapacity(policy, 1) + 4 * policy.memtable_bytes);
  EXPECT_GT(limits.hard_debt_bytes, limits.soft_debt_bytes);
}

TEST(ObsoleteFilesTest, NamesTablesLogsAndManifestsThatNobodyNeeds) {
  LiveFiles live;
  live.tables = {FileNumber(10), FileNumber(12)};
  live.pending = {FileNumber(13), FileNumber(3), FileNumber(21)};
  live.min_log_number = FileNumber(7);
  live.manifest_number = FileNumber(20);
  live.ring_number = FileNumber(5);
  const std::vector<std::string> listing = {"000010.sst",
                                            "000011.sst",
                                            "000012.sst",
                                            "000013.sst",
                                            "000003.log",
                                            "000006.log",
                                            "000007.log",
                                            "000008.log",
                                            "000003.ring",
                                            "000005.ring",
                                            "000008.ring",
                                            "MANIFEST-000019",
                                            "MANIFEST-000020",
                                            "MANIFEST-000021",
                                            "MANIFEST-000022",
                                            "LOCK",
                                            "LOG",
                                            "LOG.old",
                                            "notes.txt",
                                            "11.sst",
                                            "000011.sst.bak",
                                            "MANIFEST-",
                                            "000011.SST",
                                            "000005.log~",
                                            ".",
                                            "..",
                                            "000099.tmp"};
  EXPECT_EQ(ObsoleteFiles(listing, live),
            (std::vector<std::string>{"000011.sst", "000006.log", "000003.ring", "000008.ring", "MANIFEST-000019",
                                      "MANIFEST-000022"}));
  EXPECT_EQ(ObsoleteLogs(listing, live), (std::vector<std::string>{"000006.log", "000003.ring", "000008.ring"}));
}

TEST(ObsoleteFilesTest, NothingIsNamedWhereAllIsLive) {
  LiveFiles live;
  live.tables = {FileNumber(1)};
  live.manifest_number = FileNumber(2);
  const std::vector<std::string> listing = {"000001.sst", "MANIFEST-000002", "000003.log"};
  EXPECT_TRUE(ObsoleteFiles(listing, live).empty());
}

TEST(CompactionPolicyTest, FollowsTheFamilysOptions) {
  ColumnFamilyOptions options;
  options.compaction_style = CompactionStyle::kLeveled;
  const CompactionPolicy policy = MakeCompactionPolicy(options, 1234);
  EXPECT_EQ(policy.style, CompactionStyle::kLeveled);
  EXPECT_EQ(policy.memtable_bytes, 1234u);
  EXPECT_EQ(LevelCapacity(policy, 1), 4936u);
  EXPECT_EQ(LevelCapacity(policy, 2), 49360u);
  EXPECT_GE(LevelCapacity({.style = CompactionStyle::kLeveled, .memtable_bytes = uint64_t{1} << 60}, 7),
            uint64_t{1} << 62);
}

// A flush that begins every `interval` and works for `work` with each of its threads.
BackgroundPace PaceAfter(int threads, uint64_t interval, uint64_t work) {
  BackgroundPace pace(threads);
  for (uint64_t now = 1000; now < 1000 + 3 * interval; now += interval) {
    pace.BeginFlush(now);
    pace.EndFlush(work, pace.threads());
  }
  pace.BeginFlush(1000 + 3 * interval);
  return pace;
}

TEST(BackgroundPaceTest, IsCalmWhileMemtablesFillMuchMoreSlowlyThanTheyAreWritten) {
  EXPECT_FALSE(PaceAfter(2, 300, 100).calm());
  EXPECT_FALSE(PaceAfter(2, 1500, 100).calm()) << "two threads worked";
  EXPECT_TRUE(PaceAfter(2, 7000, 100).calm());
  EXPECT_FALSE(BackgroundPace(2).calm()) << "nothing is known yet";
}

TEST(BackgroundPaceTest, CalmItTakesACoreLessButOne) {
  EXPECT_EQ(PaceAfter(4, 300, 100).threads(), 4);
  EXPECT_EQ(PaceAfter(4, 70000, 100).threads(), 3);
  EXPECT_EQ(PaceAfter(2, 70000, 100).threads(), 1);
  EXPECT_EQ(PaceAfter(1, 70000, 100).threads(), 1);
}

// Debt would be worked off the more slowly, the more it slows writers down.
TEST(BackgroundPaceTest, IsNotCalmWhileWritersAreSlowedDown) {
  BackgroundPace pace = PaceAfter(2, 7000, 100);
  ASSERT_TRUE(pace.calm());
  pace.SetThrottled(true);
  EXPECT_FALSE(pace.calm());
  EXPECT_EQ(pace.threads(), 2);
}

TEST(BackgroundPaceTest, ACompactionLeavesWritersACoreUnlessSomebodyWaitsForIt) {
  BackgroundPace pace = PaceAfter(4, 300, 100);
  EXPECT_EQ(pace.compaction_threads(), 3);
  pace.SetResting(true);
  EXPECT_EQ(pace.compaction_threads(), 4);
  pace.SetResting(false);
  pace.SetThrottled(true);
  EXPECT_EQ(pace.compaction_threads(), 3) << "flushes lag behind";
  pace.SetCompactionsLag(true);
  EXPECT_EQ(pace.compaction_threads(), 4);
  pace.SetCompactionsLag(false);
  EXPECT_EQ(pace.compaction_threads(), 3);
  pace.SetAwaited(true);
  EXPECT_EQ(pace.compaction_threads(), 4);
  EXPECT_EQ(PaceAfter(1, 300, 100).compaction_threads(), 1);
}

TEST(BackgroundPaceTest, AnEarlyFlushLeavesHalfToTheNextUnlessSomebodyWaitsForIt) {
  BackgroundPace pace = PaceAfter(4, 300, 100);
  EXPECT_EQ(pace.early_flush_threads(), 2);
  pace.SetFlushAwaited(true);
  EXPECT_EQ(pace.early_flush_threads(), 4);
  EXPECT_EQ(PaceAfter(1, 300, 100).early_flush_threads(), 1);
}

TEST(BackgroundPaceTest, TheFirstFlushThatFollowsSoonEndsIt) {
  BackgroundPace pace = PaceAfter(2, 7000, 100);
  ASSERT_TRUE(pace.calm());
  pace.EndFlush(100, 1);
  pace.BeginFlush(1000 + 3 * 7000 + 300);
  EXPECT_FALSE(pace.calm());
}

}  // namespace
}  // namespace sepal
