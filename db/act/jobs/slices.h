// The slices of one job, in order, shared out among threads of different speed. A thread processes neighbouring slices
// until it reaches one that another has begun; then it starts again in the middle of what is left.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "util/thread/sync.h"

namespace sepal {

class Slices {
 public:
  // For `threads` threads, which should begin at about the same time.
  Slices(size_t count, size_t threads) : yet_to_begin_(threads), taken_(count) {}

  // Returns the slice with which a thread begins: the first one; then one in the longest stretch of free slices, so
  // that the thread before that stretch and all that are yet to begin get equal parts of it; later the middle of the
  // stretch. None if all are taken, or the job has failed.
  std::optional<size_t> Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns whether the thread that has finished the slice before takes `slice` too.
  bool GoOn(size_t slice) ABSL_LOCKS_EXCLUDED(mutex_);
  // Called when the job has failed: no more slices are given out.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Mutex mutex_;
  size_t yet_to_begin_ ABSL_GUARDED_BY(mutex_);
  std::vector<bool> taken_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal
