#include "util/mapped_memory.h"

#include <sys/mman.h>

#include <cstdint>

#include "util/check.h"

namespace sepal {

MappedMemory::MappedMemory(size_t bytes) : size_(bytes) {
  const size_t slack = bytes >= kHugePageBytes ? kHugePageBytes : 0;
  SEPAL_CHECK(bytes > 0 && bytes + slack >= bytes);
  void* const mapped =
      mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  SEPAL_CHECK(mapped != MAP_FAILED);
  data_ = static_cast<char*>(mapped);
  if (slack == 0) return;
  // Gives back what lies before the first multiple and after the end.
  const size_t before = -reinterpret_cast<uintptr_t>(mapped) & (kHugePageBytes - 1);
  data_ += before;
  constexpr size_t kPage = 4096;
  const size_t end = (before + bytes + kPage - 1) / kPage * kPage;
  if (before > 0) munmap(mapped, before);
  if (end < bytes + slack) munmap(static_cast<char*>(mapped) + end, bytes + slack - end);
  madvise(data_, bytes, MADV_HUGEPAGE);
}

MappedMemory::~MappedMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace sepal
