#include "db/decide/compaction/plan_draft.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/decide/compaction/level_targets.h"

namespace sepal {

namespace {

bool RangesMeet(const KeyOrder& order, std::string_view a_smallest, std::string_view a_largest,
                std::string_view b_smallest, std::string_view b_largest) {
  return !order.Less(a_largest, b_smallest) && !order.Less(b_largest, a_smallest);
}

// Returns whether `visit` is true for an input of `plan` whose tables may be in that run.
template <class Visit>
bool AnyInput(const CompactionPlan& plan, int level, RunNumber run, const Visit& visit) {
  // Between the edit of a job and its end, what it moved or carried is in the output's run.
  const bool came = plan.output_level == level;
  const bool moves = plan.kind == CompactionPlan::Kind::kMove;
  const auto asked = [&](const std::vector<CompactionInput>& inputs, bool stay) {
    return std::any_of(inputs.begin(), inputs.end(), [&](const CompactionInput& in) {
      return ((in.level == level && in.run == run) || (stay && came)) && visit(in);
    });
  };
  return asked(plan.inputs, moves) || asked(plan.carried, true);
}

// Both are in key order and disjoint.
bool ShareATable(const KeyOrder& order, std::span<const TableRef> few, std::span<const TableRef> many) {
  if (few.size() > many.size()) std::swap(few, many);
  if (few.empty() ||
      !RangesMeet(order, few.front()->metadata().smallest.user_key, few.back()->metadata().largest.user_key,
                  many.front()->metadata().smallest.user_key, many.back()->metadata().largest.user_key)) {
    return false;
  }
  return std::any_of(few.begin(), few.end(), [&](const TableRef& table) {
    const auto it = std::partition_point(many.begin(), many.end(), [&](const TableRef& other) {
      return order.Less(other->metadata().smallest.user_key, table->metadata().smallest.user_key);
    });
    return it != many.end() && (*it)->number() == table->number();
  });
}

}  // namespace

bool BusyTables::HasAny(int level, RunNumber run, std::span<const TableRef> tables) const {
  return std::any_of(running_.begin(), running_.end(), [&](const CompactionPlan* plan) {
    return AnyInput(*plan, level, run,
                    [&](const CompactionInput& in) { return ShareATable(order_, in.tables, tables); });
  });
}

bool BusyTables::HasAny(int level, const Run& run) const {
  // An edit takes all tables of an input or none, so one of them represents all.
  const auto in_run = [&run](const CompactionInput& in) {
    const TableFile& held = *in.tables.front();
    const TableFile* const there = run.Find(held.metadata().smallest.user_key);
    return there != nullptr && there->number() == held.number();
  };
  return std::any_of(running_.begin(), running_.end(),
                     [&](const CompactionPlan* plan) { return AnyInput(*plan, level, run.number(), in_run); });
}

bool BusyTables::HasAny(std::span<const LevelRun> runs) const {
  return std::any_of(runs.begin(), runs.end(), [this](const LevelRun& r) { return HasAny(r.level, *r.run); });
}

bool BusyTables::Writes(int level, std::string_view smallest, std::string_view largest) const {
  return std::any_of(running_.begin(), running_.end(), [&](const CompactionPlan* plan) {
    return plan->output_level == level &&
           RangesMeet(order_, plan->smallest_user_key, plan->largest_user_key, smallest, largest);
  });
}

bool BusyTables::Writes(int level) const {
  return std::any_of(running_.begin(), running_.end(),
                     [level](const CompactionPlan* plan) { return plan->output_level == level; });
}

void PlanDraft::Add(int level, const Run& run, std::vector<TableRef> tables) {
  if (tables.empty()) return;
  const KeyOrder order = input_->version->order();
  const std::string& smallest = tables.front()->metadata().smallest.user_key;
  const std::string& largest = tables.back()->metadata().largest.user_key;
  if (empty() || order.Less(smallest, plan_.smallest_user_key)) plan_.smallest_user_key = smallest;
  if (empty() || order.Less(plan_.largest_user_key, largest)) plan_.largest_user_key = largest;
  for (const TableRef& table : tables) held_.insert(table->number());
  plan_.inputs.push_back({level, run.number(), std::move(tables)});
}

void PlanDraft::JoinOutputRun() {
  const std::vector<RunRef>& runs = input_->version->level(output_level_);
  if (runs.empty()) return;
  plan_.output_run = runs.back()->number();
  joins_ = true;
  Add(output_level_, *runs.back(), runs.back()->Overlapping(hull()).ToVector());
}

bool PlanDraft::Blocked(const BusyTables& busy) const {
  // Two plans that both begin a run would leave two runs where one may be wanted.
  const bool writes = plan_.output_run.has_value()
                          ? busy.Writes(output_level_, plan_.smallest_user_key, plan_.largest_user_key)
                          : busy.Writes(output_level_);
  return writes || std::any_of(plan_.inputs.begin(), plan_.inputs.end(),
                               [&busy](const CompactionInput& in) { return busy.HasAny(in.level, in.run, in.tables); });
}

bool PlanDraft::HoldsAll(const Run& run) const {
  const std::vector<TableRef> tables = run.tables().ToVector();
  return std::all_of(tables.begin(), tables.end(), [this](const TableRef& table) { return Holds(*table); });
}

bool PlanDraft::IsBottommost() const {
  for (const LevelRun& r : input_->version->runs()) {
    if (r.level < output_level_) continue;
    const bool older = r.level > output_level_ || !plan_.output_run.has_value() || r.run->number() < *plan_.output_run;
    if (!older) continue;
    // The runs of level 0 are ordered by their sequence numbers, which one with numbers set to 0 would break.
    if (r.level == 0) {
      if (!HoldsAll(*r.run)) return false;
      continue;
    }
    for (const TableRef& table : r.run->Overlapping(hull())) {
      if (!Holds(*table)) return false;
    }
  }
  return true;
}

bool PlanDraft::OverlapsTooMuchBelow() const {
  uint64_t overlap = 0;
  for (const Grandparent& grandparent : plan_.grandparents) overlap += grandparent.bytes;
  return overlap > MaxOverlapBytes(input_->policy) * static_cast<uint64_t>(plan_.InputTables());
}

absl::flat_hash_set<FileNumber> PlanDraft::TablesApart() const {
  const KeyOrder order = input_->version->order();
  std::vector<const TableMetadata*> tables;
  for (const CompactionInput& in : plan_.inputs) {
    for (const TableRef& table : in.tables) tables.push_back(&table->metadata());
  }
  std::sort(tables.begin(), tables.end(), [&order](const TableMetadata* a, const TableMetadata* b) {
    return order.Less(a->smallest.view(), b->smallest.view());
  });
  absl::flat_hash_set<FileNumber> apart;
  const std::string* reach = nullptr;  // the largest key so far
  for (size_t i = 0; i < tables.size(); ++i) {
    const TableMetadata& m = *tables[i];
    const bool from_before = reach == nullptr || order.Less(*reach, m.smallest.user_key);
    const bool from_behind = i + 1 == tables.size() || order.Less(m.largest.user_key, tables[i + 1]->smallest.user_key);
    if (from_before && from_behind) apart.insert(m.number);
    if (reach == nullptr || order.Less(*reach, m.largest.user_key)) reach = &m.largest.user_key;
  }
  return apart;
}

// Tables that share keys with no other input need not be read: they are carried as they are; if all are, the plan is a
// move. Small tables beside a rewrite are not carried, because they would only cut its output into small tables.
void PlanDraft::CarryNonOverlappingTables(bool may_move) {
  const absl::flat_hash_set<FileNumber> apart = TablesApart();
  const bool travels = may_move && !OverlapsTooMuchBelow();
  const auto in_output = [this](const CompactionInput& in) {
    return joins_ && in.level == output_level_ && in.run == plan_.output_run;
  };
  const auto codec = [this](int level) { return input_->policy.compression[static_cast<size_t>(level)]; };
  const auto may_stay_whole = [&](const CompactionInput& in, const TableRef& table) {
    const bool comes_to_rest = plan_.bottommost && table->metadata().tombstones > 0;
    const bool as_is = codec(in.level) == codec(output_level_) && !comes_to_rest;
    return apart.contains(table->number()) && (in_output(in) || (travels && as_is));
  };
  const bool all_move = std::all_of(plan_.inputs.begin(), plan_.inputs.end(), [&](const CompactionInput& in) {
    return in_output(in) || std::all_of(in.tables.begin(), in.tables.end(),
                                        [&](const TableRef& table) { return may_stay_whole(in, table); });
  });
  if (all_move && travels) {
    std::erase_if(plan_.inputs, in_output);
    plan_.kind = CompactionPlan::Kind::kMove;
    return;
  }
  std::vector<CompactionInput> all;
  all.swap(plan_.inputs);
  for (CompactionInput& in : all) {
    const auto read = std::stable_partition(in.tables.begin(), in.tables.end(), [&](const TableRef& table) {
      return may_stay_whole(in, table) && table->metadata().size_bytes >= input_->policy.min_rest_bytes;
    });
    if (read != in.tables.begin()) plan_.carried.push_back({in.level, in.run, {in.tables.begin(), read}});
    if (read != in.tables.end()) plan_.inputs.push_back({in.level, in.run, {read, in.tables.end()}});
  }
}

void PlanDraft::CollectGrandparents() {
  // If whole levels are compacted, it does not matter where their tables end.
  const bool by_table = ShapeOf(input_->policy).step == CompactionStep::kOneTable;
  if (!by_table || output_level_ + 1 >= kMaxLevels) return;
  for (const RunRef& run : input_->version->level(output_level_ + 1)) {
    if (run != input_->version->level(output_level_ + 1).front()) return;  // several runs are about to become one
    for (const TableRef& table : run->Overlapping(hull())) {
      plan_.grandparents.push_back({table->metadata().largest.user_key, table->metadata().size_bytes});
    }
  }
}

CompactionPlan PlanDraft::Finish(std::string reason, bool may_move) && {
  plan_.output_level = output_level_;
  plan_.reason = std::move(reason);
  plan_.bottommost = IsBottommost();
  CollectGrandparents();
  plan_.kind = CompactionPlan::Kind::kRewrite;
  CarryNonOverlappingTables(may_move);
  return std::move(plan_);
}

std::optional<PlanDraft> DraftOf(const PickerInput& input, const BusyTables& busy, const Descent& descent) {
  if (descent.runs.empty() || busy.HasAny(descent.runs)) return std::nullopt;
  PlanDraft draft(input, descent.output_level);
  for (const LevelRun& r : descent.runs) draft.Add(r.level, *r.run, r.run->tables().ToVector());
  if (descent.joins) draft.JoinOutputRun();
  if (draft.Blocked(busy)) return std::nullopt;
  return draft;
}

std::string DenseReason(std::string_view what, const TableTotals& totals) {
  return absl::StrFormat("%s: %d of %d entries are tombstones", what, totals.tombstones, totals.entries);
}

std::string CapacityReason(int level, uint64_t bytes, uint64_t capacity) {
  return absl::StrFormat("level %d is at %.2f of its capacity", level,
                         static_cast<double>(bytes) / static_cast<double>(capacity));
}

}  // namespace sepal
