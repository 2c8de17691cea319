#include "table/index/fence_search.h"

#include <algorithm>
#include <atomic>

#include "util/base/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sepal {
namespace {

// Halves [begin, begin + *count) until at most `window` fences remain, among which the end of the answer lies; returns
// how many were skipped. No branch depends on a fence.
inline uint32_t Narrow(const uint64_t* fences, uint32_t* count, uint32_t window, uint64_t fence) {
  uint32_t begin = 0;
  uint32_t length = *count;
  while (length > window) {
    const uint32_t half = length / 2;
    begin += half & -static_cast<uint32_t>(fences[begin + half - 1] < fence);
    length -= half;
  }
  *count = length;
  return begin;
}

using Form = uint32_t (*)(const uint64_t* fences, uint32_t count, uint64_t fence);

Form FormFor(SimdLevel level) {
#if defined(__x86_64__)
  if (level == SimdLevel::kAvx512) return CountFencesLessAvx512;
  if (level == SimdLevel::kAvx2) return CountFencesLessAvx2;
#endif
  (void)level;
  return CountFencesLessPortable;
}

}  // namespace

uint32_t CountFencesLessPortable(const uint64_t* fences, uint32_t count, uint64_t fence) {
  if (count == 0) return 0;
  const uint32_t begin = Narrow(fences, &count, 1, fence);
  return begin + (fences[begin] < fence ? 1 : 0);
}

#if defined(__x86_64__)

__attribute__((target("avx2,popcnt"))) uint32_t CountFencesLessAvx2(const uint64_t* fences, uint32_t count,
                                                                    uint64_t fence) {
  constexpr uint32_t kWindow = 16;
  if (count < kWindow) return CountFencesLessPortable(fences, count, fence);
  uint32_t length = count;
  // A window that is moved back includes more fences that are less, which does no harm.
  const uint32_t begin = std::min(Narrow(fences, &length, kWindow, fence), count - kWindow);
  fences += begin;
  const __m256i sign = _mm256_set1_epi64x(INT64_MIN);
  const __m256i wanted = _mm256_xor_si256(_mm256_set1_epi64x(static_cast<int64_t>(fence)), sign);
  uint32_t less = 0;
  for (uint32_t i = 0; i < kWindow; i += 4) {
    const __m256i four = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(fences + i));
    const __m256i greater = _mm256_cmpgt_epi64(wanted, _mm256_xor_si256(four, sign));
    less |= static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(greater))) << i;
  }
  return begin + static_cast<uint32_t>(__builtin_popcount(less));
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

#endif

namespace {

// Chooses the form at the first call; later calls cost a load and a jump.
uint32_t Choose(const uint64_t* fences, uint32_t count, uint64_t fence);
constinit std::atomic<Form> used_form{Choose};

uint32_t Choose(const uint64_t* fences, uint32_t count, uint64_t fence) {
  const Form form = FormFor(UsedSimd());
  used_form.store(form, std::memory_order_relaxed);
  return form(fences, count, fence);
}

}  // namespace

uint32_t CountFencesLess(const uint64_t* fences, uint32_t count, uint64_t fence) {
  return used_form.load(std::memory_order_relaxed)(fences, count, fence);
}

}  // namespace sepal
