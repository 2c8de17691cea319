// Random flushes and the picker's plans, carried out on a model tree whose entries are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#include "db/decide/compaction/compaction_picker.h"
#include "db/decide/compaction/level_targets.h"
#include "db/decide/visibility/retention.h"
#include "db/decide/writing/output_splitter.h"
#include "tests/db/version_text.h"
#include "util/base/hash.h"
#include "util/base/random.h"

namespace sepal {
namespace {

struct ModelEntry {
  uint32_t key;
  Trailer trailer;
  uint64_t update;  // which it is, whatever its sequence number becomes
};

std::string KeyText(uint32_t key) { return absl::StrFormat("key%09d", key); }

// A tree whose unit of size is the entry.
class ModelTree {
 public:
  explicit ModelTree(CompactionPolicy policy) : policy_(policy) {}

  const Version& version() const { return *version_; }
  const CompactionPolicy& policy() const { return policy_; }
  uint64_t sequence() const { return sequence_; }
  uint64_t next_file() const { return next_file_; }
  size_t running() const { return running_.size(); }
  uint64_t written() const { return written_; }
  uint64_t flushed() const { return flushed_; }
  // Runs of which a rewrite took tables over.
  uint64_t carried() const { return carried_; }
  int most_runs() const { return most_runs_; }
  std::vector<uint64_t> snapshots;  // ascending
  bool at_rest = false;
  bool with_sketches = true;
  uint64_t flush_table_bytes = UINT64_MAX;

  void Update(uint32_t key, ValueKind kind) {
    ++sequence_;
    memtable_.push_back({key, PackTrailer(SequenceNumber(sequence_), kind), sequence_});
    history_[key].push_back(memtable_.back());
  }
  void UseStyle(CompactionStyle style) { policy_.style = style; }
  void Flush() {
    if (memtable_.empty()) return;
    std::sort(memtable_.begin(), memtable_.end(), Before);
    flushed_ += memtable_.size();
    std::vector<TableMetadata> tables =
        WriteTables({.max_table_bytes = flush_table_bytes}, std::move(memtable_), /*bottommost=*/false);
    memtable_.clear();
    VersionEdit edit;
    const RunNumber run(next_run_++);
    for (TableMetadata& table : tables) {
      table.run = run;
      edit.added_tables.push_back({ColumnFamilyId(0), 0, std::move(table)});
    }
    Install(edit);
  }

  PickerInput Input() {
    running_views_.clear();
    for (const Job& job : running_) running_views_.push_back(&job.plan);
    return {.version = version_.get(),
            .policy = policy_,
            .running = running_views_,
            .oldest_snapshot = SequenceNumber(snapshots.empty() ? sequence_ : snapshots.front()),
            .at_rest = at_rest};
  }
  // Of a CompactRange that begins.
  RangeCall Call(KeyRange keys) const {
    return {.keys = keys, .first_new_file = FileNumber(next_file_), .last_sequence = SequenceNumber(sequence_)};
  }
  // Adopts the next plan; false if there is none.
  bool Start() { return Adopt(PickCompaction(Input())); }
  bool Adopt(CompactionPlan plan) {
    if (plan.nothing()) return false;
    const absl::Status status = CheckPlan(*version_, plan);
    EXPECT_TRUE(status.ok()) << status << "\n" << version_->ToString();
    const RunNumber run = plan.output_run.has_value() ? *plan.output_run : RunNumber(next_run_++);
    running_.push_back({std::move(plan), run});
    return true;
  }
  void Finish(size_t i) {
    const Job job = std::move(running_[i]);
    running_.erase(running_.begin() + static_cast<ptrdiff_t>(i));
    std::vector<TableMetadata> outputs;
    if (job.plan.kind == CompactionPlan::Kind::kRewrite) {
      std::vector<ModelEntry> entries;
      for (const CompactionInput& in : job.plan.inputs) {
        for (const TableRef& table : in.tables) {
          const std::vector<ModelEntry>& contents = contents_.at(table->number());
          entries.insert(entries.end(), contents.begin(), contents.end());
        }
      }
      std::sort(entries.begin(), entries.end(), Before);
      outputs =
          WriteTables(MakeSplitterOptions(job.plan, policy_.max_table_bytes, MaxOverlapBytes(policy_), KeyOrder()),
                      std::move(entries), job.plan.bottommost);
    }
    const ptrdiff_t stay = std::count_if(
        job.plan.carried.begin(), job.plan.carried.end(),
        [&job](const CompactionInput& in) { return in.level == job.plan.output_level && in.run == job.run; });
    carried_ += job.plan.carried.size() - static_cast<size_t>(stay);
    Install(EditOf(job.plan, ColumnFamilyId(0), job.run, std::move(outputs)));
  }
  // Until nothing is left to do; false if that does not come.
  bool Drain() {
    for (int steps = 0; steps < 3000; ++steps) {
      while (!running_.empty()) Finish(running_.size() - 1);
      if (!Start()) return true;
    }
    return false;
  }

