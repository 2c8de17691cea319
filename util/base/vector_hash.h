// XXH3 of long input by the widest vectors that this machine has, whose code the library chooses at run time. What is
// compiled into this one has those that every x86-64 machine has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sepal {

// Shorter input has no use for vectors.
inline constexpr size_t kVectorHashBytes = 241;

// Whether there is such code; decided at the first call (SEPAL_SIMD, util/base/simd.h). Cost: one load.
bool HasVectorHash();
// XXH3_64bits_withSeed of at least kVectorHashBytes. Requires HasVectorHash.
uint64_t VectorHash(std::string_view bytes, uint64_t seed);

}  // namespace sepal
