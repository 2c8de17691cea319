#include "util/base/status.h"

#include "absl/strings/str_format.h"

namespace sepal {

absl::Status Damaged(std::string_view file, uint64_t offset, std::string_view what, std::string_view expected,
                     std::string_view got) {
  return absl::DataLossError(
      absl::StrFormat("%s: offset %u: %s: expected %s, got %s", file, offset, what, expected, got));
}

absl::Status Damaged(std::string_view file, uint64_t offset, std::string_view what) {
  return absl::DataLossError(absl::StrFormat("%s: offset %u: %s", file, offset, what));
}

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrFormat("%s: %s", context, ToStd(status.message())));
}

absl::Status Lasting(const absl::Status& status, std::string_view context) {
  const absl::Status annotated = Annotate(status, context);
  return absl::IsResourceExhausted(status) ? absl::InternalError(annotated.message()) : annotated;
}

}  // namespace sepal
