#include "sepal/filter/ageing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "filters/bits.h"
#include "filters/filter_file.h"
#include "filters/rates.h"
#include "util/base/random.h"
#include "util/base/status.h"

namespace sepal::filters {
namespace {

constexpr double kFill = AgeingFilter::kFillPercent / 100.0;

}  // namespace

absl::StatusOr<AgeingFilter> AgeingFilter::ForKeys(uint64_t keys, double rate, uint64_t seed) {
  RETURN_IF_ERROR(CheckKeysAndRate(keys, rate));
  AgeingFilter filter;
  const double probes = std::ceil(std::log(rate) / std::log(kFill));
  if (probes > kMostProbes) {
    return absl::InvalidArgumentError(absl::StrFormat("an ageing filter does not reach the rate %g", rate));
  }
  filter.probes_ = std::max(1, static_cast<int>(probes));
  const double bits = std::ceil(filter.probes_ * static_cast<double>(keys) / -std::log1p(-kFill));
  if (bits > static_cast<double>(kMostFilterBytes) * 8) {
    return absl::InvalidArgumentError(
        absl::StrFormat("an ageing filter for %u keys is too large: give fewer, it forgets the oldest", keys));
  }
  filter.size_ = std::max(uint64_t{64}, static_cast<uint64_t>(bits));
  filter.limit_ = filter.size_ * kFillPercent / 100;
  filter.seed_ = seed;
  filter.random_ = seed;
  ASSIGN_OR_RETURN(filter.bits_, FilterBytes::Zeroed(WordBytes(filter.size_)));
  return filter;
}

bool AgeingFilter::MayContain(std::string_view key) const {
  ProbeSequence sequence(KeyHash(key, seed_));
  for (int i = 0; i < probes_; ++i) {
    if (!TestBit(bits_.data(), sequence.Next(size_))) return false;
  }
  return true;
}

// Bits are cleared first, so that those of the new key stay set.
bool AgeingFilter::AddAndTest(std::string_view key) {
  if (MayContain(key)) return true;
  EvictDownToLimit();
  ProbeSequence sequence(KeyHash(key, seed_));
  for (int i = 0; i < probes_; ++i) {
    const uint64_t bit = sequence.Next(size_);
    set_ += !TestBit(bits_.data(), bit);
    SetBit(bits_.data(), bit);
  }
  ++keys_;
  return false;
}

void AgeingFilter::EvictDownToLimit() {
  while (set_ > limit_) {
    const uint64_t bit = ReduceRange(NextRandom(), size_);
    set_ -= TestBit(bits_.data(), bit);
    ClearBit(bits_.data(), bit);
  }
}

// The file has the generator's state, so that a restored filter continues exactly like the original.
uint64_t AgeingFilter::NextRandom() {
  Random random(random_);
  random_ += 0x9e3779b97f4a7c15ull;
  return random.Next();
}

void AgeingFilter::Age(double share) {
  for (uint64_t bit = 0; bit < size_; ++bit) {
    if (!TestBit(bits_.data(), bit) || static_cast<double>(NextRandom() >> 11) * 0x1p-53 >= share) continue;
    ClearBit(bits_.data(), bit);
    --set_;
  }
}

double AgeingFilter::Fill() const { return static_cast<double>(set_) / static_cast<double>(size_); }

double AgeingFilter::CurrentRate() const { return std::pow(Fill(), probes_); }

std::string AgeingFilter::Serialize() const {
  return EncodeFile({.kind = FilterKind::kAgeing,
                     .probes = static_cast<uint8_t>(probes_),
                     .width = kFillPercent,
                     .seed = seed_,
                     .keys = keys_,
                     .size = size_,
                     .extra = random_},
                    bits_);
}

absl::StatusOr<AgeingFilter> AgeingFilter::FromFile(const FileHeader& header, std::string_view body) {
  if (header.probes < 1 || header.probes > kMostProbes) {
    return BadField(header, "probes", absl::StrFormat("1 to %d", kMostProbes), header.probes);
  }
  RETURN_IF_ERROR(CheckField(header, "percent of fill", kFillPercent, header.width));
  AgeingFilter filter;
  ASSIGN_OR_RETURN(filter.bits_, BitsOf(header, body, header.size));
  filter.probes_ = header.probes;
  filter.size_ = header.size;
  filter.limit_ = header.size * kFillPercent / 100;
  filter.seed_ = header.seed;
  filter.keys_ = header.keys;
  filter.random_ = header.extra;
  filter.set_ = CountSetBits(filter.bits_.data(), filter.bits_.size());
  return filter;
}

// Both generations admit a new key: each has half of the rate.
absl::StatusOr<TwoGenerationFilter> TwoGenerationFilter::ForKeys(uint64_t keys, double rate, uint64_t seed) {
  RETURN_IF_ERROR(CheckKeysAndRate(keys, rate));
  ASSIGN_OR_RETURN(BloomFilter younger, BloomFilter::ForKeys(keys, rate / 2, BloomLayout::kClassic, seed));
  ASSIGN_OR_RETURN(BloomFilter older, BloomFilter::Create(younger.shape(), seed));
  return TwoGenerationFilter(keys, std::move(younger), std::move(older));
}

bool TwoGenerationFilter::MayContain(std::string_view key) const {
  const uint64_t hash = KeyHash(key, seed());
  return younger_.MayContainHash(hash) || older_.MayContainHash(hash);
}

// A key that only the older generation has is added to the younger too, because it was seen now.
bool TwoGenerationFilter::AddAndTest(std::string_view key) {
  const uint64_t hash = KeyHash(key, seed());
  if (younger_.MayContainHash(hash)) return true;
  const bool seen = older_.MayContainHash(hash);
  if (younger_.keys() >= capacity_) Age();
  younger_.AddHash(hash);
  return seen;
}

void TwoGenerationFilter::Age() {
  std::swap(younger_, older_);
  younger_.Clear();
}

double TwoGenerationFilter::CurrentRate() const {
  return 1 - (1 - younger_.CurrentRate()) * (1 - older_.CurrentRate());
}

// The body is two files of filters, the younger first.
std::string TwoGenerationFilter::Serialize() const {
  return EncodeFile(
      {.kind = FilterKind::kTwoGenerations, .seed = seed(), .keys = younger_.keys() + older_.keys(), .size = capacity_},
      younger_.Serialize() + older_.Serialize());
}

absl::StatusOr<TwoGenerationFilter> TwoGenerationFilter::FromFile(const FileHeader& header, std::string_view body) {
  if (header.size == 0) return BadField(header, "capacity", "at least 1", 0);
  ASSIGN_OR_RETURN(std::vector<BloomFilter> parts, PartsOf(header, body));
  RETURN_IF_ERROR(CheckField(header, "parts", 2, parts.size()));
  if (parts[0].shape() != parts[1].shape()) return BadField(header, "bits", "one shape", parts[1].shape().bits);
  return TwoGenerationFilter(header.size, std::move(parts[0]), std::move(parts[1]));
}

}  // namespace sepal::filters
