// The lines of a blocked Bloom filter: 512 bits, in which a key has up to 8 probes. They follow from the low 32 bits x
// of its hash: probe i is bit (x * multiplier[i] mod 2^32) >> 23. The line's number is the high word of hash * lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "util/base/hash.h"
#include "util/base/simd.h"

namespace sepal::filters {

inline constexpr uint64_t kBloomLineBytes = 64;
inline constexpr uint64_t kBloomLineBits = kBloomLineBytes * 8;

struct BloomLines {
  const char* first;
  uint64_t count;
  int probes;  // 1 to 8

  const char* Of(uint64_t hash) const { return first + ReduceRange(hash, count) * kBloomLineBytes; }
};

void AddToLine(char* line, uint64_t hash, int probes);
// Portable: for single keys, vectors do not pay.
bool LineMayContain(const char* line, uint64_t hash, int probes);
// Sets maybe[i] for hashes[i]. With vectors all probes of a key are tested at once; each level gives the same answers.
void LinesMayContain(SimdLevel level, const BloomLines& lines, std::span<const uint64_t> hashes, bool* maybe);

}  // namespace sepal::filters
