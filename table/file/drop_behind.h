// Who goes through a table in order to replace it lets the operating system's cache forget what lies behind: the file
// is about to be deleted, and what is written in its place takes the same memory, which is warm
// (docs/internals/decisions/0016-compaction-and-the-block-cache.md). Not where users had to read the file through the same
// source: they may again, until it is replaced.
//
// One thread.
#pragma once

#include <cstdint>

#include "table/file/block_source.h"

namespace sepal {

class ForgetBehind {
 public:
  // `source` outlives this. Whoever goes through the part of the table before this one may read as much as `overlap`
  // behind where this one begins.
  ForgetBehind(const BlockSource& source, uint64_t overlap) : source_(source), overlap_(overlap) {}

  // Blocks from `offset` on are wanted next. Nothing is forgotten of what lay before the first call's, nor of the
  // overlap behind that, unless the table begins there.
  void CameTo(uint64_t offset) {
    if (offset < came_to_) behind_ = offset == 0 ? 0 : offset + overlap_;
    came_to_ = offset;
    // The system forgets whole pages. They may be as large as a write was, so that few cross such a boundary.
    const uint64_t end = offset / kStepBytes * kStepBytes;
    if (end <= behind_) return;
    if (!source_.read_by_users()) source_.context().file->Forget(behind_, end - behind_);
    behind_ = end;
  }

 private:
  static constexpr uint64_t kStepBytes = uint64_t{1} << 20;

  const BlockSource& source_;
  const uint64_t overlap_;
  uint64_t came_to_ = ~uint64_t{0};
  uint64_t behind_ = ~uint64_t{0};
};

}  // namespace sepal
