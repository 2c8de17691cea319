// The commands of sst_dump on one table file.
#pragma once

#include <iosfwd>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"
#include "table/file/table_reader.h"
#include "tools/sst_dump/sst_dump_options.h"

namespace sepal::tools {

// One file: opens it, runs the command, prints. `DataLoss` stands for damage that was found.
absl::Status DumpTable(const std::string& path, const SstDumpOptions& options, std::ostream& out);

// The properties of a table, as text of "name: value" lines and as JSON.
std::string FormatProperties(const TableReader& reader, bool hex);
nlohmann::json PropertiesJson(const TableReader& reader);

}  // namespace sepal::tools
