// Passes errors on, and creates those for which the engine has a standard wording.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "util/base/strings.h"

namespace sepal {

// Returns `DataLoss` for bytes that are not what they should be. `expected` and `got` are for people to read.
absl::Status Damaged(std::string_view file, uint64_t offset, std::string_view what, std::string_view expected,
                     std::string_view got);
absl::Status Damaged(std::string_view file, uint64_t offset, std::string_view what);

// Returns the same status with `context: ` before its message.
absl::Status Annotate(const absl::Status& status, std::string_view context);

// The same for a failure that lasts until the database is reopened. It turns ResourceExhausted, which says that the
// call may succeed once there is room, into Internal.
absl::Status Lasting(const absl::Status& status, std::string_view context);

// Keeps only the first error.
inline void KeepFirst(absl::Status* kept, absl::Status status) {
  if (kept->ok() && !status.ok()) *kept = std::move(status);
}

}  // namespace sepal

#define SEPAL_CONCAT_INNER(a, b) a##b
#define SEPAL_CONCAT(a, b) SEPAL_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expression)            \
  do {                                         \
    absl::Status sepal_status_ = (expression); \
    if (!sepal_status_.ok()) [[unlikely]]      \
      return sepal_status_;                    \
  } while (false)

#define ASSIGN_OR_RETURN(target, expression) \
  ASSIGN_OR_RETURN_INNER(SEPAL_CONCAT(sepal_status_or_, __LINE__), target, expression)
#define ASSIGN_OR_RETURN_INNER(temporary, target, expression) \
  auto temporary = (expression);                              \
  if (!temporary.ok()) [[unlikely]]                           \
    return std::move(temporary).status();                     \
  target = std::move(temporary).value()
