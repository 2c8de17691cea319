// Asks a key filter about many keys of a plain block at once (ReadOptions::key_filter), for an iterator that moves
// forward: it jumps from one passing entry to the next, and never touches the values between.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "db/engine/read/key_sieve.h"
#include "table/block/block_cursor.h"

namespace sepal {

class BlockSieve {
 public:
  // Called after a seek or any other move, when nothing is known of the next entries. The first questions are small,
  // because a caller may want a single key.
  void Forget() {
    at_once_ = kFirstAtOnce;
    ahead_ = 0;
  }
  // Returns whether the answers for the current entry and some after it are known.
  bool KnowsAhead() const { return ahead_ > 0; }

  // Asks about the current entry of a plain block and those after it. Returns false if the keys are too long.
  bool Ask(BlockCursor* block, KeySieve* sieve) {
    const size_t stride = block->PlainKeyRoom();
    if (stride > kMostKeyRoom) return false;
    const uint32_t count = std::min(block->EntriesAhead() + 1, at_once_);
    at_once_ = std::min<uint32_t>(2 * at_once_, KeySieve::kMany);
    if (keys_ == nullptr) keys_ = std::make_unique_for_overwrite<char[]>(KeySieve::kMany * kMostKeyRoom);
    block->CopyPlainKeys(count, stride, keys_.get());
    std::array<std::string_view, KeySieve::kMany> keys;
    for (uint32_t i = 0; i < count; ++i) keys[i] = {keys_.get() + i * stride, block->PlainKeyBytes()};
    passing_ = sieve->PassMany(std::span(keys).first(count));
    ahead_ = count - 1;
    block->PassValues(kValuesOfUse * static_cast<uint32_t>(std::popcount(passing_)) < count);
    if (!sieve->asks()) {  // from here on
      passing_ &= 1;
      ahead_ = 0;
    }
    return true;
  }
  // Marks the current entry as done.
  void PassCurrent() { passing_ &= ~uint64_t{1}; }
  // Returns how many entries to skip, to the first passing entry among those whose answers are known. `*found`: whether
  // there is one; otherwise the skip ends at the last of them.
  uint32_t Skip(bool* found) {
    *found = passing_ != 0;
    const uint32_t skipped = *found ? static_cast<uint32_t>(std::countr_zero(passing_)) : ahead_;
    passing_ >>= skipped;
    ahead_ -= skipped;
    return skipped;
  }

 private:
  // Limits a key with its prefix; longer ones are asked about one by one.
  static constexpr size_t kMostKeyRoom = 256;
  static constexpr uint32_t kFirstAtOnce = 4;
  // Values are prefetched if at least one entry in so many passes.
  static constexpr uint32_t kValuesOfUse = 4;

  // A bit for each of the current entry (bit 0) and the `ahead_` after it in its block: whether it passes.
  uint64_t passing_ = 0;
  uint32_t ahead_ = 0;
  uint32_t at_once_ = kFirstAtOnce;
  std::unique_ptr<char[]> keys_;  // the keys of one question
};

}  // namespace sepal
