// When a walk that gave nothing is worth another one. What it could not move (pinned blocks, other caches' blocks) the
// next one is unlikely to: each that gave nothing doubles the calls that are let pass up to the next, unless clearly
// more is to be gained by then.
//
// Not safe for concurrent use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sepal {

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
