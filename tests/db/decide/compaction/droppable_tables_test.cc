// All small histories of puts, deletes and range tombstones, as tables: whatever flushes, compactions, drops and
// removals do, readers find what the history says.
#include "db/decide/compaction/droppable_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "db/decide/visibility/retention.h"
#include "tests/db/version_text.h"
#include "util/base/random.h"

namespace sepal {
namespace {

constexpr size_t kSmallKeys = 3;
constexpr std::string_view kSmallKeyNames[] = {"a", "b", "c"};

// A put or delete of key `begin`, or a delete of the range [begin, end); kSmallKeys is no end.
struct SmallUpdate {
  ValueKind kind;
  size_t begin;
  size_t end = 0;

  bool IsRange() const { return kind == ValueKind::kRangeDelete; }
  bool Concerns(size_t key) const { return IsRange() ? begin <= key && key < end : begin == key; }
};
using SmallUpdates = std::vector<SmallUpdate>;  // update i has the number i + 1

struct SmallEntry {
  size_t key;
  Trailer trailer;
  uint64_t update;  // which it is, whatever its sequence number becomes
};

bool ComesBefore(const SmallEntry& a, const SmallEntry& b) {
  return a.key != b.key ? a.key < b.key : a.trailer > b.trailer;
}

// Tables and a memtable over one history, which is published step by step.
class SmallTree {
 public:
  // `splits`: each key gets tables of its own. `merges`: a flush takes over all tables of range tombstones.
  SmallTree(const SmallUpdates* updates, std::vector<uint64_t> snapshots, bool splits, bool merges)
      : updates_(*updates), snapshots_(std::move(snapshots)), splits_(splits), merges_(merges) {}

  void Publish(uint64_t last) { published_ = last; }
  void ReleaseSnapshot(size_t i) {
    if (i < snapshots_.size()) snapshots_.erase(snapshots_.begin() + static_cast<ptrdiff_t>(i));
  }
  void ReleaseAll() {
    snapshots_.clear();
    floor_ = UINT64_MAX;
  }
  // Of a family that keeps its history: readers may stand at any number from here on.
  void KeepHistory(uint64_t floor) { floor_ = floor; }

  void Flush(uint64_t through) {
    const std::vector<SequenceNumber> readers = Readers();
    std::vector<SmallEntry> entries;
    std::vector<RangeTombstonesRef> lists;
    for (uint64_t s = flushed_ + 1; s <= through; ++s) {
      const SmallUpdate& u = updates_[s - 1];
      if (u.IsRange()) {
        RangeTombstone tombstone{.begin = kSmallKeyNames[u.begin], .end = std::nullopt, .sequence = SequenceNumber(s)};
        if (u.end < kSmallKeys) tombstone.end = kSmallKeyNames[u.end];
        lists.push_back(RangeTombstones::Of(order_, tombstone, nullptr));
      } else {
        entries.push_back({u.begin, PackTrailer(SequenceNumber(s), u.kind), s});
      }
    }
    const RangeTombstonesRef own = MergeAll(order_, std::move(lists), readers);
    const RangeTombstonesRef all = MergeAll(order_, {DurableRanges(readers), own}, readers);
    const std::vector<TableMetadata> tables =
        Write(std::move(entries), {.snapshots = readers, .ranges = all.get()}, RunNumber(next_run_++));
    VersionEdit edit;
    for (const TableMetadata& table : tables) edit.added_tables.push_back({ColumnFamilyId(0), 0, table});
    if (own != nullptr) AddRanges(merges_ ? *all : *own, tables, &edit);
    flushed_ = through;
    Install(edit);
  }

