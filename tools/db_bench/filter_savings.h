// The block reads that the filters of a database saved, summed over the levels.
#pragma once

#include <cstdint>
#include <string>

#include "sepal/statistics.h"

namespace sepal::tools {

struct FilterSavings {
  uint64_t files_asked = 0;
  uint64_t guard_rejections = 0;
  uint64_t lane_rejections = 0;
  uint64_t blocks_searched = 0;
  uint64_t false_positives = 0;

  // A file that was ruled out would have cost a block.
  uint64_t BlockReadsSaved() const { return guard_rejections + lane_rejections; }
  FilterSavings operator-(const FilterSavings& before) const;
  // "filters saved N of M block reads (P %): G by guards, L by lanes; F false positives".
  std::string ToString() const;
};

FilterSavings MeasureFilters(const Statistics& statistics);

}  // namespace sepal::tools
