// Incompressible bytes, always the same for a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "util/base/random.h"

namespace sepal {

// Never '\0', which ends files' bytes for some tests.
inline std::string NoiseOf(uint64_t seed, size_t bytes) {
  Random random(seed);
  std::string noise(bytes, ' ');
  for (char& c : noise) c = static_cast<char>(1 + random.Uniform(255));
  return noise;
}

// Bytes that every codec compresses.
inline std::string PatternOf(uint64_t seed, size_t bytes) {
  std::string pattern = std::to_string(seed) + ":";
  pattern.resize(bytes, static_cast<char>('a' + seed % 26));
  return pattern;
}

}  // namespace sepal
