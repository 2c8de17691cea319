// A Bloom filter from which keys can be removed: a counter of 4 or 8 bits in place of each bit (L. Fan, P. Cao,
// J. Almeida, A. Broder, "Summary cache", 2000), in one slice for each probe, so that no key counts twice in a counter.
//
// A counter that has reached its largest value stays there, since the number of keys that share it is no longer known:
// such a key then answers "maybe" for good. With 4 bits and the size of `ForKeys` this affects one counter in 10^15.
//
// Removing a key that was never added is the only cause of false negatives: it decrements counters of other keys. If a
// counter of the key is zero, Remove notices that, returns NotFound and changes nothing; it cannot notice a false
// positive.
//
// A value that can be moved. Not safe for concurrent use while it is changed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/filter/bloom.h"

namespace sepal::filters {

class SEPAL_EXPORT CountingBloomFilter {
 public:
  // InvalidArgument as of BloomShape::For, or unless `counter_bits` is 4 or 8.
  static absl::StatusOr<CountingBloomFilter> ForKeys(uint64_t keys, double rate, int counter_bits = 4,
                                                     uint64_t seed = 0);
  // `counters` is rounded up to slices of one length.
  static absl::StatusOr<CountingBloomFilter> Create(uint64_t counters, int probes, int counter_bits, uint64_t seed = 0);

  void Add(std::string_view key);
  // NotFound, and nothing is changed, if the key is certainly not there.
  absl::Status Remove(std::string_view key);
  bool MayContain(std::string_view key) const { return EstimateCount(key) > 0; }
  // An estimate of how often the key was added, less how often it was removed: never too low, unless a key was removed
  // that was never added. The largest value of a counter means that or more.
  uint64_t EstimateCount(std::string_view key) const;

  // Adds the counters of a filter of the same parameters; FailedPrecondition otherwise.
  absl::Status Merge(const CountingBloomFilter& other);
  // The share of counters above zero.
  double Fill() const;
  double EstimateKeys() const;
  double CurrentRate() const;
  // A plain filter of the keys that are in it now.
  absl::StatusOr<BloomFilter> ToBloom() const;

  int counter_bits() const { return counter_bits_; }
  int probes() const { return probes_; }
  uint64_t counters() const { return slice_ * static_cast<uint64_t>(probes_); }
  uint64_t seed() const { return seed_; }
  // Adds less removals.
  uint64_t keys() const { return keys_; }
  uint64_t MemoryBytes() const { return bytes_.size(); }

  std::string Serialize() const;
  static absl::StatusOr<CountingBloomFilter> FromFile(const FileHeader& header, std::string_view body);

 private:
  CountingBloomFilter() = default;
  unsigned Counter(uint64_t i) const;
  void SetCounter(uint64_t i, unsigned value);
  unsigned most() const { return (1u << counter_bits_) - 1; }

  int counter_bits_ = 4;
  int probes_ = 0;
  uint64_t slice_ = 0;  // counters of a slice
  uint64_t seed_ = 0;
  uint64_t keys_ = 0;
  FilterBytes bytes_;
};

}  // namespace sepal::filters
