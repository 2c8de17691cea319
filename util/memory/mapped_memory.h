// Zeroed memory mapped from the system, on huge pages if it is large enough and the system allows them, because a TLB
// miss costs about as much as the random access itself. Pages cost nothing until they are touched. A single huge page
// comes from `util/memory/huge_pages.h`.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "util/memory/huge_pages.h"

namespace sepal {

// Makes the system prepare mapped pages for writing, in one call instead of a fault for each. If the kernel cannot,
// faults do it. `begin` must be a multiple of a page. Returns false if a store would end in a signal.
bool PopulatePages(void* begin, size_t bytes);

class MappedMemory {
 public:
  static constexpr size_t kHugePageBytes = HugePages::kPageBytes;

  MappedMemory() = default;
  // Memory of kHugePageBytes or more begins at a multiple of it. Stops the process if there is no address space.
  explicit MappedMemory(size_t bytes);
  MappedMemory(MappedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedMemory& operator=(MappedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MappedMemory();
  // Returns whether the system has address space for `bytes`, as of now.
  static bool WouldFit(size_t bytes);

  // Hands the bytes to the caller, which must unmap them.
  char* Release() {
    size_ = 0;
    return std::exchange(data_, nullptr);
  }
  static void Unmap(char* data, size_t bytes);

  char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

// For short-lived containers that may become large. From 128 KiB on, their memory is mapped and unmapped directly:
// malloc does that only until the first such mapping is freed, and from then on keeps freed memory of that size, in as
// many arenas as there are threads (docs/internals/decisions/0031).
template <typename T>
struct LargeAllocator {
  using value_type = T;
  static constexpr size_t kLeastMappedBytes = size_t{128} << 10;

  LargeAllocator() = default;
  template <typename U>
  LargeAllocator(const LargeAllocator<U>&) {}  // NOLINT(google-explicit-constructor): as allocators are

  T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes < kLeastMappedBytes) return std::allocator<T>().allocate(count);
    return reinterpret_cast<T*>(MappedMemory(bytes).Release());
  }
  void deallocate(T* data, size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes < kLeastMappedBytes) return std::allocator<T>().deallocate(data, count);
    MappedMemory::Unmap(reinterpret_cast<char*>(data), bytes);
  }
  friend bool operator==(const LargeAllocator&, const LargeAllocator&) { return true; }
};

// Bytes from that allocator, uninitialised unless stated otherwise.
class LargeBuffer {
 public:
  LargeBuffer() = default;
  explicit LargeBuffer(size_t bytes) : data_(LargeAllocator<char>().allocate(bytes), Free{bytes}) {}
  static LargeBuffer Zeroed(size_t bytes) {
    LargeBuffer buffer(bytes);
    if (!buffer.mapped()) std::memset(buffer.data(), 0, bytes);  // mapped memory is zero already
    return buffer;
  }
  // Makes the system provide and zero all pages now rather than one by one at their first access. The bytes keep their
  // contents.
  void Populate() {
    if (mapped()) (void)PopulatePages(data(), size());
  }

  char* data() const { return data_.get(); }
  size_t size() const { return data_ == nullptr ? 0 : data_.get_deleter().bytes; }

 private:
  bool mapped() const { return size() >= LargeAllocator<char>::kLeastMappedBytes; }

  struct Free {
    size_t bytes;  // 0 by default
    void operator()(char* data) const { LargeAllocator<char>().deallocate(data, bytes); }
  };

  std::unique_ptr<char[], Free> data_;
};

}  // namespace sepal
