// What can be set, as resources and goals. Everything else is derived from these (docs/reference/options.md lists it;
// `DB::GetProperty("sepal.options")` prints most of it). An option may make a read faster or slower, never different.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sepal/comparator.h"
#include "sepal/env.h"
#include "sepal/export.h"
#include "sepal/filter_policy.h"
#include "sepal/snapshot.h"

namespace sepal {

class EventListener;

// A compression codec, as the byte on disk.
enum class CompressionKind : uint8_t { kNone = 0, kSnappy = 1, kLz4 = 2, kZstd = 3 };

enum class CompactionStyle : uint8_t {
  // Several sorted runs in the upper levels, one in the last: few rewrites, and a read meets few runs. The default.
  // While nobody reads, the first level may grow to 32 runs, and by those that come while these are merged. Once reads
  // meet them, they are merged.
  kLazyLeveling,
  // One sorted run in every level below the first: fewest runs, more rewrites.
  kLeveled,
  // Several sorted runs in every level: fewest rewrites, most runs, and more space above the live data. While nobody
  // reads, as above.
  kUniversal,
};

// Which new blocks a full cache keeps as long as those that were found in it. With either, every block that is read is
// kept for some time, a scan does not push out what is read again and again, and a read that finds its block costs the
// same (docs/internals/decisions/0025-cache-admission.md has what either finds).
enum class CacheAdmissionKind : uint8_t {
  // Those that come back soon after they went; all others are the first to go until they are found. Follows soon when
  // other blocks are read than before. The default.
  kProbation = 0,
  // TinyLFU (Einziger, Friedman, Manes, 2017): those that were asked for more often of late than the blocks that went
  // last. It gives a few more hits where the same keys are always the popular ones, and many more where as much as the
  // cache holds, or more, is read in turn, over and over. It gives fewer where the popular blocks change and fill the
  // cache. Takes eight bytes more for each cached block.
  kTinyLfu = 1,
};

// How one column family is kept. May differ from one opening to the next, except the comparator; existing files stay
// as they were written.
struct ColumnFamilyOptions {
  // The order of keys. Must be the one that the family was created with.
  const Comparator* comparator = BytewiseComparator();
  // The codec of data blocks. A block that does not shrink by an eighth is stored as it is.
  CompressionKind compression = CompressionKind::kSnappy;
  // The codec by level, from the first; levels beyond the end take the last entry. Empty: `compression` everywhere.
  // What goes down to a level of another codec is written anew, but for a last level that moves down whole.
  std::vector<CompressionKind> compression_per_level = {};
  // Bytes of a data block before compression. Larger blocks compress better and scan faster; smaller ones make a point
  // read cheaper. Between 256 and 1 MiB.
  size_t block_bytes = 4096;
  // Memory for filters, and the false positive rate that it buys.
  FilterPolicy filter_policy = {};
  CompactionStyle compaction_style = CompactionStyle::kLazyLeveling;
  // Bytes of tables for each byte of live data, at most, once background work has caught up. What is live is estimated
  // from sketches of the keys (`sepal.estimated-live-bytes`). At least 1. Lower: less space, more rewriting; it matters
  // most to kUniversal, and least to kLeveled.
  double max_space_amplification = 2;
};

struct ColumnFamilyDescriptor {
  std::string name = {};
  ColumnFamilyOptions options = {};
};

struct Options {
  // Create the directory and an empty database if there is none.
  bool create_if_missing = false;
  // Fail with AlreadyExists if there is a database.
  bool error_if_exists = false;
  // A view as of the opening; nothing is written and no lock is taken, so that it works beside a live writer. What it
  // shows of the log may not survive a loss of power. Goes with neither of the two above (InvalidArgument).
  bool read_only = false;

  // Bytes of memory for everything: memtables, cached blocks, filters, open tables, compaction buffers, pins. At least
  // 8 MiB and at most 64 TiB. None is unlimited: the block cache fills what it is given. With blocks of 4 KiB about
  // a twentieth of it is mapped as address space at once; opening fails with ResourceExhausted where the system
  // refuses. A table that was read stays open, with the root of its index and its properties: at a limit of 8 MiB,
  // which makes tables of 2 MiB, that is 2.3 MB for each GB that is read, and the database cannot grow for ever.
  size_t memory_limit = size_t{256} << 20;
  // Bytes of the active memtables of all column families together, at least 64 KiB and at most half of the memory
  // limit; as much again may be in flushes. When they are full, the one that needs the oldest log is flushed; what is
  // written in the order of its keys may be flushed before. 0: derived, a quarter of the memory limit, at most 64 MiB.
  size_t memtable_bytes = 0;
  // Read table files past the operating system's cache (O_DIRECT), so that memory holds a block once, and
  // `memory_limit` is all that the database takes of it. Opening fails with Unimplemented where the file system cannot.
  bool direct_reads = false;
  // Of the block cache. May differ from one opening to the next. `sepal_block_cache_misses_total`, of the same work
  // with either, says which one to take.
  CacheAdmissionKind cache_admission = CacheAdmissionKind::kProbation;
  // Threads for compactions, at most 1024. 0: one for each core, at most 8. Where the system gives fewer the database
  // works with those, and `LOG` tells; opening fails with ResourceExhausted where it gives none.
  int background_threads = 0;
  // Bytes of tables that flushes and compactions may write, and scrubbing read, in a second, together; flushes first.
  // 0: as fast as the disk takes them. Set it where others need the disk too, to several times the rate of writes:
  // below that, writers wait.
  uint64_t background_bytes_per_second = 0;

