// The sst_dump program: looks into table files, writes nothing into their directory, works beside a live database.
#pragma once

#include <iosfwd>

namespace sepal::tools {

// The whole program; the exit code is returned: the worst of all files.
int SstDumpMain(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace sepal::tools
