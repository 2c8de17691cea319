// Sizes that are derived from the options. Users never set them; tests make them small, so that a whole database fits
// in 128 KiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sepal/options.h"

namespace sepal {

struct Tuning {
  // The limit of all active memtables together; the one with the oldest log is flushed first.
  size_t memtable_bytes = size_t{64} << 20;
  // The limit of active and flushing memtables together, at which writers stop.
  size_t memtable_limit_bytes = size_t{128} << 20;
  // Whether keys that are written in ascending order may be flushed before memtables are full
  // (db/decide/writing/early_flush.h).
  bool early_flushes = true;
  size_t table_bytes = size_t{64} << 20;
  uint32_t blocks_per_leaf_page = 64;
  // The typical size of a cached block, which determines how many the cache's table has room for.
  size_t cached_block_bytes = size_t{4} << 10;
  // Whether the cache consults the process's block heap in a simulation too. The simulation then depends on what the
  // process did before, and not on its seed alone.
  bool drains_heap_in_simulation = false;
  size_t write_buffer_bytes = size_t{256} << 10;
  // The number of keys written in ascending order after which a flush treats them as a range of their own
  // (db/decide/writing/flush_splitter.h).
  uint64_t range_keys = 256;
  // The number of runs in a level at which a compaction starts.
  int runs_per_level = 6;
  // The number of additional runs that level 0 may have while there are no reads (db/decide/pacing/read_demand.h).
  int unread_runs = 26;
  // 0: chosen by the compaction style (db/decide/compaction/compaction_policy.h).
  int fanout = 0;
  int compaction_threads = 1;
  // Flushes and compactions are cut into slices, which run in parallel, of at least this size.
  uint64_t part_bytes = uint64_t{4} << 20;
  // What an opening replays from logs goes into its new log if it is at most `memtable_bytes` divided by this, and into
  // tables otherwise.
  size_t carried_log_divisor = 64;
  // Bytes of live logs above which the column family with the oldest one is flushed.
  uint64_t log_limit_bytes = uint64_t{128} << 20;
  // A value file that has this many bytes takes no more.
  uint64_t value_file_bytes = uint64_t{64} << 20;
  // The limit of bytes read from tables to estimate what snapshots hold (db/engine/read/held_bytes.h).
  uint64_t snapshot_walk_bytes = uint64_t{64} << 20;
  // DB::PutStream writes a value of at least this size to a file of its own, and a smaller one as DB::Put does.
  uint64_t streamed_from = uint64_t{1} << 20;
  // Space for a log, or a value file, is reserved in steps of this size.
  uint64_t log_allocation_bytes = uint64_t{4} << 20;
  // The size of the ring through which writes go to the log, if the file system supports it (db/act/log/log_ring.h); 0
  // for none.
  uint64_t log_ring_bytes = uint64_t{4} << 20;
  // A larger batch is written to the log in fragments of this size.
  size_t log_fragment_bytes = size_t{1} << 20;
  // A new manifest is begun when the manifest is larger than this and than four times its live content.
  uint64_t manifest_limit_bytes = uint64_t{4} << 20;
  uint64_t info_log_bytes = uint64_t{4} << 20;
  // A sync that takes longer is reported to listeners and the info log.
  uint64_t slow_disk_micros = 1'000'000;
  // The time between checks of a full disk.
  uint64_t space_retry_micros = 250'000;
  // The period in which every table is read and checked once in the background; 0 for never.
  uint64_t scrub_period_micros = 0;
  // The time between two automatic calls of CatchUp by a read-only database; 0 for none.
  uint64_t follow_period_micros = 0;
  // Values up to this size are copied to the caller instead of being pinned.
  size_t copy_value_bytes = 512;

  // `sharers`: the number of databases that share the memory, with Options::shared.
  static Tuning From(const Options& options, size_t sharers = 1);
  std::string ToString() const;
};

}  // namespace sepal
