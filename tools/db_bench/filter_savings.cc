#include "tools/db_bench/filter_savings.h"

#include "absl/strings/str_format.h"

namespace sepal::tools {

FilterSavings FilterSavings::operator-(const FilterSavings& before) const {
  return {.files_asked = files_asked - before.files_asked,
          .guard_rejections = guard_rejections - before.guard_rejections,
          .lane_rejections = lane_rejections - before.lane_rejections,
          .blocks_searched = blocks_searched - before.blocks_searched,
          .false_positives = false_positives - before.false_positives};
}

std::string FilterSavings::ToString() const {
  const uint64_t candidates = BlockReadsSaved() + blocks_searched;
  const double share =
      candidates == 0 ? 0 : 100.0 * static_cast<double>(BlockReadsSaved()) / static_cast<double>(candidates);
  return absl::StrFormat("filters saved %d of %d block reads (%.1f %%): %d by guards, %d by lanes; %d false positives",
                         BlockReadsSaved(), candidates, share, guard_rejections, lane_rejections, false_positives);
}

FilterSavings MeasureFilters(const Statistics& statistics) {
  FilterSavings sum;
  for (int level = 0; level < kMaxLevels; ++level) {
    const LevelFilterStatistics here = statistics.GetFilter(level);
    sum.files_asked += here.lookups;
    sum.guard_rejections += here.guard_rejections;
    sum.lane_rejections += here.lane_rejections;
    sum.blocks_searched += here.blocks_searched;
    sum.false_positives += here.false_positives;
  }
  return sum;
}

}  // namespace sepal::tools
