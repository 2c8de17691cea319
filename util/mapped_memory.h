// Zeroed memory straight from the system, on huge pages where it is large enough and the system allows them: a miss of
// the address cache costs a random access about as much as the access itself. Pages cost nothing until they are
// touched.
#pragma once

#include <cstddef>
#include <utility>

namespace sepal {

// Has the system make mapped pages ready to be written, in one call where each would cost a fault. Where the kernel
// cannot, they do. `begin` is a multiple of a page. False where a store would end in a signal.
bool PopulatePages(void* begin, size_t bytes);

class MappedMemory {
 public:
  static constexpr size_t kHugePageBytes = size_t{2} << 20;

  MappedMemory() = default;
  // Of kHugePageBytes or more begins at a multiple of it. Stops the process where there is no address space.
  explicit MappedMemory(size_t bytes);
  MappedMemory(MappedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedMemory& operator=(MappedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MappedMemory();

  // Has the system give and clear all pages now rather than one by one when they are touched. The bytes stay.
  void Populate();

  char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace sepal
