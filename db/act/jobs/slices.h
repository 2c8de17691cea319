// The slices of one job, in order, shared out among threads that are not equally fast: each goes through neighbouring
// slices for as long as nobody has begun with the next one, and who has come to an end begins anew in the middle of
// what is left.
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

  // Where a thread is to begin: the first slice; in the longest stretch that nobody has taken, so that whoever comes to
  // it and all threads that are yet to begin get as much of it; later in the middle of it. None: all are taken, or the
  // job has failed.
  std::optional<size_t> Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the thread that is done with the one before takes `slice` as well.
  bool GoOn(size_t slice) ABSL_LOCKS_EXCLUDED(mutex_);
  // The job has failed: none is given away any more.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Mutex mutex_;
  size_t yet_to_begin_ ABSL_GUARDED_BY(mutex_);
  std::vector<bool> taken_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal
