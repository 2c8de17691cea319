// Estimates the number of distinct keys from their hashes, in a fixed number of bytes (P. Flajolet et al.,
// "HyperLogLog", 2007; estimator by O. Ertl, "New cardinality estimation algorithms for HyperLogLog sketches", 2017,
// which needs no correction tables and is accurate for small and large numbers). The standard error is 1.04 /
// sqrt(1024), 3.3 %.
//
// Sketches of hashes made with one seed can be merged: the result is the sketch of the union.
//
// A value; not safe for concurrent use while it is changed.
//
// As bytes:
//
// | offset | size | meaning                                                                              |
// |--------|------|--------------------------------------------------------------------------------------|
// | 0      | 1    | 10: log2 of the number of registers                                                   |
// | 1      | 768  | the registers, 6 bits each, register i at bits 6i to 6i+5; bit j is bit j%8 of byte j/8 |
//
// Register i holds the largest rank of a hash whose highest 10 bits are i. The rank is 1 plus the number of leading
// zeros of the other 54 bits, at most 55.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sepal {

class HyperLogLog {
 public:
  static constexpr double kStandardError = 1.04 / 32;

  void Add(uint64_t hash) {
    const size_t i = hash >> (64 - kPrecision);
    // The bit that is set below the 54 limits the rank to 55.
    const auto rank = static_cast<uint8_t>(__builtin_clzll(hash << kPrecision | uint64_t{1} << (kPrecision - 1)) + 1);
    if (rank > registers_[i]) registers_[i] = rank;
  }
  void Merge(const HyperLogLog& other);
  double Estimate() const;

  std::string ToBytes() const;
  // Returns nullopt for bytes that no sketch encodes to.
  static std::optional<HyperLogLog> FromBytes(std::string_view bytes);

  friend bool operator==(const HyperLogLog&, const HyperLogLog&) = default;

 private:
  static constexpr int kPrecision = 10;
  static constexpr size_t kRegisters = size_t{1} << kPrecision;
  static constexpr int kMaxRank = 64 - kPrecision + 1;
  static constexpr size_t kBytes = 1 + kRegisters * 6 / 8;

  std::array<uint8_t, kRegisters> registers_{};
};

}  // namespace sepal
