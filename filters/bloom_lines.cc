#include "filters/bloom_lines.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "util/base/coding.h"

namespace sepal::filters {
namespace {

// Those of Apache Parquet's split-block Bloom filter, which the engine's guards use too.
alignas(32) constexpr uint32_t kMultiplier[8] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                                 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

uint64_t WordFrom(const char* line, uint32_t v) { return DecodeFixed64(line + (v >> 29) * 8) >> (v >> 23 & 63); }

#if defined(__x86_64__)

// Loaded from 8 - k on: ones for the first k probes.
alignas(32) constexpr uint32_t kOnes[16] = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0};

// The line is two registers of eight 32-bit words; each probe takes its word from both, and the right one of these.
// Measured: gathering the words from memory takes twice as long.
__attribute__((target("avx2"))) void TestAvx2(const BloomLines& lines, std::span<const uint64_t> hashes, bool* maybe) {
  const __m256i multiplier = _mm256_load_si256(reinterpret_cast<const __m256i*>(kMultiplier));
  const __m256i wanted = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kOnes + 8 - lines.probes));
  for (size_t i = 0; i < hashes.size(); ++i) {
    const auto* const line = reinterpret_cast<const __m256i*>(lines.Of(hashes[i]));
    const __m256i v = _mm256_mullo_epi32(_mm256_set1_epi32(static_cast<int>(hashes[i])), multiplier);
    const __m256i word = _mm256_srli_epi32(v, 28);
    const __m256i low = _mm256_permutevar8x32_epi32(_mm256_load_si256(line), word);
    const __m256i high = _mm256_permutevar8x32_epi32(_mm256_load_si256(line + 1), word);
    // The sign of v chooses the register.
    const __m256i words = _mm256_castps_si256(
        _mm256_blendv_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), _mm256_castsi256_ps(v)));
    const __m256i bit = _mm256_and_si256(_mm256_srli_epi32(v, 23), _mm256_set1_epi32(31));
    maybe[i] = _mm256_testc_si256(_mm256_srlv_epi32(words, bit), wanted) != 0;
  }
}

#endif

}  // namespace

void AddToLine(char* line, uint64_t hash, int probes) {
  const auto x = static_cast<uint32_t>(hash);
  for (int i = 0; i < probes; ++i) {
    const uint32_t v = x * kMultiplier[i];
    char* const word = line + (v >> 29) * 8;
    EncodeFixed64(word, DecodeFixed64(word) | uint64_t{1} << (v >> 23 & 63));
  }
}

// Three probes are tested without a branch between: an absent key fails one of them nearly always.
bool LineMayContain(const char* line, uint64_t hash, int probes) {
  const auto x = static_cast<uint32_t>(hash);
  int i = 0;
  for (; i + 3 <= probes; i += 3) {
    const uint64_t three = WordFrom(line, x * kMultiplier[i]) & WordFrom(line, x * kMultiplier[i + 1]) &
                           WordFrom(line, x * kMultiplier[i + 2]);
    if ((three & 1) == 0) return false;
  }
  uint64_t rest = 1;
  for (; i < probes; ++i) rest &= WordFrom(line, x * kMultiplier[i]);
  return (rest & 1) != 0;
}

void LinesMayContain(SimdLevel level, const BloomLines& lines, std::span<const uint64_t> hashes, bool* maybe) {
#if defined(__x86_64__)
  if (level >= SimdLevel::kAvx2) return TestAvx2(lines, hashes, maybe);
#endif
  static_cast<void>(level);
  for (size_t i = 0; i < hashes.size(); ++i) maybe[i] = LineMayContain(lines.Of(hashes[i]), hashes[i], lines.probes);
}

}  // namespace sepal::filters
