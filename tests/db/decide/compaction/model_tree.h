// A tree whose entries are known, on which a picker's plans are carried out.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

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

struct ModelEntry {
  uint32_t key;
  Trailer trailer;
  uint64_t update;  // which it is, whatever its sequence number becomes
};

inline std::string KeyText(uint32_t key) { return absl::StrFormat("key%09d", key); }

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

}  // namespace sepal
