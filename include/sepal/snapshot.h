// A point in the history of a database that reads can be made from.
#pragma once

#include <cstdint>

#include "sepal/export.h"

namespace sepal {

// Immutable; safe to share between threads. While a snapshot lives, the versions of keys that it can see are kept on
// disk. Once it is gone they go with the next compaction that meets them. Where they fill a table of a last level of
// one run beyond `max_space_amplification`, they go by themselves, unless the database is closed before. Of all column
// families. It may outlive its database: reads with it then give
// `FailedPrecondition`.
class SEPAL_EXPORT Snapshot {
 public:
  virtual ~Snapshot() = default;
  // The sequence number of the newest write that the snapshot sees.
  virtual uint64_t sequence() const = 0;
};

}  // namespace sepal
