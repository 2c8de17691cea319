// Values that are read in steps, in memory that does not depend on their size, or in part.
//
// `path` is what errors call the file. DataLoss, with file and offset: a value is not as it was written. Safe for
// concurrent use.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/format/value_reference.h"
#include "sepal/file_system.h"

namespace sepal {

// The memory that a reading takes, besides the chunk sums, which take 1/16384 of a value.
inline constexpr uint64_t kValueStepBytes = 4 * kValueChunkBytes;

// `step` is at `at` of the value. It is already checked if the value is chunked; otherwise, checking needs all steps.
using ValueStep = std::function<absl::Status(uint64_t at, std::string_view step)>;

// Reads and checks the whole value; `take` may be null, and its error ends the reading.
absl::Status ReadInSteps(const ReadableFile& file, std::string_view path, const ValueReference& reference,
                         const ValueStep& take = nullptr);
// The same for a file that is not trusted: chunk sums may be missing, and no step is checked before the last.
absl::Status ReadWithoutSums(const ReadableFile& file, std::string_view path, const ValueReference& reference,
                             const ValueStep& take = nullptr);

// Reads and checks the chunk sums of a chunked value.
absl::StatusOr<std::string> ReadChunkSums(const ReadableFile& file, std::string_view path,
                                          const ValueReference& reference);
// Fills `to` from `at` of a chunked value, which must reach that far. Only the chunks that it touches are read and
// checked. `sums` has been checked.
absl::Status ReadPart(const ReadableFile& file, std::string_view path, const ValueReference& reference,
                      std::string_view sums, uint64_t at, std::span<char> to);

}  // namespace sepal
