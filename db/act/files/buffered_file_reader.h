// Reads a file, mostly forward, through a buffer, at any granularity. The size is read once, so that a file which grows
// meanwhile is seen as it was. Not safe for concurrent use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/file_system.h"

namespace sepal {

class BufferedFileReader {
 public:
  static absl::StatusOr<BufferedFileReader> Open(Directory* directory, std::string_view name,
                                                 size_t window_bytes = size_t{1} << 20);
  // Over a file that is open and had `size` bytes, of which those from `begin` on were read.
  static BufferedFileReader Over(std::unique_ptr<ReadableFile> file, std::string path, uint64_t size,
                                 size_t window_bytes, uint64_t begin, std::string bytes);

  uint64_t size() const { return size_; }
  // The path, for messages.
  const std::string& path() const { return path_; }

  // Reads the size again and drops the buffer.
  absl::Status RetryBesideWriter();

  // Returns the bytes [offset, offset + length), or as many as the file has. Valid until the next call.
  absl::StatusOr<std::string_view> At(uint64_t offset, uint64_t length) {
    if (offset >= begin_ && length <= buffer_.size() && offset - begin_ <= buffer_.size() - length) [[likely]] {
      return std::string_view(buffer_).substr(offset - begin_, length);
    }
    return Fill(offset, length);
  }

 private:
  BufferedFileReader(std::unique_ptr<ReadableFile> file, std::string path, uint64_t size, size_t window_bytes);
  absl::StatusOr<std::string_view> Fill(uint64_t offset, uint64_t length);

  std::unique_ptr<ReadableFile> file_;
  std::string path_;
  uint64_t size_;
  size_t window_bytes_;
  uint64_t begin_ = 0;  // the offset of `buffer_` in the file
  std::string buffer_;
};

}  // namespace sepal
