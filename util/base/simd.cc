#include "util/base/simd.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace sepal {
namespace {

// AVX-512 was measured to be no faster than AVX2, so it is used only on request.
SimdLevel Wanted() {
  const char* const value = std::getenv("SEPAL_SIMD");
  const std::string_view wanted = value == nullptr ? "" : value;
  if (wanted == "portable") return SimdLevel::kPortable;
  if (wanted == "avx512") return SimdLevel::kAvx512;
  return SimdLevel::kAvx2;
}

}  // namespace

SimdLevel OfferedSimd() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("popcnt")) return SimdLevel::kPortable;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("bmi2");
  return avx512 ? SimdLevel::kAvx512 : SimdLevel::kAvx2;
#else
  return SimdLevel::kPortable;
#endif
}

SimdLevel UsedSimd() {
  static const SimdLevel used = std::min(OfferedSimd(), Wanted());
  return used;
}

}  // namespace sepal
