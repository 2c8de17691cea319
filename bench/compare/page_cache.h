// The operating system's page cache of a database's files.
#pragma once

#include <string>

namespace sepal::compare {

// Writes back and drops all cached pages of the files below `path`, also those that this process maps. Ends the process
// if some stay.
void DropFromPageCache(const std::string& path);

}  // namespace sepal::compare
