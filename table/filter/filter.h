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

#include "util/base/coding.h"
#include "util/base/hash.h"
#include "util/memory/mapped_memory.h"
#include "util/memory/ready_pages.h"

namespace sepal {

inline constexpr int kMaxLaneProbes = 16;
inline constexpr int kMaxGuardProbes = 8;
inline constexpr size_t kGuardLineBytes = 64;
inline constexpr uint64_t kLaneMix = 0x1a4e5e9a1ull;
// The multipliers of Apache Parquet's split-block Bloom filter.
inline constexpr uint32_t kGuardMultiplier[kMaxGuardProbes] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                                               0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};
// What a filter is, as a byte on disk.
enum class FilterKind : uint8_t { kNone = 0, kBloom = 1 };

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
  // Memory for hashes comes from `pool`, which must outlive the builder; if null, from the system.
  GuardBuilder(double bits_per_key, int probes, ReadyPages* pool = nullptr)
      : bits_per_key_(bits_per_key), probes_(probes), pool_(pool) {}
  ~GuardBuilder() {
    if (pool_ != nullptr) pool_->Give(std::move(pieces_));
  }
  GuardBuilder(const GuardBuilder&) = delete;
  GuardBuilder& operator=(const GuardBuilder&) = delete;
  // To be called once for each distinct user key.
  void Add(std::span<const uint64_t> hashes);
  void Add(uint64_t hash) { Add(std::span(&hash, 1)); }
  size_t keys() const { return room_ - static_cast<size_t>(end_ - next_); }
  size_t MemoryBytes() const { return room_ * sizeof(uint64_t); }
  // The size of Finish's result.
  uint64_t Bytes() const;
  // The guard's bytes.
  std::string Finish() const;

 private:
  uint64_t Lines() const;
  // Hashes are in pieces, each twice as large as the one before, so that none is moved and no memory is touched in
  // vain.
  static constexpr size_t kFirstPieceBytes = size_t{16} << 10;
  static constexpr size_t kLargestPieceBytes = MappedMemory::kHugePageBytes;
  void AddPiece();

  double bits_per_key_;
  int probes_;
  ReadyPages* const pool_;
  std::vector<LargeBuffer> pieces_;
  size_t room_ = 0;  // number of hashes that fit in all pieces
  uint64_t* next_ = nullptr;
  uint64_t* end_ = nullptr;  // the end of the last piece
};

// Reads a guard in place; the bytes must be aligned to 64.
class GuardView {
 public:
  static bool Validate(std::string_view bytes, std::string* why);
  explicit GuardView(std::string_view bytes)
      : lines_(bytes.data() + kGuardLineBytes), lines_count_(bytes.size() / kGuardLineBytes - 1), probes_(bytes[1]) {}
  void Prefetch(uint64_t hash) const { __builtin_prefetch(LineOf(hash)); }
  bool MayContain(uint64_t hash) const;
  int probes() const { return probes_; }
  uint64_t lines() const { return lines_count_; }
  // The number of keys that were added.
  uint64_t keys() const;
  // The share of bits that are set.
  double Fill() const;

 private:
  const char* LineOf(uint64_t hash) const { return lines_ + ReduceRange(hash, lines_count_) * kGuardLineBytes; }
  const char* lines_;
  uint64_t lines_count_;
  int probes_;
};

// Probes are checked in groups, without a branch in between: the first one to fail cannot be predicted, but that one of
// the first three fails usually can (for 7 of 8 absent keys). Measured: gathers (AVX2) and permutes (AVX-512) of all
// probes at once take longer to give the answer.
inline constexpr int kProbeGroup = 3;

inline bool GuardView::MayContain(uint64_t hash) const {
  const char* const line = LineOf(hash);
  const auto x = static_cast<uint32_t>(hash);
  const auto shifted = [&](int probe) {
    const uint32_t v = x * kGuardMultiplier[probe];
    return DecodeFixed64(line + (v >> 29) * 8) >> ((v >> 23) & 63);
  };
  int i = 0;
  for (; i + kProbeGroup <= probes_; i += kProbeGroup) {
    if ((shifted(i) & shifted(i + 1) & shifted(i + 2) & 1) == 0) return false;
  }
  uint64_t rest = 1;
  for (; i < probes_; ++i) rest &= shifted(i);
  return (rest & 1) != 0;
}

}  // namespace sepal
