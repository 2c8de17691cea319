// The arithmetic of Bloom filters: bits and probes for a rate, and the rate of bits and probes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"
#include "filters/bloom_lines.h"
#include "filters/rates.h"
#include "sepal/filter/bloom.h"
#include "util/base/status.h"

namespace sepal::filters {
namespace {

constexpr double kMostBits = static_cast<double>(kMostFilterBytes) * 8;
constexpr double kMostBitsPerKey = 128;  // of a blocked filter

int MostProbes(BloomLayout layout) { return layout == BloomLayout::kBlocked ? kMostBlockedProbes : kMostProbes; }

// The rate of a line of `keys` keys: the mean of (set bits / 512)^k. The share of set bits varies between lines with
// the same number of keys, which the second term accounts for.
double LineRate(double keys, int probes) {
  constexpr double m = kBloomLineBits;
  const double balls = keys * probes;
  const double empty = std::pow(1 - 1 / m, balls);
  const double fill = 1 - empty;
  if (fill <= 0) return 0;
  const double variance = (empty + (m - 1) * std::pow(1 - 2 / m, balls) - m * empty * empty) / m;
  const double k = probes;
  return std::pow(fill, k) * (1 + k * (k - 1) / 2 * variance / (fill * fill));
}

// The keys of a line are Poisson-distributed.
double BlockedRate(double keys_per_line, int probes) {
  if (keys_per_line > 20 * kBloomLineBits) return 1;  // except one line in a million
  const double spread = 12 * std::sqrt(keys_per_line) + 30;
  const double first = std::max(0.0, std::floor(keys_per_line - spread));
  double rate = 0;
  for (double keys = first; keys <= keys_per_line + spread; ++keys) {
    const double chance = std::exp(keys * std::log(keys_per_line) - keys_per_line - std::lgamma(keys + 1));
    rate += chance * std::min(1.0, LineRate(keys, probes));
  }
  return std::min(1.0, rate);
}

double ClassicRate(double keys, double bits, int probes) {
  return std::pow(-std::expm1(-probes * keys / bits), probes);
}

// Returns the number of bits at which ClassicRate is `rate`.
double ClassicBits(double keys, double rate, int probes) {
  return -probes * keys / std::log1p(-std::pow(rate, 1.0 / probes));
}

BloomShape ClassicShape(double keys, double rate, BloomLayout layout) {
  const double ideal = -std::log2(rate);
  BloomShape best{.layout = layout};
  double least = std::numeric_limits<double>::infinity();
  for (const double near : {std::floor(ideal), std::ceil(ideal)}) {
    const int probes = static_cast<int>(std::clamp(near, 1.0, static_cast<double>(kMostProbes)));
    const double bits = ClassicBits(keys, rate, probes);
    if (bits >= least) continue;
    least = bits;
    best.probes = probes;
  }
  best.bits = static_cast<uint64_t>(std::ceil(std::clamp(least, 64.0, 2 * kMostBits)));
  return best;
}

// Returns the number of lines that hold `keys` at `rate` with that many probes; infinite if it is beyond
// kMostBitsPerKey.
double BlockedLines(double keys, double rate, int probes) {
  double too_few = 0, enough = std::ceil(keys * kMostBitsPerKey / kBloomLineBits);
  if (BlockedRate(keys / enough, probes) > rate) return std::numeric_limits<double>::infinity();
  while (enough - too_few > std::max(0.5, enough * 1e-9)) {
    const double middle = (too_few + enough) / 2;
    (BlockedRate(keys / middle, probes) <= rate ? enough : too_few) = middle;
  }
  return std::ceil(enough);
}

absl::StatusOr<BloomShape> BlockedShape(double keys, double rate) {
  BloomShape best{.layout = BloomLayout::kBlocked};
  double least = std::numeric_limits<double>::infinity();
  for (int probes = 1; probes <= kMostBlockedProbes; ++probes) {
    const double lines = BlockedLines(keys, rate, probes);
    if (lines >= least) continue;
    least = lines;
    best.probes = probes;
  }
  if (std::isinf(least)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a blocked filter does not reach the rate %g; take a higher one, or the classic layout", rate));
  }
  best.bits = static_cast<uint64_t>(least) * kBloomLineBits;
  return best;
}

}  // namespace

absl::Status CheckKeysAndRate(uint64_t keys, double rate) {
  if (keys == 0) return absl::InvalidArgumentError("a filter for no keys");
  if (rate > 0 && rate < 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat("a rate of false positives of %g: it must lie in (0, 1)", rate));
}

absl::StatusOr<BloomShape> BloomShape::For(uint64_t keys, double rate, BloomLayout layout) {
  RETURN_IF_ERROR(CheckKeysAndRate(keys, rate));
  const auto n = static_cast<double>(keys);
  // A lower bound for every classic filter, checked first so that the following numbers fit.
  if (n * std::min(1.0, -std::log2(rate)) > kMostBits) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a filter for %u keys is too large: allow a higher rate, or split the keys", keys));
  }
  BloomShape shape;
  if (layout == BloomLayout::kBlocked) {
    ASSIGN_OR_RETURN(shape, BlockedShape(n, rate));
  } else {
    shape = ClassicShape(n, rate, layout);
    // The formula holds for large filters.
    while (shape.RateAt(keys) > rate) shape.bits += shape.bits / 1024 + 1;
  }
  if (static_cast<double>(shape.bits) > kMostBits) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "a filter for %u keys at a rate of %g is too large: %u bytes, at most %u; allow a higher rate, or split the "
        "keys",
        keys, rate, shape.bits / 8, kMostFilterBytes));
  }
  return shape;
}

absl::StatusOr<BloomShape> BloomShape::OfBits(uint64_t keys, uint64_t bits, BloomLayout layout) {
  if (keys == 0) return absl::InvalidArgumentError("a filter for no keys");
  if (bits == 0 || bits > kMostFilterBytes * 8) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a filter of %u bits: 1 to %u are possible", bits, kMostFilterBytes * 8));
  }
  BloomShape best{.layout = layout, .bits = bits, .probes = 1};
  for (int probes = 2; probes <= MostProbes(layout); ++probes) {
    const BloomShape shape{.layout = layout, .bits = bits, .probes = probes};
    if (shape.RateAt(keys) < best.RateAt(keys)) best = shape;
  }
  return best;
}

double BloomShape::RateAt(uint64_t keys) const {
  if (keys == 0) return 0;
  if (bits == 0 || probes <= 0) return 1;
  const auto n = static_cast<double>(keys), m = static_cast<double>(bits);
  switch (layout) {
    case BloomLayout::kClassic:
      return ClassicRate(n, m, probes);
    case BloomLayout::kBlocked:
      return BlockedRate(n / std::ceil(m / kBloomLineBits), probes);
    case BloomLayout::kPartitioned:
      return std::pow(-std::expm1(n * std::log1p(-std::min(1.0, probes / m))), probes);
  }
  return 1;
}

uint64_t BloomShape::KeysAt(double rate) const {
  if (!(rate > 0)) return 0;
  uint64_t fit = 0, too_many = bits * 64;
  while (too_many - fit > 1) {
    const uint64_t middle = fit + (too_many - fit) / 2;
    (RateAt(middle) <= rate ? fit : too_many) = middle;
  }
  return fit;
}

}  // namespace sepal::filters
