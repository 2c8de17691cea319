#include "sepal/filter/filter_bytes.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_format.h"

namespace sepal::filters {
namespace {

constexpr uint64_t kCacheLineBytes = 64;
constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;

uint64_t RoundUp(uint64_t size, uint64_t unit) { return (size + unit - 1) / unit * unit; }

}  // namespace

absl::StatusOr<FilterBytes> FilterBytes::Zeroed(uint64_t size) {
  if (size > kMostFilterBytes) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a filter of %u bytes is too large: at most %u", size, kMostFilterBytes));
  }
  const bool large = size >= kHugePageBytes;
  const uint64_t alignment = large ? kHugePageBytes : kCacheLineBytes;
  const uint64_t room = RoundUp(std::max<uint64_t>(size, 1), alignment);
  FilterBytes bytes;
  bytes.data_.reset(static_cast<char*>(std::aligned_alloc(alignment, room)));
  if (bytes.data_ == nullptr) {
    return absl::ResourceExhaustedError(absl::StrFormat("no memory for a filter of %u bytes", size));
  }
  if (large) madvise(bytes.data_.get(), room, MADV_HUGEPAGE);  // a hint: without huge pages it is only slower
  std::memset(bytes.data_.get(), 0, room);
  bytes.size_ = size;
  return bytes;
}

void FilterBytes::Free::operator()(char* bytes) const { std::free(bytes); }

}  // namespace sepal::filters
