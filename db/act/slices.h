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
#include "util/sync.h"

namespace sepal {

class Slices {
 public:
  explicit Slices(size_t count) : taken_(count) {}

  // Where a thread is to begin: the first slice, later the middle of the longest stretch that nobody has taken. None:
  // all are taken, or the job has failed.
  std::optional<size_t> Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the thread that is done with the one before takes `slice` as well.
  bool GoOn(size_t slice) ABSL_LOCKS_EXCLUDED(mutex_);
  // The job has failed: none is given away any more.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Mutex mutex_;
  std::vector<bool> taken_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal
