#include "util/huge_pages.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>

#include "util/check.h"

namespace sepal {
namespace {

constexpr size_t kRegionBytes = HugePages::kPageBytes * HugePages::kPagesOfRegion;
constexpr uint32_t kAllFree = UINT32_MAX;
static_assert(HugePages::kPagesOfRegion == 32);

void* Map(void* address, size_t bytes, int flags) {
  return mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

// At a multiple of its size, so that a page tells its region; 0: no address space.
uintptr_t MapRegion() {
  void* const mapped = Map(nullptr, 2 * kRegionBytes, 0);
  if (mapped == MAP_FAILED) return 0;
  const auto begin = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t region = (begin + kRegionBytes - 1) / kRegionBytes * kRegionBytes;
  if (region > begin) munmap(mapped, region - begin);
  const uintptr_t behind = region + kRegionBytes;
  munmap(reinterpret_cast<void*>(behind), begin + 2 * kRegionBytes - behind);
  madvise(reinterpret_cast<void*>(region), kRegionBytes, MADV_HUGEPAGE);
  return region;
}

void Unmap(uintptr_t region) { munmap(reinterpret_cast<void*>(region), kRegionBytes); }

// Gives the bytes back; the next touch finds zeros. A process that locks all its memory cannot, and gets new ones.
void Discard(char* page) {
  if (madvise(page, HugePages::kPageBytes, MADV_DONTNEED) == 0) return;
  SEPAL_CHECK(Map(page, HugePages::kPageBytes, MAP_FIXED) == page);
  madvise(page, HugePages::kPageBytes, MADV_HUGEPAGE);
}

}  // namespace

HugePages& HugePages::OfProcess() {
  static HugePages* const pages = [] {
    auto* made = new HugePages;
    // A child that was forked while another thread held the lock must still be able to give back what it has.
    SEPAL_CHECK(pthread_atfork(LockForFork, UnlockAfterFork, UnlockAfterFork) == 0);
    return made;
  }();
  return *pages;
}

void HugePages::LockForFork() { OfProcess().mutex_.Lock(); }
void HugePages::UnlockAfterFork() { OfProcess().mutex_.Unlock(); }

HugePages::~HugePages() {
  AllocatorMutexLock lock(&mutex_);
  for (const auto& [region, free] : regions_) {
    SEPAL_CHECK(free == kAllFree);
    Unmap(region);
  }
}

char* HugePages::Take() {
  {
    AllocatorMutexLock lock(&mutex_);
    if (char* const page = TakeFromRegions(); page != nullptr) return page;
  }
  const uintptr_t region = MapRegion();  // not under the lock, for it may wait
  if (region == 0) return nullptr;
  AllocatorMutexLock lock(&mutex_);
  regions_.emplace(region, kAllFree);
  return TakeFromRegions();
}

// The lowest, so that the others become empty.
char* HugePages::TakeFromRegions() {
  const auto it = std::find_if(regions_.begin(), regions_.end(), [](const auto& region) { return region.second != 0; });
  if (it == regions_.end()) return nullptr;
  const int at = std::countr_zero(it->second);
  it->second &= it->second - 1;
  return reinterpret_cast<char*>(it->first) + static_cast<size_t>(at) * kPageBytes;
}

void HugePages::Give(char* page) {
  Discard(page);
  const auto address = reinterpret_cast<uintptr_t>(page);
  const uintptr_t region = address / kRegionBytes * kRegionBytes;
  const uint32_t bit = uint32_t{1} << ((address - region) / kPageBytes);
  {
    AllocatorMutexLock lock(&mutex_);
    const auto it = regions_.find(region);
    SEPAL_CHECK(it != regions_.end() && (it->second & bit) == 0);
    it->second |= bit;
    if (it->second != kAllFree) return;
    regions_.erase(it);
  }
  Unmap(region);
}

size_t HugePages::regions() const {
  AllocatorMutexLock lock(&mutex_);
  return regions_.size();
}

}  // namespace sepal
