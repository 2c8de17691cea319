#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "util/stats/statistics_impl.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

TEST(StatisticsTest, EachTickerCountsItsOwn) {
  StatisticsImpl statistics;
  const auto count = static_cast<uint64_t>(Ticker::kCount);
  for (uint64_t i = 0; i < count; ++i) {
    statistics.Add(static_cast<Ticker>(i), i + 1);
    statistics.Add(static_cast<Ticker>(i));
  }
  for (uint64_t i = 0; i < count; ++i) EXPECT_EQ(statistics.Get(static_cast<Ticker>(i)), i + 2);
}

TEST(StatisticsTest, EachHistogramRecordsItsOwn) {
  StatisticsImpl statistics;
  const auto count = static_cast<uint64_t>(Histogram::kCount);
  for (uint64_t i = 0; i < count; ++i) {
    for (uint64_t n = 0; n <= i; ++n) statistics.Record(static_cast<Histogram>(i), 10 * (n + 1));
  }
  for (uint64_t i = 0; i < count; ++i) {
    const HistogramSummary s = statistics.Get(static_cast<Histogram>(i));
    EXPECT_EQ(s.count, i + 1);
    EXPECT_EQ(s.minimum, 10);
    EXPECT_EQ(s.maximum, 10.0 * static_cast<double>(i + 1));
    EXPECT_EQ(s.average, 5.0 * static_cast<double>(i + 2));
  }
}

TEST(StatisticsTest, EachLevelAndFieldOfTheFiltersCountsItsOwn) {
  StatisticsImpl statistics;
  for (uint64_t level = 0; level < kMaxLevels; ++level) {
    const LevelFilterStatistics delta = {.lookups = 100 + level,
                                         .guard_rejections = 50 + level,
                                         .lane_rejections = 20 + level,
                                         .blocks_searched = 10 + level,
                                         .false_positives = level};
    statistics.AddFilter(static_cast<int>(level), delta);
    statistics.AddFilter(static_cast<int>(level), delta);
  }
  for (uint64_t level = 0; level < kMaxLevels; ++level) {
    const LevelFilterStatistics got = statistics.GetFilter(static_cast<int>(level));
    EXPECT_EQ(got.lookups, 2 * (100 + level));
    EXPECT_EQ(got.guard_rejections, 2 * (50 + level));
    EXPECT_EQ(got.lane_rejections, 2 * (20 + level));
    EXPECT_EQ(got.blocks_searched, 2 * (10 + level));
    EXPECT_EQ(got.false_positives, 2 * level);
  }
  EXPECT_EQ(statistics.GetFilter(-1).lookups, 0u);
  EXPECT_EQ(statistics.GetFilter(kMaxLevels).lookups, 0u);
}

TEST(StatisticsTest, TheObservedRateIsFalsePositivesOverLookupsOfAbsentKeys) {
  EXPECT_EQ(LevelFilterStatistics{}.ObservedRate(), 0);
  // 100 lookups, of which 40 found their key and 3 were let through for nothing.
  const LevelFilterStatistics some = {
      .lookups = 100, .guard_rejections = 50, .lane_rejections = 7, .blocks_searched = 43, .false_positives = 3};
  EXPECT_DOUBLE_EQ(some.ObservedRate(), 3.0 / 60);
  const LevelFilterStatistics all_found = {.lookups = 5, .blocks_searched = 5};
  EXPECT_EQ(all_found.ObservedRate(), 0);
  const LevelFilterStatistics none_found = {.lookups = 4, .blocks_searched = 4, .false_positives = 4};
  EXPECT_EQ(none_found.ObservedRate(), 1);
}

TEST(StatisticsTest, ResetSetsEverythingToZeroAndCountingGoesOn) {
  StatisticsImpl statistics;
  statistics.Add(Ticker::kGets, 5);
  statistics.Record(Histogram::kGetMicros, 9);
  statistics.AddFilter(1, {.lookups = 3});
  statistics.Reset();
  EXPECT_EQ(statistics.ToString(), "");
  statistics.Record(Histogram::kGetMicros, 7);
  EXPECT_EQ(statistics.Get(Histogram::kGetMicros).minimum, 7);
  EXPECT_EQ(statistics.Get(Histogram::kGetMicros).maximum, 7);
}

