// Files of the operating system, behind the contract of sepal/file_system.h. PosixDirectory opens the descriptors;
// `path` is used in messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "sepal/file_system.h"
#include "util/files/posix_status.h"

namespace sepal {

// The alignment of direct reads (offset, length and memory) if the kernel does not report it: nearly every disk accepts
// it.
inline constexpr uint64_t kDirectAlignment = 4096;
// Larger alignments are not supported.
inline constexpr uint64_t kMostDirectAlignment = uint64_t{64} << 10;
// Unaligned direct reads longer than this are split.
inline constexpr size_t kMaxBounceBytes = size_t{1} << 20;

// Whether files of a file system, given by statfs's number for its kind, may be mapped for writing: this must only be
// done if reserved space is known to be writable, from this machine. A file system that never overwrites in place can
// be full when a store is to go to the disk, a network file system can be gone, and the process would get a signal. So
// unknown file systems are not mapped, which only costs time.
bool MayBeMapped(int64_t file_system_kind);

struct FreeDeleter {
  void operator()(char* memory) const { std::free(memory); }
};
using AlignedBytes = std::unique_ptr<char, FreeDeleter>;
// Allocates memory for direct reads of this alignment; null if there is none.
inline AlignedBytes MakeAligned(size_t length, uint64_t alignment) {
  const size_t unit = std::max(alignment, kDirectAlignment);
  return AlignedBytes(static_cast<char*>(std::aligned_alloc(unit, (length + unit - 1) / unit * unit)));
}

// The smallest aligned range around another range.
struct AlignedRange {
  uint64_t offset;
  size_t length;
  static AlignedRange Around(uint64_t offset, size_t length, uint64_t alignment) {
    const uint64_t first = offset / alignment * alignment;
    const uint64_t end = (offset + length + alignment - 1) / alignment * alignment;
    return {first, static_cast<size_t>(end - first)};
  }
};

// The base of every file that this folder opens for reading, with what a batch of reads needs to know about it.
class PosixReadable : public ReadableFile {
 public:
  PosixReadable(UniqueFd fd, std::string path, uint64_t alignment)
      : fd_(std::move(fd)), path_(std::move(path)), alignment_(alignment) {}
  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  // Whether the file is open with O_DIRECT, so that reads must be aligned.
  bool direct() const { return alignment_ > 1; }
  uint64_t alignment() const { return alignment_; }
  // Also for direct files, because the file was written through the page cache.

 private:
  const UniqueFd fd_;
  const std::string path_;
  const uint64_t alignment_;
};

// Reads through the page cache.
std::unique_ptr<ReadableFile> MakePosixReadableFile(UniqueFd fd, std::string path);
// Reads past the page cache: `fd` is open with O_DIRECT. Unaligned reads go through a bounce buffer. Unimplemented if
// the kernel says that this file cannot be read so.
absl::StatusOr<std::unique_ptr<ReadableFile>> MakePosixDirectFile(UniqueFd fd, std::string path);
// `fd` is open for reading and writing; the file has `size` bytes.
std::unique_ptr<WritableFile> MakePosixWritableFile(UniqueFd fd, std::string path, uint64_t size);

}  // namespace sepal
