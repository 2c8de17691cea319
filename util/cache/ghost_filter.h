// Remembers about the last `capacity` added keys, in two or three bytes each: a Bloom filter in two generations. Keys
// are added to the younger one; once it holds half of the capacity, the older one is emptied and becomes the younger.
// So a key is remembered for at least half of the capacity's further additions, and forgotten before there are as many
// as the capacity.
//
// May claim to remember a key that was never added (less than 1 % of them). Never forgets a key early, except that keys
// added while another thread swaps the generations may go with the older one.
//
// Safe for concurrent use, without locks. Adding and asking touch one cache line per generation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "util/memory/mapped_memory.h"

namespace sepal {

class GhostFilter {
 public:
  explicit GhostFilter(size_t capacity);
  // Both take a well-mixed hash of the key.
  void Add(uint64_t hash);
  bool Remembers(uint64_t hash) const;

  // The memory of a GhostFilter(capacity).
  static constexpr size_t MemoryBytes(size_t capacity) { return 2 * LinesFor(capacity) * kLineBytes; }

 private:
  using Word = std::atomic<uint64_t>;
  static constexpr size_t kLineBytes = 64;
  static constexpr size_t kWordsPerLine = kLineBytes / sizeof(Word);
  static constexpr size_t kBitsPerKey = 14;
  // The lines of one generation, which holds half of the keys.
  static constexpr size_t LinesFor(size_t capacity) { return capacity / 2 * kBitsPerKey / (kLineBytes * 8) + 1; }

  Word* LineOf(unsigned generation, uint64_t hash) const;
  bool Has(unsigned generation, uint64_t hash) const;

  const size_t lines_;  // of one generation
  const size_t most_added_;
  const MappedMemory memory_;
  Word* const words_;
  std::atomic<unsigned> younger_{0};
  std::atomic<bool> turning_{false};
  std::atomic<size_t> added_{0};
};

}  // namespace sepal
