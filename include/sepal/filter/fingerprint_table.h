// A hash table of fingerprints of 8 or 16 bits with linear probing: a set from which keys can be removed, at one cache
// miss, rarely two (the open addressing of D. Knuth, "The Art of Computer Programming" 3, 6.4, over the signatures of
// B. Bloom's first method, 1970).
//
// Slots form buckets of seven, each with a counter of the keys that found it full and moved on to the next one, so that
// a search knows where to end, and a removal leaves no tombstone (N. Bronson, X. Shi, "Open-sourcing F14", 2019, has
// such counters). Searching for an absent key compares about 9 fingerprints of b bits at full load, and each matches by
// chance once in 2^b - 1 times. Compared with a Bloom filter of as many bits a key:
//
// | bits | keys of the capacity | bits a key | rate     | Bloom's rate |
// |------|----------------------|------------|----------|--------------|
// | 8    | all                  | 12.2       | 3.2 %    | 0.29 %       |
// | 8    | half                 | 24.4       | 1.0 %    | 0.0008 %     |
// | 16   | all                  | 24.4       | 0.013 %  | 0.0008 %     |
//
// So use it for sets that change: if keys are only added, BloomFilter takes fewer bits.
//
// Every Add takes a slot, also for a key that is present: it can be removed as often as it was added. Removing a key
// that was never added may remove another one of the same fingerprint, which is the only cause of false negatives.
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

class SEPAL_EXPORT FingerprintTable {
 public:
  static constexpr uint64_t kSlots = 7;  // of a bucket
  static constexpr double kLoad = 0.75;

  // Room for `keys` keys, which take 3/4 of its slots. InvalidArgument for no keys, or unless `fingerprint_bits` is 8
  // or 16.
  static absl::StatusOr<FingerprintTable> ForKeys(uint64_t keys, int fingerprint_bits = 16, uint64_t seed = 0);

  // ResourceExhausted once `capacity` keys are in it.
  absl::Status Add(std::string_view key);
  bool MayContain(std::string_view key) const;
  // NotFound, and nothing is changed, if the key is certainly not there.
  absl::Status Remove(std::string_view key);

  // The rate of false positives at its load now.
  double CurrentRate() const;
  // The share of slots that hold a fingerprint.
  double Fill() const;
  uint64_t keys() const { return keys_; }
  uint64_t capacity() const { return capacity_; }
  uint64_t slots() const { return buckets_ * kSlots; }
  int fingerprint_bits() const { return fingerprint_bits_; }
  uint64_t seed() const { return seed_; }
  uint64_t MemoryBytes() const { return bytes_.size(); }

  std::string Serialize() const;
  static absl::StatusOr<FingerprintTable> FromFile(const FileHeader& header, std::string_view body);

 private:
  struct Found {
    uint64_t cell = 0;
    uint64_t passed = 0;  // buckets before that of the cell
    bool found = false;
  };
  FingerprintTable() = default;
  // A bucket is eight cells, of which the last is the counter.
  unsigned Cell(uint64_t i) const;
  void SetCell(uint64_t i, unsigned value);
  unsigned most() const { return (1u << fingerprint_bits_) - 1; }
  unsigned FingerprintOf(uint64_t hash) const;
  uint64_t After(uint64_t bucket) const { return bucket + 1 == buckets_ ? 0 : bucket + 1; }
  // The first cell that holds `value` on the way from the hash's bucket. For a fingerprint it ends where no key
  // went on; an empty cell (0) is there somewhere.
  Found Find(uint64_t hash, unsigned value) const;
  // Adds `change` to the counters of the buckets that `found` is behind.
  void Count(uint64_t hash, const Found& found, int change);

  int fingerprint_bits_ = 16;
  uint64_t buckets_ = 0;
  uint64_t capacity_ = 0;
  uint64_t keys_ = 0;
  uint64_t seed_ = 0;
  FilterBytes bytes_;
};

}  // namespace sepal::filters
