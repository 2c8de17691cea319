// Filters for endless streams: was this key seen lately? Both forget old keys, so that their rate of false positives
// stays bounded however long the stream is.
//
// - `AgeingFilter`: once 60 % of its bits are set, each added key clears as many bits, drawn at random, as it sets
//   (after F. Deng, D. Rafiei, "Approximately detecting duplicates for streaming data using stable Bloom filters",
//   2006). The rate is at most 0.6^k for k probes. A key may be forgotten at any time, with a chance that grows with
//   the number of later keys.
// - `TwoGenerationFilter`: keys go to the younger of two Bloom filters; when it holds its capacity, the older one is
//   emptied and becomes the younger (F. Chang, W. Feng, K. Li, "Approximate caches for packet classification", 2004,
//   "double buffering"). The last `capacity` different keys are never forgotten; it takes about 1.4 times the memory.
//
// Values that can be moved. Not safe for concurrent use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "sepal/filter/bloom.h"

namespace sepal::filters {

class SEPAL_EXPORT AgeingFilter {
 public:
  static constexpr int kFillPercent = 60;

  // Holds `keys` keys before it begins to forget, and answers "seen" for a new key at a rate of at most `rate`.
  static absl::StatusOr<AgeingFilter> ForKeys(uint64_t keys, double rate, uint64_t seed = 0);

  // Returns whether the key was perhaps seen before, and adds it.
  bool AddAndTest(std::string_view key);
  bool MayContain(std::string_view key) const;
  // Forgets a share of its keys, in [0, 1]: clears each set bit with that probability.
  void Age(double share);

  double Fill() const;
  // Fill^k: the rate now.
  double CurrentRate() const;
  int probes() const { return probes_; }
  uint64_t bits() const { return size_; }
  uint64_t seed() const { return seed_; }
  // Calls of AddAndTest that answered false.
  uint64_t keys() const { return keys_; }
  uint64_t MemoryBytes() const { return bits_.size(); }

  std::string Serialize() const;
  static absl::StatusOr<AgeingFilter> FromFile(const FileHeader& header, std::string_view body);

 private:
  AgeingFilter() = default;
  void EvictDownToLimit();
  uint64_t NextRandom();

  int probes_ = 0;
  uint64_t size_ = 0;   // bits
  uint64_t set_ = 0;    // of which are set
  uint64_t limit_ = 0;  // at most
  uint64_t seed_ = 0;
  uint64_t keys_ = 0;
  uint64_t random_ = 0;
  FilterBytes bits_;
};

class SEPAL_EXPORT TwoGenerationFilter {
 public:
  // Remembers the last `keys` different keys, and at most as many more.
  static absl::StatusOr<TwoGenerationFilter> ForKeys(uint64_t keys, double rate, uint64_t seed = 0);

  bool AddAndTest(std::string_view key);
  bool MayContain(std::string_view key) const;
  // Forgets the older generation; the younger becomes the older.
  void Age();

  double CurrentRate() const;
  uint64_t capacity() const { return capacity_; }
  const BloomFilter& younger() const { return younger_; }
  const BloomFilter& older() const { return older_; }
  uint64_t seed() const { return younger_.seed(); }
  uint64_t MemoryBytes() const { return younger_.MemoryBytes() + older_.MemoryBytes(); }

  std::string Serialize() const;
  static absl::StatusOr<TwoGenerationFilter> FromFile(const FileHeader& header, std::string_view body);

 private:
  TwoGenerationFilter(uint64_t capacity, BloomFilter younger, BloomFilter older)
      : capacity_(capacity), younger_(std::move(younger)), older_(std::move(older)) {}

  uint64_t capacity_;  // of a generation
  BloomFilter younger_, older_;
};

}  // namespace sepal::filters