TEST(StatisticsTest, WhatWasCountedBeforeAResetDoesNotComeBackFromWhoCountsMeanwhile) {
  StatisticsImpl statistics;
  std::atomic<uint64_t> begun{0}, done{0};
  std::atomic<bool> stop{false};
  {
    const Thread counting([&] {
      while (!stop.load()) {
        begun.fetch_add(1);
        StatisticsImpl::ThreadCounters counters = statistics.ForThisThread();
        counters.Add(Ticker::kGets);
        counters.AddFilter(0, {.lookups = 1});
        counters.Record(Histogram::kGetMicros, 1);
        done.fetch_add(1);
      }
    });
    for (int i = 0; i < 50'000; ++i) {
      const uint64_t before = done.load();
      statistics.Reset();
      const uint64_t gets = statistics.Get(Ticker::kGets);
      const uint64_t lookups = statistics.GetFilter(0).lookups;
      const uint64_t recorded = statistics.Get(Histogram::kGetMicros).count;
      const uint64_t meanwhile = begun.load() - before;
      if (gets <= meanwhile && lookups <= meanwhile && recorded <= meanwhile) continue;
      ADD_FAILURE() << i << ": " << gets << ", " << lookups << ", " << recorded << " of " << meanwhile;
      break;
    }
    stop.store(true);
  }
}

TEST(StatisticsTest, TheTextHasALineForEachThatIsNotZero) {
  StatisticsImpl statistics;
  EXPECT_EQ(statistics.ToString(), "");
  statistics.Add(Ticker::kBlockCacheHits, 12);
  statistics.Record(Histogram::kSyncMicros, 30);
  statistics.AddFilter(2, {.lookups = 10, .guard_rejections = 6, .lane_rejections = 3, .blocks_searched = 1});
  EXPECT_EQ(statistics.ToString(),
            "cache.block.hits COUNT : 12\n"
            "sync.micros P50 : 30.0 P95 : 30.0 P99 : 30.0 P99.9 : 30.0 P100 : 30 COUNT : 1 AVERAGE : 30.00\n"
            "filter.level.2 LOOKUPS : 10 GUARD.REJECTIONS : 6 LANE.REJECTIONS : 3 BLOCKS.SEARCHED : 1 "
            "FALSE.POSITIVES : 0 OBSERVED.RATE : 0.000000\n");
}

TEST(StatisticsTest, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (int i = 0; i < static_cast<int>(Ticker::kCount); ++i) names.insert(Name(static_cast<Ticker>(i)));
  for (int i = 0; i < static_cast<int>(Histogram::kCount); ++i) names.insert(Name(static_cast<Histogram>(i)));
  EXPECT_EQ(names.size(), static_cast<size_t>(Ticker::kCount) + static_cast<size_t>(Histogram::kCount));
  EXPECT_EQ(names.count("unknown"), 0u);
}

// More threads at once than there are slots of their own, so that some share one.
TEST(StatisticsTest, NoCountOfManyThreadsIsLost) {
  constexpr uint64_t kThreads = kExclusiveThreadSlots + 20;
  constexpr uint64_t kRounds = 200;
  StatisticsImpl statistics;
  std::vector<Notification> started(kThreads);
  Notification all_started;
  {
    std::vector<Thread> threads;
    for (uint64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        statistics.Add(Ticker::kSeeks);
        started[t].Notify();
        all_started.WaitForNotification();
        for (uint64_t i = 0; i < kRounds; ++i) {
          auto counters = statistics.ForThisThread();
          counters.Add(Ticker::kGets);
          counters.Add(Ticker::kWrites, 3);
          counters.AddFilter(0, {.lookups = 1, .lane_rejections = 2});
          counters.Record(Histogram::kGetMicros, i + 1);
        }
      });
    }
    for (Notification& one : started) one.WaitForNotification();
    all_started.Notify();
    EXPECT_EQ(statistics.Get(Ticker::kSeeks), kThreads);
    EXPECT_LE(statistics.Get(Ticker::kGets), kThreads * kRounds);
  }
  EXPECT_EQ(statistics.Get(Ticker::kGets), kThreads * kRounds);
  EXPECT_EQ(statistics.Get(Ticker::kWrites), 3 * kThreads * kRounds);
  EXPECT_EQ(statistics.GetFilter(0).lookups, kThreads * kRounds);
  EXPECT_EQ(statistics.GetFilter(0).lane_rejections, 2 * kThreads * kRounds);
  const HistogramSummary s = statistics.Get(Histogram::kGetMicros);
  EXPECT_EQ(s.count, kThreads * kRounds);
  EXPECT_EQ(s.minimum, 1);
  EXPECT_EQ(s.maximum, double{kRounds});
  EXPECT_DOUBLE_EQ(s.average, (kRounds + 1) / 2.0);
}

}  // namespace
}  // namespace sepal
