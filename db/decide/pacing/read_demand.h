// When the runs of level 0 are merged for those who read. Pure: counts in, numbers out.
//
// A merge of level 0 that nobody waits for can be left until there is more to merge: every byte is then rewritten once
// rather than twice. What it spares is paid by reads alone, which ask each run. So level 0 may have
// CompactionPolicy::unread_runs more runs than other levels, until the reads that meet them have asked for as much as a
// part of the merge costs. Who rents for as long as buying would cost pays at most twice what he had to (the ski-rental
// problem; Karlin, Manasse, Rudolph, Sleator: "Competitive snoopy caching", Algorithmica 1988); readers wait here, and
// the background does not, so that they need not pay that much.
#pragma once

#include <cstdint>

namespace sepal {

struct ReadCounts {
  // Tables of level 0 that point lookups asked.
  uint64_t level0_lookups = 0;
  uint64_t seeks = 0;
  // Of iterators, either way.
  uint64_t steps = 0;
};

// What reads have asked of level 0, in lookups of one run. A seek goes through all runs, down to a block of each; a
// step compares the heads of a few.
inline uint64_t ReadDemand(const ReadCounts& counts) {
  constexpr uint64_t kLookupsPerSeek = 64;
  constexpr uint64_t kStepsPerLookup = 4;
  return counts.level0_lookups + kLookupsPerSeek * counts.seeks + counts.steps / kStepsPerLookup;
}

// The demand at which runs of `entries` are to be merged, that were few when demand stood at `before`. To merge an
// entry costs the background a fifth of a microsecond, a lookup in a run costs its reader a twentieth.
inline uint64_t DemandThatMerges(uint64_t before, uint64_t entries) {
  constexpr uint64_t kEntriesPerLookup = 16;
  return before + entries / kEntriesPerLookup;
}

}  // namespace sepal
