// Limits how many frames an eviction searches: only frames that were ever used, a limited number for each insert, and
// all of them only when another walk is worthwhile.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sepal {

// The frames that were ever claimed, in groups of 64, so that a walk over all blocks visits no others.
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
  // Calls `body(frame)` for every frame of the groups.
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

// How many frames an insert, or a large pin, searches for room. If a walk over all blocks could not evict some, such as
// pinned ones, the next walk is unlikely to: after a failed walk, inserts give up after few frames, until they find
// room again.
//
// Safe for concurrent use. If two threads report at once, the limit may grow or shrink once less.
class SweepLimit {
 public:
  static constexpr size_t kFewest = 1024;

  explicit SweepLimit(size_t frames) : frames_(frames), most_(frames) {}

  // Returns whether all frames may be searched, repeatedly.
  bool none() const { return most() >= frames_; }
  size_t most() const { return most_.load(std::memory_order_relaxed); }
  void WalkedInVain() { most_.store(kFewest, std::memory_order_relaxed); }
  // Reports a search of at most most() frames.
  void Swept(bool made_room) {
    most_.store(made_room ? 2 * most() : std::max(most() / 2, kFewest), std::memory_order_relaxed);
  }

 private:
  const size_t frames_;
  std::atomic<size_t> most_;
};

// Decides when to walk again after a walk without effect. The next walk is unlikely to move what that could not (pinned
// blocks, other caches' blocks): each walk without effect doubles the number of calls before the next one, unless
// clearly more can be gained by then.
//
// Not safe for concurrent use.
class WalkBackoff {
 public:
  // `more_bytes`: how much counts as clearly more.
  explicit WalkBackoff(size_t more_bytes) : more_bytes_(more_bytes) {}

  // `bytes`: the most that a walk may gain.
  bool ShouldWalk(size_t bytes) {
    if (in_vain_ == 0 || bytes >= left_bytes_ + more_bytes_) return true;
    return ++calls_ >= uint32_t{1} << std::min(in_vain_, kMostDoublings);
  }
  // `left_bytes`: what may still be gained.
  void Walked(bool gave_something, size_t left_bytes) {
    in_vain_ = gave_something ? 0 : in_vain_ + 1;
    left_bytes_ = left_bytes;
    calls_ = 0;
  }

 private:
  static constexpr uint32_t kMostDoublings = 6;

  const size_t more_bytes_;
  uint32_t in_vain_ = 0;  // consecutive walks without effect
  size_t left_bytes_ = 0;
  uint32_t calls_ = 0;  // since the last walk
};

}  // namespace sepal
