#include "util/memory/huge_pages.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>

#include "util/base/check.h"

namespace sepal {
namespace {

constexpr size_t kRegionBytes = HugePages::kPageBytes * HugePages::kPagesOfRegion;
constexpr uint32_t kAllFree = UINT32_MAX;
static_assert(HugePages::kPagesOfRegion == 32);

void* Map(void* address, size_t bytes, int flags) {
  return mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

// Maps a region at a multiple of its size, so that a page's address tells its region; 0 if there is no address space.
uintptr_t MapRegion() {
  void* const mapped = Map(nullptr, 2 * kRegionBytes, 0);
  if (mapped == MAP_FAILED) return 0;
  const auto begin = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t region = (begin + kRegionBytes - 1) / kRegionBytes * kRegionBytes;
  if (region > begin) munmap(mapped, region - begin);
  const uintptr_t behind = region + kRegionBytes;
  munmap(reinterpret_cast<void*>(behind), begin + 2 * kRegionBytes - behind);
  return region;
}

uintptr_t RegionAddressOf(const char* page) { return reinterpret_cast<uintptr_t>(page) / kRegionBytes * kRegionBytes; }

uint32_t BitOf(const char* page) {
  return uint32_t{1} << ((reinterpret_cast<uintptr_t>(page) - RegionAddressOf(page)) / HugePages::kPageBytes);
}

void Unmap(uintptr_t region) { munmap(reinterpret_cast<void*>(region), kRegionBytes); }

// Discards the bytes; the next access finds zeros. A process that locks all its memory cannot do that, and maps new
// ones.
void Discard(char* page) {
  if (madvise(page, HugePages::kPageBytes, MADV_DONTNEED) == 0) return;
  SEPAL_CHECK(Map(page, HugePages::kPageBytes, MAP_FIXED) == page);
  madvise(page, HugePages::kPageBytes, MADV_HUGEPAGE);
}

}  // namespace

HugePages& HugePages::OfProcess() {
  static HugePages* const pages = [] {
    auto* made = new HugePages;
    // A child that was forked while another thread held the lock must still be able to return its pages.
    SEPAL_CHECK(pthread_atfork(LockForFork, UnlockAfterFork, UnlockAfterFork) == 0);
    return made;
  }();
  return *pages;
}

void HugePages::LockForFork() { OfProcess().mutex_.Lock(); }
void HugePages::UnlockAfterFork() { OfProcess().mutex_.Unlock(); }

HugePages::~HugePages() {
  AllocatorMutexLock lock(&mutex_);
  for (const auto& [address, free] : regions_) {
    SEPAL_CHECK(free == kAllFree);
    Unmap(address);
  }
}

// Takes from the lowest region with a free page, so that the others become empty.
char* HugePages::Take() {
  {
    AllocatorMutexLock lock(&mutex_);
    const auto it =
        std::find_if(regions_.begin(), regions_.end(), [](const auto& region) { return region.second != 0; });
    if (it != regions_.end()) return TakeFrom(it);
  }
  const uintptr_t address = MapRegion();  // without the lock, because it may block
  if (address == 0) return nullptr;
  madvise(reinterpret_cast<void*>(address), kRegionBytes, MADV_HUGEPAGE);
  AllocatorMutexLock lock(&mutex_);
  return TakeFrom(regions_.emplace(address, kAllFree).first);
}

char* HugePages::TakeFrom(Regions::iterator region) {
  const int at = std::countr_zero(region->second);
  region->second &= ~(uint32_t{1} << at);
  return reinterpret_cast<char*>(region->first) + static_cast<size_t>(at) * kPageBytes;
}

void HugePages::Give(char* page) {
  Discard(page);
  {
    AllocatorMutexLock lock(&mutex_);
    const auto it = regions_.find(RegionAddressOf(page));
    SEPAL_CHECK(it != regions_.end() && (it->second & BitOf(page)) == 0);
    it->second |= BitOf(page);
    if (it->second != kAllFree) return;
    regions_.erase(it);
  }
  Unmap(RegionAddressOf(page));
}

size_t HugePages::regions() const {
  AllocatorMutexLock lock(&mutex_);
  return regions_.size();
}

}  // namespace sepal
