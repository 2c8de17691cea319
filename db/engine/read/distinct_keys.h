// Estimates the number of distinct keys in a view, from the key sketches of its tables and the keys in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "db/state/memtable/memtable.h"
#include "db/state/version/read_view.h"
#include "db/state/version/table_file.h"
#include "sepal/db.h"
#include "table/key/internal_key.h"
#include "util/base/hyperloglog.h"

namespace sepal {

// For a range: a sketch does not say which keys of a table lie in the range. Of the keys that such partly covered
// tables add to the others, the same share is counted as the range has of their bytes.
class DistinctKeys {
 public:
  // `range`: nullopt for all keys. `hash_seed` is the database's. The order must be hashable.
  DistinctKeys(KeyOrder order, uint64_t hash_seed, const std::optional<Range>& range)
      : order_(order), hash_seed_(hash_seed), range_(range) {}

  absl::Status Add(const ReadView& view, TableOpener* opener);
  double Estimate() const;

 private:
  void AddMemTable(const MemTable& memtable);
  absl::Status AddTable(const TableFile& table, TableOpener* opener);
  // Returns the part of a table's bytes that lies in the range.
  absl::StatusOr<double> PartInRange(const TableFile& table, TableOpener* opener) const;

  const KeyOrder order_;
  const uint64_t hash_seed_;
  const std::optional<Range> range_;
  HyperLogLog whole_;   // of tables and memtables that lie in the range
  HyperLogLog partly_;  // of tables that also have keys outside of it
  // All entries of those tables, and about how many of them lie in the range.
  double entries_ = 0;
  double entries_in_range_ = 0;
};

}  // namespace sepal
