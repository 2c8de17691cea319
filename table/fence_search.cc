#include "table/fence_search.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sepal {
namespace {

// Halves [begin, begin + *count) until at most `window` fences are left among which the answer's end lies; returns how
// many were passed.
inline uint32_t Narrow(const uint64_t* fences, uint32_t* count, uint32_t window, uint64_t fence) {
  uint32_t begin = 0;
  uint32_t length = *count;
  while (length > window) {
    const uint32_t half = length / 2;
    begin = fences[begin + half - 1] < fence ? begin + half : begin;
    length -= half;
  }
  *count = length;
  return begin;
}

}  // namespace

uint32_t CountFencesLessPortable(const uint64_t* fences, uint32_t count, uint64_t fence) {
  if (count == 0) return 0;
  const uint32_t begin = Narrow(fences, &count, 1, fence);
  return begin + (fences[begin] < fence ? 1 : 0);
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) uint32_t CountFencesLessAvx2(const uint64_t* fences, uint32_t count, uint64_t fence) {
  const uint32_t begin = Narrow(fences, &count, 16, fence);
  fences += begin;
  const __m256i sign = _mm256_set1_epi64x(INT64_MIN);
  const __m256i wanted = _mm256_xor_si256(_mm256_set1_epi64x(static_cast<int64_t>(fence)), sign);
  __m256i less = _mm256_setzero_si256();
  uint32_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m256i four = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(fences + i));
    less = _mm256_sub_epi64(less, _mm256_cmpgt_epi64(wanted, _mm256_xor_si256(four, sign)));
  }
  const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(less), _mm256_extracti128_si256(less, 1));
  auto sum = static_cast<uint32_t>(_mm_cvtsi128_si64(two) + _mm_extract_epi64(two, 1));
  for (; i < count; ++i) sum += fences[i] < fence ? 1 : 0;
  return begin + sum;
}

__attribute__((target("avx512f,popcnt,bmi2"))) uint32_t CountFencesLessAvx512(const uint64_t* fences, uint32_t count,
                                                                              uint64_t fence) {
  const uint32_t begin = Narrow(fences, &count, 64, fence);
  fences += begin;
  const __m512i wanted = _mm512_set1_epi64(static_cast<int64_t>(fence));
  uint32_t sum = 0;
  uint32_t i = 0;
  for (; i + 8 <= count; i += 8) {
    sum += static_cast<uint32_t>(__builtin_popcount(_mm512_cmplt_epu64_mask(_mm512_loadu_si512(fences + i), wanted)));
  }
  const auto rest = static_cast<__mmask8>((1u << (count - i)) - 1);
  const __m512i last = _mm512_maskz_loadu_epi64(rest, fences + i);
  return begin + sum + static_cast<uint32_t>(__builtin_popcount(_mm512_mask_cmplt_epu64_mask(rest, last, wanted)));
}

uint32_t CountFencesLess(const uint64_t* fences, uint32_t count, uint64_t fence) {
  if (__builtin_cpu_supports("avx2")) return CountFencesLessAvx2(fences, count, fence);
  return CountFencesLessPortable(fences, count, fence);
}

#else

uint32_t CountFencesLess(const uint64_t* fences, uint32_t count, uint64_t fence) {
  return CountFencesLessPortable(fences, count, fence);
}

#endif

}  // namespace sepal
