// When runs are compacted for readers' sake. Pure: counts in, numbers out.
//
// A compaction that nobody waits for can be left until there is more to compact: every byte is then rewritten once
// rather than twice. What it spares is paid by reads alone, which ask each run. A player who rents for as long as
// buying would cost pays at most twice the least price (the ski-rental problem; Karlin, Manasse, Rudolph, Sleator:
// "Competitive snoopy caching", Algorithmica 1988). It is played twice:
//   - level 0 may have CompactionPolicy::unread_runs more runs than other levels, until the reads that meet them have
//     asked for a part of what the compaction costs: readers wait, and the background does not;
//   - what lies above the last level goes into it once reads have asked for as much as it costs to rewrite all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace sepal {

struct ReadCounts {
  // Tables of level 0 that point lookups asked.
  uint64_t level0_lookups = 0;
  uint64_t seeks = 0;
  // Of iterators, either way.
  uint64_t steps = 0;
};

// What reads have asked of runs, in lookups of one. A seek goes through all runs, down to a block of each; a
// step compares the heads of a few.
inline uint64_t ReadDemand(const ReadCounts& counts) {
  constexpr uint64_t kLookupsPerSeek = 64;
  constexpr uint64_t kStepsPerLookup = 4;
  return counts.level0_lookups + kLookupsPerSeek * counts.seeks + counts.steps / kStepsPerLookup;
}

// How much is to be asked for until a level 0, or a tree, of so many entries is compacted. To rewrite an entry costs
// the background a fifth of a microsecond, a lookup in a run costs its reader a twentieth.
inline uint64_t PriceOfLevel0(uint64_t entries) {
  constexpr uint64_t kEntriesPerLookup = 16;
  return entries / kEntriesPerLookup;
}
inline uint64_t PriceOfTree(uint64_t entries) {
  constexpr uint64_t kLookupsPerEntry = 4;
  constexpr uint64_t kLeast = uint64_t{1} << 16;
  return std::max(kLookupsPerEntry * entries, kLeast);
}

// What one family's readers have asked of its level 0, or of its tree, since that last had few runs.
class ReadWatch {
 public:
  // No demand makes a compaction due.
  static constexpr uint64_t kNever = UINT64_MAX;

  struct Runs {
    int runs = 0;
    uint64_t price = 0;
    int few_runs = 0;    // fewer than so many are no burden
    bool taken = false;  // by a compaction that runs
  };

  // `demand_before`: as level 0, or the tree, last had few runs. None: not since the database was opened, and nothing
  // is known of readers.
  explicit ReadWatch(std::optional<uint64_t> demand_before = std::nullopt) : demand_before_(demand_before) {}

  // Readers had asked for `before` at the last look, and have for `now`. Returns the demand at which a compaction will
  // be due.
  uint64_t Weigh(const Runs& runs, uint64_t before, uint64_t now) {
    if (std::exchange(few_runs_, !runs.taken && runs.runs < runs.few_runs)) demand_before_ = before;
    // What readers have asked for holds until they have it.
    if (runs.taken) return kNever;
    // Less than before: the user has set the counts back to zero.
    if (few_runs_ || demand_before_.value_or(0) > now) demand_before_ = now;
    const uint64_t due = demand_before_.has_value() ? *demand_before_ + runs.price : 0;
    due_ = !few_runs_ && now >= due;
    return few_runs_ || due_ ? kNever : due;
  }

  // A compaction of them has ended, as demand stood at `now`.
  void Satisfy(uint64_t now) {
    demand_before_ = now;
    few_runs_ = false;
  }

  // Readers have asked for a compaction.
  bool due() const { return due_; }

 private:
  // While there are few runs it is not kept, and the demand of the last look counts.
  std::optional<uint64_t> demand_before_;
  bool few_runs_ = false;
  bool due_ = false;
};

}  // namespace sepal
