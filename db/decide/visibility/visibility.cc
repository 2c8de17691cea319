#include "db/decide/visibility/visibility.h"

#include "util/base/check.h"

namespace sepal {

Meaning MeaningOfNonPut(ValueKind kind) {
  switch (kind) {
    case ValueKind::kPut:
      return Meaning::kValue;
    case ValueKind::kDelete:
    case ValueKind::kSingleDelete:
    case ValueKind::kRangeDelete:  // of its first key; for the others see covered.h
      return Meaning::kAbsent;
    case ValueKind::kMerge:
    case ValueKind::kFoldedMerge:
      return Meaning::kOperand;
  }
  // Every reader of files refuses other kinds.
  SEPAL_CHECK(false);
}

}  // namespace sepal
