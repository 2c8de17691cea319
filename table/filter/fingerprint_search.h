// Where in an array of fingerprints of one or two bytes a given one stands. SSE2 belongs to every x86-64; other
// machines take the portable form.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "util/base/coding.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sepal {

// The first of the `bytes` / `kWidth` fingerprints that equals `wanted`; -1 if none does. `bytes` is a multiple of 8,
// and no more are read.
template <int kWidth>
inline int FindFingerprintPortable(const char* fingerprints, size_t bytes, uint16_t wanted) {
  for (size_t i = 0; i < bytes; i += kWidth) {
    const unsigned got =
        kWidth == 1 ? static_cast<uint8_t>(fingerprints[i]) : static_cast<unsigned>(DecodeFixed16(fingerprints + i));
    if (got == wanted) return static_cast<int>(i / kWidth);
  }
  return -1;
}

#if defined(__SSE2__)
// Which bytes of 16 belong to a fingerprint that equals, as a bit mask.
template <int kWidth>
inline unsigned MatchFingerprints(__m128i fingerprints, __m128i wanted) {
  return static_cast<unsigned>(
      _mm_movemask_epi8(kWidth == 1 ? _mm_cmpeq_epi8(fingerprints, wanted) : _mm_cmpeq_epi16(fingerprints, wanted)));
}

template <int kWidth>
inline int FindFingerprint(const char* fingerprints, size_t bytes, uint16_t wanted) {
  const __m128i all =
      kWidth == 1 ? _mm_set1_epi8(static_cast<char>(wanted)) : _mm_set1_epi16(static_cast<int16_t>(wanted));
  size_t i = 0;
  for (; i + 16 <= bytes; i += 16) {
    const __m128i loaded = _mm_loadu_si128(reinterpret_cast<const __m128i*>(fingerprints + i));
    const unsigned mask = MatchFingerprints<kWidth>(loaded, all);
    if (mask != 0) return static_cast<int>((i + static_cast<size_t>(std::countr_zero(mask))) / kWidth);
  }
  if (i == bytes) return -1;
  const __m128i loaded = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(fingerprints + i));
  const unsigned mask = MatchFingerprints<kWidth>(loaded, all) & 0xff;
  return mask == 0 ? -1 : static_cast<int>((i + static_cast<size_t>(std::countr_zero(mask))) / kWidth);
}
#else
template <int kWidth>
inline int FindFingerprint(const char* fingerprints, size_t bytes, uint16_t wanted) {
  return FindFingerprintPortable<kWidth>(fingerprints, bytes, wanted);
}
#endif

}  // namespace sepal
