// A filter of a set that does not change, in the fewest bits: a binary fuse filter (T. M. Graf, D. Lemire, "Binary fuse
// filters: fast and smaller than xor filters", 2022). Each key has three slots in neighbouring segments, whose values
// combine by exclusive or to its fingerprint of 8 or 16 bits.
//
// The rate is 2^-8 (0.39 %) in about 9 bits a key, or 2^-16 (0.0015 %) in about 18: a Bloom filter of the same rates
// takes 11.5 and 23. A query costs three cache misses. Small sets take more bits. Nothing can be added.
//
// Building temporarily takes about 45 bytes of memory a key.
//
// A value that can be moved. Safe for concurrent reading.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sepal/filter/bloom.h"

namespace sepal::filters {

class SEPAL_EXPORT StaticFilter {
 public:
  // Builds the filter of `keys`, in any order and with any repetitions. InvalidArgument for no keys, or unless
  // `fingerprint_bits` is 8 or 16.
  static absl::StatusOr<StaticFilter> Build(std::span<const std::string_view> keys, int fingerprint_bits = 8,
                                            uint64_t seed = 0);
  // The same from KeyHash(key, seed) of each key.
  static absl::StatusOr<StaticFilter> BuildFromHashes(std::vector<uint64_t> hashes, int fingerprint_bits = 8,
                                                      uint64_t seed = 0);

  bool MayContain(std::string_view key) const;
  // 2^-fingerprint_bits.
  double CurrentRate() const;

  // Different keys.
  uint64_t keys() const { return keys_; }
  int fingerprint_bits() const { return fingerprint_bits_; }
  uint64_t seed() const { return seed_; }
  uint64_t slots() const { return range_ + 2 * segment_; }
  uint64_t MemoryBytes() const { return bytes_.size(); }

  std::string Serialize() const;
  static absl::StatusOr<StaticFilter> FromFile(const FileHeader& header, std::string_view body);

 private:
  struct Peeling;
  StaticFilter() = default;
  // Sizes and memory for `keys_` keys.
  absl::Status Reserve();
  // Whether the keys could be placed with `mix_`.
  bool TryPlace(std::span<const uint64_t> hashes, Peeling* work);
  struct Places {
    uint64_t slot[3];
    unsigned fingerprint;
  };
  Places PlacesOf(uint64_t mixed) const;
  unsigned Slot(uint64_t i) const;
  void SetSlot(uint64_t i, unsigned value);

  int fingerprint_bits_ = 8;
  uint64_t keys_ = 0;
  uint64_t seed_ = 0;
  uint64_t mix_ = 0;      // added to hashes
  uint64_t segment_ = 0;  // slots of a segment: a power of two
  uint64_t range_ = 0;    // slots of all segments but the last two
  FilterBytes bytes_;
};

}  // namespace sepal::filters
