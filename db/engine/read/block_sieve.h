// A key filter asked about many keys of a plain block at once (ReadOptions::key_filter), for an iterator that goes
// forward: it moves from one entry that passes to the next, and what lies between is not shown to anybody, and its
// values are not touched.
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
  // After a seek, or any other move: nothing is known of the entries ahead. A caller that looks for a single key does
  // not ask about a whole block at once.
  void Forget() {
    at_once_ = kFirstAtOnce;
    ahead_ = 0;
  }
  // Whether the answers for the current entry and some after it are known.
  bool KnowsAhead() const { return ahead_ > 0; }

  // Asks about the current entry of a plain block and those after it. False where keys are too long for that.
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
  // The current entry is done with.
  void PassCurrent() { passing_ &= ~uint64_t{1}; }
  // How many entries are to be skipped, up to the first that passes of the current one and those whose answers are
  // known. `*found`: whether there is one; otherwise the skip ends at the last of them.
  uint32_t Skip(bool* found) {
    *found = passing_ != 0;
    const uint32_t skipped = *found ? static_cast<uint32_t>(std::countr_zero(passing_)) : ahead_;
    passing_ >>= skipped;
    ahead_ -= skipped;
    return skipped;
  }

 private:
  // Of a key with its prefix: longer ones are asked about one by one.
  static constexpr size_t kMostKeyRoom = 256;
  static constexpr uint32_t kFirstAtOnce = 4;
  // Values are prefetched where one of so many passes.
  static constexpr uint32_t kValuesOfUse = 4;

  // Of the current entry (bit 0) and the `ahead_` after it in its block: whether they pass.
  uint64_t passing_ = 0;
  uint32_t ahead_ = 0;
  uint32_t at_once_ = kFirstAtOnce;
  std::unique_ptr<char[]> keys_;  // that are asked about together
};

}  // namespace sepal
