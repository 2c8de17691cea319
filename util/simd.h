// Which vector instructions the engine uses: those that this machine has, or fewer where the environment variable
// SEPAL_SIMD asks for fewer ("portable", "avx2", "avx512"). That is for tests, which must pass on each, and for
// measurements; any other value is ignored.
#pragma once

#include <cstdint>

namespace sepal {

// Each has what is before it, too.
enum class SimdLevel : uint8_t { kPortable, kAvx2, kAvx512 };

// Of this machine.
SimdLevel OfferedSimd();
// What is used; decided at the first call. Cost: one load.
SimdLevel UsedSimd();

}  // namespace sepal
