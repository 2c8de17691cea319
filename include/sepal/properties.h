// The properties of a database that are numbers, as values (DB::GetProperties). DB::GetProperty gives these and others
// as text, by these names:
//   sepal.stats, sepal.levels, sepal.sstables, sepal.filters, sepal.memory, sepal.options, sepal.snapshots,
//   sepal.scrub, sepal.log (how records get into the log, and its files), sepal.values (value files, and what is live)
//   sepal.num-files-at-level<N>, sepal.num-runs, sepal.num-entries (estimate), sepal.total-table-bytes,
//   sepal.estimated-live-bytes (of the tables; tends to be too low, especially with tombstones, and for tables of
//   an earlier opening whose key sketches have not been loaded yet),
//   sepal.memtable-bytes, sepal.block-cache-bytes, sepal.compaction-debt-bytes, sepal.last-sequence,
//   sepal.background-error, sepal.compactions-put-off (those that met damage: the plan and the damage, a line each)
//   sepal.filter-epoch: the bytes of the epoch that was set last (SetFilterEpoch); empty if none was set
//   sepal.expires: 1 if the database has, or had, keys that expire, or a family with a time to live; else 0
//   sepal.clock: the time by which keys expire, the time up to which expired keys are removed, and why that is delayed
//   sepal.history: for a column family with a history (sepal/history.h), how long it is kept, the lowest sequence
//   number and the oldest time as of which it can be read, the number of time marks, and whether the clock is trusted;
//   else empty
//   sepal.merge-chains: of the column family, in two lines, the most merge operands that a read of one key had to
//   combine since the database was opened, and how many operands memtables hold
//   sepal.transactions: open transactions, a line each: number, kind, age, and number of locks
//   sepal.prepared-transactions: prepared transactions, a line each: name, time, updates, and locks
//   sepal.prometheus: statistics, levels and memory of the whole database in Prometheus' text format
#pragma once

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "sepal/abi.h"
#include "sepal/statistics.h"

namespace sepal {

struct LevelProperties {
  uint64_t runs = 0;
  uint64_t tables = 0;
  uint64_t bytes = 0;
  uint64_t entries = 0;  // tombstones included
  uint64_t tombstones = 0;
  // Above 1, the level is due for a compaction.
  double compaction_score = 0;
};

struct Properties {
  // Of the column family.
  std::array<LevelProperties, kMaxLevels> levels = {};
  uint64_t runs = 0;
  uint64_t entries = 0;      // estimate
  uint64_t table_bytes = 0;  // of all levels
  // Estimate, of the tables: see "sepal.estimated-live-bytes" above.
  uint64_t live_bytes = 0;
  uint64_t memtable_bytes = 0;
  uint64_t compaction_debt_bytes = 0;  // that compactions have to read until nothing is due
  uint64_t longest_merge_chain = 0;    // the most operands that a read had to combine since the opening
  uint64_t memtable_operands = 0;      // of merges

  // Of the whole database.
  uint64_t block_cache_bytes = 0;
  uint64_t last_sequence = 0;
  // Not ok once the database has stopped accepting writes.
  absl::Status background_error = {};
};

}  // namespace sepal
