#include "util/base/status.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_format.h"
#include "util/base/no_memory.h"
#include "util/base/other_side.h"

namespace sepal {

namespace {

constexpr char kErrno[] = "errno";
constexpr char kNoMemory[] = "ENOMEM";
constexpr char kOtherSide[] = "other side";

}  // namespace

absl::Status MarkNoMemory(absl::Status status) {
  status.SetPayload(kErrno, absl::Cord(kNoMemory));
  return status;
}

bool IsNoMemory(const absl::Status& status) { return status.GetPayload(kErrno) == absl::Cord(kNoMemory); }

absl::Status MarkOtherSide(absl::Status status) {
  status.SetPayload(kOtherSide, absl::Cord());
  return status;
}

bool IsOfOtherSide(const absl::Status& status) { return status.GetPayload(kOtherSide).has_value(); }

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
  absl::Status annotated(status.code(), absl::StrFormat("%s: %s", context, ToStd(status.message())));
  status.ForEachPayload([&](auto name, const absl::Cord& mark) { annotated.SetPayload(name, mark); });
  return annotated;
}

absl::Status Lasting(const absl::Status& status, std::string_view context) {
  const absl::Status annotated = Annotate(status, context);
  return absl::IsResourceExhausted(status) ? absl::InternalError(annotated.message()) : annotated;
}

}  // namespace sepal
