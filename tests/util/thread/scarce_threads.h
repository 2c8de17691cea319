// Simulates a system that grants no threads, or few.
#pragma once

#include <pthread.h>

#include <cstddef>

#include "util/base/check.h"

namespace sepal {

// During its life, a new thread of this process takes a stack of so many bytes.
class StackSize {
 public:
  explicit StackSize(size_t bytes) {
    SEPAL_CHECK(pthread_getattr_default_np(&before_) == 0);
    pthread_attr_t wanted = before_;
    SEPAL_CHECK(pthread_attr_setstacksize(&wanted, bytes) == 0 && pthread_setattr_default_np(&wanted) == 0);
  }
  ~StackSize() {
    SEPAL_CHECK(pthread_setattr_default_np(&before_) == 0);
    pthread_attr_destroy(&before_);
  }
  StackSize(const StackSize&) = delete;
  StackSize& operator=(const StackSize&) = delete;

 private:
  pthread_attr_t before_;
};

// During its life, the system grants no thread: no address space has room for such a stack.
class NoThreads : StackSize {
 public:
  NoThreads() : StackSize(size_t{1} << 47) {}
};

}  // namespace sepal
