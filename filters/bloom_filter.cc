#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "filters/bits.h"
#include "filters/bloom_lines.h"
#include "filters/filter_file.h"
#include "filters/rates.h"
#include "sepal/filter/bloom.h"
#include "util/base/check.h"
#include "util/base/hash_many.h"
#include "util/base/simd.h"
#include "util/base/status.h"

namespace sepal::filters {
namespace {

constexpr size_t kGroup = 64;  // keys whose cache misses overlap

uint64_t RoundedBits(const BloomShape& shape) {
  const auto probes = static_cast<uint64_t>(shape.probes);
  switch (shape.layout) {
    case BloomLayout::kClassic:
      return shape.bits;
    case BloomLayout::kBlocked:
      return (shape.bits + kBloomLineBits - 1) / kBloomLineBits * kBloomLineBits;
    case BloomLayout::kPartitioned:
      return (shape.bits + probes - 1) / probes * probes;
  }
  return 0;
}

// The range to which a probe is reduced: the bits, the lines, or the bits of a slice.
uint64_t RangeOf(const BloomShape& rounded) {
  if (rounded.layout == BloomLayout::kBlocked) return rounded.bits / kBloomLineBits;
  if (rounded.layout == BloomLayout::kPartitioned) return rounded.bits / static_cast<uint64_t>(rounded.probes);
  return rounded.bits;
}

absl::Status CheckShape(const BloomShape& shape) {
  const int most = shape.layout == BloomLayout::kBlocked ? kMostBlockedProbes : kMostProbes;
  if (shape.layout < BloomLayout::kClassic || shape.layout > BloomLayout::kPartitioned) {
    return absl::InvalidArgumentError(absl::StrFormat("there is no layout %d", static_cast<int>(shape.layout)));
  }
  if (shape.probes < 1 || shape.probes > most) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a filter of %d probes: 1 to %d are possible", shape.probes, most));
  }
  if (shape.bits == 0 || shape.bits > kMostFilterBytes * 8) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a filter of %u bits: 1 to %u are possible", shape.bits, kMostFilterBytes * 8));
  }
  return absl::OkStatus();
}

// Probes anywhere in the bits, or each in a slice of its own, whose length is `range`.
struct BitLayout {
  char* bits;
  uint64_t range;
  uint64_t stride;  // between slices; 0: there is one
  int probes;
};

void AddBits(const BitLayout& to, uint64_t hash) {
  ProbeSequence sequence(hash);
  for (int i = 0; i < to.probes; ++i) SetBit(to.bits, static_cast<uint64_t>(i) * to.stride + sequence.Next(to.range));
}

bool HasBits(const BitLayout& in, uint64_t hash) {
  ProbeSequence sequence(hash);
  for (int i = 0; i < in.probes; ++i) {
    if (!TestBit(in.bits, static_cast<uint64_t>(i) * in.stride + sequence.Next(in.range))) return false;
  }
  return true;
}

// A probe of each key in turn: while one is tested, the others are fetched. Keys that failed drop out.
void GroupHasBits(const BitLayout& in, std::span<const uint64_t> hashes, bool* maybe) {
  struct Open {
    ProbeSequence sequence;
    uint64_t bit = 0;
    size_t key = 0;
  };
  Open open[kGroup];
  size_t count = 0;
  const auto fetch = [&](Open* key, int probe) {
    key->bit = static_cast<uint64_t>(probe) * in.stride + key->sequence.Next(in.range);
    __builtin_prefetch(in.bits + key->bit / 8);
  };
  for (size_t i = 0; i < hashes.size(); ++i) {
    open[count] = {.sequence = ProbeSequence(hashes[i]), .key = i};
    fetch(&open[count++], 0);
    maybe[i] = false;
  }
  for (int probe = 1; probe <= in.probes && count > 0; ++probe) {
    size_t left = 0;
    for (size_t i = 0; i < count; ++i) {
      if (!TestBit(in.bits, open[i].bit)) continue;
      open[left] = open[i];
      if (probe < in.probes) fetch(&open[left], probe);
      ++left;
    }
    count = left;
  }
  for (size_t i = 0; i < count; ++i) maybe[open[i].key] = true;
}

BitLayout LayoutOf(const BloomShape& shape, uint64_t range, const FilterBytes& bits) {
  const uint64_t stride = shape.layout == BloomLayout::kPartitioned ? range : 0;
  return {const_cast<char*>(bits.data()), range, stride, shape.probes};
}

}  // namespace

uint64_t KeyHash(std::string_view key, uint64_t seed) { return HashKey(key, seed); }

BloomFilter::BloomFilter(const BloomShape& shape, uint64_t seed, FilterBytes bits)
    : shape_(shape), seed_(seed), range_(RangeOf(shape)), bits_(std::move(bits)) {}

absl::StatusOr<BloomFilter> BloomFilter::Create(const BloomShape& shape, uint64_t seed) {
  RETURN_IF_ERROR(CheckShape(shape));
  BloomShape rounded = shape;
  rounded.bits = RoundedBits(shape);
  ASSIGN_OR_RETURN(FilterBytes bits, FilterBytes::Zeroed(WordBytes(rounded.bits)));
  return BloomFilter(rounded, seed, std::move(bits));
}

absl::StatusOr<BloomFilter> BloomFilter::ForKeys(uint64_t keys, double rate, BloomLayout layout, uint64_t seed) {
  ASSIGN_OR_RETURN(const BloomShape shape, BloomShape::For(keys, rate, layout));
  return Create(shape, seed);
}