  // Read every table from the disk, past the caches, and check it, once in so many seconds, evenly spread. 0: never.
  // What is damaged is told to listeners and the info log and counted (property "sepal.scrub"); reads of other keys go
  // on. It finds damage of what nobody reads while there still are backups. An executor of one's own (`env`) needs a
  // thread for it.
  uint64_t scrub_seconds = 0;

  // The default column family, and every family that `column_families` does not name.
  ColumnFamilyOptions family = {};
  // Options for column families by name. Naming one that does not exist is an error unless `create_if_missing`.
  std::vector<ColumnFamilyDescriptor> column_families = {};

  // Where log files go; empty: the database directory. A second disk here takes the log's writes off the first. One
  // that holds another database's tables or manifests is refused (FailedPrecondition), and so are its logs (DataLoss);
  // nothing of them is removed. It is locked like the database's own: one where an open database has its logs is
  // refused (Unavailable). But a log that never got its header and a log's ring do not say whose they are, and copies
  // of one database pass for each other: no two databases may share one.
  std::string log_directory = {};
  // Keep a rotating `LOG` of decisions and errors in the database directory.
  bool info_log = true;

  // Measure latencies into histograms: of one call in 64, and of every synced write. Counters are always kept.
  bool latency_histograms = false;
  // A call that takes longer, in microseconds, is told to listeners and the info log, with where its time went. 0:
  // none.
  uint64_t slow_call_micros = 0;
  // Called on events, in this order (event_listener.h).
  std::vector<std::shared_ptr<EventListener>> listeners = {};

  // The world to run in.
  Env env = {};
};

struct ReadOptions {
  // Read as of this snapshot of the same database (else InvalidArgument); null: as of now. Must live until the call
  // returns; an iterator does not need it any more then.
  const Snapshot* snapshot = nullptr;
  // Keep the blocks that are read in the cache. Switch off for scans over much more than fits.
  bool fill_cache = true;
  // Iterators only: keys at or after `lower_bound` and before `upper_bound` (inclusive, exclusive) are shown; unset:
  // from the first, to the last. Copied. Bounds also spare the tables beyond them.
  std::optional<std::string_view> lower_bound = {};
  std::optional<std::string_view> upper_bound = {};
};

// The upper bound to the lower bound `prefix`: the first key, in bytewise order, behind all that begin so. None where
// no key is behind them. Bounds are views: keep the string for as long as options with it are used.
SEPAL_EXPORT std::optional<std::string> EndOfPrefix(std::string_view prefix);

struct WriteOptions {
  // Return only when the write is durable against loss of power. Otherwise it survives the death of the process only.
  // Waits for the disk; one sync carries all who wait. All that was logged before is then durable too: an empty batch
  // syncs just that, as DB::Sync does. Where many more threads than processors wait for syncs of less
  // than a millisecond, they keep the processors busy, and give them to whoever has something to do.
  bool sync = false;
  // Rather than wait for flushes or compactions, fail with `Unavailable`.
  bool no_slowdown = false;
  // Leave the log out: the write is in memory alone until its memtable is flushed (`DB::Flush`, a full memtable, or
  // `DB::Close`, which fails if that cannot be). When the process dies before, it is lost, whatever was written after
  // it, also by another write to the same key. A batch is still there whole or not at all: it must lie in one column
  // family. Not with `sync`, and not where the loss of one write would break the contract of another (SingleDelete).
  bool disable_wal = false;
};

struct FlushOptions {
  // Return only when the memtable is in a table file.
  bool wait = true;
};

struct VerifyProgress {
  uint64_t tables_done = 0;
  uint64_t tables = 0;
  uint64_t bytes_done = 0;
  uint64_t bytes = 0;
  // In which damage was found.
  uint64_t tables_damaged = 0;
};

// Both are called in the thread of the call.
struct VerifyChecksumsOptions {
  // False ends the call with `Cancelled`.
  std::function<bool(const VerifyProgress&)> progress = {};
  // Told of each table that is damaged.
  std::function<void(const absl::Status&)> on_damage = {};
};

struct CompactionProgress {
  // Of tables read. The total is an estimate: tables that need no rewriting are counted too.
  uint64_t bytes_done = 0;
  uint64_t bytes_total = 0;
  // At the pace so far, pauses included; below 0 while nothing can be said.
  double seconds_left = -1;
};

struct CompactRangeOptions {
  // The keys to compact, both inclusive; unset: from the first, to the last.
  std::optional<std::string_view> begin = {};
  std::optional<std::string_view> end = {};
  // Called at the beginning, after each thousandth or 16 MiB, now and then while the call waits for space, for another
  // compaction or for the end of a pause (but not while it first has the memtable flushed), and at the end, by the
  // threads that work on it, one at a time, with no lock held. It may read the database, but neither write to it nor
  // wait for background work, which waits for it. False ends the call with `Cancelled`: what was merged by then stays
  // so, the rest is as it was. While it does not return, that thread's work stands still.
  std::function<bool(const CompactionProgress&)> progress = {};
};

struct CheckpointOptions {
  // An earlier checkpoint of the same database: tables that it has are linked from there rather than brought over
  // again. It stays whole by itself; either may be removed.
  std::string base = {};
  // Share table files with the database where the file system can. Off: every table is a copy, or a link to one of
  // `base`, so that a bad place on the disk of the database is none of the checkpoint's.
  bool link_tables = true;
  // Read back what was copied and check every byte.
  bool verify = false;
  // Told how far it is, in bytes of tables, after each; in the thread of the call, with no lock held: it may call the
  // database.
  std::function<void(uint64_t done_bytes, uint64_t total_bytes)> progress = nullptr;
};

}  // namespace sepal
