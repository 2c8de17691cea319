#include "util/cache/admission.h"

#include <algorithm>

namespace sepal {
namespace {

// Bounds of the share of data blocks that may be on probation, in parts of 20.
constexpr int64_t kLeastShare = 1;
constexpr int64_t kMostShare = 18;
// How much the share grows, and shrinks, with a block that comes back, in halves of a block.
constexpr int64_t kGrowth = 1;
constexpr int64_t kShrinkage = 2;

// How many parts a count has in the average of victims, how much of that a victim makes, and by how much a block must
// be above it: one for the access that brings it, which the victim did not have, and a half.
constexpr int kVictimUnit = 16;
constexpr int kVictimPart = 8;
constexpr int kAboveVictims = kVictimUnit * 3 / 2;

constexpr size_t kManyBlocks = 100'000;
static_assert(2 * RecentKeys::MemoryBytes(kManyBlocks) <=
              CacheAdmission::BytesPerBlock(CacheAdmissionKind::kProbation) * kManyBlocks);
static_assert(2 * RecentKeys::MemoryBytes(kManyBlocks) + FrequencySketch::MemoryBytes(kManyBlocks) <=
              CacheAdmission::BytesPerBlock(CacheAdmissionKind::kTinyLfu) * kManyBlocks);

}  // namespace

std::string_view Name(CacheAdmissionKind kind) {
  switch (kind) {
    case CacheAdmissionKind::kProbation:
      return "probation";
    case CacheAdmissionKind::kTinyLfu:
      return "tinylfu";
  }
  return "unknown";
}

CacheAdmission::CacheAdmission(size_t blocks, CacheAdmissionKind kind)
    : evicted_on_probation_(blocks), evicted_trusted_(blocks) {
  if (kind == CacheAdmissionKind::kTinyLfu) sketch_.emplace(blocks);
}

int64_t CacheAdmission::HalfShare() const {
  const int64_t halves = 2 * data_blocks_.load(std::memory_order_relaxed);
  return std::clamp(half_share_.load(std::memory_order_relaxed), halves * kLeastShare / 20, halves * kMostShare / 20);
}

bool CacheAdmission::ProbationIsOverFull() const {
  return 2 * on_probation_.load(std::memory_order_relaxed) > HalfShare();
}

bool CacheAdmission::Trusts(uint64_t hash) {
  const bool was_trusted = evicted_trusted_.Remembers(hash);
  const bool came_back = was_trusted || evicted_on_probation_.Remembers(hash);
  if (came_back) half_share_.store(HalfShare() + (was_trusted ? -kShrinkage : kGrowth), std::memory_order_relaxed);
  if (!sketch_.has_value()) return came_back;
  sketch_->Note(hash);
  return IsAskedForMoreThanVictims(hash);
}

bool CacheAdmission::IsAskedForMoreThanVictims(uint64_t hash) const {
  return sketch_->Estimate(hash) * kVictimUnit > victims_.load(std::memory_order_relaxed) + kAboveVictims;
}

void CacheAdmission::Evicted(uint64_t hash, bool on_probation) {
  (on_probation ? evicted_on_probation_ : evicted_trusted_).Add(hash);
  if (sketch_.has_value() && !on_probation) NoteVictim(hash);
}

void CacheAdmission::NoteVictim(uint64_t hash) {
  const int before = victims_.load(std::memory_order_relaxed);
  const int change = (sketch_->Estimate(hash) * kVictimUnit - before) / kVictimPart;
  victims_.store(before + change, std::memory_order_relaxed);
}

}  // namespace sepal
