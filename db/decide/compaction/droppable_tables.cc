#include "db/decide/compaction/droppable_tables.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "db/decide/compaction/plan_draft.h"

namespace sepal {

namespace {

bool IsBare(const TableMetadata& table, SequenceNumber sequence) {
  return table.lowest_sequence > sequence || table.swept_through >= sequence;
}

bool SharesKeys(const KeyOrder& order, const TableMetadata& table, const RangeTombstones::Fragment& fragment) {
  if (order.Less(table.largest.user_key, fragment.begin)) return false;
  return !fragment.end.has_value() || order.Less(table.smallest.user_key, *fragment.end);
}

// Returns whether one delete of the fragment hides all of the table's entries in its key range from every reader.
bool Hides(const RangeTombstones::Fragment& fragment, const TableMetadata& table, Stripes stripes) {
  return std::any_of(fragment.sequences.begin(), fragment.sequences.end(), [&](SequenceNumber sequence) {
    if (sequence <= table.highest_sequence) return false;
    const size_t stripe = StripeOf(stripes, table.lowest_sequence);
    return stripe < stripes.size() && stripe == StripeOf(stripes, sequence);
  });
}

// Returns whether adjacent fragments hide the table, from its first key to its last.
bool HidesAll(const KeyOrder& order, const RangeTombstones& list, const TableMetadata& table, Stripes stripes) {
  if (list.highest_sequence() <= table.highest_sequence) return false;
  std::string_view key = table.smallest.user_key;
  for (size_t i = list.FindAtOrAfter(order, key); i < list.size(); ++i) {
    const RangeTombstones::Fragment fragment = list[i];
    if (order.Less(key, fragment.begin) || !Hides(fragment, table, stripes)) return false;
    if (!fragment.end.has_value() || order.Less(table.largest.user_key, *fragment.end)) return true;
    key = *fragment.end;
  }
  return false;
}

// Returns whether these runs have a table that shares keys with `table` and was not dropped.
bool AnyStays(const KeyOrder& order, std::span<const LevelRun> older, const TableMetadata& table,
              const absl::flat_hash_set<const TableFile*>& dropped) {
  const KeyRange keys{.begin = table.smallest.user_key, .end = std::nullopt};
  return std::any_of(older.begin(), older.end(), [&](const LevelRun& run) {
    for (const TableRef& other : run.run->Overlapping(keys)) {
      if (order.Less(table.largest.user_key, other->metadata().smallest.user_key)) return false;
      if (!dropped.contains(other.get())) return true;
    }
    return false;
  });
}

void AddInput(const LevelRun& run, const TableRef& table, const KeyOrder& order, CompactionPlan* plan) {
  const TableMetadata& m = table->metadata();
  std::vector<CompactionInput>& inputs = plan->inputs;
  if (inputs.empty() || order.Less(m.smallest.user_key, plan->smallest_user_key)) {
    plan->smallest_user_key = m.smallest.user_key;
  }
  if (inputs.empty() || order.Less(plan->largest_user_key, m.largest.user_key)) {
    plan->largest_user_key = m.largest.user_key;
  }
  if (inputs.empty() || inputs.back().run != run.run->number() || inputs.back().level != run.level) {
    inputs.push_back({.level = run.level, .run = run.run->number(), .tables = {}});
  }
  inputs.back().tables.push_back(table);
  plan->output_level = run.level;
}

}  // namespace

bool CoversNothing(const Version& version, const RangeTombstones::Fragment& fragment, SequenceNumber sequence,
                   std::span<const TableMetadata> beside) {
  const KeyOrder order = version.order();
  const auto bare = [&](const TableMetadata& table) {
    return IsBare(table, sequence) || !SharesKeys(order, table, fragment);
  };
  if (!std::all_of(beside.begin(), beside.end(), bare)) return false;
  const KeyRange range{.begin = fragment.begin, .end = fragment.end};
  for (const LevelRun& run : version.runs()) {
    for (const TableRef& table : run.run->Overlapping(range)) {
      if (!bare(table->metadata())) return false;
    }
  }
  return true;
}

bool MayHoldCovered(const Version& version, const TableMetadata& table) {
  const KeyOrder order = version.order();
  for (const RangeTombstonesRef& list : version.range_tombstones().lists()) {
    for (size_t i = list->FindAtOrAfter(order, table.smallest.user_key); i < list->size(); ++i) {
      const RangeTombstones::Fragment fragment = (*list)[i];
      if (!SharesKeys(order, table, fragment)) break;
      if (!IsBare(table, fragment.sequences.front())) return true;
    }
  }
  return false;
}

std::vector<TableRef> RangeTablesToRemove(const Version& version) {
  std::vector<TableRef> done;
  for (const TableRef& table : version.range_tables()) {
    const RangeTombstones* const list = table->range_tombstones().get();
    if (list == nullptr) continue;
    bool any_covers = false;
    for (size_t i = 0; i < list->size() && !any_covers; ++i) {
      const RangeTombstones::Fragment fragment = (*list)[i];
      any_covers = std::any_of(fragment.sequences.begin(), fragment.sequences.end(),
                               [&](SequenceNumber sequence) { return !CoversNothing(version, fragment, sequence); });
    }
    if (!any_covers) done.push_back(table);
  }
  return done;
}

CompactionPlan PlanDrop(const PickerInput& input, Stripes stripes, uint64_t expired_through_millis) {
  const Version& version = *input.version;
  const KeyOrder order = version.order();
  const BusyTables busy(input);
  const RangeTombstonesRef all = version.range_tombstones().Merged(order, {});
  absl::flat_hash_set<const TableFile*> dropped;
  const std::span<const LevelRun> runs = version.runs();
  for (size_t i = runs.size(); i-- > 0;) {  // oldest first
    const LevelRun& run = runs[i];
    for (const TableRef& table : run.run->tables()) {
      const TableMetadata& m = table->metadata();
      const bool expired = m.expired_at_millis > 0 && m.expired_at_millis <= expired_through_millis &&
                           !AnyStays(order, runs.subspan(i + 1), m, dropped);
      if (!expired && (all == nullptr || !HidesAll(order, *all, m, stripes))) continue;
      if (!busy.HasAny(run.level, run.run->number(), {&table, 1})) dropped.insert(table.get());
    }
  }
  CompactionPlan plan;
  if (dropped.empty()) return plan;
  for (const LevelRun& run : runs) {
    for (const TableRef& table : run.run->tables()) {
      if (dropped.contains(table.get())) AddInput(run, table, order, &plan);
    }
  }
  plan.kind = CompactionPlan::Kind::kDrop;
  plan.reason = "deleted ranges cover the tables, or all in them has expired";
  return plan;
}

}  // namespace sepal
