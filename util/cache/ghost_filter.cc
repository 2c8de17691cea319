#include "util/cache/ghost_filter.h"

#include <algorithm>

#include "util/base/hash.h"

namespace sepal {
namespace {

constexpr int kBitsSet = 5;
constexpr int kBitsOfPlace = 9;  // within a line of 512 bits

}  // namespace

GhostFilter::GhostFilter(size_t capacity)
    : lines_(LinesFor(capacity)),
      most_added_(std::max<size_t>(capacity / 2, 1)),
      memory_(MemoryBytes(capacity)),
      words_(reinterpret_cast<Word*>(memory_.data())) {}  // zeroed bytes are atomics of 0

// The high bits of the hash choose the line, the low ones the bits in it.
GhostFilter::Word* GhostFilter::LineOf(unsigned generation, uint64_t hash) const {
  return words_ + (generation * lines_ + ReduceRange(hash, lines_)) * kWordsPerLine;
}

bool GhostFilter::Has(unsigned generation, uint64_t hash) const {
  const Word* const line = LineOf(generation, hash);
  for (int i = 0; i < kBitsSet; ++i, hash >>= kBitsOfPlace) {
    if ((line[hash / 64 % kWordsPerLine].load(std::memory_order_relaxed) >> (hash % 64) & 1) == 0) return false;
  }
  return true;
}

bool GhostFilter::Remembers(uint64_t hash) const { return Has(0, hash) || Has(1, hash); }

void GhostFilter::Add(uint64_t hash) {
  const unsigned younger = younger_.load(std::memory_order_relaxed);
  Word* const line = LineOf(younger, hash);
  uint64_t places = hash;
  for (int i = 0; i < kBitsSet; ++i, places >>= kBitsOfPlace) {
    line[places / 64 % kWordsPerLine].fetch_or(uint64_t{1} << (places % 64), std::memory_order_relaxed);
  }
  if (added_.fetch_add(1, std::memory_order_relaxed) + 1 < most_added_) return;
  if (turning_.exchange(true, std::memory_order_acquire)) return;
  const unsigned older = 1 - younger_.load(std::memory_order_relaxed);
  if (added_.load(std::memory_order_relaxed) >= most_added_) {
    for (size_t i = 0; i < lines_ * kWordsPerLine; ++i) {
      words_[older * lines_ * kWordsPerLine + i].store(0, std::memory_order_relaxed);
    }
    added_.store(0, std::memory_order_relaxed);
    younger_.store(older, std::memory_order_relaxed);
  }
  turning_.store(false, std::memory_order_release);
}

}  // namespace sepal
