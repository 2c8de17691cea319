// The common parts of HyperLogLog sketches of any number of registers: the rank of a hash, and the estimate of O. Ertl,
// "New cardinality estimation algorithms for HyperLogLog sketches", 2017.
#pragma once

#include <cstdint>
#include <span>

namespace sepal {

// 1 plus the number of leading zeros behind the highest `precision` bits, which name the register; at most
// 65 - precision.
inline uint8_t HyperLogLogRank(uint64_t hash, int precision) {
  return static_cast<uint8_t>(__builtin_clzll(hash << precision | uint64_t{1} << (precision - 1)) + 1);
}

// The number of different hashes, from the highest rank of each of the 2^precision registers, 0 for none.
double HyperLogLogEstimate(std::span<const uint8_t> ranks, int precision);

}  // namespace sepal
