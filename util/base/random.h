// Pseudo-random numbers: splitmix64 (Steele, Lea, Flood 2014). Not for secrets. Not safe for concurrent use.
#pragma once

#include <cstdint>

#include "util/base/hash.h"

namespace sepal {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  // A number in [0, n); requires n > 0.
  uint64_t Uniform(uint64_t n) { return ReduceRange(Next(), n); }
  bool OneIn(uint64_t n) { return Uniform(n) == 0; }
  // A number in [0, 1).
  double NextDouble() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_;
};

// A seed drawn by the operating system.
uint64_t SystemRandomSeed();

}  // namespace sepal
