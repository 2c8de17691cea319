// The bounds of a range in abstract-level's form.
#pragma once

#include <optional>
#include <string>

#include "src/node.h"

namespace sepal_node {

// [begin, end) in bytewise order; unset: unbounded on that side.
struct KeyRange {
  std::optional<std::string> begin;
  std::optional<std::string> end;

  bool Contains(std::string_view key) const { return (!begin || key >= *begin) && (!end || key < *end); }
  bool empty() const { return begin && end && *begin >= *end; }
};

// Takes gt, gte, lt and lte of an options object.
bool TakeRange(napi_env env, napi_value object, KeyRange* range);

}  // namespace sepal_node
