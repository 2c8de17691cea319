#include "db/act/files/buffered_file_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "util/base/status.h"

namespace sepal {

absl::StatusOr<BufferedFileReader> BufferedFileReader::Open(Directory* directory, std::string_view name,
                                                            size_t window_bytes) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, directory->OpenForRead(name));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  file->Advise(AccessPattern::kSequential);
  return BufferedFileReader(std::move(file), absl::StrFormat("%s/%s", directory->path(), name), size, window_bytes);
}

BufferedFileReader::BufferedFileReader(std::unique_ptr<ReadableFile> file, std::string path, uint64_t size,
                                       size_t window_bytes)
    : file_(std::move(file)), path_(std::move(path)), size_(size), window_bytes_(window_bytes) {}

BufferedFileReader BufferedFileReader::Over(std::unique_ptr<ReadableFile> file, std::string path, uint64_t size,
                                            size_t window_bytes, uint64_t begin, std::string bytes) {
  BufferedFileReader reader(std::move(file), std::move(path), size, window_bytes);
  reader.begin_ = begin;
  reader.buffer_ = std::move(bytes);
  return reader;
}

absl::Status BufferedFileReader::RetryBesideWriter() {
  buffer_.clear();
  ASSIGN_OR_RETURN(size_, file_->Size());
  return absl::OkStatus();
}

absl::StatusOr<std::string_view> BufferedFileReader::Fill(uint64_t offset, uint64_t length) {
  const uint64_t available = offset < size_ ? size_ - offset : 0;
  length = std::min(length, available);
  if (length == 0) return std::string_view();
  if (offset >= begin_ && length <= buffer_.size() && offset - begin_ <= buffer_.size() - length) {
    return std::string_view(buffer_).substr(offset - begin_, length);
  }
  const uint64_t wanted = std::min(std::max<uint64_t>(length, window_bytes_), available);
  buffer_.resize(wanted);
  begin_ = offset;
  absl::StatusOr<size_t> got = file_->Read(offset, wanted, buffer_.data());
  if (!got.ok()) {
    buffer_.clear();
    return got.status();
  }
  if (*got < wanted) {  // the file was truncated meanwhile
    size_ = offset + *got;
    buffer_.resize(*got);
  }
  return std::string_view(buffer_).substr(0, length);
}

}  // namespace sepal
