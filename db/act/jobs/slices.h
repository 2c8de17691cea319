// The slices of one job, in order, shared out among threads that are not equally fast. A thread goes through
// neighbouring slices until it comes to one that another has begun; then it begins anew in the middle of what is left.
//
// Safe for concurrent use.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "util/thread/sync.h"

namespace sepal {

class Slices {
 public:
  // For so many threads, which should begin at about the same time.
  Slices(size_t count, size_t threads) : yet_to_begin_(threads), taken_(count) {}

  // The slice that a thread is to begin with: the first one; then one in the longest stretch of free slices, so that
  // the thread that comes to that stretch and all that are yet to begin get as much of it; later the middle of the
  // stretch. None: all are taken, or the job has failed.
  std::optional<size_t> Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the thread that is done with the slice before takes `slice` as well.
  bool GoOn(size_t slice) ABSL_LOCKS_EXCLUDED(mutex_);
  // The job has failed, and no more slices are given away.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Mutex mutex_;
  size_t yet_to_begin_ ABSL_GUARDED_BY(mutex_);
  std::vector<bool> taken_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal
