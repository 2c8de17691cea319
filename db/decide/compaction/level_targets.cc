#include "db/decide/compaction/level_targets.h"

#include <algorithm>
#include <cmath>

#include "db/decide/compaction/live_bytes.h"

namespace sepal {

namespace {

// A batch counts for at least this part of what the memtables hold that it comes from.
constexpr uint64_t kSmallestBatch = 8;

// a * b^n, at most half of what fits.
uint64_t Grow(uint64_t a, uint64_t b, int n) {
  constexpr uint64_t kMost = UINT64_MAX / 2;
  for (int i = 0; i < n; ++i) {
    if (a > kMost / b) return kMost;
    a *= b;
  }
  return a;
}

}  // namespace

int LastLevel(const Version& version) {
  const int deepest = version.DeepestLevel();
  if (deepest < 1) return 1;
  return version.NumRuns(deepest) > 1 ? std::min(deepest + 1, kMaxLevels - 1) : deepest;
}

int RunsDue(const CompactionPolicy& policy, int level) {
  return policy.runs_per_level + (level == 0 ? policy.unread_runs : 0);
}

uint64_t LevelCapacity(const CompactionPolicy& policy, int level) {
  const uint64_t fanout = static_cast<uint64_t>(policy.fanout);
  switch (policy.style) {
    case CompactionStyle::kLazyLeveling:
      return Grow(fanout * policy.memtable_bytes, static_cast<uint64_t>(policy.runs_per_level), level);
    case CompactionStyle::kLeveled:
      return Grow(4 * policy.memtable_bytes, fanout, level - 1);
    case CompactionStyle::kUniversal:
      return Grow(policy.memtable_bytes, static_cast<uint64_t>(policy.runs_per_level), level + 1);
  }
  return 0;
}

uint64_t LastLevelCapacity(const Version& version, const CompactionPolicy& policy) {
  const int last = LastLevel(version);
  const uint64_t capacity = LevelCapacity(policy, last);
  const bool batch_is_full = version.NumRuns(last - 1) >= RunsDue(policy, last - 1);
  if (policy.style != CompactionStyle::kLazyLeveling || !batch_is_full) return capacity;
  // Who flushes every few entries gets no tree of many levels.
  const uint64_t smallest = capacity / static_cast<uint64_t>(policy.fanout) / kSmallestBatch;
  const uint64_t batch = std::max(version.Bytes(last - 1), smallest);
  return std::min(capacity, Grow(batch, static_cast<uint64_t>(policy.fanout), 1));
}

bool MayExceedSpace(const Version& version, const CompactionPolicy& policy) {
  if (version.DeepestLevel() < 1 && version.NumRuns(0) < policy.runs_per_level) return false;
  const uint64_t oldest = version.runs().back().run->bytes();
  const uint64_t above = version.Bytes() - oldest;
  if (above == 0 || above < policy.min_rest_bytes) return false;
  return static_cast<double>(version.Bytes()) > policy.max_space_amplification * static_cast<double>(oldest);
}

uint64_t BytesOverSpaceBound(const Version& version, const CompactionPolicy& policy) {
  if (!MayExceedSpace(version, policy)) return 0;
  const double allowed = policy.max_space_amplification * static_cast<double>(EstimatedLiveBytes(version));
  const double bytes = static_cast<double>(version.Bytes());
  return bytes > allowed ? static_cast<uint64_t>(std::ceil(bytes - allowed)) : 0;
}

bool ExceedsSpace(const Version& version, const CompactionPolicy& policy) {
  return BytesOverSpaceBound(version, policy) > 0;
}

uint64_t MaxOverlapBytes(const CompactionPolicy& policy) {
  return Grow(policy.max_table_bytes, static_cast<uint64_t>(policy.fanout), 1);
}

}  // namespace sepal
