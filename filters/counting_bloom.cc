#include "sepal/filter/counting_bloom.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "filters/bits.h"
#include "filters/filter_file.h"
#include "filters/rates.h"
#include "util/base/status.h"

namespace sepal::filters {
namespace {

absl::Status CheckParameters(uint64_t counters, int probes, int counter_bits) {
  if (counter_bits != 4 && counter_bits != 8) {
    return absl::InvalidArgumentError(absl::StrFormat("counters of %d bits: 4 or 8 are possible", counter_bits));
  }
  if (probes < 1 || probes > kMostProbes) {
    return absl::InvalidArgumentError(absl::StrFormat("%d probes: 1 to %d are possible", probes, kMostProbes));
  }
  const uint64_t most = kMostFilterBytes * 8 / static_cast<uint64_t>(counter_bits);
  if (counters == 0 || counters > most) {
    return absl::InvalidArgumentError(absl::StrFormat("%u counters: 1 to %u are possible", counters, most));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CountingBloomFilter> CountingBloomFilter::ForKeys(uint64_t keys, double rate, int counter_bits,
                                                                 uint64_t seed) {
  ASSIGN_OR_RETURN(const BloomShape shape, BloomShape::For(keys, rate, BloomLayout::kPartitioned));
  return Create(shape.bits, shape.probes, counter_bits, seed);
}

absl::StatusOr<CountingBloomFilter> CountingBloomFilter::Create(uint64_t counters, int probes, int counter_bits,
                                                                uint64_t seed) {
  RETURN_IF_ERROR(CheckParameters(counters, probes, counter_bits));
  CountingBloomFilter filter;
  filter.counter_bits_ = counter_bits;
  filter.probes_ = probes;
  filter.slice_ = (counters + static_cast<uint64_t>(probes) - 1) / static_cast<uint64_t>(probes);
  filter.seed_ = seed;
  ASSIGN_OR_RETURN(filter.bytes_,
                   FilterBytes::Zeroed(WordBytes(filter.counters() * static_cast<uint64_t>(counter_bits))));
  return filter;
}

unsigned CountingBloomFilter::Counter(uint64_t i) const {
  if (counter_bits_ == 8) return static_cast<unsigned char>(bytes_.data()[i]);
  return static_cast<unsigned char>(bytes_.data()[i / 2]) >> i % 2 * 4 & 15;
}

void CountingBloomFilter::SetCounter(uint64_t i, unsigned value) {
  if (counter_bits_ == 8) {
    bytes_.data()[i] = static_cast<char>(value);
    return;
  }
  char& two = bytes_.data()[i / 2];
  const unsigned shift = i % 2 * 4;
  two = static_cast<char>((static_cast<unsigned char>(two) & ~(15u << shift)) | value << shift);
}

void CountingBloomFilter::Add(std::string_view key) {
  ProbeSequence sequence(KeyHash(key, seed_));
  for (uint64_t first = 0; first < counters(); first += slice_) {
    const uint64_t i = first + sequence.Next(slice_);
    const unsigned count = Counter(i);
    if (count < most()) SetCounter(i, count + 1);
  }
  ++keys_;
}

absl::Status CountingBloomFilter::Remove(std::string_view key) {
  if (EstimateCount(key) == 0) return absl::NotFoundError("the key was never added to the filter");
  ProbeSequence sequence(KeyHash(key, seed_));
  for (uint64_t first = 0; first < counters(); first += slice_) {
    const uint64_t i = first + sequence.Next(slice_);
    const unsigned count = Counter(i);
    if (count < most()) SetCounter(i, count - 1);
  }
  if (keys_ > 0) --keys_;
  return absl::OkStatus();
}

uint64_t CountingBloomFilter::EstimateCount(std::string_view key) const {
  ProbeSequence sequence(KeyHash(key, seed_));
  unsigned least = most();
  for (uint64_t first = 0; first < counters() && least > 0; first += slice_) {
    least = std::min(least, Counter(first + sequence.Next(slice_)));
  }
  return least;
}

absl::Status CountingBloomFilter::Merge(const CountingBloomFilter& other) {
  RETURN_IF_ERROR(CheckMergeable("counters", counters(), other.counters()));
  RETURN_IF_ERROR(CheckMergeable("probes", static_cast<uint64_t>(probes_), static_cast<uint64_t>(other.probes_)));
  RETURN_IF_ERROR(CheckMergeable("bits of a counter", static_cast<uint64_t>(counter_bits_),
                                 static_cast<uint64_t>(other.counter_bits_)));
  RETURN_IF_ERROR(CheckMergeable("seeds", seed_, other.seed_));
  for (uint64_t i = 0; i < counters(); ++i) SetCounter(i, std::min(most(), Counter(i) + other.Counter(i)));
  keys_ += other.keys_;
  return absl::OkStatus();
}

double CountingBloomFilter::Fill() const {
  uint64_t set = 0;
  for (uint64_t i = 0; i < counters(); ++i) set += Counter(i) > 0;
  return static_cast<double>(set) / static_cast<double>(counters());
}

double CountingBloomFilter::EstimateKeys() const { return BallsOfFill(Fill(), static_cast<double>(slice_)); }

double CountingBloomFilter::CurrentRate() const { return std::pow(Fill(), probes_); }

absl::StatusOr<BloomFilter> CountingBloomFilter::ToBloom() const {
  FileHeader header{.kind = FilterKind::kPartitionedBloom,
                    .probes = static_cast<uint8_t>(probes_),
                    .seed = seed_,
                    .keys = keys_,
                    .size = counters(),
                    .name = "a plain filter"};
  ASSIGN_OR_RETURN(FilterBytes bits, FilterBytes::Zeroed(WordBytes(counters())));
  for (uint64_t i = 0; i < counters(); ++i) {
    if (Counter(i) > 0) SetBit(bits.data(), i);
  }
  return BloomFilter::FromFile(header, std::string_view(bits.data(), bits.size()));
}

std::string CountingBloomFilter::Serialize() const {
  return EncodeFile({.kind = FilterKind::kCountingBloom,
                     .probes = static_cast<uint8_t>(probes_),
                     .width = static_cast<uint32_t>(counter_bits_),
                     .seed = seed_,
                     .keys = keys_,
                     .size = counters()},
                    bytes_);
}

absl::StatusOr<CountingBloomFilter> CountingBloomFilter::FromFile(const FileHeader& header, std::string_view body) {
  const int counter_bits = header.width == 4 || header.width == 8 ? static_cast<int>(header.width) : 0;
  if (!CheckParameters(header.size, header.probes, counter_bits).ok()) {
    return BadField(header, "counters, probes or width", "possible ones", header.size);
  }
  if (header.size % header.probes != 0) return BadField(header, "counters", "slices of one length", header.size);
  CountingBloomFilter filter;
  filter.counter_bits_ = counter_bits;
  filter.probes_ = header.probes;
  filter.slice_ = header.size / header.probes;
  filter.seed_ = header.seed;
  filter.keys_ = header.keys;
  ASSIGN_OR_RETURN(filter.bytes_, BitsOf(header, body, header.size * header.width));
  return filter;
}

}  // namespace sepal::filters