  struct Job {
    std::vector<SequenceNumber> readers;
    RangeTombstonesRef ranges;
    std::vector<std::pair<int, TableRef>> inputs;  // with their level
    bool bottommost = false;
    int level = 1;
    RunNumber run;
  };
  // Of the runs [first, end) in order of age. One that leaves older runs out stays where it is.
  Job Begin(size_t first, size_t end) {
    Job job{.readers = Readers(), .ranges = nullptr, .inputs = {}, .run = RunNumber(next_run_++)};
    job.ranges = DurableRanges(job.readers);
    const std::span<const LevelRun> runs = version_->runs();
    end = std::min(end, runs.size());
    for (size_t i = first; i < end; ++i) {
      for (const TableRef& table : runs[i].run->tables()) job.inputs.push_back({runs[i].level, table});
    }
    job.bottommost = end == runs.size();
    if (!job.bottommost && end == first + 1) {
      job.level = runs[first].level;
      job.run = runs[first].run->number();
    }
    return job;
  }
  void Finish(const Job& job) {
    std::vector<SmallEntry> entries;
    VersionEdit edit;
    for (const auto& [level, table] : job.inputs) {
      const std::vector<SmallEntry>& of_table = contents_.at(table->number());
      entries.insert(entries.end(), of_table.begin(), of_table.end());
      edit.removed_tables.push_back({.family = ColumnFamilyId(0), .level = level, .number = table->number()});
    }
    std::sort(entries.begin(), entries.end(), ComesBefore);
    const RetentionOptions options{.snapshots = job.readers, .bottommost = job.bottommost, .ranges = job.ranges.get()};
    for (const TableMetadata& table : Write(std::move(entries), options, job.run)) {
      edit.added_tables.push_back({ColumnFamilyId(0), job.level, table});
    }
    Install(edit);
  }
  void Compact(size_t first, size_t end) { Finish(Begin(first, end)); }

  // Whether the tables of the job are all there.
  bool Stands(const Job& job) const {
    const std::vector<TableRef> tables = version_->Tables();
    return std::all_of(job.inputs.begin(), job.inputs.end(), [&](const auto& input) {
      return std::find(tables.begin(), tables.end(), input.second) != tables.end();
    });
  }
  // The tables of `running` are left alone.
  void Drop(const Job* running = nullptr) {
    CompactionPlan held;
    std::vector<const CompactionPlan*> plans;
    if (running != nullptr) {
      for (const auto& [level, table] : running->inputs) {
        held.inputs.push_back({.level = level, .run = table->metadata().run, .tables = {table}});
      }
      plans.push_back(&held);
    }
    const CompactionPlan plan = PlanDrop({.version = version_.get(), .running = plans}, Readers(), 0);
    if (plan.nothing()) return;
    ++drops_;
    ASSERT_EQ(plan.kind, CompactionPlan::Kind::kDrop);
    Install(EditOf(plan, ColumnFamilyId(0), RunNumber(0), {}));
  }
  void RemoveRangeTables() {
    VersionEdit edit;
    for (const TableRef& table : RangeTablesToRemove(*version_)) {
      edit.removed_tables.push_back({.family = ColumnFamilyId(0), .level = 0, .number = table->number()});
    }
    removals_ += edit.removed_tables.size();
    Install(edit);
  }

  // Every key, to each snapshot that was taken so far and to a reader of now.
  void ExpectRightReads(const char* after) const {
    std::vector<SequenceNumber> readers = Readers();
    while (readers.back().value() < published_) readers.push_back(readers.back().next());
    for (const SequenceNumber reader : readers) {
      for (size_t key = 0; key < kSmallKeys; ++key) {
        const uint64_t found = Found(key, reader.value());
        const uint64_t wanted = Wanted(key, reader.value());
        if (found == wanted) continue;
        FAIL() << "key " << kSmallKeyNames[key] << " at " << reader.value() << " is update " << found << " instead of "
               << wanted << " after " << after << "\n"
               << Describe();
      }
    }
  }
  size_t range_tables() const { return version_->range_tables().size(); }
  uint64_t drops() const { return drops_; }
  uint64_t removals() const { return removals_; }
  std::string Describe() const {
    std::string text = "history:";
    for (const SmallUpdate& u : updates_) {
      text += " " + std::string(Name(u.kind)) + " " + std::string(kSmallKeyNames[u.begin]);
      if (u.IsRange()) text += ".." + std::string(u.end < kSmallKeys ? kSmallKeyNames[u.end] : "");
    }
    text += "\nreaders:";
    for (const SequenceNumber s : Readers()) text += " " + std::to_string(s.value());
    text += "\nflushed through " + std::to_string(flushed_) + "\n" + version_->ToString();
    for (const LevelRun& run : version_->runs()) {
      for (const TableRef& table : run.run->tables()) {
        text += ToString(table->metadata()) + ":";
        for (const SmallEntry& e : contents_.at(table->number())) {
          text += " " + std::string(kSmallKeyNames[e.key]) + "@" + std::to_string(TrailerSequence(e.trailer).value());
        }
        text += "\n";
      }
    }
    return text;
  }

