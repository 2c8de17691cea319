#include "util/memory/huge_pages.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <string_view>

#include "util/base/check.h"
#include "util/memory/mapped_memory.h"

namespace sepal {
namespace {

constexpr size_t kRegionBytes = HugePages::kPageBytes * HugePages::kPagesOfRegion;
constexpr uint32_t kAllFree = UINT32_MAX;
static_assert(HugePages::kPagesOfRegion == 32);
constexpr int kCollapse = 25;  // MADV_COLLAPSE, of Linux 6.1

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
  return region;
}

uintptr_t RegionAddressOf(const char* page) { return reinterpret_cast<uintptr_t>(page) / kRegionBytes * kRegionBytes; }

uint32_t BitOf(const char* page) {
  return uint32_t{1} << ((reinterpret_cast<uintptr_t>(page) - RegionAddressOf(page)) / HugePages::kPageBytes);
}

// What will be touched for the first time; what is in memory stays as it is.
void Advise(void* begin, size_t bytes, bool small) { madvise(begin, bytes, small ? MADV_NOHUGEPAGE : MADV_HUGEPAGE); }

// A collapse would be done even where the administrator wants no huge pages.
bool AreForbidden() {
  char setting[64] = {};
  const int file = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t size = read(file, setting, sizeof(setting));
  close(file);
  return size > 0 && std::string_view(setting, static_cast<size_t>(size)).find("[never]") != std::string_view::npos;
}

// What the calling thread has worked: what a host takes to give memory counts, waiting does not.
uint64_t ThreadNanos() {
  timespec time = {};
  SEPAL_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

void Unmap(uintptr_t region) { munmap(reinterpret_cast<void*>(region), kRegionBytes); }

// Gives the bytes back; the next touch finds zeros. A process that locks all its memory cannot, and gets new ones.
void Discard(char* page, bool small) {
  if (madvise(page, HugePages::kPageBytes, MADV_DONTNEED) == 0) return;
  SEPAL_CHECK(Map(page, HugePages::kPageBytes, MAP_FIXED) == page);
  Advise(page, HugePages::kPageBytes, small);
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
  for (const auto& [address, region] : regions_) {
    SEPAL_CHECK(region.free == kAllFree);
    Unmap(address);
  }
}

char* HugePages::Take(Wish wish) {
  char* page;
  Region added{.wish = wish};
  {
    AllocatorMutexLock lock(&mutex_);
    page = TakeFromRegions(wish);
    if (page == nullptr) added.gives_small = wish == Wish::kCheap && not_to_be_tried_ > 0 && not_to_be_tried_-- > 0;
  }
  if (page == nullptr) page = AddRegion(added);
  if (page != nullptr && wish == Wish::kCheap) Fill(page);
  return page;
}

char* HugePages::AddRegion(const Region& region) {
  const uintptr_t address = MapRegion();  // not under the lock, for it may wait
  if (address == 0) return nullptr;
  Advise(reinterpret_cast<void*>(address), kRegionBytes, region.gives_small);
  AllocatorMutexLock lock(&mutex_);
  return TakeFrom(regions_.emplace(address, region).first);
}

// After a dear region one is not tried, after the next three, then seven at a time.
void HugePages::Fill(char* page) {
  const uint64_t before = ThreadNanos();
  (void)PopulatePages(page, kPageBytes);
  const bool dear = is_dear_.load(std::memory_order_relaxed)(ThreadNanos() - before);
  {
    AllocatorMutexLock lock(&mutex_);
    Region& region = RegionOf(page)->second;
    if (region.gives_small) return;
    if (!dear) dear_in_a_row_ = 0;
    if (!dear) return;
    region.gives_small = true;
    dear_in_a_row_ = std::min(dear_in_a_row_ + 1, 3);
    not_to_be_tried_ = (1 << dear_in_a_row_) - 1;
  }
  Advise(reinterpret_cast<void*>(RegionAddressOf(page)), kRegionBytes, /*small=*/true);
}

// The lowest, so that the others become empty.
char* HugePages::TakeFromRegions(Wish wish) {
  const auto it = std::find_if(regions_.begin(), regions_.end(), [wish](const auto& entry) {
    return entry.second.wish == wish && entry.second.free != 0;
  });
  return it != regions_.end() ? TakeFrom(it) : nullptr;
}

char* HugePages::TakeFrom(Regions::iterator it) {
  Region& region = it->second;
  const int at = std::countr_zero(region.free);
  const uint32_t bit = uint32_t{1} << at;
  region.free &= ~bit;
  if (region.gives_small) region.small |= bit;
  return reinterpret_cast<char*>(it->first) + static_cast<size_t>(at) * kPageBytes;
}

HugePages::Regions::iterator HugePages::RegionOf(const char* page) {
  const auto it = regions_.find(RegionAddressOf(page));
  SEPAL_CHECK(it != regions_.end() && (it->second.free & BitOf(page)) == 0);
  return it;
}

void HugePages::Give(char* page) {
  Discard(page, IsSmall(page));
  {
    AllocatorMutexLock lock(&mutex_);
    const auto it = RegionOf(page);
    it->second.small &= ~BitOf(page);
    it->second.free |= BitOf(page);
    if (it->second.free != kAllFree) return;
    regions_.erase(it);
  }
  Unmap(RegionAddressOf(page));
}

bool HugePages::IsSmall(const char* page) const {
  AllocatorMutexLock lock(&mutex_);
  return (regions_.at(RegionAddressOf(page)).small & BitOf(page)) != 0;
}

// The system copies with the page taken from everybody, which is short only if the huge page is there already: so one
// is had and given back at once before.
void HugePages::Collapse(char* page) {
  static const bool forbidden = AreForbidden();
  if (char* const warm = forbidden ? nullptr : Take(); warm != nullptr) {
    (void)PopulatePages(warm, kPageBytes);
    Give(warm);
    Advise(page, kPageBytes, /*small=*/false);
    madvise(page, kPageBytes, kCollapse);
  }
  AllocatorMutexLock lock(&mutex_);
  RegionOf(page)->second.small &= ~BitOf(page);
}

size_t HugePages::regions() const {
  AllocatorMutexLock lock(&mutex_);
  return regions_.size();
}

}  // namespace sepal
