// Writes memtables to a run of level 0.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "db/act/jobs/table_output.h"
#include "db/decide/visibility/entry_filter.h"
#include "db/state/memtable/memtable.h"
#include "sepal/env.h"

namespace sepal {

struct FlushInput {
  const TableOutputContext& context;
  std::span<const std::shared_ptr<const MemTable>> memtables;
  // As for Retention.
  const std::vector<SequenceNumber>& snapshots;
  bool keeps_single_deletes = false;
  // Those of the memtables, or null if there are none. The caller writes them (range_table.h).
  const RangeTombstones* ranges = nullptr;
  // As for Retention.
  const StripeFilter* filter = nullptr;
  // If set, the job is cut by keys into slices of at least Tuning::part_bytes, which up to `max_threads` threads share
  // out, at any time as many as `threads` returns, which may grow; null means all. Each thread writes tables of its
  // own.
  Executor* executor = nullptr;
  int max_threads = 1;
  std::function<int()> threads = nullptr;
};

// Returns the run's tables in key order, finished and synced: for each part (SlicedJob) with surviving entries one
// table, or several if FlushSplitter divides them. The run has the first table's number, until the caller gives it
// another. The directory is not synced. On an error no table is left behind.
absl::StatusOr<std::vector<TableMetadata>> FlushMemTables(const FlushInput& input);

}  // namespace sepal
