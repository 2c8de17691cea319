// Workloads of updates other than plain puts: by an engine's own calls for them, or else by reads and writes
// (Session::Increment and DeleteRange).
#pragma once

#include <cstdint>

#include "bench/compare/measure.h"
#include "bench/compare/options.h"

namespace sepal::compare {

// As many additions as entries, to counters of 1,000 keys.
Totals RunIncrements(const CompareOptions& options, int threads, uint64_t seed, Meter* meter);
// As many puts of random keys as entries, but for each 100th the deletion of the 10 keys from there on.
Totals RunRangeDeletes(const CompareOptions& options, int threads, uint64_t seed, Meter* meter);

}  // namespace sepal::compare
