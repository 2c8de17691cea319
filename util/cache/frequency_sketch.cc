#include "util/cache/frequency_sketch.h"

#include <algorithm>

#include "util/base/hash.h"

namespace sepal {
namespace {

constexpr int kBitsOfCounter = 4;
constexpr int kBitsOfPlaceInLine = 7;
constexpr uint64_t kAllButHighBits = 0x7777'7777'7777'7777;

}  // namespace

FrequencySketch::FrequencySketch(size_t keys)
    : lines_(LinesFor(keys)),
      memory_(lines_ * kLineBytes),
      words_(reinterpret_cast<Word*>(memory_.data())),  // zero bytes are atomics of 0
      door_(kDoorFactor * keys) {}

// The high bits of the hash choose the line, the low ones the counters in it.
FrequencySketch::Counter FrequencySketch::CounterOf(uint64_t mixed, int i) const {
  const uint64_t place = (mixed >> i * kBitsOfPlaceInLine) % kCountersPerLine;
  return {words_ + ReduceRange(mixed, lines_) * kWordsPerLine + place / kCountersPerWord,
          static_cast<int>(place % kCountersPerWord) * kBitsOfCounter};
}

int FrequencySketch::LeastCount(uint64_t mixed) const {
  int least = kMostCount;
  for (int i = 0; i < kCountersSet; ++i) {
    const Counter counter = CounterOf(mixed, i);
    least = std::min(least, counter.In(counter.word->load(std::memory_order_relaxed)));
  }
  return least;
}

// The doorkeeper is asked with other bits than the counters: keys that it takes for one another do not share those too.
int FrequencySketch::Estimate(uint64_t hash) const { return LeastCount(Mix64(hash)) + (door_.Remembers(hash) ? 1 : 0); }

void FrequencySketch::Note(uint64_t hash) {
  constexpr size_t kNotesPerLine = kNotesPerKey * kKeysPerLine;
  const size_t noted = noted_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (noted % kNotesPerLine == 0) Halve(noted / kNotesPerLine % lines_);
  if (!door_.Remembers(hash)) return door_.Add(hash);
  const uint64_t mixed = Mix64(hash);
  const int least = LeastCount(mixed);
  if (least == kMostCount) return;
  for (int i = 0; i < kCountersSet; ++i) {
    const Counter counter = CounterOf(mixed, i);
    uint64_t value = counter.word->load(std::memory_order_relaxed);
    if (counter.In(value) != least) continue;
    counter.word->compare_exchange_strong(value, value + (uint64_t{1} << counter.shift), std::memory_order_relaxed);
  }
}

void FrequencySketch::Halve(size_t line) {
  for (Word* word = words_ + line * kWordsPerLine; word != words_ + (line + 1) * kWordsPerLine; ++word) {
    uint64_t value = word->load(std::memory_order_relaxed);
    while (!word->compare_exchange_weak(value, value >> 1 & kAllButHighBits, std::memory_order_relaxed)) {
    }
  }
}

}  // namespace sepal
