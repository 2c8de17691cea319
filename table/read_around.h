// Warming up: while most of a file is on the disk alone, what costs is the number of times that somebody waits for the
// disk, and a read of 64 KiB takes hardly longer than one of 4. So the first read in each such region of a file has
// the operating system bring in all of it. That is of use where the files fit into memory, and a waste where they do
// not; so it ends for good once as much has been brought in as there is memory for blocks.
//
// Safe for concurrent use.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "sepal/file_system.h"

namespace sepal {

// Bytes that may still be brought in unasked, of all files together.
class ReadAroundCredit {
 public:
  explicit ReadAroundCredit(uint64_t bytes) : bytes_(static_cast<int64_t>(bytes)) {}
  bool left() const { return bytes_.load(std::memory_order_relaxed) > 0; }
  bool Take(uint64_t bytes);

 private:
  std::atomic<int64_t> bytes_;
};

class ReadAround {
 public:
  static constexpr uint64_t kRegionBytes = uint64_t{64} << 10;

  // `credit` may be null: nothing is brought in. It and the file must outlive this.
  ReadAround(const ReadableFile* file, uint64_t file_size, ReadAroundCredit* credit);

  // To be called before [offset, offset + length) is read for a lookup or an iterator. Compactions and checks pass over
  // whole files, and need none of it.
  void Before(uint64_t offset, uint64_t length) const {
    if (asked_ != nullptr) AskFor(offset / kRegionBytes, (offset + length - 1) / kRegionBytes);
  }

 private:
  void AskFor(uint64_t first, uint64_t last) const;

  const ReadableFile* const file_;
  const uint64_t regions_;
  ReadAroundCredit* const credit_;
  const std::unique_ptr<std::atomic<uint8_t>[]> asked_;  // by region
};

}  // namespace sepal
