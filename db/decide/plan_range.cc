#include <algorithm>
#include <vector>

#include "db/decide/level_targets.h"
#include "db/decide/plan_draft.h"

namespace sepal {

namespace {

// The runs above `last` that hold entries from before the call. In level 0 newer flushes are left out; they are the
// newest runs, so that nothing is passed.
std::vector<LevelRun> UpperRuns(const Version& version, int last, SequenceNumber last_sequence) {
  std::vector<LevelRun> runs;
  for (const LevelRun& r : version.runs()) {
    if (r.level >= last) break;
    if (r.level > 0 || r.run->lowest_sequence() <= last_sequence) runs.push_back(r);
  }
  return runs;
}

// The tables of the upper levels that overlap `range`, and those that overlap these, so that no entry passes an older
// one; with what they overlap in the last level.
PlanDraft Everything(const PickerInput& input, const KeyRange& range, int last, SequenceNumber last_sequence) {
  const std::vector<LevelRun> runs = UpperRuns(*input.version, last, last_sequence);
  KeyRange reach = range;
  PlanDraft draft(input, last);
  for (bool grown = true; grown;) {
    const int tables_before = draft.inputs().InputTables();
    PlanDraft wider(input, last);
    for (const LevelRun& r : runs) wider.Add(r.level, *r.run, r.run->Overlapping(reach).ToVector());
    grown = wider.inputs().InputTables() > tables_before;
    draft = std::move(wider);
    if (!draft.empty()) reach = draft.hull();
  }
  if (!draft.empty()) draft.JoinOutputRun();
  return draft;
}

bool WorthRewriting(const TableMetadata& m, FileNumber first_new_file, SequenceNumber oldest_snapshot) {
  return m.number < first_new_file && m.highest_sequence > SequenceNumber(0) && m.lowest_sequence <= oldest_snapshot;
}

// The first neighbouring tables of the last level that still hold what no snapshot needs.
RangeStep RewriteLastLevel(const PickerInput& input, const BusyTables& busy, const KeyRange& range, int last,
                           FileNumber first_new_file) {
  const Version& version = *input.version;
  if (version.level(last).empty()) return {};
  const Run& run = *version.level(last).front();
  const TableRange tables = run.Overlapping(range);
  const auto worth = [&](const TableRef& table) {
    return WorthRewriting(table->metadata(), first_new_file, input.oldest_snapshot);
  };
  const auto begin = std::find_if(tables.begin(), tables.end(), worth);
  if (begin == tables.end()) return {};
  const auto end = std::find_if_not(begin, tables.end(), worth);
  PlanDraft draft(input, last);
  draft.Add(last, run, {begin, end});
  draft.StayInRun(run.number());
  if (draft.Blocked(busy)) return {.plan = {}, .blocked = true};
  return {.plan = std::move(draft).Finish("manual: rewrites the last level", false), .blocked = false};
}

}  // namespace

RangeStep PlanRange(const PickerInput& input, const KeyRange& range, FileNumber first_new_file,
                    SequenceNumber last_sequence) {
  const BusyTables busy(input);
  const int last = LastLevel(*input.version);
  PlanDraft draft = Everything(input, range, last, last_sequence);
  if (draft.empty()) return RewriteLastLevel(input, busy, range, last, first_new_file);
  if (draft.Blocked(busy)) return {.plan = {}, .blocked = true};
  return {.plan = std::move(draft).Finish("manual: brings the range into the last level", false), .blocked = false};
}

}  // namespace sepal
