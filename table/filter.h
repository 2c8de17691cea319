// The two Bloom filters before a data block (B. Bloom, "Space/time trade-offs in hash coding with allowable errors",
// 1970).
//
// *Lane*: the filter of one data block, m bits (a multiple of 64) sized from the block's own count of user keys, k
// probes anywhere in them. It lies in a leaf page beside the block's fence and handle.
//
// *Guard*: the filter of a whole file, in lines of 512 bits; the k probes for a key lie in one line, so that asking
// costs one cache line (Putze, Sanders, Singler, "Cache-, hash- and space-efficient Bloom filters", 2007).
//
// Both take the 64-bit hash of the user key and use different bits of it, so that their false positive rates multiply.
// How bits follow from a hash is part of the table format:
//
//   lane:   x = Mix64(hash ^ kLaneMix); a = low 32 bits of x, b = high 32 bits of x, made odd;
//           probe i (0 <= i < k): bit ((a + i*b) mod 2^32) * m / 2^32   (high word of the product)
//   guard:  line = high word of hash * lines; x = low 32 bits of hash;
//           probe i: v = x * kGuardMultiplier[i] mod 2^32; bit v >> 23 of the line's 512
//   bit j of a filter is bit j mod 8 of byte j / 8.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sepal/filter_policy.h"

namespace sepal {

inline constexpr int kMaxLaneProbes = 16;
inline constexpr int kMaxGuardProbes = 8;
inline constexpr size_t kGuardLineBytes = 64;
inline constexpr uint64_t kLaneMix = 0x1a4e5e9a1ull;
// The multipliers of Apache Parquet's split-block Bloom filter.
inline constexpr uint32_t kGuardMultiplier[kMaxGuardProbes] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                                               0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};
// A lane for more keys than this has room for is merely less selective.
inline constexpr size_t kMaxLaneBytes = size_t{64} << 10;

// Bytes of a lane for `keys` keys: a multiple of 8, at least 8, at most kMaxLaneBytes; 0 when `bits_per_key` is 0.
size_t LaneBytes(size_t keys, double bits_per_key);
void LaneAdd(char* lane, size_t lane_bytes, int probes, uint64_t hash);
// False is certain. An empty lane says true.
bool LaneMayContain(const char* lane, size_t lane_bytes, int probes, uint64_t hash);

// A guard as it lies in a file:
//
// | offset | size       | meaning                          |
// |--------|------------|----------------------------------|
// | 0      | 1          | FilterKind: 1, Bloom             |
// | 1      | 1          | probes, 1 to 8                   |
// | 2      | 6          | 0                                |
// | 8      | 8          | lines                            |
// | 16     | 8          | keys that were added             |
// | 24     | 40         | 0                                |
// | 64     | lines * 64 | the lines                        |
class GuardBuilder {
 public:
  GuardBuilder(double bits_per_key, int probes) : bits_per_key_(bits_per_key), probes_(probes) {}
  // Once for each distinct user key.
  void Add(uint64_t hash) { hashes_.push_back(hash); }
  size_t keys() const { return hashes_.size(); }
  size_t MemoryBytes() const { return hashes_.capacity() * sizeof(uint64_t); }
  // The guard's bytes.
  std::string Finish() const;

 private:
  double bits_per_key_;
  int probes_;
  std::vector<uint64_t> hashes_;
};

// Reads a guard in place; the bytes must be aligned to 64.
class GuardView {
 public:
  static bool Validate(std::string_view bytes, std::string* why);
  explicit GuardView(std::string_view bytes);
  void Prefetch(uint64_t hash) const;
  bool MayContain(uint64_t hash) const;
  int probes() const { return probes_; }
  uint64_t lines() const { return lines_count_; }
  uint64_t keys() const { return keys_; }
  // The share of bits that are set.
  double Fill() const;

 private:
  const char* lines_;
  uint64_t lines_count_;
  uint64_t keys_;
  int probes_;
};

}  // namespace sepal
