// Memory in pieces of one huge page, cut from regions of 32 that are mapped once. What takes and gives back memory all
// the time would otherwise change the process's mappings all the time, and a thread that does that waits for every page
// fault under way, which on huge pages takes up to milliseconds: writers, flushes and compactions waited for each other
// so.
//
// What is given back goes to the system at once; the region stays mapped until all of it is free. Cost: a lock and a
// look at a few words, beside what the system takes to give the page at its first touch. Safe for concurrent use.
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

  // Zero bytes at a multiple of kPageBytes; null where the system has no address space.
  char* Take();
  // What Take returned. No byte of it may be used any more.
  void Give(char* page);

  // That are mapped.
  size_t regions() const;

 private:
  // By the region's address: a bit for each page that is free.
  using Regions = std::map<uintptr_t, uint32_t>;

  static void LockForFork() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  static void UnlockAfterFork() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  static char* TakeFrom(Regions::iterator region);

  mutable AllocatorMutex mutex_;
  Regions regions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal
