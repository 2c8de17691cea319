// Random flushes and the picker's plans, carried out on a model tree whose entries are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "absl/strings/str_format.h"
#include "tests/db/decide/compaction/model_tree.h"
#include "util/base/random.h"

namespace sepal {
namespace {

constexpr CompactionStyle kStyles[] = {CompactionStyle::kLazyLeveling, CompactionStyle::kLeveled,
                                       CompactionStyle::kUniversal};

CompactionPolicy SmallPolicy(CompactionStyle style, uint64_t memtable) {
  CompactionPolicy policy;
  policy.style = style;
  policy.memtable_bytes = memtable;
  policy.fanout = 1;
  policy.max_table_bytes = memtable / 2;
  policy.min_dense_tombstones = 5;
  policy.min_rest_bytes = 1;
  return policy;
}

// Flushes of various shapes, up to two jobs at a time that end in any order, snapshots that come and go, manual ranges,
// and a change of style.
void RunRandomHistory(CompactionStyle style, CompactionStyle other_style, uint64_t seed) {
  Random random(seed);
  CompactionPolicy policy = SmallPolicy(style, 20);
  policy.unread_runs = style == CompactionStyle::kLeveled ? 0 : static_cast<int>(seed % 3 * 4);
  ModelTree tree(policy);
  const bool only_single_deletes = random.OneIn(2);
  absl::flat_hash_map<uint32_t, bool> present;
  for (int step = 0; step < 150; ++step) {
    const uint32_t base = static_cast<uint32_t>(random.Uniform(200));
    const uint64_t spread = random.OneIn(3) ? 20 : 250;
    const bool deleting = random.OneIn(5);
    for (uint64_t n = random.Uniform(25); n > 0; --n) {
      const uint32_t key = base + static_cast<uint32_t>(random.Uniform(spread));
      const bool tombstone = random.OneIn(deleting ? 1 : 6);
      if (!only_single_deletes) {
        tree.Update(key, tombstone ? ValueKind::kDelete : ValueKind::kPut);
      } else if (present[key] || !tombstone) {  // put and single delete by turns
        tree.Update(key, present[key] ? ValueKind::kSingleDelete : ValueKind::kPut);
        present[key] = !present[key];
      }
    }
    tree.flush_table_bytes = random.OneIn(2) ? UINT64_MAX : 1 + random.Uniform(8);
    tree.Flush();
    if (random.OneIn(10)) tree.snapshots.push_back(tree.sequence());
    if (random.OneIn(12) && !tree.snapshots.empty()) {
      tree.snapshots.erase(tree.snapshots.begin() + static_cast<ptrdiff_t>(random.Uniform(tree.snapshots.size())));
    }
    if (random.OneIn(15)) {
      const std::string begin = KeyText(base);
      const std::string end = KeyText(base + 50);
      tree.Adopt(PlanRange(tree.Input(), tree.Call({begin, end})).plan);
    }
    tree.at_rest = random.OneIn(4);
    while (tree.running() < 2 && tree.Start()) {
    }
    while (tree.running() > 0 && random.OneIn(2)) tree.Finish(random.Uniform(tree.running()));
    if (step == 100) tree.UseStyle(other_style);
    if (step % 3 != 0) continue;
    ASSERT_NO_FATAL_FAILURE(tree.ExpectRightViews()) << "seed " << seed << ", step " << step;
  }
  ASSERT_TRUE(tree.Drain()) << "seed " << seed << "\n" << tree.version().ToString();
  ASSERT_NO_FATAL_FAILURE(tree.ExpectRightViews()) << "seed " << seed;
  EXPECT_EQ(CompactionDebtBytes(tree.version(), tree.policy()), 0u) << tree.version().ToString();
}

TEST(CompactionSimulationTest, LazyLevelingKeepsEveryViewAndComesToRest) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    ASSERT_NO_FATAL_FAILURE(RunRandomHistory(CompactionStyle::kLazyLeveling, CompactionStyle::kLazyLeveling, seed));
  }
}

TEST(CompactionSimulationTest, LeveledKeepsEveryViewAndComesToRest) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    ASSERT_NO_FATAL_FAILURE(RunRandomHistory(CompactionStyle::kLeveled, CompactionStyle::kLeveled, seed));
  }
}

TEST(CompactionSimulationTest, UniversalKeepsEveryViewAndComesToRest) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    ASSERT_NO_FATAL_FAILURE(RunRandomHistory(CompactionStyle::kUniversal, CompactionStyle::kUniversal, seed));
  }
}

TEST(CompactionSimulationTest, AStyleMayChangeFromOneOpeningToTheNext) {
  for (const CompactionStyle before : kStyles) {
    for (const CompactionStyle after : kStyles) {
      if (before == after) continue;
      for (uint64_t seed = 0; seed < 3; ++seed) ASSERT_NO_FATAL_FAILURE(RunRandomHistory(before, after, seed));
    }
  }
}

TEST(CompactionSimulationTest, AManualRangeEndsInOneRunWithoutTombstones) {
  for (const CompactionStyle style : kStyles) {
    Random random(7);
    ModelTree tree(SmallPolicy(style, 50));
    for (int flush = 0; flush < 23; ++flush) {
      for (int i = 0; i < 50; ++i) {
        tree.Update(static_cast<uint32_t>(random.Uniform(400)), random.OneIn(4) ? ValueKind::kDelete : ValueKind::kPut);
      }
      tree.Flush();
      if (tree.Start()) tree.Finish(0);
    }
    RangeCall call = tree.Call({});
    for (int steps = 0;; ++steps) {
      ASSERT_LT(steps, 20);
      RangeStep step = PlanRange(tree.Input(), call);
      ASSERT_FALSE(step.blocked);
      if (!tree.Adopt(std::move(step.plan))) break;
      call.brought_down = true;
      tree.Finish(0);
      tree.Update(1, ValueKind::kPut);  // new data arrives all the while
      tree.Flush();
    }
    tree.ExpectRightViews();
    const int deepest = tree.version().DeepestLevel();
    for (const LevelRun& r : tree.version().runs()) EXPECT_TRUE(r.level == 0 || r.level == deepest);
    ASSERT_EQ(tree.version().NumRuns(deepest), 1);
    EXPECT_EQ(tree.version().level(deepest)[0]->tombstones(), 0u);
    for (const TableRef& table : tree.version().level(deepest)[0]->tables()) {
      EXPECT_EQ(table->metadata().highest_sequence, SequenceNumber(0));
    }
  }
}

// Beside the call's own compactions the picker's go on, and end sooner.
TEST(CompactionSimulationTest, AManualRangeEndsWhileCompactionsBesideItBringNewDataDown) {
  for (const CompactionStyle style : kStyles) {
    Random random(7);
    ModelTree tree(SmallPolicy(style, 50));
    const auto flush = [&] {
      for (int i = 0; i < 50; ++i) tree.Update(static_cast<uint32_t>(random.Uniform(1000)), ValueKind::kPut);
      tree.Flush();
    };
    for (int i = 0; i < 60; ++i) flush();
    ASSERT_TRUE(tree.Drain());
    flush();
    tree.Update(1, ValueKind::kPut);  // between the call's flush and its look at the last sequence number
    RangeCall call = tree.Call({});
    int plans = 0;
    for (int steps = 0;; ++steps) {
      ASSERT_LT(steps, 100) << Name(style) << ", " << plans << " plans";
      RangeStep step = PlanRange(tree.Input(), call);
      if (step.blocked) {
        tree.Finish(0);
        continue;
      }
      if (!tree.Adopt(std::move(step.plan))) break;
      call.brought_down = true;
      ++plans;
      const size_t own = tree.running() - 1;
      for (int i = 0; i < 12; ++i) {
        flush();
        while (tree.Start()) {
        }
        while (tree.running() > own + 1) tree.Finish(own + 1);
      }
      tree.Finish(own);
      while (tree.Start()) {
      }
    }
    EXPECT_LT(plans, 6) << Name(style);
    ASSERT_TRUE(tree.Drain());
    tree.ExpectRightViews();
  }
}

struct WriteCost {
  double amplification;
  int most_runs;
  int last_level;
};

// Fresh keys in random order, compactions keeping up.
WriteCost FillRandom(CompactionPolicy policy, int flushes, bool with_sketches = true) {
  Random random(1);
  ModelTree tree(policy);
  tree.with_sketches = with_sketches;
  for (int flush = 0; flush < flushes; ++flush) {
    for (uint64_t i = 0; i < policy.memtable_bytes; ++i) {
      tree.Update(static_cast<uint32_t>(random.Uniform(900000000)), ValueKind::kPut);
    }
    tree.Flush();
    EXPECT_TRUE(tree.Drain());
  }
  return {static_cast<double>(tree.written()) / static_cast<double>(tree.flushed()), tree.most_runs(),
          tree.version().DeepestLevel()};
}

TEST(CompactionSimulationTest, LazyLevelingWritesNoMoreThanItsHeaderSays) {
  const CompactionPolicy policy = SmallPolicy(CompactionStyle::kLazyLeveling, 100);
  int last_level = 2;
  for (const int flushes : {30, 200, 1000}) {
    const WriteCost known = FillRandom(policy, flushes);
    EXPECT_EQ(known.last_level, last_level);
    EXPECT_GT(known.amplification, last_level - 0.5);
    EXPECT_LT(known.amplification, last_level + 1);
    EXPECT_LE(known.most_runs, policy.runs_per_level * last_level + 1);
    const WriteCost unknown = FillRandom(policy, flushes, /*with_sketches=*/false);
    EXPECT_LT(unknown.amplification, last_level + 2);
    EXPECT_LE(unknown.most_runs, policy.runs_per_level * last_level + 1);
    RecordProperty(absl::StrFormat("after_%d", flushes),
                   absl::StrFormat("%.2f, %d runs; without sketches %.2f, %d runs", known.amplification,
                                   known.most_runs, unknown.amplification, unknown.most_runs));
    ++last_level;
  }
}

TEST(CompactionSimulationTest, WhatNobodyReadsIsWrittenAlmostOnceLess) {
  CompactionPolicy policy = SmallPolicy(CompactionStyle::kLazyLeveling, 100);
  for (const int flushes : {30, 200, 1000}) {
    policy.unread_runs = 0;
    const WriteCost read = FillRandom(policy, flushes);
    policy.unread_runs = 26;
    const WriteCost unread = FillRandom(policy, flushes);
    EXPECT_LT(unread.amplification, read.amplification - 0.5) << flushes;
    EXPECT_LE(unread.most_runs, policy.unread_runs + policy.runs_per_level * std::max(1, unread.last_level) + 1);
    RecordProperty(absl::StrFormat("after_%d", flushes),
                   absl::StrFormat("read %.2f, %d runs; unread %.2f, %d runs", read.amplification, read.most_runs,
                                   unread.amplification, unread.most_runs));
  }
}

TEST(CompactionSimulationTest, LeveledWritesNoMoreThanItsHeaderSays) {
  CompactionPolicy policy = SmallPolicy(CompactionStyle::kLeveled, 100);
  policy.fanout = 10;
  const WriteCost cost = FillRandom(policy, 200);
  EXPECT_GT(cost.amplification, 4);
  EXPECT_LT(cost.amplification, 11);
  EXPECT_LE(cost.most_runs, policy.runs_per_level + 3);
  RecordProperty("amplification", absl::StrFormat("%.2f", cost.amplification));
}

TEST(CompactionSimulationTest, UniversalWritesNoMoreThanItsHeaderSays) {
  CompactionPolicy policy = SmallPolicy(CompactionStyle::kUniversal, 100);
  // 200 batches: log2 of that is 7.6, log6 3.0.
  const WriteCost unknown = FillRandom(policy, 200, /*with_sketches=*/false);
  EXPECT_GT(unknown.amplification, 3);
  EXPECT_LT(unknown.amplification, 9.6);
  const WriteCost known = FillRandom(policy, 200);
  EXPECT_LT(known.amplification, 4.1);
  EXPECT_LE(known.most_runs, 4 * policy.runs_per_level);
  RecordProperty("unknown", absl::StrFormat("%.2f", unknown.amplification));
  RecordProperty("known", absl::StrFormat("%.2f", known.amplification));
}

