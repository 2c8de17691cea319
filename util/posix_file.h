// Files of the operating system, behind the contract of sepal/file_system.h. The descriptors are opened by
// PosixDirectory; `path` is for messages.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sepal/file_system.h"
#include "util/posix_status.h"

namespace sepal {

// Through the page cache.
std::unique_ptr<ReadableFile> MakePosixReadableFile(UniqueFd fd, std::string path);
// Past it: `fd` is open with O_DIRECT. Reads that are not aligned go through a bounce buffer.
std::unique_ptr<ReadableFile> MakePosixDirectFile(UniqueFd fd, std::string path);
// `fd` is open for reading and writing; the file has `size` bytes.
std::unique_ptr<WritableFile> MakePosixWritableFile(UniqueFd fd, std::string path, uint64_t size);

}  // namespace sepal
