#include "db/decide/compaction/compaction_picker.h"

#include "db/decide/compaction/plan_draft.h"

namespace sepal {

CompactionPlan PickCompaction(const PickerInput& input) {
  const BusyTables busy(input);
  using Choice = CompactionPlan (*)(const PickerInput&, const BusyTables&);
  constexpr Choice kChoices[] = {MoveLastLevelDown, ReduceSpace,   StepDown,    CollectValues,
                                 CompactTombstones, CompactAtRest, RewriteTable};
  for (const Choice choose : kChoices) {
    if (CompactionPlan plan = choose(input, busy); !plan.nothing()) return plan;
  }
  return {};
}

}  // namespace sepal
