#include <algorithm>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "db/decide/compaction/droppable_tables.h"
#include "db/decide/compaction/level_targets.h"
#include "db/decide/compaction/plan_draft.h"

namespace sepal {

namespace {

// Returns the runs above the last level, without the newest ones that have nothing from before the call, so that no
// entry passes an older one.
std::span<const LevelRun> UpperRuns(const Version& version, const RangeCall& call) {
  const int last = LastLevel(version);
  const std::span<const LevelRun> runs = version.runs();
  const auto begin = std::find_if(
      runs.begin(), runs.end(), [&call](const LevelRun& r) { return r.run->lowest_sequence() <= call.last_sequence; });
  const auto end = std::find_if(begin, runs.end(), [last](const LevelRun& r) { return r.level >= last; });
  return {begin, end};
}

// Drafts the tables of `runs` that overlap `reach`, and those that overlap these, so that no entry passes an older one,
// together with what they overlap in the oldest run of `output_level`.
PlanDraft BringDown(const PickerInput& input, std::span<const LevelRun> runs, KeyRange reach, int output_level) {
  PlanDraft draft(input, output_level);
  for (bool grown = true; grown;) {
    const int tables_before = draft.inputs().InputTables();
    PlanDraft wider(input, output_level);
    for (const LevelRun& r : runs) wider.Add(r.level, *r.run, r.run->Overlapping(reach).ToVector());
    grown = wider.inputs().InputTables() > tables_before;
    draft = std::move(wider);
    if (!draft.empty()) reach = draft.hull();
  }
  if (!draft.empty()) draft.JoinOutputRun();
  return draft;
}

// Returns the first neighbouring tables from before the call with entries that no snapshot needs, or that range
// tombstones may cover or the filter may refuse; or, for a context filter, all tables from before the call.
std::vector<TableRef> FirstWorthRewriting(const PickerInput& input, const RangeCall& call, const Run& run) {
  const auto worth = [&](const TableRef& table) {
    const TableMetadata& m = table->metadata();
    if (call.every_table) return m.number < call.first_new_file && m.lowest_sequence <= call.last_sequence;
    return m.number < call.first_new_file &&
           (m.highest_sequence > SequenceNumber(0) || m.filtered_through < call.filter_epoch ||
            MayHoldCovered(*input.version, m)) &&
           m.lowest_sequence <= std::min(input.oldest_snapshot, call.last_sequence);
  };
  const TableRange tables = run.Overlapping(call.keys);
  const auto begin = std::find_if(tables.begin(), tables.end(), worth);
  return {begin, std::find_if_not(begin, tables.end(), worth)};
}

// In the oldest run, these tables are rewritten in place. Those of other runs were in the last level until concurrent
// compactions began a deeper one; they are compacted into it.
RangeStep Rewrite(const PickerInput& input, const BusyTables& busy, const RangeCall& call) {
  const std::span<const LevelRun> runs = input.version->runs();
  if (input.version->DeepestLevel() < 1) return {};
  const int last = runs.back().level;
  for (size_t i = 0; i < runs.size(); ++i) {
    const Run& run = *runs[i].run;
    std::vector<TableRef> tables = FirstWorthRewriting(input, call, run);
    if (tables.empty()) continue;
    const KeyRange hull{tables.front()->metadata().smallest.user_key, tables.back()->metadata().largest.user_key};
    PlanDraft draft = BringDown(input, runs.subspan(i, runs.size() - 1 - i), hull, last);
    const bool in_place = draft.empty();
    if (in_place) {
      draft.Add(last, run, std::move(tables));
      draft.StayInRun(run.number());
    }
    if (draft.Blocked(busy)) return {.plan = {}, .blocked = true};
    const char* const what = in_place ? "rewrites the last level" : "brings down what the last level left behind";
    return {.plan = std::move(draft).Finish(absl::StrCat("manual: ", what), false), .blocked = false};
  }
  return {};
}

// Returns neighbouring tables from before the call in which entries that no reader needs are covered.
std::vector<TableRef> FirstCovered(const PickerInput& input, const RangeCall& call, const Run& run) {
  const auto covered = [&](const TableRef& table) {
    const TableMetadata& m = table->metadata();
    return m.number < call.first_new_file && m.lowest_sequence <= std::min(input.oldest_snapshot, call.last_sequence) &&
           MayHoldCovered(*input.version, m);
  };
  const TableRange tables = run.Overlapping(call.keys);
  const auto begin = std::find_if(tables.begin(), tables.end(), covered);
  return {begin, std::find_if_not(begin, tables.end(), covered)};
}

RangeStep RewriteCovered(const PickerInput& input, const BusyTables& busy, const RangeCall& call) {
  bool blocked = false;
  for (const LevelRun& r : input.version->runs()) {
    std::vector<TableRef> tables = FirstCovered(input, call, *r.run);
    if (tables.empty()) continue;
    PlanDraft draft(input, r.level);
    draft.Add(r.level, *r.run, std::move(tables));
    draft.StayInRun(r.run->number());
    if (!draft.Blocked(busy))
      return {.plan = std::move(draft).Finish("manual: rewrites what deleted ranges cover", false)};
    blocked = true;
  }
  return {.plan = {}, .blocked = blocked};
}

}  // namespace

RangeStep PlanRange(const PickerInput& input, const RangeCall& call) {
  const BusyTables busy(input);
  if (call.covered_only) return RewriteCovered(input, busy, call);
  if (call.brought_down) return Rewrite(input, busy, call);
  PlanDraft draft = BringDown(input, UpperRuns(*input.version, call), call.keys, LastLevel(*input.version));
  if (draft.empty()) return Rewrite(input, busy, call);
  if (draft.Blocked(busy)) return {.plan = {}, .blocked = true};
  return {.plan = std::move(draft).Finish("manual: brings the range into the last level", false), .blocked = false};
}

}  // namespace sepal
