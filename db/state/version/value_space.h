// The bytes of each value file that the tables of all families refer to, taken from the tables' metadata. So they are
// exact, and no deletion or overwrite of a key must be tracked.
//
// Not thread-safe.
#pragma once

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "db/format/table_metadata.h"
#include "db/state/version/version.h"
#include "util/base/numbers.h"

namespace sepal {

class ValueSpace {
 public:
  // Called when a table enters or leaves a family's current version.
  void Add(const TableMetadata& table);
  void Remove(const TableMetadata& table);
  void AddAll(const Version& version);
  void RemoveAll(const Version& version);

  // Files that no table refers to are not included.
  const absl::flat_hash_map<FileNumber, uint64_t>& live_bytes() const { return live_bytes_; }
  // Increases with each change.
  uint64_t changes() const { return changes_; }

 private:
  absl::flat_hash_map<FileNumber, uint64_t> live_bytes_;
  uint64_t changes_ = 0;
};

}  // namespace sepal
