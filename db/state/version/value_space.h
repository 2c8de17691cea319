// How many bytes of each value file the tables of all families refer to: by their metadata, so that it is exact, and
// nothing has to be watched as keys are deleted or overwritten.
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
  // A table comes into a family's current version, or leaves it.
  void Add(const TableMetadata& table);
  void Remove(const TableMetadata& table);
  void AddAll(const Version& version);
  void RemoveAll(const Version& version);

  // Files that no table refers to are not among them.
  const absl::flat_hash_map<FileNumber, uint64_t>& live_bytes() const { return live_bytes_; }
  // Grows with each change.
  uint64_t changes() const { return changes_; }

 private:
  absl::flat_hash_map<FileNumber, uint64_t> live_bytes_;
  uint64_t changes_ = 0;
};

}  // namespace sepal
