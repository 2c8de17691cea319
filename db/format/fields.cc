#include "db/format/fields.h"

#include "absl/strings/str_format.h"

namespace sepal {

absl::Status BadField(std::string_view whole, size_t offset, std::string_view what) {
  return absl::DataLossError(absl::StrFormat("%s: the field at offset %u is %s", whole, offset, what));
}

absl::Status UnknownField(std::string_view whole, uint32_t tag) {
  return absl::FailedPreconditionError(absl::StrFormat(
      "%s: unknown field %u: a newer version of the library has written it; open the database with that one", whole,
      tag));
}

}  // namespace sepal
