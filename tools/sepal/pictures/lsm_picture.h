// A picture of a database's tree and of how it came about, as one HTML file that needs nothing else.
//
// The page holds the tables of every edit in the newest manifest, so that a slider goes through time. That manifest
// begins with the last opening of the database (or the last time it was begun anew).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "db/format/version_edit.h"
#include "tools/sepal/database_access.h"

namespace sepal::tools {

// What the page draws: tables by number, and for each edit what it adds and removes. `fills`: what the open tables say
// of their filters, by file number.
nlohmann::json PictureData(const Tree& tree, const std::vector<VersionEdit>& edits, const nlohmann::json& fills);

// The page with `data` in it. Whatever keys hold, it cannot break out of the page's script.
std::string PicturePage(const nlohmann::json& data);

}  // namespace sepal::tools
