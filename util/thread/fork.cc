#include "util/thread/fork.h"

#include <pthread.h>

namespace sepal {

namespace fork_internal {
std::atomic<uint64_t> generation{0};
}  // namespace fork_internal

uint64_t WatchForks() {
  static const int watched =
      ::pthread_atfork(nullptr, nullptr, [] { fork_internal::generation.fetch_add(1, std::memory_order_relaxed); });
  (void)watched;
  return ForkGeneration();
}

}  // namespace sepal
