// The shape of one column family's tree: the figures that picker, throttle and debt estimate share.
//
// All styles are points of one space, that of Dostoevsky (Dayan and Idreos, "Dostoevsky: Better Space-Time Trade-Offs
// for LSM-Tree Based Key-Value Stores via Adaptive Removal of Superfluous Merging", SIGMOD 2018), whose K and Z are the
// first two figures:
//
//     style          | runs in upper levels (K) | runs in the last level (Z) | a step down takes
//     lazy leveling  | runs_per_level           | 1                          | the whole level
//     universal      | runs_per_level           | runs_per_level             | the whole level
//     leveled        | 1                        | 1                          | one table
//
// A level that may hold several runs takes incoming data as its newest run, and is compacted into the next one when it
// has that many. A level of one run merges incoming data into that run, and is compacted by its size: one table at a
// time, or, if whole levels are compacted, only as the last level, which is moved one level deeper; that rewrites
// nothing, and the level that it leaves becomes an upper one. Each flush is a run of level 0, which in all styles is
// compacted at `runs_per_level` runs. The last level is the deepest level with data (1 at least).
//
// Whole levels. Data that reaches level L is at least memtable_bytes * runs_per_level^L, less when compressed: a batch.
// The last level holds up to
//     Capacity(L) = batches * memtable_bytes * runs_per_level^L
// or that many batches like the one that is about to arrive; `batches` is Z, or `fanout` if Z is 1. Expected write
// amplification of new data, for a tree whose last level is L:
// - lazy leveling with the default fanout of 1: 1 (flush) + (L - 1) (upper levels) + less than 1 for the last level;
//   one more if the amount of live data is unknown (below). For overwritten data, with a = max_space_amplification: 1 +
//   (upper levels) + a / (a - 1). Runs that a read meets, while compaction keeps up: at most runs_per_level * L + 1;
// - universal: 1 + log_r(n / m), where n are all bytes and m is a memtable; with the space bound, up to
//   1 + 1 + log_a(n / m). Runs that a read meets: at most runs_per_level for each level.
//
// One table. Level i >= 1 has the target
//     Target(i) = 4 * memtable_bytes * fanout^(i - 1)
// over which one table at a time is compacted with what it overlaps below, those of mostly tombstones first. Expected
// write amplification: 1 (flush) + 2 (level 1) + about 0.6 * fanout for each further level. Runs that a read meets:
// runs_per_level + one for each level.
//
// At rest: when a flush leaves no entry in memory, no writer competes for the time. Then, and once reads have cost as
// much (db/decide/pacing/read_demand.h), the data above the first level that is to be one run is compacted into it,
// unless it is small compared to what it overlaps. Universal has no such level.
//
// Level 0 may have `unread_runs` more while there are no reads (db/decide/pacing/read_demand.h): data that is written
// and not read skips most or all of the first rewrite. In the sums above, `runs_per_level` is then `runs_per_level +
// unread_runs` for level 0; such a batch is larger than Capacity(1), so it is moved on at once.
//
// Space. The bound holds once level 0 has `runs_per_level` runs, or one lies below it: tables take at most
// max_space_amplification times the bytes that should be live (db/decide/compaction/live_bytes.h). If they take more
// and whole levels are compacted, all runs below level 0 become one; if there is only one, level 0 joins in. If single
// tables are compacted, which keeps a tree near 1 + 1 / fanout while its last level is the full one, the data above the
// last level is compacted early. In all styles, if the last level is one run, a table in it that has more entries than
// that for each of its keys, because of snapshots that are gone, is rewritten.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sepal/options.h"
#include "sepal/statistics.h"
#include "util/base/numbers.h"

namespace sepal {

// What a step down takes from a level.
enum class CompactionStep : uint8_t { kWholeLevel, kOneTable };

struct CompactionShape {
  int runs_in_upper = 1;
  int runs_in_last = 1;
  CompactionStep step = CompactionStep::kWholeLevel;
};

struct CompactionPolicy {
  CompactionStyle style = CompactionStyle::kLazyLeveling;
  uint64_t memtable_bytes = uint64_t{64} << 20;
  // Runs at which a level that may hold several goes down. At least 2.
  int runs_per_level = 6;
  // More of them in level 0, while that costs no reader much. 0 in leveled.
  int unread_runs = 0;
  // Leveled: how much larger each level is than the one above. Lazy leveling: the batches that the last level holds.
  int fanout = 10;
  // See ColumnFamilyOptions. At least 1.
  double max_space_amplification = 2;
  // Runs with updates above it count as live, whole: what these overwrote is kept for readers of the past.
  SequenceNumber all_live_above = kMaxSequenceNumber;
  // Values come back from value files into the last level.
  bool last_level_inline = false;
  // The codec of each level. What changes it by going down is written anew.
  std::array<CompressionKind, kMaxLevels> compression = {};
  // An output table is closed at this size.
  uint64_t max_table_bytes = uint64_t{64} << 20;
  // A table, or an upper level, with more tombstones than this part of its entries is compacted without need of space.
  double tombstone_density = 0.3;
  // ... unless it has fewer tombstones than this: a handful is not worth a job.
  uint64_t min_dense_tombstones = 1000;
  // Data that is moved down at rest has at least this part of the entries of the target level ...
  double rest_fraction = 0.1;
  // ... and at least so many bytes; so has what is compacted for space's sake, and a table that is carried past a
  // rewrite.
  uint64_t min_rest_bytes = uint64_t{4} << 20;
};

// The policy of a column family. `memtable_bytes` is the derived size.
CompactionPolicy MakeCompactionPolicy(const ColumnFamilyOptions& options, uint64_t memtable_bytes);

// The shape that the policy's style stands for.
CompactionShape ShapeOf(const CompactionPolicy& policy);

// The codec that tables of `level` are written with.
CompressionKind CompressionForLevel(const ColumnFamilyOptions& options, int level);

std::string_view Name(CompactionStyle style);
std::string ToString(const CompactionPolicy& policy);

}  // namespace sepal
