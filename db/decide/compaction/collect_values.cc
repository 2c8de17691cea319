#include "absl/strings/str_format.h"
#include "db/decide/compaction/plan_draft.h"
#include "db/decide/compaction/value_collection.h"
#include "util/base/strings.h"

namespace sepal {

CompactionPlan CollectValues(const PickerInput& input, const BusyTables& busy) {
  if (input.values == nullptr || input.values->files.empty()) return {};
  const std::span<const LevelRun> runs = input.version->runs();
  for (auto r = runs.rbegin(); r != runs.rend(); ++r) {
    // One compaction at a time, because one into this level must wait for those under way.
    if (busy.Writes(r->level)) continue;
    const auto may_hold = [](const auto& tables) { return tables.sums().totals.value_bytes > 0; };
    CompactionPlan plan = FirstOf(*r->run, may_hold, [&](const TableRef& table) {
      const uint64_t bytes = input.values->BytesToMove(table->metadata());
      if (bytes == 0) return CompactionPlan();
      PlanDraft draft(input, r->level);
      draft.Add(r->level, *r->run, {table});
      draft.StayInRun(r->run->number());
      if (draft.Blocked(busy)) return CompactionPlan();
      return std::move(draft).Finish(absl::StrFormat("%s of values are moved out of %d files that are mostly garbage",
                                                     HumanBytes(bytes), static_cast<int>(input.values->files.size())),
                                     /*may_move=*/false);
    });
    if (!plan.nothing()) return plan;
  }
  return {};
}

}  // namespace sepal
