// The memory of a filter: zeroed bytes, aligned to a cache line. Large ones use huge pages if the kernel has them,
// since every probe of a filter that does not fit into the cache would also miss in the TLB.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "sepal/export.h"

namespace sepal::filters {

// No filter takes more: 256 GiB.
inline constexpr uint64_t kMostFilterBytes = uint64_t{1} << 38;

class SEPAL_EXPORT FilterBytes {
 public:
  FilterBytes() = default;
  // InvalidArgument beyond kMostFilterBytes, ResourceExhausted where the system has no memory.
  static absl::StatusOr<FilterBytes> Zeroed(uint64_t size);

  char* data() { return data_.get(); }
  const char* data() const { return data_.get(); }
  uint64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(char* bytes) const;
  };
  std::unique_ptr<char, Free> data_;
  uint64_t size_ = 0;
};

}  // namespace sepal::filters
