// The filter of the C interface.
#pragma once

#include <utility>

#include "absl/status/statusor.h"
#include "sepal/c_filter.h"
#include "sepal/filter.h"
#include "util/base/c_values.h"

struct sepal_filter_t {
  sepal::filters::AnyFilter rep;
};

namespace sepal::filters {

// Null after an error.
template <class Filter>
sepal_filter_t* NewFilter(absl::StatusOr<Filter> filter, char** errptr) {
  if (SaveError(errptr, filter.status())) return nullptr;
  return new sepal_filter_t{AnyFilter(*std::move(filter))};
}

// The value, or nothing after an error.
template <class Value>
Value ValueOr(absl::StatusOr<Value> value, char** errptr) {
  return SaveError(errptr, value.status()) ? Value() : *std::move(value);
}

// A number that is no layout becomes an invalid layout, which is refused.
inline BloomLayout LayoutOf(int kind) { return static_cast<BloomLayout>(kind >= 1 && kind <= 3 ? kind : 0); }

inline absl::StatusOr<BloomLayout> CheckedLayout(int kind) {
  const BloomLayout layout = LayoutOf(kind);
  if (layout != BloomLayout{}) return layout;
  return absl::InvalidArgumentError("the kind is no Bloom filter");
}

}  // namespace sepal::filters
