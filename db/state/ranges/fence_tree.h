// A static search tree over ascending 8-byte fences, in levels: each level has the last fence of every group of eight
// in the level below. A group is one cache line, so that a search reads one line per level, and the upper levels stay
// in the near caches: among two million fences, a search waits for main memory once.
//
// Thread-safety: immutable after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "util/base/check.h"

namespace sepal {

class FenceTree {
 public:
  FenceTree() = default;
  explicit FenceTree(std::vector<uint64_t> ascending)
      : size_(ascending.size()), last_(ascending.empty() ? 0 : ascending.back()) {
    for (std::vector<uint64_t> level = std::move(ascending); !level.empty();) {
      level.resize((level.size() + kGroup - 1) / kGroup * kGroup, UINT64_MAX);
      levels_.emplace_back(level.size());
      std::vector<uint64_t> above;
      for (size_t i = 0; i < level.size(); ++i) {
        levels_.back()[i] = level[i];
        if (i % kGroup == kGroup - 1) above.push_back(level[i]);
      }
      if (above.size() == 1) break;
      level = std::move(above);
    }
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  uint64_t operator[](size_t i) const { return levels_.front()[i]; }
  size_t MemoryBytes() const {
    size_t bytes = 0;
    for (const Level& level : levels_) bytes += level.size() * sizeof(uint64_t);
    return bytes;
  }

  // Returns the number of fences that are less than `fence`.
  size_t CountLess(uint64_t fence) const {
    // Ensures that each level has a group to continue with.
    if (fence > last_) return size_;
    size_t group = 0;
    for (size_t level = levels_.size(); level > 0; --level) {
      const uint64_t* const fences = levels_[level - 1].data() + group * kGroup;
      size_t less = 0;
      for (size_t i = 0; i < kGroup; ++i) less += fences[i] < fence ? 1 : 0;
      group = group * kGroup + less;
    }
    return group;
  }

 private:
  static constexpr size_t kGroup = 8;
  struct alignas(64) Group {
    uint64_t fences[kGroup];
  };
  class Level {
   public:
    explicit Level(size_t size) : groups_(size / kGroup) { SEPAL_DCHECK(size % kGroup == 0); }
    size_t size() const { return groups_.size() * kGroup; }
    const uint64_t* data() const { return groups_.data()->fences; }
    uint64_t& operator[](size_t i) { return groups_[i / kGroup].fences[i % kGroup]; }
    uint64_t operator[](size_t i) const { return groups_[i / kGroup].fences[i % kGroup]; }

   private:
    std::vector<Group> groups_;
  };

  std::vector<Level> levels_;  // lowest first
  size_t size_ = 0;
  uint64_t last_ = 0;
};

}  // namespace sepal
