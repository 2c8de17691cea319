// Writes memtables to one table of level 0.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "db/act/table_output.h"
#include "db/state/memtable.h"

namespace sepal {

// The table, finished and synced; nullopt when nothing of the memtables survives. `snapshots` as for Retention. The
// table's run number is its file number. The directory is not synced.
absl::StatusOr<std::optional<TableMetadata>> FlushMemTables(const TableOutputContext& context,
                                                            std::span<const std::shared_ptr<const MemTable>> memtables,
                                                            std::vector<SequenceNumber> snapshots);

}  // namespace sepal
