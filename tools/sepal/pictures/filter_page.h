// The page of `sepal filter page`: a filter to play with, and the filters that it is given, in one HTML file that needs
// nothing else. Its parts are in tools/sepal/pictures/filter_page/, and it reads filter files as bindings/filter-js
// does.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "sepal/filter/any_filter.h"
#include "tools/sepal/database_access.h"

namespace sepal::tools {

// The page, with "@DATA@" in the place of its data. Made when the tools are built.
std::string_view FilterPageTemplate();

// `data`: an object with "filter", "database", both or neither. Whatever it holds, it cannot break out of the page's
// script.
std::string FilterPage(const nlohmann::json& data);

// A filter file, as "filter". A body of more than this is not in the page, which then shows figures and fills alone.
inline constexpr uint64_t kMostPageFilterBytes = uint64_t{4} << 20;
nlohmann::json FilterPageData(const std::string& name, const filters::AnyFilter& filter,
                              uint64_t most_bytes = kMostPageFilterBytes);

// The guards and lanes of all tables, as "database". Reads every block; `read` is called with the bytes that were. A
// table that a live writer has removed meanwhile is left out.
absl::StatusOr<nlohmann::json> TableFiltersData(const Tree& tree, const std::function<void(uint64_t)>& read);

}  // namespace sepal::tools
