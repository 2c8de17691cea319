#include "sepal/filter/scalable_bloom.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "filters/filter_file.h"
#include "filters/rates.h"
#include "util/base/status.h"

namespace sepal::filters {
namespace {

constexpr uint64_t kGrowth = 2;      // the ratio of the keys of a part to those of the previous one
constexpr double kTightening = 0.5;  // that of their rates

// The parameters of a part.
struct PartPlan {
  PartPlan(uint64_t first_keys, double whole_rate) : keys(first_keys), rate(whole_rate * (1 - kTightening)) {}
  void Next() {
    keys *= kGrowth;
    rate *= kTightening;
  }
  // The number of bits of a part that may be set before its rate exceeds that.
  uint64_t MostSet(const BloomShape& shape) const {
    return static_cast<uint64_t>(static_cast<double>(shape.bits) * std::pow(rate, 1.0 / shape.probes));
  }
  // Bits are rounded up when a filter is made.
  bool Fits(const BloomShape& shape) const {
    const absl::StatusOr<BloomShape> wanted = BloomShape::For(keys, rate, BloomLayout::kClassic);
    return wanted.ok() && shape.probes == wanted->probes && shape.bits >= wanted->bits &&
           shape.bits - wanted->bits < 512;
  }

  uint64_t keys;
  double rate;
};

}  // namespace

absl::StatusOr<ScalableBloomFilter> ScalableBloomFilter::Create(uint64_t first_keys, double rate, uint64_t seed) {
  RETURN_IF_ERROR(CheckKeysAndRate(first_keys, rate));
  ScalableBloomFilter filter(first_keys, rate, seed);
  RETURN_IF_ERROR(filter.Grow());
  return filter;
}

absl::Status ScalableBloomFilter::Grow() {
  PartPlan plan(first_keys_, rate_);
  for (size_t i = 0; i < parts_.size(); ++i) plan.Next();
  ASSIGN_OR_RETURN(BloomFilter part, BloomFilter::ForKeys(plan.keys, plan.rate, BloomLayout::kClassic, seed_));
  parts_.push_back(std::move(part));
  Measure();
  return absl::OkStatus();
}

absl::Status ScalableBloomFilter::Add(std::string_view key) {
  const uint64_t hash = KeyHash(key, seed_);
  if (MayContainHash(hash)) return absl::OkStatus();
  if (room_ == 0) Measure();
  if (room_ == 0) RETURN_IF_ERROR(Grow());
  parts_.back().AddHash(hash);
  --room_;
  return absl::OkStatus();
}

// The fill of a part after a number of keys is random, so its rate decides. A key sets about half as many bits as it
// might, so that the last part is measured some twenty times until it is full.
void ScalableBloomFilter::Measure() {
  PartPlan plan(first_keys_, rate_);
  for (size_t i = 1; i < parts_.size(); ++i) plan.Next();
  const BloomShape& shape = parts_.back().shape();
  const uint64_t most = plan.MostSet(shape);
  const auto set = static_cast<uint64_t>(std::llround(parts_.back().Fill() * static_cast<double>(shape.bits)));
  room_ = most > set ? (most - set) / static_cast<uint64_t>(shape.probes) : 0;
  if (set == 0) room_ = std::max<uint64_t>(room_, 1);  // however small it is
}

bool ScalableBloomFilter::MayContain(std::string_view key) const { return MayContainHash(KeyHash(key, seed_)); }

// The last part is the largest.
bool ScalableBloomFilter::MayContainHash(uint64_t hash) const {
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
    if (part->MayContainHash(hash)) return true;
  }
  return false;
}

double ScalableBloomFilter::CurrentRate() const {
  double none = 1;
  for (const BloomFilter& part : parts_) none *= 1 - part.CurrentRate();
  return 1 - none;
}

double ScalableBloomFilter::EstimateKeys() const {
  double keys = 0;
  for (const BloomFilter& part : parts_) keys += part.EstimateKeys();
  return keys;
}

uint64_t ScalableBloomFilter::keys() const {
  uint64_t keys = 0;
  for (const BloomFilter& part : parts_) keys += part.keys();
  return keys;
}

uint64_t ScalableBloomFilter::MemoryBytes() const {
  uint64_t bytes = 0;
  for (const BloomFilter& part : parts_) bytes += part.MemoryBytes();
  return bytes;
}

std::string ScalableBloomFilter::Serialize() const {
  std::string body;
  for (const BloomFilter& part : parts_) body += part.Serialize();
  return EncodeFile({.kind = FilterKind::kScalableBloom,
                     .seed = seed_,
                     .keys = keys(),
                     .size = first_keys_,
                     .extra = std::bit_cast<uint64_t>(rate_)},
                    body);
}

absl::StatusOr<ScalableBloomFilter> ScalableBloomFilter::FromFile(const FileHeader& header, std::string_view body) {
  const double rate = std::bit_cast<double>(header.extra);
  if (!CheckKeysAndRate(header.size, rate).ok()) return BadField(header, "rate", "a number in (0, 1)", header.extra);
  ScalableBloomFilter filter(header.size, rate, header.seed);
  ASSIGN_OR_RETURN(filter.parts_, PartsOf(header, body));
  PartPlan plan(header.size, rate);
  for (size_t i = 0; i < filter.parts_.size(); ++i) {
    if (i > 0) plan.Next();
    if (!plan.Fits(filter.parts_[i].shape())) {
      return BadField(header, "bits of a part", "as many as its keys need", filter.parts_[i].shape().bits);
    }
  }
  filter.Measure();
  return filter;
}

}  // namespace sepal::filters