TEST(CompactionSimulationTest, OverwritingTakesNoMoreSpaceThanTheBound) {
  for (const auto& [style, with_sketches] : {std::pair(CompactionStyle::kLazyLeveling, true),
                                             {CompactionStyle::kLazyLeveling, false},
                                             {CompactionStyle::kLeveled, true},
                                             {CompactionStyle::kLeveled, false},
                                             {CompactionStyle::kUniversal, true},
                                             {CompactionStyle::kUniversal, false}}) {
    for (const double bound : {1.25, 2.0}) {
      CompactionPolicy policy = SmallPolicy(style, 100);
      if (style == CompactionStyle::kLeveled) policy.fanout = 10;
      policy.max_space_amplification = bound;
      ModelTree tree(policy);
      tree.with_sketches = with_sketches;
      Random random(5);
      for (int flush = 0; flush < 100; ++flush) {
        for (int i = 0; i < 100; ++i) tree.Update(static_cast<uint32_t>(random.Uniform(1000)), ValueKind::kPut);
        tree.Flush();
        ASSERT_TRUE(tree.Drain());
        // 1000 keys are alive from about here on.
        if (flush >= 60) {
          ASSERT_LE(tree.version().Entries(), static_cast<uint64_t>(bound * 1000)) << Name(style) << " " << flush;
        }
      }
      tree.ExpectRightViews();
    }
  }
}

TEST(CompactionSimulationTest, SequentialKeysAreWrittenOnce) {
  for (const CompactionStyle style : kStyles) {
    const CompactionPolicy policy = SmallPolicy(style, 50);
    ModelTree tree(policy);
    for (uint32_t i = 0; i < 10000; ++i) {
      tree.Update(i, ValueKind::kPut);
      if (i % 50 != 49) continue;
      tree.Flush();
      ASSERT_TRUE(tree.Drain());
    }
    EXPECT_EQ(tree.written(), tree.flushed());
  }
}

// Three writers go through ranges of their own by turns, and each flush has a table for each.
TEST(CompactionSimulationTest, RangesOfSequentialKeysAreWrittenOnce) {
  for (const CompactionStyle style : kStyles) {
    ModelTree tree(SmallPolicy(style, 60));
    tree.flush_table_bytes = 20;
    for (uint32_t i = 0; i < 3000; ++i) {
      for (const uint32_t range : {0, 10'000, 20'000}) tree.Update(range + i, ValueKind::kPut);
      if (i % 20 != 19) continue;
      tree.Flush();
      ASSERT_TRUE(tree.Drain());
    }
    EXPECT_EQ(tree.written(), tree.flushed()) << Name(style);
    tree.ExpectRightViews();
  }
}

// A writer that appends beside one that overwrites a few keys: what was appended is not written again.
TEST(CompactionSimulationTest, WhatIsAppendedTravelsPastTheRewritesOfWhatIsOverwritten) {
  for (const CompactionStyle style : {CompactionStyle::kLazyLeveling, CompactionStyle::kUniversal}) {
    CompactionPolicy policy = SmallPolicy(style, 60);
    policy.max_space_amplification = 100;
    ModelTree tree(policy);
    tree.flush_table_bytes = 30;
    for (uint32_t i = 0; i < 3000; ++i) {
      tree.Update(1000 + i, ValueKind::kPut);
      tree.Update(i % 30, ValueKind::kPut);
      if (i % 30 != 29) continue;
      tree.Flush();
      ASSERT_TRUE(tree.Drain());
    }
    EXPECT_GT(tree.carried(), 10u) << Name(style);
    // The 30 keys are written again by each rewrite, the others never.
    EXPECT_LT(tree.written(), tree.flushed() + tree.flushed() / 4) << Name(style);
    tree.ExpectRightViews();
  }
}

TEST(CompactionSimulationTest, DeletingEverythingLeavesNextToNothing) {
  for (const CompactionStyle style : kStyles) {
    ModelTree tree(SmallPolicy(style, 50));
    for (const ValueKind kind : {ValueKind::kPut, ValueKind::kDelete}) {
      for (uint32_t i = 0; i < 3000; ++i) {
        tree.Update(i, kind);
        if (i % 50 != 49) continue;
        tree.Flush();
        ASSERT_TRUE(tree.Drain());
      }
    }
    EXPECT_LT(tree.version().Entries(), 600u) << tree.version().ToString();
    tree.ExpectRightViews();
  }
}

}  // namespace
}  // namespace sepal
