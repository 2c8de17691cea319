#include "absl/strings/str_format.h"
#include "db/decide/plan_draft.h"

namespace sepal {

CompactionPlan RewriteDenseTable(const PickerInput& input, const BusyTables& busy) {
  const Version& version = *input.version;
  const int deepest = version.DeepestLevel();
  if (deepest < 1 || version.NumRuns(deepest) != 1) return {};
  const Run& run = *version.level(deepest).front();
  for (const TableRef& table : run.tables()) {
    const TableMetadata& m = table->metadata();
    // A tombstone that a snapshot divides from older data would survive, and the table would be picked for ever.
    if (!IsDense(input.policy, m.tombstones, m.entries) || m.highest_sequence > input.oldest_snapshot) continue;
    PlanDraft draft(input, deepest);
    draft.Add(deepest, run, {table});
    draft.StayInRun(run.number());
    if (draft.Blocked(busy)) continue;
    return std::move(draft).Finish(DenseReason(absl::StrFormat("table %d", m.number.value()), m.tombstones, m.entries),
                                   false);
  }
  return {};
}

}  // namespace sepal
