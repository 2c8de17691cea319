// "Did you mean": the known word that is nearest to a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sepal {

// Returns the word of `known` that is nearest to `typed` by letters that are changed, missing, added or swapped with
// their neighbour, or that begins with it; empty if none is near.
std::string Nearest(const std::vector<std::string>& known, std::string_view typed);

}  // namespace sepal
