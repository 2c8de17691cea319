// How the tree of one column family is to be shaped: the figures that picker, throttle and debt estimate share.
//
// Lazy leveling. Flushes pile up in level 0 as runs; `runs_per_level` of them are merged into one run of level 1, and
// so on down, until the last level, which is one run. A batch that reaches level L holds at least memtable_bytes *
// runs_per_level^L; compressed it is smaller. The last level is the deepest level with data (1 at least); when it holds
// more than `fanout` times the batch that is about to be merged into it, or than
//     Capacity(L) = fanout * memtable_bytes * runs_per_level^L          (fanout full batches)
// it is moved down whole, which rewrites nothing, and the level that it leaves becomes one of the upper ones.
// With the default fanout of 1 the last level takes one batch before it is moved down. Expected write amplification of
// fresh data, for a tree whose last level is L: 1 (flush) + (L - 1) (upper levels) + what the last level takes, less
// than 1; where nothing is known of what is live (below), one more. Of data that is overwritten, with a =
// max_space_amplification: 1 + (upper levels) + a / (a - 1). Runs that a read meets: runs_per_level * L + 1 at most,
// while compaction keeps up.
//
// At rest, in both these styles: when a flush leaves no entry in memory, no writer competes for the time, and what lies
// above the last level (leveled: in level 0) is merged down, unless it is little beside what it meets.
//
// Leveled. Level 0 is merged into level 1 when it has `runs_per_level` runs; level i >= 1 is one run and has the target
//     Target(i) = 4 * memtable_bytes * fanout^(i - 1)
// over which one table at a time is merged with what it overlaps below, those of mostly tombstones first. Expected
// write amplification: 1 (flush) + 2 (level 1) + about 0.6 * fanout for each further level. Runs that a read meets:
// runs_per_level + one for each level.
//
// Universal. As lazy leveling, but the last level too holds several runs: `runs_per_level` of any level are merged into
// one of the next, and nothing is ever merged for rest's sake. Expected write amplification: 1 + log_r(n / m), where n
// are all bytes and m is a memtable; with the space bound, up to 1 + 1 + log_a(n / m), where a is
// max_space_amplification. Runs that a read meets: runs_per_level for each level, at most.
//
// In both lazy leveling and universal level 0 may have `unread_runs` more while nobody reads
// (db/decide/pacing/read_demand.h): what is written and not read skips the first rewrite, or most of it.
// `runs_per_level` in the sums above is `runs_per_level + unread_runs` then, as far as level 0 goes; such a batch is
// larger than Capacity(1), so that it is moved on at once.
//
// Space. In lazy leveling and universal: once level 0 has `runs_per_level` runs or one lies below it, and tables take
// more than max_space_amplification times the bytes that should be live (db/decide/compaction/live_bytes.h), all runs
// below level 0 become one; if there is only one, level 0 joins in. In all styles, where the last level is one run, a
// table of it that holds more entries than that for each of its keys, for the sake of snapshots that are gone, is
// rewritten. Leveled is near 1 + 1 / fanout by its targets while its last level is the full one; over the bound what
// lies above the last level goes down early, a table at a time, the fullest level first.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sepal/options.h"
#include "sepal/statistics.h"

namespace sepal {

struct CompactionPolicy {
  CompactionStyle style = CompactionStyle::kLazyLeveling;
  uint64_t memtable_bytes = uint64_t{64} << 20;
  // Runs at which level 0 (all styles), an upper level (lazy leveling) or any level (universal) is merged down. At
  // least 2.
  int runs_per_level = 6;
  // More of them in level 0, while that costs no reader much. 0 in leveled.
  int unread_runs = 0;
  // Leveled: how much larger each level is than the one above. Lazy leveling: the batches that the last level holds.
  int fanout = 10;
  // See ColumnFamilyOptions. At least 1.
  double max_space_amplification = 2;
  // The codec of each level. What changes it by going down is written anew.
  std::array<CompressionKind, kMaxLevels> compression = {};
  // An output table is closed at this size.
  uint64_t max_table_bytes = uint64_t{64} << 20;
  // A table, or an upper level, with more tombstones than this part of its entries is compacted without need of space.
  double tombstone_density = 0.3;
  // ... unless it has fewer tombstones than this: a handful is not worth a job.
  uint64_t min_dense_tombstones = 1000;
  // What is merged down at rest has at least this part of the entries of the level that it goes to ...
  double rest_fraction = 0.1;
  // ... and at least so many bytes; so has what is merged for space's sake, and a table that is carried past a merge.
  uint64_t min_rest_bytes = uint64_t{4} << 20;
};

// The policy of a column family. `memtable_bytes` is the derived size.
CompactionPolicy MakeCompactionPolicy(const ColumnFamilyOptions& options, uint64_t memtable_bytes);

// The codec that tables of `level` are written with.
CompressionKind CompressionForLevel(const ColumnFamilyOptions& options, int level);

std::string_view Name(CompactionStyle style);
std::string ToString(const CompactionPolicy& policy);

}  // namespace sepal
