#include "table/read_around.h"

#include <algorithm>

namespace sepal {

bool ReadAroundCredit::Take(uint64_t bytes) {
  if (!left()) return false;
  bytes_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  return true;
}

ReadAround::ReadAround(const ReadableFile* file, uint64_t file_size, ReadAroundCredit* credit)
    : file_(file),
      regions_((file_size + kRegionBytes - 1) / kRegionBytes),
      credit_(credit),
      asked_(credit != nullptr && credit->left() ? std::make_unique<std::atomic<uint8_t>[]>(regions_) : nullptr) {}

void ReadAround::AskFor(uint64_t first, uint64_t last) const {
  for (uint64_t region = first; region <= last && region < regions_; ++region) {
    if (asked_[region].load(std::memory_order_relaxed) != 0) continue;
    if (asked_[region].exchange(1, std::memory_order_relaxed) != 0 || !credit_->Take(kRegionBytes)) continue;
    file_->ReadAhead(region * kRegionBytes, kRegionBytes);
  }
}

}  // namespace sepal