  // The first entry on a read's way, the memtable aside.
  const ModelEntry* Lookup(uint32_t key, uint64_t visible) const {
    const std::string text = KeyText(key);
    for (const LevelRun& r : version_->runs()) {
      const TableFile* table = r.run->Find(text);
      if (table == nullptr) continue;
      const std::vector<ModelEntry>& entries = contents_.at(table->number());
      const ModelEntry wanted{key, SeekTrailer(SequenceNumber(visible)), 0};
      const auto it = std::lower_bound(entries.begin(), entries.end(), wanted, Before);
      if (it != entries.end() && it->key == key) return &*it;
    }
    return nullptr;
  }
  // Every key, as of now and as of every snapshot. Requires an empty memtable.
  void ExpectRightViews() const {
    std::vector<uint64_t> at = snapshots;
    at.push_back(sequence_);
    for (const auto& [key, updates] : history_) {
      for (uint64_t visible : at) {
        uint64_t expected = 0;
        for (const ModelEntry& e : updates) {
          if (e.update <= visible) expected = IsTombstone(TrailerKind(e.trailer)) ? 0 : e.update;
        }
        const ModelEntry* found = Lookup(key, visible);
        const uint64_t got = found == nullptr || IsTombstone(TrailerKind(found->trailer)) ? 0 : found->update;
        ASSERT_EQ(got, expected) << KeyText(key) << " at " << visible << "\n" << version_->ToString();
      }
    }
  }

 private:
  struct Job {
    CompactionPlan plan;
    RunNumber run;
  };
  static bool Before(const ModelEntry& a, const ModelEntry& b) {
    return a.key != b.key ? a.key < b.key : a.trailer > b.trailer;
  }

  std::vector<TableMetadata> WriteTables(OutputSplitterOptions splitter_options, std::vector<ModelEntry> in,
                                         bool bottommost) {
    std::vector<TableMetadata> tables;
    OutputSplitter splitter(std::move(splitter_options));
    RetentionOptions options;
    for (uint64_t s : snapshots) options.snapshots.push_back(SequenceNumber(s));
    options.snapshots.push_back(SequenceNumber(sequence_));
    options.bottommost = bottommost;
    Retention retention(options);
    std::vector<ModelEntry> table;
    uint64_t update = 0;
    const auto emit = [&](InternalKeyView key, std::string_view value, bool first_of_key) {
      if (splitter.BeginsTable(key.user_key, first_of_key, table.size())) CloseTable(&table, &tables);
      // A held single delete comes out with no value: its own sequence number names it.
      const uint64_t named = value.empty() ? key.sequence().value() : update;
      table.push_back({static_cast<uint32_t>(std::stoul(std::string(key.user_key.substr(3)))), key.trailer, named});
      return absl::OkStatus();
    };
    for (const ModelEntry& e : in) {
      update = e.update;
      EXPECT_TRUE(retention.Add({KeyText(e.key), e.trailer}, "value", emit).ok());
    }
    EXPECT_TRUE(retention.Finish(emit).ok());
    CloseTable(&table, &tables);
    return tables;
  }
  void CloseTable(std::vector<ModelEntry>* entries, std::vector<TableMetadata>* tables) {
    if (entries->empty()) return;
    TableMetadata m;
    m.number = FileNumber(next_file_++);
    m.size_bytes = entries->size();
    m.entries = entries->size();
    m.smallest = InternalKey(KeyText(entries->front().key), entries->front().trailer);
    m.largest = InternalKey(KeyText(entries->back().key), entries->back().trailer);
    m.lowest_sequence = kMaxSequenceNumber;
    HyperLogLog sketch;
    for (const ModelEntry& e : *entries) {
      m.tombstones += IsTombstone(TrailerKind(e.trailer)) ? 1 : 0;
      sketch.Add(HashKey(KeyText(e.key), 0));
      m.lowest_sequence = std::min(m.lowest_sequence, TrailerSequence(e.trailer));
      m.highest_sequence = std::max(m.highest_sequence, TrailerSequence(e.trailer));
    }
    if (with_sketches) m.key_sketch = std::make_shared<const HyperLogLog>(sketch);
    written_ += m.size_bytes;
    contents_[m.number] = std::move(*entries);
    entries->clear();
    tables->push_back(std::move(m));
  }
  void Install(const VersionEdit& edit) {
    absl::StatusOr<VersionRef> next = BuildOn(version_, edit);  // passes Check
    ASSERT_TRUE(next.ok()) << next.status() << "\n" << version_->ToString();
    version_ = *std::move(next);
    most_runs_ = std::max(most_runs_, version_->NumRuns());
  }

  CompactionPolicy policy_;
  VersionRef version_ = std::make_shared<const Version>(KeyOrder());
  absl::flat_hash_map<FileNumber, std::vector<ModelEntry>> contents_;
  std::vector<ModelEntry> memtable_;
  std::map<uint32_t, std::vector<ModelEntry>> history_;
  std::vector<Job> running_;
  std::vector<const CompactionPlan*> running_views_;
  uint64_t sequence_ = 0;
  uint64_t next_file_ = 1;
  uint64_t next_run_ = 1;
  uint64_t written_ = 0;
  uint64_t flushed_ = 0;
  uint64_t carried_ = 0;
  int most_runs_ = 0;
};

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
