// Writes tables of range tombstones, and reads them into memory.
//
// An entry is one delete of one fragment: the fragment's first key, the delete's sequence number and kind kRangeDelete,
// and the fragment's end (db/format/range_end.h).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "db/act/jobs/flush_job.h"
#include "db/act/jobs/table_output.h"
#include "db/state/ranges/range_tombstones.h"
#include "table/file/table_reader.h"

namespace sepal {

// Returns the table, finished and synced; the directory is not synced. The metadata has a copy of `ranges` that owns
// its keys. On an error no table is left behind.
absl::StatusOr<TableMetadata> WriteRangeTable(const TableOutputContext& context, const RangeTombstonesRef& ranges);

// Returns everything in the table. DataLoss: the table has anything else, or nothing.
absl::StatusOr<RangeTombstonesRef> ReadRangeTable(const KeyOrder& order, std::shared_ptr<const TableReader> reader);

// Returns the range tombstones of memtables, or null if there are none.
RangeTombstonesRef RangesOf(const KeyOrder& order, std::span<const std::shared_ptr<const MemTable>> memtables,
                            Stripes stripes);

// Does what FlushMemTables does, and adds a table of the memtables' range tombstones, if they have any.
absl::StatusOr<std::vector<TableMetadata>> FlushMemTablesAndRanges(FlushInput input);

}  // namespace sepal
