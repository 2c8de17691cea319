// "Did you mean": the known word that is nearest to what was typed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sepal {

// The word of `known` that is nearest to `typed` by letters that are changed, missing, added or swapped with their
// neighbour, or begins with it; empty if none does.
std::string Nearest(const std::vector<std::string>& known, std::string_view typed);

}  // namespace sepal
