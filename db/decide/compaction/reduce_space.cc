#include <optional>

#include "absl/strings/str_format.h"
#include "db/decide/compaction/level_targets.h"
#include "db/decide/compaction/live_bytes.h"
#include "db/decide/compaction/plan_draft.h"
#include "util/base/strings.h"

namespace sepal {

std::string SpaceReason(const PickerInput& input) {
  const Version& version = *input.version;
  if (BytesOverSpaceBound(version, input.policy) == 0) {
    return absl::StrFormat("of %s of values that tables refer to, about %.0f %% are live",
                           HumanBytes(version.ValueBytes()), 100 * EstimatedLiveShare(version));
  }
  const double space = static_cast<double>(version.Bytes()) / static_cast<double>(EstimatedLiveBytes(version));
  return absl::StrFormat("space is %.2f times what should be live", space);
}

bool ReachesSpaceBound(const PickerInput& input) {
  return input.sketches_sought &&
         (BytesOverSpaceBound(*input.version, input.policy) > 0 || ShadowsValues(*input.version, input.policy));
}

CompactionPlan ReduceSpace(const PickerInput& input, const BusyTables& busy) {
  const Version& version = *input.version;
  if (ShapeOf(input.policy).step != CompactionStep::kWholeLevel || !ReachesSpaceBound(input)) return {};
  // Level 0 must not grow while the others are compacted, so it is compacted first, and alone if that is enough.
  if (BytesDue(version, input.policy, 0) > 0) {
    if (CompactionPlan plan = StepDownFrom(input, busy, 0); !plan.nothing()) return plan;
  }
  const int first_level = version.NumRuns() - version.NumRuns(0) > 1 ? 1 : 0;
  std::optional<PlanDraft> draft = DraftOf(input, busy, AllIntoOldest(version, first_level));
  return draft.has_value() ? std::move(*draft).Finish(SpaceReason(input), true) : CompactionPlan();
}

}  // namespace sepal
