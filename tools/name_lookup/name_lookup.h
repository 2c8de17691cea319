// The name_lookup program: loads lines of key and value into a database and answers whether names are taken.
#pragma once

#include <iosfwd>

namespace sepal::tools {

// The whole program; the exit code is returned.
int NameLookupMain(int argc, const char* const* argv, std::istream& in, std::ostream& out, std::ostream& err);

}  // namespace sepal::tools
