// Which frames of a cache were ever claimed, in groups of 64: a walk over all blocks looks at no others.
//
// Bits are set before their frames are published and never cleared, so that whoever knows of a block finds its bit.
// Safe for concurrent use.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sepal {

class TouchedGroups {
 public:
  static constexpr size_t kFrames = 64;  // of a group

  explicit TouchedGroups(size_t frames) : words_((frames / kFrames + 63) / 64) {}

  void Touch(size_t frame) {
    const size_t group = frame / kFrames;
    const uint64_t bit = uint64_t{1} << group % 64;
    std::atomic<uint64_t>& word = words_[group / 64];
    if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
  }
  // `body(frame)` for every frame of the groups.
  template <typename Body>
  void ForEachFrame(const Body& body) const {
    for (size_t i = 0; i < words_.size(); ++i) {
      for (uint64_t bits = words_[i].load(std::memory_order_relaxed); bits != 0; bits &= bits - 1) {
        const size_t first = (i * 64 + static_cast<size_t>(std::countr_zero(bits))) * kFrames;
        for (size_t k = 0; k < kFrames; ++k) body(first + k);
      }
    }
  }

 private:
  std::vector<std::atomic<uint64_t>> words_;
};

}  // namespace sepal
