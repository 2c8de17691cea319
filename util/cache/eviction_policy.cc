#include "util/cache/eviction_policy.h"

#include <algorithm>

namespace sepal {
namespace {

// Limits of the share of data blocks that may be on probation, in twentieths.
constexpr int64_t kLeastShare = 1;
constexpr int64_t kMostShare = 18;
// How much the share grows, or shrinks, for each block that comes back, in halves of a block.
constexpr int64_t kGrowth = 1;
constexpr int64_t kShrinkage = 2;

constexpr size_t kManyBlocks = 100'000;
static_assert(2 * GhostFilter::MemoryBytes(kManyBlocks) <= EvictionPolicy::kBytesPerBlock * kManyBlocks);

}  // namespace

int64_t EvictionPolicy::HalfShare() const {
  const int64_t halves = 2 * data_blocks_.load(std::memory_order_relaxed);
  return std::clamp(half_share_.load(std::memory_order_relaxed), halves * kLeastShare / 20, halves * kMostShare / 20);
}

bool EvictionPolicy::ProbationIsOverFull() const {
  return 2 * on_probation_.load(std::memory_order_relaxed) > HalfShare();
}

bool EvictionPolicy::Trusts(uint64_t hash) {
  const bool was_trusted = evicted_trusted_.Remembers(hash);
  const bool came_back = was_trusted || evicted_on_probation_.Remembers(hash);
  if (came_back) half_share_.store(HalfShare() + (was_trusted ? -kShrinkage : kGrowth), std::memory_order_relaxed);
  return came_back;
}

}  // namespace sepal
