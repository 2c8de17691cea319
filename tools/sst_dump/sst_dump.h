// The sst_dump program: inspects table files, writes nothing into their directory, and works beside a live database.
#pragma once

#include <iosfwd>
#include <string>

#include "tools/sst_dump/sst_dump_options.h"

namespace sepal::tools {

// The whole program; the exit code is returned: the worst of all files.
int SstDumpMain(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

// Runs the command on all inputs, reporting errors on `err` (and on `out` as JSON) as they occur. Returns the worst
// exit code.
int DumpTables(const SstDumpOptions& options, const std::string& program, std::ostream& out, std::ostream& err,
               absl::Status* worst_status = nullptr);

}  // namespace sepal::tools
