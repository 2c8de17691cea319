// XXH3 of long inputs with the widest vectors of this machine, by code that the xxHash library chooses at run time; the
// code compiled into this library uses vectors that every x86-64 machine has. The checksum of a block of 4100 bytes
// takes 110 ns with it and 165 without (micro_benchmark --benchmark_filter=BlockChecksum, and the same with
// SEPAL_SIMD=portable).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sepal {

// Shorter inputs do not gain from vectors.
inline constexpr size_t kVectorHashBytes = 241;

// Whether there is such code; decided at the first call (SEPAL_SIMD, util/base/simd.h). Cost: one load.
bool HasVectorHash();
// XXH3_64bits_withSeed of at least kVectorHashBytes. Requires HasVectorHash.
uint64_t VectorHash(std::string_view bytes, uint64_t seed);

}  // namespace sepal
