// What the operating system keeps in memory of a database's files.
#pragma once

#include <string>

namespace sepal::compare {

// Writes back and drops all that is cached of the files below `path`, maps of this process too. Ends the process if
// something stays.
void DropFromPageCache(const std::string& path);

}  // namespace sepal::compare
