// Converts between LevelDB's slices and statuses and Sepal's.
#pragma once

#include <leveldb/slice.h>
#include <leveldb/status.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "util/base/strings.h"

namespace sepal::compat {

inline std::string_view View(const leveldb::Slice& slice) { return {slice.data(), slice.size()}; }
inline leveldb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

// LevelDB's status for an operating system's error: a missing file is NotFound, all others are IOError.
leveldb::Status PosixError(std::string_view context, int error);

// | Sepal                          | LevelDB         |
// |--------------------------------|-----------------|
// | NotFound                       | NotFound        |
// | DataLoss                       | Corruption      |
// | Unimplemented                  | NotSupported    |
// | InvalidArgument, AlreadyExists | InvalidArgument |
// | all others                     | IOError         |
leveldb::Status FailureOf(const absl::Status& status);
inline leveldb::Status ToStatus(const absl::Status& status) {
  if (status.ok()) [[likely]]
    return leveldb::Status();
  return FailureOf(status);
}

}  // namespace sepal::compat
