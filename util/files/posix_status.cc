#include "util/files/posix_status.h"

#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"
#include "util/base/no_memory.h"

namespace sepal {
namespace {

absl::StatusCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case EEXIST:
      return absl::StatusCode::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP:
      return absl::StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::StatusCode::kResourceExhausted;
    case EBUSY:
    case ETXTBSY:
      return absl::StatusCode::kUnavailable;
    case ENOSYS:
    case EOPNOTSUPP:
      return absl::StatusCode::kUnimplemented;
    case ENOTEMPTY:
    case EISDIR:
    case EXDEV:
      return absl::StatusCode::kFailedPrecondition;
    case EINVAL:
    case ENAMETOOLONG:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status PosixError(int error, std::string_view path, std::string_view operation) {
  const std::string reason =
      error == ELOOP ? "a symbolic link, which is not followed" : std::generic_category().message(error);
  absl::Status status(CodeOf(error), absl::StrFormat("%s: %s: %s", path, operation, reason));
  return error == ENOMEM ? MarkNoMemory(std::move(status)) : status;
}

}  // namespace sepal
