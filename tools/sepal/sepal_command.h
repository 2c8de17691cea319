// The sepal program: one command for all work on a database from a shell.
#pragma once

#include <iosfwd>

namespace sepal::tools {

// The whole program; the exit code is returned: 0 ok, 1 error, 2 usage, 3 damage found.
int SepalMain(int argc, const char* const* argv, std::istream& in, std::ostream& out, std::ostream& err);

}  // namespace sepal::tools
