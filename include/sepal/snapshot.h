// A point in the history of a database that reads can be made from.
#pragma once

#include <cstdint>

#include "sepal/export.h"

namespace sepal {

// Immutable; safe to share between threads. While a snapshot lives, the versions of keys that it can see are kept on
// disk. Once it is gone they go with the next compaction, or by themselves where they take more than
// `max_space_amplification` allows. Of all column families. It may outlive its database: reads with it then give
// `FailedPrecondition`.
class SEPAL_EXPORT Snapshot {
 public:
  virtual ~Snapshot() = default;
  // The sequence number of the newest write that the snapshot sees.
  virtual uint64_t sequence() const = 0;
};

}  // namespace sepal
