// Decides when runs are compacted for readers. Pure: counts in, numbers out.
//
// A compaction that nothing waits for can be delayed until there is more to compact: every byte is then rewritten once
// rather than twice. Only reads, which must search each run, pay for the delay. Someone who rents until the rent has
// reached the purchase price pays at most twice the optimum (the ski-rental problem; Karlin, Manasse, Rudolph, Sleator:
// "Competitive snoopy caching", Algorithmica 1988). The rule is applied twice:
//   - level 0 may have CompactionPolicy::unread_runs more runs than other levels, until the reads that meet them have
//     cost a part of what the compaction costs: readers wait, but the background does not;
//   - the data above the last level is compacted into it once reads have cost as much as rewriting everything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace sepal {

struct ReadCounts {
  // Tables of level 0 that point lookups have searched.
  uint64_t level0_lookups = 0;
  uint64_t seeks = 0;
  // Of iterators, in either direction.
  uint64_t steps = 0;
};

// Returns the demand of reads for runs, in lookups of one run. A seek visits all runs, down to a block of each; a step
// compares the heads of a few.
inline uint64_t ReadDemand(const ReadCounts& counts) {
  constexpr uint64_t kLookupsPerSeek = 64;
  constexpr uint64_t kStepsPerLookup = 4;
  return counts.level0_lookups + kLookupsPerSeek * counts.seeks + counts.steps / kStepsPerLookup;
}

// Returns the demand at which a level 0, or a tree, with this many entries is compacted. Rewriting an entry costs the
// background a fifth of a microsecond; a lookup in a run costs its reader a twentieth.
inline uint64_t PriceOfLevel0(uint64_t entries) {
  constexpr uint64_t kEntriesPerLookup = 16;
  return entries / kEntriesPerLookup;
}
inline uint64_t PriceOfTree(uint64_t entries) {
  constexpr uint64_t kLookupsPerEntry = 4;
  constexpr uint64_t kLeast = uint64_t{1} << 16;
  return std::max(kLookupsPerEntry * entries, kLeast);
}

// The demand of one family's readers for its level 0, or its tree, since that last had few runs.
class ReadWatch {
 public:
  // No demand makes a compaction due.
  static constexpr uint64_t kNever = UINT64_MAX;

  struct Runs {
    int runs = 0;
    uint64_t price = 0;
    int few_runs = 0;    // fewer runs than this are no burden
    bool taken = false;  // by a compaction that runs
  };

  // `demand_before`: the demand when level 0, or the tree, last had few runs; unset if it has not had few since the
  // database was opened, so that nothing is known of readers.
  explicit ReadWatch(std::optional<uint64_t> demand_before = std::nullopt) : demand_before_(demand_before) {}

  // The demand was `before` at the last look, and is `now`. Returns the demand at which a compaction will be due.
  uint64_t Weigh(const Runs& runs, uint64_t before, uint64_t now) {
    if (std::exchange(few_runs_, !runs.taken && runs.runs < runs.few_runs)) demand_before_ = before;
    // The demand of readers lasts until it is satisfied.
    if (runs.taken) return kNever;
    // A lower number means that the user has reset the statistics.
    if (few_runs_ || demand_before_.value_or(0) > now) demand_before_ = now;
    const uint64_t due = demand_before_.has_value() ? *demand_before_ + runs.price : 0;
    due_ = !few_runs_ && now >= due;
    return few_runs_ || due_ ? kNever : due;
  }

  // Notes that a compaction of them has ended, when the demand was `now`.
  void Satisfy(uint64_t now) {
    demand_before_ = now;
    few_runs_ = false;
  }

  // Returns whether the demand makes a compaction due.
  bool due() const { return due_; }

 private:
  // Not updated while there are few runs; then the demand of the last look counts.
  std::optional<uint64_t> demand_before_;
  bool few_runs_ = false;
  bool due_ = false;
};

}  // namespace sepal
