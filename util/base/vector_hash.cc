#include "util/base/vector_hash.h"

#include <xxhash.h>
// Installed where the shared library has such code. The static one does not always have it too.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#define XXH_DISPATCH_DISABLE_REPLACE
#include <immintrin.h>
#include <xxh_x86dispatch.h>
#pragma weak XXH3_64bits_withSeed_dispatch
#define SEPAL_XXHASH_MAY_DISPATCH
#endif

#include <string>

#include "util/base/check.h"
#include "util/base/simd.h"

namespace sepal {

#ifdef SEPAL_XXHASH_MAY_DISPATCH

// The library (0.8.1) leaves the upper halves of vector registers in use. The thread, the program's own code included,
// would then pay for each change between SSE instructions and newer ones: a loop over entries in Python took five
// times as long.
__attribute__((target("avx2"))) uint64_t VectorHash(std::string_view bytes, uint64_t seed) {
  const uint64_t hash = XXH3_64bits_withSeed_dispatch(bytes.data(), bytes.size(), seed);
  _mm256_zeroupper();
  return hash;
}

bool HasVectorHash() {
  static const bool has = [] {
    if (UsedSimd() == SimdLevel::kPortable || &XXH3_64bits_withSeed_dispatch == nullptr) return false;
    // The library makes its choice at the first call, which must not run concurrently with another.
    const std::string bytes(2048, 'x');
    for (const uint64_t seed : {0, 1}) {
      SEPAL_CHECK(VectorHash(bytes, seed) == XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed));
    }
    return true;
  }();
  return has;
}

#else

uint64_t VectorHash(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

bool HasVectorHash() { return false; }

#endif

}  // namespace sepal
