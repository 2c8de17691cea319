// A state of the database, at a point in its history, that reads can refer to.
#pragma once

#include <cstdint>

#include "sepal/export.h"

namespace sepal {

// A snapshot covers all column families. It is immutable and safe to share between threads. While it lives, the
// versions of keys that it can see are kept on disk; once it is released, the next compaction that meets them drops
// them. If they make a table of a last level with a single run exceed `max_space_amplification`, that table is
// compacted for this reason alone, unless the database is closed first. A snapshot may outlive its database: reads with
// it then return `FailedPrecondition`.
class SEPAL_EXPORT Snapshot {
 public:
  virtual ~Snapshot() = default;
  // The sequence number of the newest write that the snapshot sees.
  virtual uint64_t sequence() const = 0;
};

}  // namespace sepal
