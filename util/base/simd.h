// Chooses among several vector forms of code (table/index/fence_search.h): AVX2 if this machine has it, unless the
// environment variable SEPAL_SIMD names another one ("portable", "avx2", "avx512") that the machine has. Any other
// value is ignored. The variable is for measurements and for tests, which must pass with each form. Checksums of long
// inputs (util/base/vector_hash.h) take the portable form, or the widest vectors.
#pragma once

#include <cstdint>

namespace sepal {

// Each level includes the ones before it.
enum class SimdLevel : uint8_t { kPortable, kAvx2, kAvx512 };

// The highest level of this machine.
SimdLevel OfferedSimd();
// The level in use, decided at the first call. Cost: one load.
SimdLevel UsedSimd();

}  // namespace sepal
