// Which vector form is used of what has several (table/index/fence_search.h): AVX2 where this machine has it, unless
// the environment variable SEPAL_SIMD names another ("portable", "avx2", "avx512") that it has. That is for tests,
// which must pass on each, and for measurements; any other value is ignored.
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
