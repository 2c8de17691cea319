// Writes memtables to a run of level 0.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "db/act/table_output.h"
#include "db/state/memtable.h"
#include "sepal/env.h"

namespace sepal {

struct FlushInput {
  const TableOutputContext& context;
  std::span<const std::shared_ptr<const MemTable>> memtables;
  // As for Retention.
  const std::vector<SequenceNumber>& snapshots;
  // Set: cut by keys into up to `max_parts`, of at least Tuning::part_bytes, written side by side.
  Executor* executor = nullptr;
  int max_parts = 1;
};

// The run's tables in key order, finished and synced, of each part of which entries survive: one, or several where
// FlushSplitter divides them. The run's number is the first one's, until the caller gives it another. The directory is
// not synced. On an error no table is left behind.
absl::StatusOr<std::vector<TableMetadata>> FlushMemTables(const FlushInput& input);

}  // namespace sepal
