// Entries that expire, on their way into a database.
#pragma once

#include <chrono>

namespace sepal::tools {

using ExpiryTime = std::chrono::system_clock::time_point;

// An entry that expires by then is left out: a batch is refused if one of its entries has expired before it is written.
inline ExpiryTime Soon() { return std::chrono::system_clock::now() + std::chrono::seconds(10); }

}  // namespace sepal::tools
