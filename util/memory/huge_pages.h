// Memory in pieces of one huge page, cut from regions of 32 that are mapped once. What takes and gives back memory all
// the time would otherwise change the process's mappings all the time, and whoever does that waits for every page fault
// under way, which on huge pages takes up to milliseconds: writers, flushes and merges waited for each other so.
//
// In a virtual machine whose host takes free memory back, a huge page costs the host 512 faults, one after another: 5
// ms, where memory that is there takes 0.2. Small pages cost less, since a host gets back only what is free in pieces
// of a huge page. Whoever can do with either asks for what is cheap: a region for these has huge pages until one was
// dear, and small ones from then on (docs/internals/decisions/0030-huge-pages-for-blocks.md).
//
// What is given back goes to the system at once; the region stays mapped until all of it is free. Cost: a lock and a
// look at a few words, beside what the system takes to give the page at its first touch. Safe for concurrent use.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>

#include "util/thread/sync.h"

namespace sepal {

class HugePages {
 public:
  static constexpr size_t kPageBytes = size_t{2} << 20;
  static constexpr int kPagesOfRegion = 32;

  enum class Wish : uint8_t { kHuge, kCheap };

  static HugePages& OfProcess();

  // Whether a huge page that took the calling thread so many nanoseconds is dear.
  using Judge = bool (*)(uint64_t nanos);
  static bool TakesOverAMillisecond(uint64_t nanos) { return nanos > 1'000'000; }

  explicit HugePages(Judge is_dear = TakesOverAMillisecond) : is_dear_(is_dear) {}
  // For tests.
  void JudgeBy(Judge is_dear) { is_dear_.store(is_dear, std::memory_order_relaxed); }
  ~HugePages();
  HugePages(const HugePages&) = delete;
  HugePages& operator=(const HugePages&) = delete;

  // Zero bytes at a multiple of kPageBytes; null where the system has no address space. With kCheap they are in memory
  // already.
  char* Take(Wish wish = Wish::kHuge);
  // What Take returned. No byte of it may be used any more.
  void Give(char* page);
  // Whether what Take returned lies on small pages, but for those that Collapse has moved since.
  bool IsSmall(const char* page) const;
  // Has the system move `page`, which Take returned, onto a huge page, in place: it takes 1 to 6 ms, in which other
  // threads that touch the page wait for less than one. Where the system cannot, or its administrator wants no huge
  // pages, all stays as it was.
  void Collapse(char* page);

  // That are mapped.
  size_t regions() const;

 private:
  struct Region {
    Wish wish;
    bool gives_small = false;    // to those who take pages from now on
    uint32_t free = UINT32_MAX;  // a bit for each page
    uint32_t small = 0;          // of those that are taken
  };
  using Regions = std::map<uintptr_t, Region>;  // by address

  static void LockForFork() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  static void UnlockAfterFork() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  char* TakeFromRegions(Wish wish) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Regions::iterator RegionOf(const char* page) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static char* TakeFrom(Regions::iterator region);
  // And takes a page of it.
  char* AddRegion(const Region& region) ABSL_LOCKS_EXCLUDED(mutex_);
  // Brings a page that was taken for kCheap into memory.
  void Fill(char* page) ABSL_LOCKS_EXCLUDED(mutex_);

  std::atomic<Judge> is_dear_;
  mutable AllocatorMutex mutex_;
  Regions regions_ ABSL_GUARDED_BY(mutex_);
  // Regions that were given up to small pages one after another, and those that are to have them from the start.
  int dear_in_a_row_ ABSL_GUARDED_BY(mutex_) = 0;
  int not_to_be_tried_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sepal
