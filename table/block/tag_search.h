// Finds which of 32 tags equal a given one, as a bit mask. Reads 32 bytes. Every x86-64 machine has SSE2; other
// machines use the portable form.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sepal {

inline uint32_t MatchTagsPortable(const char* tags, uint8_t tag) {
  uint32_t mask = 0;
  for (int i = 0; i < 32; ++i) mask |= static_cast<uint32_t>(static_cast<uint8_t>(tags[i]) == tag) << i;
  return mask;
}

inline uint32_t MatchTags(const char* tags, uint8_t tag) {
#if defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi8(static_cast<char>(tag));
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(tags));
  const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(tags + 16));
  const auto low_mask = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(low, wanted)));
  const auto high_mask = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(high, wanted)));
  return low_mask | high_mask << 16;
#else
  return MatchTagsPortable(tags, tag);
#endif
}

}  // namespace sepal
