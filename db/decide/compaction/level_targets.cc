#include "db/decide/compaction/level_targets.h"

#include <algorithm>
#include <cmath>

#include "db/decide/compaction/live_bytes.h"
#include "db/decide/compaction/value_collection.h"

namespace sepal {

namespace {

// A batch counts for at least this part of the bytes of the memtables that it comes from.
constexpr uint64_t kSmallestBatch = 8;

// Returns a * b^n, but at most half of the range.
uint64_t Grow(uint64_t a, uint64_t b, int n) {
  constexpr uint64_t kMost = UINT64_MAX / 2;
  for (int i = 0; i < n; ++i) {
    if (a > kMost / b) return kMost;
    a *= b;
  }
  return a;
}

// Returns the number of batches that the last level holds before it is moved down.
uint64_t LastLevelBatches(const CompactionPolicy& policy) {
  const int runs = ShapeOf(policy).runs_in_last;
  return static_cast<uint64_t>(runs > 1 ? runs : policy.fanout);
}

// Returns the bytes of the oldest run, including separated values that it refers to.
uint64_t OldestRunBytes(const Version& version) {
  const TableTotals& totals = version.runs().back().run->sums().totals;
  return totals.bytes + totals.value_bytes;
}

// Returns the totals of the oldest run, and of what is kept for readers of the past.
TableTotals SurelyLive(const Version& version, const CompactionPolicy& policy) {
  TableTotals live = version.runs().back().run->sums().totals;
  if (policy.all_live_above == kMaxSequenceNumber) return live;
  for (const LevelRun& r : version.runs().first(version.runs().size() - 1)) {
    if (r.run->highest_sequence() > policy.all_live_above) live = live + r.run->sums().totals;
  }
  return live;
}

// With separated values, entries are assumed to be equally large wherever their values are.
uint64_t LiveBytesWithValues(const Version& version, const CompactionPolicy& policy) {
  const TableTotals sure = SurelyLive(version, policy);
  if (version.ValueBytes() == 0) return std::max(sure.bytes, EstimatedLiveBytes(version));
  const double all = static_cast<double>(version.Bytes() + version.ValueBytes());
  return std::max(sure.bytes + sure.value_bytes, static_cast<uint64_t>(all * EstimatedLiveShare(version)));
}

}  // namespace

int LastLevel(const Version& version) {
  const int deepest = version.DeepestLevel();
  if (deepest < 1) return 1;
  return version.NumRuns(deepest) > 1 ? std::min(deepest + 1, kMaxLevels - 1) : deepest;
}

int RunsDue(const Version& version, const CompactionPolicy& policy, int level) {
  if (level == 0) return policy.runs_per_level + policy.unread_runs;
  const CompactionShape shape = ShapeOf(policy);
  return level < LastLevel(version) ? shape.runs_in_upper : shape.runs_in_last;
}

bool GoesDownWhole(const Version& version, const CompactionPolicy& policy, int level) {
  return level == 0 || version.NumRuns(level) > 1 || ShapeOf(policy).step == CompactionStep::kWholeLevel;
}

bool JoinsRunBelow(const Version& version, const CompactionPolicy& policy, int level) {
  return level + 2 == kMaxLevels || RunsDue(version, policy, level + 1) == 1;
}

uint64_t BytesDue(const Version& version, const CompactionPolicy& policy, int level, uint64_t arriving) {
  const uint64_t bytes = version.Bytes(level) + arriving;
  const int runs = version.NumRuns(level);
  const int due = RunsDue(version, policy, level);
  if (due > 1) return runs + (arriving > 0 ? 1 : 0) >= due ? bytes : 0;
  if (GoesDownWhole(version, policy, level)) return runs > 1 ? bytes : 0;
  return bytes - std::min(bytes, LevelCapacity(policy, level));
}

uint64_t LevelCapacity(const CompactionPolicy& policy, int level) {
  const uint64_t fanout = static_cast<uint64_t>(policy.fanout);
  switch (ShapeOf(policy).step) {
    case CompactionStep::kWholeLevel:
      return Grow(LastLevelBatches(policy) * policy.memtable_bytes, static_cast<uint64_t>(policy.runs_per_level),
                  level);
    case CompactionStep::kOneTable:
      return Grow(4 * policy.memtable_bytes, fanout, level - 1);
  }
  return 0;
}

uint64_t LastLevelCapacity(const Version& version, const CompactionPolicy& policy) {
  const int last = LastLevel(version);
  const uint64_t capacity = LevelCapacity(policy, last);
  if (BytesDue(version, policy, last - 1) == 0) return capacity;
  // Limits the depth of trees built by flushes of a few entries.
  const uint64_t batches = LastLevelBatches(policy);
  const uint64_t batch = std::max(version.Bytes(last - 1), capacity / batches / kSmallestBatch);
  return std::min(capacity, Grow(batch, batches, 1));
}

bool LastLevelMovesDown(const Version& version, const CompactionPolicy& policy) {
  const int last = LastLevel(version);
  return ShapeOf(policy).step == CompactionStep::kWholeLevel && last + 1 < kMaxLevels && version.NumRuns(last) == 1 &&
         version.Bytes(last) > LastLevelCapacity(version, policy);
}

bool MayExceedSpace(const Version& version, const CompactionPolicy& policy) {
  if (version.DeepestLevel() < 1 && version.NumRuns(0) < policy.runs_per_level) return false;
  const uint64_t all = version.Bytes() + version.ValueBytes();
  const uint64_t oldest = OldestRunBytes(version);
  const uint64_t above = all - oldest;
  if (above == 0 || above < policy.min_rest_bytes) return false;
  return static_cast<double>(all) > policy.max_space_amplification * static_cast<double>(oldest);
}

uint64_t BytesOverSpaceBound(const Version& version, const CompactionPolicy& policy) {
  if (!MayExceedSpace(version, policy)) return 0;
  const double allowed = policy.max_space_amplification * static_cast<double>(LiveBytesWithValues(version, policy));
  const double bytes = static_cast<double>(version.Bytes() + version.ValueBytes());
  return bytes > allowed ? static_cast<uint64_t>(std::ceil(bytes - allowed)) : 0;
}

bool MayShadowValues(const Version& version, const CompactionPolicy& policy) {
  const uint64_t all = version.ValueBytes();
  // If values move back into the tables, merging runs for their sake would rewrite all of them.
  if (all == 0 || policy.last_level_inline) return false;
  const uint64_t oldest = version.runs().back().run->sums().totals.value_bytes;
  const double most = MostShadowed(policy.max_space_amplification) * static_cast<double>(oldest);
  return all - oldest > policy.memtable_bytes && static_cast<double>(all - oldest) > most;
}

bool ShadowsValues(const Version& version, const CompactionPolicy& policy) {
  if (!MayShadowValues(version, policy)) return false;
  const uint64_t all = version.ValueBytes();
  const uint64_t sure = SurelyLive(version, policy).value_bytes;
  const auto live = static_cast<uint64_t>(static_cast<double>(all) * EstimatedLiveShare(version));
  const uint64_t shadowed = std::min(all - std::min(all, live), all - sure);
  const double most = MostShadowed(policy.max_space_amplification) * static_cast<double>(all - shadowed);
  return shadowed > policy.memtable_bytes && static_cast<double>(shadowed) > most;
}

uint64_t MaxOverlapBytes(const CompactionPolicy& policy) {
  return Grow(policy.max_table_bytes, static_cast<uint64_t>(policy.fanout), 1);
}

}  // namespace sepal