void BloomFilter::AddHash(uint64_t hash) {
  ++keys_;
  if (shape_.layout == BloomLayout::kBlocked) {
    AddToLine(bits_.data() + ReduceRange(hash, range_) * kBloomLineBytes, hash, shape_.probes);
  } else {
    AddBits(LayoutOf(shape_, range_, bits_), hash);
  }
}

bool BloomFilter::MayContainHash(uint64_t hash) const {
  if (shape_.layout == BloomLayout::kBlocked) {
    return LineMayContain(bits_.data() + ReduceRange(hash, range_) * kBloomLineBytes, hash, shape_.probes);
  }
  return HasBits(LayoutOf(shape_, range_, bits_), hash);
}

void BloomFilter::MayContainMany(std::span<const std::string_view> keys, std::span<bool> maybe) const {
  SEPAL_DCHECK(keys.size() == maybe.size());
  const BloomLines lines{bits_.data(), range_, shape_.probes};
  for (size_t first = 0; first < keys.size(); first += kGroup) {
    const size_t count = std::min(kGroup, keys.size() - first);
    uint64_t hashes[kGroup];
    HashKeys(keys.subspan(first, count), seed_, hashes);
    const std::span<const uint64_t> group(hashes, count);
    if (shape_.layout == BloomLayout::kBlocked) {
      for (const uint64_t hash : group) __builtin_prefetch(lines.Of(hash));
      LinesMayContain(UsedSimd(), lines, group, maybe.data() + first);
    } else {
      GroupHasBits(LayoutOf(shape_, range_, bits_), group, maybe.data() + first);
    }
  }
}

void BloomFilter::Clear() {
  std::memset(bits_.data(), 0, bits_.size());
  keys_ = 0;
}

absl::Status BloomFilter::CheckSame(const BloomFilter& other) const {
  RETURN_IF_ERROR(
      CheckMergeable("layouts", static_cast<uint64_t>(shape_.layout), static_cast<uint64_t>(other.shape_.layout)));
  RETURN_IF_ERROR(CheckMergeable("bits", shape_.bits, other.shape_.bits));
  RETURN_IF_ERROR(
      CheckMergeable("probes", static_cast<uint64_t>(shape_.probes), static_cast<uint64_t>(other.shape_.probes)));
  return CheckMergeable("seeds", seed_, other.seed_);
}

absl::Status BloomFilter::Merge(const BloomFilter& other) {
  RETURN_IF_ERROR(CheckSame(other));
  for (uint64_t i = 0; i < bits_.size(); i += 8) {
    EncodeFixed64(bits_.data() + i, DecodeFixed64(bits_.data() + i) | DecodeFixed64(other.bits_.data() + i));
  }
  keys_ += other.keys_;
  return absl::OkStatus();
}

absl::Status BloomFilter::Intersect(const BloomFilter& other) {
  RETURN_IF_ERROR(CheckSame(other));
  for (uint64_t i = 0; i < bits_.size(); i += 8) {
    EncodeFixed64(bits_.data() + i, DecodeFixed64(bits_.data() + i) & DecodeFixed64(other.bits_.data() + i));
  }
  keys_ = std::min(keys_, other.keys_);
  return absl::OkStatus();
}

double BloomFilter::Fill() const {
  return static_cast<double>(CountSetBits(bits_.data(), bits_.size())) / static_cast<double>(shape_.bits);
}

double BloomFilter::EstimateKeys() const {
  const double k = shape_.probes, range = static_cast<double>(range_);
  switch (shape_.layout) {
    case BloomLayout::kClassic:
      return BallsOfFill(Fill(), range) / k;
    case BloomLayout::kPartitioned:
      return BallsOfFill(Fill(), range);
    case BloomLayout::kBlocked:
      // A line of Poisson-distributed keys, mean u, has the expected fill 1 - e^(-u (1 - (1 - 1/512)^k)).
      return range * -std::log1p(-Fill()) / -std::expm1(k * std::log1p(-1.0 / kBloomLineBits));
  }
  return 0;
}

double BloomFilter::CurrentRate() const {
  if (shape_.layout != BloomLayout::kBlocked) return std::pow(Fill(), shape_.probes);
  double sum = 0;
  for (uint64_t i = 0; i < bits_.size(); i += kBloomLineBytes) {
    sum +=
        std::pow(static_cast<double>(CountSetBits(bits_.data() + i, kBloomLineBytes)) / kBloomLineBits, shape_.probes);
  }
  return sum / static_cast<double>(range_);
}

std::string BloomFilter::Serialize() const {
  return EncodeFile({.kind = static_cast<FilterKind>(shape_.layout),
                     .probes = static_cast<uint8_t>(shape_.probes),
                     .seed = seed_,
                     .keys = keys_,
                     .size = shape_.bits},
                    bits_);
}

absl::StatusOr<BloomFilter> BloomFilter::FromFile(const FileHeader& header, std::string_view body) {
  const BloomShape shape{.layout = static_cast<BloomLayout>(header.kind), .bits = header.size, .probes = header.probes};
  if (!CheckShape(shape).ok()) return BadField(header, "bits or probes", "what the layout allows", header.size);
  RETURN_IF_ERROR(CheckField(header, "bits", RoundedBits(shape), shape.bits));
  ASSIGN_OR_RETURN(FilterBytes bits, BitsOf(header, body, shape.bits));
  BloomFilter filter(shape, header.seed, std::move(bits));
  filter.keys_ = header.keys;
  return filter;
}

}  // namespace sepal::filters
