#include "util/vector_hash.h"

#include <xxhash.h>
// Installed where the library has such code.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#define XXH_DISPATCH_DISABLE_REPLACE
#include <xxh_x86dispatch.h>
#define SEPAL_XXHASH_DISPATCHES
#endif

#include "util/check.h"
#include "util/simd.h"

namespace sepal {

#ifdef SEPAL_XXHASH_DISPATCHES

uint64_t VectorHash(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed_dispatch(bytes.data(), bytes.size(), seed);
}

bool HasVectorHash() {
  static const bool has = [] {
    if (UsedSimd() == SimdLevel::kPortable) return false;
    // The library makes its choice at the first call, which no other may be beside.
    constexpr char kBytes[kVectorHashBytes] = {};
    SEPAL_CHECK(VectorHash({kBytes, sizeof(kBytes)}, 0) == XXH3_64bits(kBytes, sizeof(kBytes)));
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
