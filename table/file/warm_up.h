// Warming up: while most of a file is on the disk alone, what costs is the number of times that somebody waits for the
// disk. So who had to wait for a block, and found there what he looked for, has the operating system bring in a window
// around it. It grows with what was brought in of the file already: a file that is read all over is in memory after a
// number of waits that grows as the logarithm of its size, and of one that is read here and there little is brought in.
//
// What lies in memory the system alone knows, and it is asked with each read (`ReadableFile::ReadCached`): what it has
// dropped comes back as it came first. All this is of use where the files fit into memory, and a waste where they do
// not; so it ends for good once as much was asked for as there is memory for blocks.
//
// Safe for concurrent use.
#pragma once

#include <atomic>
#include <cstdint>

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

struct ReadWindow {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool operator==(const ReadWindow&) const = default;
};

// What to bring in around [offset, offset + length), which lies in a file of that size; `brought_in` bytes of the file
// were already.
ReadWindow WindowAround(uint64_t offset, uint64_t length, uint64_t file_size, uint64_t brought_in);

class ReadAround {
 public:
  // `credit` may be null: nothing is brought in. It and the file must outlive this.
  ReadAround(const ReadableFile* file, uint64_t file_size, ReadAroundCredit* credit)
      : file_(file), file_size_(file_size), credit_(credit) {}

  // True if the system had all of [offset, offset + length) in memory: it is in `buffer` then. Once nothing is brought
  // in any more, it is not asked.
  bool ReadCached(uint64_t offset, size_t length, char* buffer) const {
    return active() && file_->ReadCached(offset, length, buffer) == length;
  }
  // To be called once [offset, offset + length) was read, not before: that read would wait for all of the window.
  void After(uint64_t offset, uint64_t length) const;

 private:
  bool active() const { return credit_ != nullptr && credit_->left(); }

  const ReadableFile* const file_;
  const uint64_t file_size_;
  ReadAroundCredit* const credit_;
  mutable std::atomic<uint64_t> brought_in_{0};  // or asked for at least
};

}  // namespace sepal
