// A Bloom filter for an unknown number of keys (P. Almeida, C. Baquero, N. Preguica, D. Hutchison, "Scalable Bloom
// filters", 2007): a sequence of classic filters of growing size. When a filter reaches the rate that it was made for,
// it is full, and one for twice the keys at half of the rate follows. The first one has half of the rate that was asked
// for, so that all rates together stay below that.
//
// A query asks all filters, about log2(keys / first keys), and a key takes more bits than in a filter of the right
// size: with j filters about 1.44 (log2(1 / rate) + j - 1) when the last one is full, and twice as many when it has
// just begun. At a rate of 1 % these are 13 to 30 bits for 7 times the first keys, and 22 to 48 for a thousand times;
// BloomFilter takes 10, so use that if the number of keys is known.
//
// A value that can be moved. Not safe for concurrent use while it is changed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/filter/bloom.h"

namespace sepal::filters {

class SEPAL_EXPORT ScalableBloomFilter {
 public:
  // `first_keys`: the capacity of the first filter.
  static absl::StatusOr<ScalableBloomFilter> Create(uint64_t first_keys, double rate, uint64_t seed = 0);

  // Fails, and adds nothing, if there is no memory to grow. A key that may be there already is not added again.
  absl::Status Add(std::string_view key);
  bool MayContain(std::string_view key) const;

  // The rate of all filters together, as it is now.
  double CurrentRate() const;
  double EstimateKeys() const;
  // The number of different keys that were added, except for false positives.
  uint64_t keys() const;
  uint64_t seed() const { return seed_; }
  double rate() const { return rate_; }
  const std::vector<BloomFilter>& parts() const { return parts_; }
  uint64_t MemoryBytes() const;

  std::string Serialize() const;
  static absl::StatusOr<ScalableBloomFilter> FromFile(const FileHeader& header, std::string_view body);

 private:
  ScalableBloomFilter(uint64_t first_keys, double rate, uint64_t seed)
      : first_keys_(first_keys), rate_(rate), seed_(seed) {}
  absl::Status Grow();
  void Measure();
  bool MayContainHash(uint64_t hash) const;

  uint64_t first_keys_;
  double rate_;
  uint64_t seed_;
  uint64_t room_ = 0;  // keys that the last part holds, whatever their bits are
  std::vector<BloomFilter> parts_;
};

}  // namespace sepal::filters
