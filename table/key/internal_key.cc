#include "table/key/internal_key.h"

#include "absl/strings/str_format.h"
#include "util/base/strings.h"

namespace sepal {

std::string_view Name(ValueKind kind) {
  switch (kind) {
    case ValueKind::kDelete:
      return "delete";
    case ValueKind::kPut:
      return "put";
    case ValueKind::kMerge:
      return "merge";
    case ValueKind::kRangeDelete:
      return "range-delete";
    case ValueKind::kFoldedMerge:
      return "folded merge";
    case ValueKind::kSingleDelete:
      return "single-delete";
    case ValueKind::kReference:
      return "reference";
    case ValueKind::kExpiringPut:
      return "expiring put";
    case ValueKind::kExpiringReference:
      return "expiring reference";
  }
  return "unknown";
}

std::string ToString(InternalKeyView key) {
  return absl::StrFormat("\"%s\"@%u:%s", Printable(key.user_key), key.sequence().value(), Name(key.kind()));
}

}  // namespace sepal
