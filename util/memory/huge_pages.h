// Memory in pieces of one huge page, cut from regions of 32 pages that are mapped once. Otherwise, frequent allocations
// would change the process's mappings all the time, and a thread that does so waits for all page faults under way,
// which on huge pages takes up to milliseconds: writers, flushes and compactions used to wait for each other.
//
// A returned page goes to the system at once; the region stays mapped until all of it is free. Cost: a lock and a check
// of a few words, besides the time that the system needs to provide the page at its first access. Safe for concurrent
// use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "util/thread/sync.h"

namespace sepal {

class HugePages {
 public:
  static constexpr size_t kPageBytes = size_t{2} << 20;
  static constexpr int kPagesOfRegion = 32;

  static HugePages& OfProcess();

  HugePages() = default;
  ~HugePages();
  HugePages(const HugePages&) = delete;
  HugePages& operator=(const HugePages&) = delete;

  // Returns zeroed bytes at a multiple of kPageBytes; null if the system has no address space.
  char* Take();
  // Takes back a page from Take. None of its bytes may be used any more.
  void Give(char* page);

  // The number of mapped regions.
  size_t regions() const;

 private:
  // A bit for each free page, by the region's address.
  using Regions = std::map<uintptr_t, uint32_t>;

  static void LockForFork() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  static void UnlockAfterFork() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  static char* TakeFrom(Regions::iterator region);

  mutable AllocatorMutex mutex_;
  Regions regions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal
