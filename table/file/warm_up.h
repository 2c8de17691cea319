// Warms up the operating system's cache. While most of a file is only on the disk, the cost of reading is the number of
// waits for the disk. So a reader that had to wait for a block, and found its key there, makes the operating system
// load a window around it. The window grows with the number of bytes of the file that were already loaded: a file that
// is read everywhere is in memory after a number of waits that grows as the logarithm of its size, whereas little is
// loaded of a file that is read in few places.
//
// Only the system knows what is in memory, and each read asks it (`ReadableFile::ReadCached`): data that it has dropped
// is loaded again in the same way. All this helps if the files fit into memory and is a waste otherwise, so it ends for
// good once as many bytes were requested as there is memory for blocks.
//
// Safe for concurrent use.
#pragma once

#include <atomic>
#include <cstdint>

#include "sepal/file_system.h"

namespace sepal {

// The number of bytes that may still be loaded ahead, over all files.
class ReadAroundCredit {
 public:
  explicit ReadAroundCredit(uint64_t bytes) : bytes_(static_cast<int64_t>(bytes)) {}
  bool left() const { return bytes_.load(std::memory_order_relaxed) > 0; }
  bool Take(uint64_t bytes);

 private:
  std::atomic<int64_t> bytes_;
};

struct ReadWindow {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool operator==(const ReadWindow&) const = default;
};

// Returns what to load around [offset, offset + length) of a file of this size; `brought_in` bytes of the file were
// loaded already.
ReadWindow WindowAround(uint64_t offset, uint64_t length, uint64_t file_size, uint64_t brought_in);

class ReadAround {
 public:
  // `credit` may be null: nothing is loaded then. It and the file must outlive this object.
  ReadAround(const ReadableFile* file, uint64_t file_size, ReadAroundCredit* credit)
      : file_(file), file_size_(file_size), credit_(credit) {}

  // Returns true if the system had all of [offset, offset + length) in memory, and puts it into `buffer`. Once no more
  // windows are loaded, the system is not asked.
  bool ReadCached(uint64_t offset, size_t length, char* buffer) const {
    return active() && file_->ReadCached(offset, length, buffer) == length;
  }
  // Must be called after [offset, offset + length) was read, not before: that read would wait for the whole window.
  void After(uint64_t offset, uint64_t length) const;

 private:
  bool active() const { return credit_ != nullptr && credit_->left(); }

  const ReadableFile* const file_;
  const uint64_t file_size_;
  ReadAroundCredit* const credit_;
  mutable std::atomic<uint64_t> brought_in_{0};  // or at least asked for
};

}  // namespace sepal
