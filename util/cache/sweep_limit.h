// How many frames of a cache an insert, or a large pin, looks at for room. What a walk over all of them could not
// evict, as pinned blocks, the next one is unlikely to: after one in vain inserts give up after few, until they get
// room again.
//
// Safe for concurrent use: who comes between may have the limit grow or fall once less.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace sepal {

class SweepLimit {
 public:
  static constexpr size_t kFewest = 1024;

  explicit SweepLimit(size_t frames) : frames_(frames), most_(frames) {}

  // Whether all may be looked at, as often as it takes.
  bool none() const { return most() >= frames_; }
  size_t most() const { return most_.load(std::memory_order_relaxed); }
  void WalkedInVain() { most_.store(kFewest, std::memory_order_relaxed); }
  // After a look at most() at most.
  void Swept(bool made_room) {
    most_.store(made_room ? 2 * most() : std::max(most() / 2, kFewest), std::memory_order_relaxed);
  }

 private:
  const size_t frames_;
  std::atomic<size_t> most_;
};

}  // namespace sepal
