// The data of a table that a version has without opening it. A value; immutable once it is part of a version.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "table/key/internal_key.h"
#include "util/base/hyperloglog.h"
#include "util/base/numbers.h"

namespace sepal {

class RangeTombstones;

// The part of a value file that a table's references use.
struct ValueLinks {
  FileNumber file;
  uint64_t values = 0;
  uint64_t bytes = 0;
  friend bool operator==(const ValueLinks&, const ValueLinks&) = default;
};

struct TableMetadata {
  FileNumber number;
  RunNumber run;
  uint64_t size_bytes = 0;
  uint64_t table_id = 0;         // random; mixed into the checksums of the table's blocks
  uint64_t footer_checksum = 0;  // Footer::ChecksumOf
  InternalKey smallest;
  InternalKey largest;
  SequenceNumber lowest_sequence;
  SequenceNumber highest_sequence;
  uint64_t entries = 0;
  uint64_t tombstones = 0;
  uint64_t raw_bytes = 0;  // keys and values before compression
  uint64_t creation_unix_micros = 0;
  // Range tombstones at or below this number hide nothing in the table that no newer one hides.
  SequenceNumber swept_through = {};
  // All entries are puts that have expired by then (milliseconds since 1970), or tombstones; 0: others are among them.
  uint64_t expired_at_millis = 0;
  // The table has no entries that the family's filter refuses at the epoch in force at this number; 0: not known.
  SequenceNumber filtered_through = {};
  // By file, ascending: all that the table refers to.
  std::vector<ValueLinks> value_links = {};
  // The sketch of the user keys. Not in the manifest: null for a table of an earlier opening, and if keys are not
  // hashed.
  std::shared_ptr<const HyperLogLog> key_sketch = nullptr;
  // Whether a compaction without snapshots wrote the table as the oldest one of its keys: then it needs all versions of
  // a key that it holds, such as operands over a value that no compaction folds. Not in the manifest.
  bool needs_all_versions = false;
  // The tombstones of a table of range tombstones. Not in the manifest: null for a table of an earlier opening.
  std::shared_ptr<const RangeTombstones> range_tombstones = nullptr;
  friend bool operator==(const TableMetadata&, const TableMetadata&) = default;
};

// Whether the table has only range tombstones: then it is part of no run.
inline bool HoldsRangeTombstones(const TableMetadata& table) {
  return TrailerKind(table.smallest.trailer) == ValueKind::kRangeDelete;
}

// The number of bytes of values in value files that the table refers to.
uint64_t ValueBytes(const TableMetadata& table);

// Returns one line for people to read.
std::string ToString(const TableMetadata& table);

}  // namespace sepal
