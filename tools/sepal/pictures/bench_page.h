// The page of `sepal bench report`: recordings of db_bench as charts, in one HTML file that needs nothing else.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace sepal::tools {

// `data`: {"runs": [{"name", "environment", "samples": [...], "results": [...]}]} as bench_recorder.h has them.
std::string BenchPage(const nlohmann::json& data);

// `page` with `data` in the place of "@DATA@", which stands in a script element. Whatever the data holds, it cannot end
// that element.
std::string PageWithData(std::string_view page, const nlohmann::json& data);

}  // namespace sepal::tools
