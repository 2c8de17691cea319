#include "util/memory/mapped_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>

#include "util/base/check.h"

namespace sepal {

namespace {

// Returns null if there is no address space.
char* TryMap(size_t bytes) {
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return mapped != MAP_FAILED ? static_cast<char*>(mapped) : nullptr;
}

char* Map(size_t bytes) {
  char* const mapped = TryMap(bytes);
  SEPAL_CHECK(mapped != nullptr);
  return mapped;
}

// Returns the bytes from `address` to the next multiple of a huge page.
size_t BeforeHugePage(const char* address) {
  return -reinterpret_cast<uintptr_t>(address) & (MappedMemory::kHugePageBytes - 1);
}

// Maps more than is needed, and unmaps what lies before the first multiple and after the end.
char* MapAligned(size_t bytes) {
  constexpr size_t kPage = 4096;
  SEPAL_CHECK(bytes + MappedMemory::kHugePageBytes >= bytes);
  const size_t mapped_bytes = bytes + MappedMemory::kHugePageBytes;
  char* const mapped = Map(mapped_bytes);
  const size_t before = BeforeHugePage(mapped);
  const size_t end = (before + bytes + kPage - 1) / kPage * kPage;
  if (before > 0) munmap(mapped, before);
  if (end < mapped_bytes) munmap(mapped + end, mapped_bytes - end);
  return mapped + before;
}

}  // namespace

// Next to memory that begins at a multiple, the system usually provides memory that does too, and merges both mappings,
// whose number is limited (vm.max_map_count).
MappedMemory::MappedMemory(size_t bytes) : size_(bytes) {
  SEPAL_CHECK(bytes > 0);
  if (bytes == kHugePageBytes) {
    data_ = HugePages::OfProcess().Take();
    SEPAL_CHECK(data_ != nullptr);
    return;
  }
  data_ = Map(bytes);
  if (bytes < kHugePageBytes) return;
  if (BeforeHugePage(data_) != 0) {
    munmap(data_, bytes);
    data_ = MapAligned(bytes);
  }
  madvise(data_, bytes, MADV_HUGEPAGE);
}

bool MappedMemory::WouldFit(size_t bytes) {
  char* const mapped = TryMap(bytes);
  return mapped != nullptr && munmap(mapped, bytes) == 0;
}

bool PopulatePages(void* begin, size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  // If the system does not support this, or has no memory for it, that says nothing about later stores.
  return madvise(begin, bytes, MADV_POPULATE_WRITE) == 0 || errno != EFAULT;
#else
  (void)begin;
  (void)bytes;
  return true;
#endif
}

MappedMemory::~MappedMemory() {
  if (data_ != nullptr) Unmap(data_, size_);
}

void MappedMemory::Unmap(char* data, size_t bytes) {
  if (bytes == kHugePageBytes) return HugePages::OfProcess().Give(data);
  munmap(data, bytes);
}

}  // namespace sepal
