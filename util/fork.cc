#include "util/fork.h"

#include <pthread.h>

#include <atomic>

namespace sepal {
namespace {

std::atomic<uint64_t> generation{0};

}  // namespace

uint64_t ForkGeneration() {
  static const bool watched = [] {
    return ::pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); }) == 0;
  }();
  (void)watched;
  return generation.load(std::memory_order_relaxed);
}

}  // namespace sepal
