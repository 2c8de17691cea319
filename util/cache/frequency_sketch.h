// How often keys were noted of late, in eight bytes for each key that is kept: TinyLFU's counting Bloom filter behind a
// Bloom doorkeeper (Einziger, Friedman, Manes, "TinyLFU: a highly efficient cache admission policy", 2017).
//
// A key that the *doorkeeper* (util/cache/ghost_filter.h) does not know goes no further than there: keys that are noted
// once take no counter. A known one counts up the lowest of its four counters of 4 bits, which stop at 15 and lie in
// one cache line. After every ten notes a key that is kept, each counter has been halved once: line by line, so that no
// caller pays for all of them.
//
// An estimate is too high when other keys share all counters, or all bits of the doorkeeper. It is too low when threads
// count in the same word at the same moment, which may lose a count, and once the doorkeeper has forgotten the key.
//
// Safe for concurrent use, without locks. Noting and asking touch one line of counters and two of the doorkeeper.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "util/cache/ghost_filter.h"
#include "util/memory/mapped_memory.h"

namespace sepal {

class FrequencySketch {
 public:
  // `keys`: how many are kept by whoever asks.
  explicit FrequencySketch(size_t keys);
  // Both take a well-mixed hash of the key.
  void Note(uint64_t hash);
  // At most kMostEstimate.
  int Estimate(uint64_t hash) const;

  static constexpr int kMostCount = 15;
  static constexpr int kMostEstimate = kMostCount + 1;  // the doorkeeper's is one more
  // What FrequencySketch(keys) takes of memory.
  static constexpr size_t MemoryBytes(size_t keys) {
    return LinesFor(keys) * kLineBytes + RecentKeys::MemoryBytes(kDoorFactor * keys);
  }

 private:
  using Word = std::atomic<uint64_t>;
  static constexpr size_t kLineBytes = 64;
  static constexpr size_t kWordsPerLine = kLineBytes / sizeof(Word);
  static constexpr size_t kCountersPerWord = 16;
  static constexpr size_t kCountersPerLine = kWordsPerLine * kCountersPerWord;
  static constexpr size_t kCountersPerKey = 8;
  static constexpr size_t kKeysPerLine = kCountersPerLine / kCountersPerKey;
  static constexpr size_t kNotesPerKey = 10;  // in which all counters are halved
  static constexpr size_t kDoorFactor = 2;    // keys that the doorkeeper remembers for each that is kept
  static constexpr int kCountersSet = 4;
  static constexpr size_t LinesFor(size_t keys) { return keys / kKeysPerLine + 1; }

  // One counter of a key.
  struct Counter {
    Word* word;
    int shift;
    int In(uint64_t value) const { return static_cast<int>(value >> shift & kMostCount); }
  };
  Counter CounterOf(uint64_t mixed, int i) const;
  int LeastCount(uint64_t mixed) const;
  void Halve(size_t line);

  const size_t lines_;
  const MappedMemory memory_;
  Word* const words_;
  RecentKeys door_;
  std::atomic<size_t> noted_{0};
};

}  // namespace sepal
