// What keeps an eviction from looking at more frames than is worth it: which frames were ever used, how many an insert
// looks at for room, and when another walk over all of them pays.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sepal {

// The frames that were ever claimed, in groups of 64: a walk over all blocks looks at no others.
//
// A bit is set before its frame is published and never cleared, so that a thread that knows of a block finds its bit.
// Safe for concurrent use.
class ClaimedFrames {
 public:
  static constexpr size_t kGroupFrames = 64;

  explicit ClaimedFrames(size_t frames) : words_((frames / kGroupFrames + 63) / 64) {}

  void Claim(size_t frame) {
    const size_t group = frame / kGroupFrames;
    const uint64_t bit = uint64_t{1} << group % 64;
    std::atomic<uint64_t>& word = words_[group / 64];
    if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
  }
  // `body(frame)` for every frame of the groups.
  template <typename Body>
  void ForEach(const Body& body) const {
    for (size_t i = 0; i < words_.size(); ++i) {
      for (uint64_t bits = words_[i].load(std::memory_order_relaxed); bits != 0; bits &= bits - 1) {
        const size_t first = (i * 64 + static_cast<size_t>(std::countr_zero(bits))) * kGroupFrames;
        for (size_t k = 0; k < kGroupFrames; ++k) body(first + k);
      }
    }
  }

 private:
  std::vector<std::atomic<uint64_t>> words_;
};

// How many frames an insert, or a large pin, looks at for room. What a walk over all of them could not evict, as pinned
// blocks, the next walk is unlikely to: after one in vain, inserts give up after few frames, until they get room again.
//
// Safe for concurrent use. When two threads report at once, the limit may grow or fall once less.
class SweepLimit {
 public:
  static constexpr size_t kFewest = 1024;

  explicit SweepLimit(size_t frames) : frames_(frames), most_(frames) {}

  // Whether all frames may be looked at, as often as it takes.
  bool none() const { return most() >= frames_; }
  size_t most() const { return most_.load(std::memory_order_relaxed); }
  void WalkedInVain() { most_.store(kFewest, std::memory_order_relaxed); }
  // After a look at most() frames at most.
  void Swept(bool made_room) {
    most_.store(made_room ? 2 * most() : std::max(most() / 2, kFewest), std::memory_order_relaxed);
  }

 private:
  const size_t frames_;
  std::atomic<size_t> most_;
};

// When a walk pays again after one that gave nothing. What it could not move (pinned blocks, other caches' blocks) the
// next walk is unlikely to: each that gave nothing doubles the calls that pass up to the next one, unless clearly more
// is to be gained by then.
//
// Not safe for concurrent use.
class WalkBackoff {
 public:
  // `more_bytes`: what is clearly more.
  explicit WalkBackoff(size_t more_bytes) : more_bytes_(more_bytes) {}

  // `bytes` may be gained at most.
  bool ShouldWalk(size_t bytes) {
    if (in_vain_ == 0 || bytes >= left_bytes_ + more_bytes_) return true;
    return ++calls_ >= uint32_t{1} << std::min(in_vain_, kMostDoublings);
  }
  // `left_bytes` may still be gained.
  void Walked(bool gave_something, size_t left_bytes) {
    in_vain_ = gave_something ? 0 : in_vain_ + 1;
    left_bytes_ = left_bytes;
    calls_ = 0;
  }

 private:
  static constexpr uint32_t kMostDoublings = 6;

  const size_t more_bytes_;
  uint32_t in_vain_ = 0;  // the last walks that gave nothing
  size_t left_bytes_ = 0;
  uint32_t calls_ = 0;  // since the last walk
};

}  // namespace sepal
