// Bounds for the keys with a prefix.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "sepal/options.h"

namespace sepal {

// Narrows bytewise bounds [lower, upper) to the keys that begin with `prefix`.
inline void NarrowToPrefix(const std::string& prefix, std::optional<std::string>* lower,
                           std::optional<std::string>* upper) {
  if (prefix.empty()) return;
  if (!lower->has_value() || **lower < prefix) *lower = prefix;
  std::optional<std::string> end = EndOfPrefix(prefix);
  if (end.has_value() && (!upper->has_value() || *end < **upper)) *upper = std::move(end);
}

}  // namespace sepal
