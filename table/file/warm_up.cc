#include "table/file/warm_up.h"

#include <algorithm>
#include <bit>

namespace sepal {
namespace {

// A read of the smallest size takes hardly longer than one of 4 KiB. Reads larger than the largest size delay the
// following reads for longer than they save.
constexpr uint64_t kSmallestWindow = uint64_t{64} << 10;
constexpr uint64_t kLargestWindow = uint64_t{1} << 20;
constexpr uint64_t kShare = 4;

}  // namespace

bool ReadAroundCredit::Take(uint64_t bytes) {
  if (!left()) return false;
  bytes_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  return true;
}

ReadWindow WindowAround(uint64_t offset, uint64_t length, uint64_t file_size, uint64_t brought_in) {
  const uint64_t size = std::bit_floor(std::clamp(brought_in / kShare, kSmallestWindow, kLargestWindow));
  const uint64_t begin = offset / size * size;
  const uint64_t end = (offset + length + size - 1) / size * size;
  return {begin, std::min(end, file_size)};
}

void ReadAround::After(uint64_t offset, uint64_t length) const {
  if (!active()) return;
  const ReadWindow window = WindowAround(offset, length, file_size_, brought_in_.load(std::memory_order_relaxed));
  const uint64_t bytes = window.end - window.begin;
  if (!credit_->Take(bytes)) return;
  brought_in_.fetch_add(bytes, std::memory_order_relaxed);
  file_->ReadAhead(window.begin, bytes);
}

}  // namespace sepal
