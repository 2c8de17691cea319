// The name by which the compiler knows the database mutex.
//
// That one mutex guards fields of many objects: families, the write gate, the scheduler. The thread-safety analysis
// compares paths of names, and cannot know that the paths of two objects lead to the same mutex; so all that is guarded
// by it names this. It has no state. StateLock (database_state.h) takes the mutex itself.
#pragma once

#include "absl/base/thread_annotations.h"

namespace sepal {

class ABSL_LOCKABLE DatabaseMutexName {
 public:
  // For bodies of std::function, where the analysis does not know what locks the caller holds.
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() {}
};

inline constexpr DatabaseMutexName database_mutex;

// Annotations of functions: the caller holds the database mutex, or must not hold it.
#define REQUIRES_STATE_LOCK ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex)
#define EXCLUDES_STATE_LOCK ABSL_LOCKS_EXCLUDED(database_mutex)

}  // namespace sepal