 private:
  // As a job is told: the snapshots, and the last published number or the floor.
  std::vector<SequenceNumber> Readers() const {
    const uint64_t settled = std::min(published_, floor_);
    std::vector<SequenceNumber> readers;
    for (const uint64_t s : snapshots_) {
      if (s < settled) readers.push_back(SequenceNumber(s));
    }
    readers.push_back(SequenceNumber(settled));
    return readers;
  }
  RangeTombstonesRef DurableRanges(Stripes readers) const {
    return version_->range_tombstones().Merged(order_, readers);
  }

  std::vector<TableMetadata> Write(std::vector<SmallEntry> in, RetentionOptions options, RunNumber run) {
    std::sort(in.begin(), in.end(), ComesBefore);
    Retention retention(std::move(options));
    std::vector<TableMetadata> tables;
    std::vector<SmallEntry> out;
    uint64_t update = 0;
    const auto emit = [&](const InternalKeyView& key, std::string_view, bool first_of_key) {
      if (splits_ && first_of_key) EndTable(&out, run, &tables);
      out.push_back({static_cast<size_t>(key.user_key.front() - 'a'), key.trailer, update});
      return absl::OkStatus();
    };
    for (const SmallEntry& e : in) {
      update = e.update;
      EXPECT_TRUE(retention.Add({kSmallKeyNames[e.key], e.trailer}, "", emit).ok());
    }
    EXPECT_TRUE(retention.Finish(emit).ok());
    EndTable(&out, run, &tables);
    for (TableMetadata& table : tables) table.swept_through = retention.SweptThrough();
    return tables;
  }
  void EndTable(std::vector<SmallEntry>* entries, RunNumber run, std::vector<TableMetadata>* tables) {
    if (entries->empty()) return;
    TableMetadata m;
    m.number = FileNumber(next_file_++);
    m.run = run;
    m.entries = m.size_bytes = entries->size();
    m.smallest = InternalKey(std::string(kSmallKeyNames[entries->front().key]), entries->front().trailer);
    m.largest = InternalKey(std::string(kSmallKeyNames[entries->back().key]), entries->back().trailer);
    m.lowest_sequence = kMaxSequenceNumber;
    for (const SmallEntry& e : *entries) {
      m.lowest_sequence = std::min(m.lowest_sequence, TrailerSequence(e.trailer));
      m.highest_sequence = std::max(m.highest_sequence, TrailerSequence(e.trailer));
    }
    contents_[m.number] = std::exchange(*entries, {});
    tables->push_back(std::move(m));
  }
  // Those that cover something: as a table of their own, or in the place of all that there are.
  void AddRanges(const RangeTombstones& ranges, const std::vector<TableMetadata>& beside, VersionEdit* edit) {
    if (merges_) {
      for (const TableRef& table : version_->range_tables()) {
        edit->removed_tables.push_back({.family = ColumnFamilyId(0), .level = 0, .number = table->number()});
      }
    }
    const RangeTombstonesRef kept =
        RangeTombstones::Filter(order_, ranges, [&](const RangeTombstones::Fragment& fragment, SequenceNumber s) {
          return !CoversNothing(*version_, fragment, s, beside);
        });
    if (kept == nullptr) return;
    TableMetadata m;
    m.number = FileNumber(next_file_++);
    m.run = RunNumber(m.number.value());
    m.entries = m.size_bytes = kept->deletes();
    m.lowest_sequence = kept->lowest_sequence();
    m.highest_sequence = kept->highest_sequence();
    m.smallest = InternalKey(std::string((*kept)[0].begin), PackTrailer(m.highest_sequence, ValueKind::kRangeDelete));
    m.largest = InternalKey(std::string((*kept)[kept->size() - 1].begin),
                            PackTrailer(m.lowest_sequence, ValueKind::kRangeDelete));
    m.range_tombstones = kept;
    edit->added_tables.push_back({ColumnFamilyId(0), 0, std::move(m)});
  }
  void Install(const VersionEdit& edit) {
    if (edit.added_tables.empty() && edit.removed_tables.empty()) return;
    absl::StatusOr<VersionRef> next = BuildOn(version_, edit);
    ASSERT_TRUE(next.ok()) << next.status() << "\n" << Describe();
    version_ = *std::move(next);
  }

  // Which update a reader finds, 0: none. The newest in the memtable decides, else entries by age and range tombstones
  // by number.
  uint64_t Found(size_t key, uint64_t visible) const {
    for (uint64_t s = visible; s > flushed_; --s) {
      if (updates_[s - 1].Concerns(key)) return updates_[s - 1].kind == ValueKind::kPut ? s : 0;
    }
    const std::string_view name = kSmallKeyNames[key];
    SequenceNumber covered;
    for (const RangeTombstonesRef& list : version_->range_tombstones().lists()) {
      covered = std::max(covered, list->Covering(order_, name, SequenceNumber(visible)));
    }
    for (const LevelRun& run : version_->runs()) {
      const TableFile* const table = run.run->Find(name);
      if (table == nullptr) continue;
      for (const SmallEntry& e : contents_.at(table->number())) {
        if (e.key != key || TrailerSequence(e.trailer).value() > visible) continue;
        const bool is_there = TrailerSequence(e.trailer) >= covered && TrailerKind(e.trailer) == ValueKind::kPut;
        return is_there ? e.update : 0;
      }
    }
    return 0;
  }
  uint64_t Wanted(size_t key, uint64_t visible) const {
    for (uint64_t s = visible; s > 0; --s) {
      if (updates_[s - 1].Concerns(key)) return updates_[s - 1].kind == ValueKind::kPut ? s : 0;
    }
    return 0;
  }

  const KeyOrder order_;
  const SmallUpdates& updates_;
  std::vector<uint64_t> snapshots_;
  const bool splits_;
  const bool merges_;
  uint64_t floor_ = UINT64_MAX;
  uint64_t published_ = 0;
  uint64_t flushed_ = 0;
  VersionRef version_ = std::make_shared<VersionRef::element_type>(KeyOrder());
  std::map<FileNumber, std::vector<SmallEntry>> contents_;
  uint64_t next_file_ = 1;
  uint64_t next_run_ = 1;
  uint64_t drops_ = 0;
  uint64_t removals_ = 0;
};

struct SmallCase {
  uint64_t middle = 0;  // the first flush takes the updates through this number
  std::vector<uint64_t> snapshots = {};
  bool late = false;  // it comes when all is written
  bool splits = false;
  bool merges = false;
  uint64_t floor = UINT64_MAX;  // of the history
};

// What the cases came to, so that a test that tries nothing is seen.
struct SmallCounts {
  uint64_t cases = 0;
  uint64_t drops = 0;
  uint64_t removals = 0;
};

// What the tree does, and whether its readers notice; ends the course if they do.
#define SEPAL_SMALL_STEP(action)                                              \
  do {                                                                        \
    action;                                                                   \
    if (!::testing::Test::HasFatalFailure()) tree->ExpectRightReads(#action); \
    if (::testing::Test::HasFatalFailure()) return;                           \
  } while (false)

// Drops first, or removes first.
void GiveBackSpace(SmallTree* tree, bool drops_first = true) {
  if (drops_first) SEPAL_SMALL_STEP(tree->Drop());
  SEPAL_SMALL_STEP(tree->RemoveRangeTables());
  if (!drops_first) SEPAL_SMALL_STEP(tree->Drop());
}

// Both runs are there, then they are compacted, with snapshots and without.
void FlushAndCompact(SmallTree* tree, const SmallCase& c, uint64_t last) {
  SEPAL_SMALL_STEP(tree->Flush(c.middle));
  SEPAL_SMALL_STEP(tree->RemoveRangeTables());
  tree->Publish(last);
  SEPAL_SMALL_STEP(tree->Flush(last));
  ASSERT_NO_FATAL_FAILURE(GiveBackSpace(tree));
  SEPAL_SMALL_STEP(tree->Compact(0, 2));
  ASSERT_NO_FATAL_FAILURE(GiveBackSpace(tree));
  tree->ReleaseSnapshot(0);
  ASSERT_NO_FATAL_FAILURE(GiveBackSpace(tree, /*drops_first=*/false));
}

// The older run is compacted before there is a newer one, then the newer one alone.
void CompactBetweenFlushes(SmallTree* tree, const SmallCase& c, uint64_t last) {
  SEPAL_SMALL_STEP(tree->Flush(c.middle));
  SEPAL_SMALL_STEP(tree->Compact(0, 1));
  tree->Publish(last);
  SEPAL_SMALL_STEP(tree->Flush(last));
  SEPAL_SMALL_STEP(tree->RemoveRangeTables());
  SEPAL_SMALL_STEP(tree->Compact(0, 1));
  tree->ReleaseSnapshot(1);
  ASSERT_NO_FATAL_FAILURE(GiveBackSpace(tree, /*drops_first=*/false));
}

// A compaction goes by the range tombstones and the snapshots from before the second flush, and ends after it.
void FlushWhileACompactionRuns(SmallTree* tree, const SmallCase& c, uint64_t last) {
  SEPAL_SMALL_STEP(tree->Flush(c.middle));
  const SmallTree::Job job = tree->Begin(0, 1);
  tree->Publish(last);
  SEPAL_SMALL_STEP(tree->Flush(last));
  SEPAL_SMALL_STEP(tree->RemoveRangeTables());
  SEPAL_SMALL_STEP(tree->Drop(&job));
  ASSERT_TRUE(tree->Stands(job));
  SEPAL_SMALL_STEP(tree->RemoveRangeTables());
  SEPAL_SMALL_STEP(tree->Finish(job));
  ASSERT_NO_FATAL_FAILURE(GiveBackSpace(tree));
}

// The snapshots go first, then the older run alone is compacted.
void ReleaseBeforeCompaction(SmallTree* tree, const SmallCase& c, uint64_t last) {
  SEPAL_SMALL_STEP(tree->Flush(c.middle));
  tree->Publish(last);
  SEPAL_SMALL_STEP(tree->Flush(last));
  SEPAL_SMALL_STEP(tree->RemoveRangeTables());
  tree->ReleaseAll();
  SEPAL_SMALL_STEP(tree->Compact(1, 2));
  SEPAL_SMALL_STEP(tree->RemoveRangeTables());
  SEPAL_SMALL_STEP(tree->Compact(0, 1));
}

void CompactAll(SmallTree* tree) {
  tree->ReleaseAll();
  SEPAL_SMALL_STEP(tree->Drop());
  SEPAL_SMALL_STEP(tree->Compact(0, 9));
  SEPAL_SMALL_STEP(tree->RemoveRangeTables());
  ASSERT_EQ(tree->range_tables(), 0u) << tree->Describe();
}

#undef SEPAL_SMALL_STEP

void TryAllCourses(const SmallUpdates& updates, const SmallCase& c, SmallCounts* counts) {
  for (const auto course :
       {FlushAndCompact, CompactBetweenFlushes, FlushWhileACompactionRuns, ReleaseBeforeCompaction}) {
    SmallTree tree(&updates, c.snapshots, c.splits, c.merges);
    tree.KeepHistory(c.floor);
    tree.Publish(c.late ? updates.size() : c.middle);
    ASSERT_NO_FATAL_FAILURE(course(&tree, c, updates.size()));
    ASSERT_NO_FATAL_FAILURE(CompactAll(&tree));
    ++counts->cases;
    counts->drops += tree.drops();
    counts->removals += tree.removals();
  }
}

SmallUpdates AllSmallUpdates() {
  SmallUpdates all;
  for (size_t begin = 0; begin < kSmallKeys; ++begin) {
    all.push_back({ValueKind::kPut, begin});
    all.push_back({ValueKind::kDelete, begin});
    for (size_t end = begin + 1; end <= kSmallKeys; ++end) all.push_back({ValueKind::kRangeDelete, begin, end});
  }
  return all;
}

// Whether some put lies under some range tombstone, whichever is newer.
bool PutsMeetRanges(const SmallUpdates& updates) {
  return std::any_of(updates.begin(), updates.end(), [&](const SmallUpdate& range) {
    return range.IsRange() && std::any_of(updates.begin(), updates.end(), [&](const SmallUpdate& put) {
             return put.kind == ValueKind::kPut && range.Concerns(put.begin);
           });
  });
}

TEST(CoveredTablesTest, NoReadChangesInAnyShortHistory) {
  const SmallUpdates all = AllSmallUpdates();
  SmallCounts counts;
  constexpr uint64_t kLength = 3;
  for (size_t history = 0; history < all.size() * all.size() * all.size(); ++history) {
    const SmallUpdates updates = {all[history % all.size()], all[history / all.size() % all.size()],
                                  all[history / all.size() / all.size()]};
    if (!PutsMeetRanges(updates)) continue;
    for (uint64_t middle = 1; middle <= kLength; ++middle) {
      for (const std::vector<uint64_t>& snapshots : {std::vector<uint64_t>{}, {1}, {2}, {1, 2}}) {
        // All other choices come with each history, but not with each of the others.
        const uint64_t choice = history + middle + snapshots.size();
        const SmallCase c{.middle = middle,
                          .snapshots = snapshots,
                          .late = choice % 2 == 1,
                          .splits = choice / 2 % 2 == 1,
                          .merges = choice / 4 % 2 == 1,
                          .floor = choice / 8 % 3 == 0 ? choice / 24 % kLength : UINT64_MAX};
        ASSERT_NO_FATAL_FAILURE(TryAllCourses(updates, c, &counts));
      }
    }
  }
  EXPECT_GT(counts.cases, 20000u);
  EXPECT_GT(counts.drops, 1000u);
  EXPECT_GT(counts.removals, 1000u);
}

TEST(CoveredTablesTest, NoReadChangesInLongerHistories) {
  const SmallUpdates all = AllSmallUpdates();
  Random random(5);
  SmallCounts counts;
  for (int round = 0; round < 2000; ++round) {
    SmallUpdates updates;
    for (uint64_t count = 4 + random.Uniform(5); count > 0; --count) updates.push_back(all[random.Uniform(all.size())]);
    SmallCase c{.middle = 1 + random.Uniform(updates.size()),
                .late = random.OneIn(2),
                .splits = random.OneIn(2),
                .merges = random.OneIn(2),
                .floor = random.OneIn(3) ? random.Uniform(updates.size()) : UINT64_MAX};
    for (uint64_t s = 1; s < updates.size(); ++s) {
      if (c.snapshots.size() < 2 && random.OneIn(3)) c.snapshots.push_back(s);
    }
    ASSERT_NO_FATAL_FAILURE(TryAllCourses(updates, c, &counts));
  }
  EXPECT_GT(counts.drops, 100u);
  EXPECT_GT(counts.removals, 100u);
}

RangeTombstones::Fragment FragmentOf(const SequenceNumber& sequence) { return {"b", "d", {&sequence, 1}}; }

TEST(CoveredTablesTest, ATableMattersToADeleteOfItsKeysUntilItIsNewerOrSwept) {
  const SequenceNumber delete_at(50);
  const auto covers_nothing = [&](const std::string& smallest, const std::string& largest, uint64_t lowest,
                                  uint64_t swept) {
    TableMetadata m = TableOf(7, 3, smallest, largest);
    m.lowest_sequence = SequenceNumber(lowest);
    m.highest_sequence = SequenceNumber(90);
    m.smallest.trailer = PackTrailer(m.highest_sequence, ValueKind::kPut);
    m.largest.trailer = PackTrailer(m.lowest_sequence, ValueKind::kPut);
    m.swept_through = SequenceNumber(swept);
    VersionEdit edit;
    edit.added_tables.push_back({ColumnFamilyId(0), 1, m});
    const VersionRef version = *BuildOn(std::make_shared<VersionRef::element_type>(KeyOrder()), edit);
    const bool in_version = CoversNothing(*version, FragmentOf(delete_at), delete_at);
    const VersionRef empty = std::make_shared<VersionRef::element_type>(KeyOrder());
    EXPECT_EQ(CoversNothing(*empty, FragmentOf(delete_at), delete_at, {&m, 1}), in_version);
    return in_version;
  };
  EXPECT_FALSE(covers_nothing("a", "c", 49, 0));
  EXPECT_FALSE(covers_nothing("a", "c", 0, 49));
  EXPECT_TRUE(covers_nothing("a", "c", 51, 0));
  EXPECT_TRUE(covers_nothing("a", "c", 0, 50));
  EXPECT_FALSE(covers_nothing("b", "b", 0, 0));
  EXPECT_FALSE(covers_nothing("a", "b", 0, 0));
  EXPECT_TRUE(covers_nothing("a", "az", 0, 0)) << "it ends before the range";
  EXPECT_TRUE(covers_nothing("d", "e", 0, 0)) << "it begins where the range ends";
}

}  // namespace
}  // namespace sepal
