// Options, stated as resources and goals. Everything else is derived from them (docs/reference/options.md lists the
// derived values; `DB::GetProperty("sepal.options")` prints most of them). An option may make a read faster or slower,
// but never changes its result.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sepal/abi.h"
#include "sepal/comparator.h"
#include "sepal/env.h"
#include "sepal/export.h"
#include "sepal/filter_policy.h"
#include "sepal/snapshot.h"

namespace sepal {

class ContextFilterFactory;
class EventListener;
class KeyFilter;
class MergeOperator;
class PureFilter;
class SharedResources;

// A compression codec, as stored on disk.
enum class CompressionKind : uint8_t { kNone = 0, kSnappy = 1, kLz4 = 2, kZstd = 3 };

enum class CompactionStyle : uint8_t {
  // The default: several sorted runs in the upper levels, one in the last level. Few rewrites, and a read searches few
  // runs. As long as there are no reads, the first level may grow to 32 runs, and further while those are being
  // compacted. Once reads have to search them, they are compacted.
  kLazyLeveling,
  // One sorted run in every level below the first: the fewest runs, but more rewrites.
  kLeveled,
  // Several sorted runs in every level: the fewest rewrites, but the most runs, and more space beyond the live data.
  // Without reads, the first level grows as above.
  kUniversal,
};

// Options of one column family. They may differ from one opening to the next, except the comparator; existing files
// stay as they were written. The database keeps those that it was last opened with, for the `sepal` command and for
// DB::Repair; opening it for writing uses only the given options.
struct ColumnFamilyOptions {
  // The order of keys. Must be the one that the family was created with.
  const Comparator* comparator = BytewiseComparator();
  // What DB::Merge does to values (sepal/merge_operator.h); null: DB::Merge is refused. Must have the name of the one
  // that the family was first opened with, if it ever was with any. Null for such a family: built-in operators are
  // found by that name; without any other, the family opens, and reads of keys with merge operands fail.
  std::shared_ptr<const MergeOperator> merge_operator = nullptr;
  // Which entries are there at all (sepal/compaction_filter.h); null: all. Must have the name of the one that the
  // family was first opened with, if it ever was with any. Null for such a family: it opens, and reads of what the
  // filter would have to decide fail.
  std::shared_ptr<const PureFilter> compaction_filter = nullptr;
  // What compactions are to remove or change besides, by whatever the program knows (sepal/context_filter.h); null:
  // nothing. Reads do not ask it, and the database does not keep its name. Both filters may be given.
  std::shared_ptr<const ContextFilterFactory> context_filter = nullptr;
  // How long puts of this family live that say nothing themselves (WriteOptions::ttl, WriteBatch::Put); 0: they do not
  // expire. Not negative, and at most a million days. The database keeps it: 0 is what the family had before, and
  // another than that is refused (InvalidArgument). A family that had none gets it for the puts to come.
  std::chrono::milliseconds ttl = std::chrono::milliseconds(0);
  // For how long the database keeps what was overwritten or deleted, so that the family can be read as of any moment
  // since (sepal/history.h). 0: no history; not negative, and at most a million days. Not set: as the family had it
  // before, and none for a new one. A history begins empty, with the opening that gives it; one that gets longer grows,
  // and one that gets shorter shrinks with the next flushes and compactions. Cannot be combined with a `context_filter`
  // (InvalidArgument). A library that does not know histories refuses a database that has one.
  std::optional<std::chrono::milliseconds> history = {};
  // The codec of data blocks, and of values in value files. What shrinks by less than an eighth is stored uncompressed.
  CompressionKind compression = CompressionKind::kSnappy;
  // The codec of each level's blocks, from the first; deeper levels use the last entry. Empty: `compression`. A table
  // that moves to a level with another codec is rewritten, unless the last level moves down as a whole.
  std::vector<CompressionKind> compression_per_level = {};
  // Bytes of a data block before compression, between 256 and 1 MiB. Larger blocks compress better and scan faster;
  // smaller blocks make point reads cheaper.
  size_t block_bytes = 4096;
  // How much memory filters take, and so their false positive rate.
  FilterPolicy filter_policy = {};
  CompactionStyle compaction_style = CompactionStyle::kLazyLeveling;
  // Upper bound of table bytes per byte of live data, once background work has caught up; the same of value files
  // (`separate_from`), for which the least of all families counts. At least 1. Live data is
  // estimated from sketches of the keys (`sepal.estimated-live-bytes`). A lower value saves space and costs more
  // rewriting; it matters most to kUniversal and least to kLeveled.
  double max_space_amplification = 2;
  // Values of puts that have at least so many bytes are written once, to value files (`NNNNNN.val`), which flushes and
  // compactions leave alone; the tables refer to them. 0: none are. Else at least 64; from a few KiB on it pays. The
  // thread that writes a value compresses it (`compression`). What was written before stays as it is. Files of which
  // much was overwritten or deleted are emptied by compactions, and writers slowed for it, so that
  // `max_space_amplification` holds; memtables may refer to eight times their size beyond that. What a
  // `compaction_filter` refuses is hidden from reads, but takes space until it is overwritten or deleted. A library
  // that does not know value files, or that they are compressed, refuses a database that has such.
  size_t separate_from = 0;
  // Of values in value files, those of fewer bytes come back beside their keys when a compaction writes the last level:
  // they are written once more, and scans find them in the tables. 0: none come back.
  size_t last_level_inline_below = 0;
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
  // Open a read-only view as of the opening, or of the last DB::CatchUp. It writes nothing and takes no lock, so that
  // it works beside a live writer. What it reads from the log may not survive a power loss. Cannot be combined with the
  // two options above (InvalidArgument).
  bool read_only = false;
  // A read-only view calls DB::CatchUp by itself, so many milliseconds after the last call has ended, so that reads see
  // what the writer did at most about so long ago. Without news a call costs little (durability.md). A call that fails
  // leaves reads as they are; it is told to listeners (OnError), and the next ones come after twice the time each, up
  // to a second, until one succeeds. The property "sepal.follow" shows how far behind the view can be. 0: never. Only
  // with `read_only`, and not with `shared` (InvalidArgument). A user-provided executor (`env`) needs a thread for it.
  uint64_t follow_milliseconds = 0;
  // Take the database over from another client of a shared store that has it open, or died with it: that one is fenced
  // first, so that every later write and sync of it fails with Aborted, and all that it acknowledged with `sync` is
  // there. Opening fails with Unimplemented where the file system cannot fence (Capabilities::fences): a lock on local
  // files belongs to a process of this machine, and is free once that has ended. Cannot be combined with `read_only`
  // (InvalidArgument). DB::Destroy and DB::Repair never take over.
  bool take_over = false;

  // Memory for everything, in bytes: memtables, cached blocks, filters, open tables, compaction buffers, pinned values.
  // Between 8 MiB and 64 TiB. There is no unlimited value: the block cache fills whatever it is given. With blocks of 4
  // KiB about a twentieth of the limit is reserved as address space at once; opening fails with ResourceExhausted if
  // the system refuses it. A table that was read stays open, with the root of its index and its properties in memory.
  // At a limit of 8 MiB, which makes tables of 2 MiB, that costs 2.3 MB for each GB of tables that is read, so such a
  // small limit also bounds the size of the database.
  size_t memory_limit = size_t{256} << 20;
  // Bytes of the active memtables of all column families together, at least 64 KiB and at most half of `memory_limit`;
  // flushes may hold as much again. When they are full, the memtable that needs the oldest log is flushed; keys that
  // are written in ascending order may be flushed earlier. 0: derived, a quarter of the memory limit, at most 64 MiB.
  size_t memtable_bytes = 0;
  // Take batches of any size up to 4 GiB, rather than refuse those over a quarter of `memory_limit`. Such a batch goes
  // in alone: it waits until memtables are flushed, other large batches wait for it, and where it passes the limit all
  // writes wait until it is flushed. Meanwhile the database takes as much more than its limit as the batch takes in
  // memtables (its keys and values and about 64 bytes for each update); a single Put copies its value once more. An
  // opening that finds the batch in the log takes that and the batch itself.
  bool large_batches = false;
  // Read table files past the operating system's page cache (O_DIRECT), so that a block is in memory only once and
  // `memory_limit` covers all the memory that the database uses. Opening fails with Unimplemented if the file system
  // does not support it.
  bool direct_reads = false;
  // Maximum number of threads for compactions, at most 1024. 0: one for each core, at most 8. If the system grants
  // fewer, the database uses those and notes it in `LOG`; if it grants none, opening fails with ResourceExhausted.
  int background_threads = 0;
  // Bytes of tables per second that flushes and compactions may write and scrubbing may read, together; flushes come
  // first. 0: unlimited. Set it if other programs need the disk too, to several times the rate of writes: with less,
  // writes have to wait.
  uint64_t background_bytes_per_second = 0;

  // Period of scrubbing, in seconds: every table, with the values that it refers to, is read from the disk, past the
  // caches, and checked once per period, evenly spread. 0: never. Scrubbing finds damage in data that is rarely read
  // while there still are backups. Damage is reported to listeners and in the info log and counted (property
  // "sepal.scrub"); reads of other keys continue to work. A user-provided executor (`env`) needs a thread for it.
  uint64_t scrub_seconds = 0;

  // Options of the default column family, and of every family that `column_families` does not name.
  ColumnFamilyOptions family = {};
  // Options for column families by name. Naming one that does not exist is an error unless `create_if_missing` is set.
  std::vector<ColumnFamilyDescriptor> column_families = {};

  // Directory of the log files; empty: the one that the database remembers, which is the database directory at first.
  // Put it on a second disk to keep the log's writes off the first. Opening fails with FailedPrecondition while the
  // logs lie in the remembered directory and another is given. With none given it fails with DataLoss if the remembered
  // one is gone, or if the database was moved or copied since: the logs there may be another copy's. A directory that
  // holds tables or manifests of another database is refused (FailedPrecondition), and so is one that holds its logs
  // (DataLoss); none of these files is removed. The directory is locked like the database directory: opening fails with
  // Unavailable if another open database keeps its logs there. Never let two databases share a log directory: logs
  // whose header was never written, ring files, and the logs of copies of one database cannot be told apart.
  std::string log_directory = {};
  // Write a rotating `LOG` of decisions and errors to the database directory.
  bool info_log = true;

  // Measure latencies into histograms, of one call in 64 and of every synced write. Counters are always kept.
  bool latency_histograms = false;
  // Calls that take longer than this many microseconds are reported to listeners and in the info log, with a breakdown
  // of their time. 0: none.
  uint64_t slow_call_micros = 0;
  // Called on events, in this order (event_listener.h).
  std::vector<std::shared_ptr<EventListener>> listeners = {};

  // Memory and threads that this database shares with others (sepal/shared_resources.h); null: it has its own. Its
  // `memory_limit` and `background_threads` count then, in place of those above, and `memtable_bytes` is what this
  // database may have of the limit; `scrub_seconds`, `follow_milliseconds` and
  // `env.executor` cannot be set (InvalidArgument).
  std::shared_ptr<SharedResources> shared = nullptr;

  // The file system, clock, executor and random seed to use.
  Env env = {};
};

struct ReadOptions {
  // Read as of this snapshot, which must belong to the same database (else InvalidArgument); null: as of now. It must
  // live until the call returns; an iterator does not need it afterwards.
  const Snapshot* snapshot = nullptr;
  // Read as of that moment, at most one of these and `snapshot` (else InvalidArgument): when the newest visible update
  // was the one with that sequence number (Snapshot::sequence; KeyVersion::sequence, which may part a batch), or as of
  // that time by the wall clock. For column families with a history (sepal/history.h).
  std::optional<uint64_t> as_of_sequence = {};
  std::optional<std::chrono::system_clock::time_point> as_of_time = {};
  // Keep blocks that are read in the cache. Turn it off for scans over much more data than fits.
  bool fill_cache = true;
  // For iterators, scans and MultiGet: what is asked about a key before its value is touched (sepal/key_filter.h);
  // null: nothing. Keys that it says are absent are left out, or not found. It is asked less, and such keys are shown,
  // where it leaves out less than one key of 16: then asking costs more than it spares. It must live as long as the
  // iterator.
  const KeyFilter* key_filter = nullptr;

  // The rest is for iterators and scans only; other calls ignore it. They show the keys that are within all of it, and
  // tables outside are not read.
  //
  // Only keys that begin with these bytes; empty: all. Needs the bytewise order, because in another one such keys need
  // not be neighbours: the status of the iterator is then InvalidArgument.
  std::string prefix = {};
  // Only keys in [lower_bound, upper_bound), in the order of the column family; unset: unbounded on that side.
  std::optional<std::string> lower_bound = {};
  std::optional<std::string> upper_bound = {};
  // Only the keys: every value is empty. Values in value files (ColumnFamilyOptions::separate_from) are not read then,
  // and merge operators are not asked. A `compaction_filter` still is, which needs the values.
  bool keys_only = false;
};

// What calls without options use. It spares them the making of options, which a Get would notice.
inline const ReadOptions kDefaultReadOptions;

// Returns the first key after all keys that begin with `prefix`, in bytewise order: an upper bound for calls that have
// no `prefix`. Returns nullopt if there is no such key.
SEPAL_EXPORT std::optional<std::string> EndOfPrefix(std::string_view prefix);

struct WriteOptions {
  // Return only once the write is durable against power loss. Without it the write survives only the death of the
  // process, and that only where Capabilities::outlives_process holds, as for local files. The call waits for the disk;
  // one sync serves all waiting writes. It also makes everything that was logged before durable: writing an empty batch
  // with `sync` does what DB::Sync does.
  bool sync = false;
  // Fail with `Unavailable` instead of waiting for flushes or compactions.
  bool no_slowdown = false;
  // Do not log the write: it is only in memory until its memtable is flushed (by `DB::Flush`, by a full memtable, or by
  // `DB::Close`, which returns an error if it cannot flush). If the process dies before that, the write is lost, even
  // if later writes, perhaps to the same key, survive. A batch is still applied whole or not at all, and must therefore
  // lie in one column family. Cannot be combined with `sync`. Do not use it where losing one write breaks the contract
  // of another (SingleDelete).
  bool disable_wal = false;

  // For DB::Put alone, and at most one of the two; with any other write InvalidArgument. The key is not there any more
  // once that much time has passed, or that time has come, by the wall clock of `Env::clock`: as if it had been deleted
  // then, for reads of snapshots too. Milliseconds count. InvalidArgument if `ttl` is not positive, or `expires_at` has
  // passed, or the time is too late for the format (in the year 10889).
  std::optional<std::chrono::milliseconds> ttl = {};
  std::optional<std::chrono::system_clock::time_point> expires_at = {};
};

// For the puts of transactions and of indexed batches: at most one of the two, as in WriteOptions.
struct PutOptions {
  std::optional<std::chrono::milliseconds> ttl = {};
  std::optional<std::chrono::system_clock::time_point> expires_at = {};
};

struct FlushOptions {
  // Return only once the memtable is written to a table file.
  bool wait = true;
};

struct VerifyProgress {
  uint64_t tables_done = 0;
  uint64_t tables = 0;
  uint64_t bytes_done = 0;
  uint64_t bytes = 0;
  // Tables in which damage was found.
  uint64_t tables_damaged = 0;
};

// Both callbacks are called in the calling thread.
struct VerifyChecksumsOptions {
  // Return false to end the call with `Cancelled`.
  std::function<bool(const VerifyProgress&)> progress = {};
  // Called for each damaged table, and for each damaged value of a value file.
  std::function<void(const absl::Status&)> on_damage = {};
};

struct CompactionProgress {
  // Bytes of tables read. The total is an estimate: it includes tables that turn out to need no rewriting.
  uint64_t bytes_done = 0;
  uint64_t bytes_total = 0;
  // Estimated from the pace so far, pauses included; negative while unknown.
  double seconds_left = -1;
};

struct CompactRangeOptions {
  // The keys to compact, both inclusive; unset: from the first key, or to the last.
  std::optional<std::string> begin = {};
  std::optional<std::string> end = {};
  // Only what deleted ranges cover: tables that they cover whole go without being read, those that they may cover in
  // part are rewritten where they are, all others stay. The call returns when the space is back, but for what snapshots
  // and open iterators still see.
  bool covered_only = false;
  // Called at the beginning, after each thousandth of the work or 16 MiB, now and then while the call waits for space,
  // for another compaction or for the end of a pause (but not during the initial flush), and at the end. It is called
  // by the threads that do the work, one at a time, without locks held; that thread's work waits until it returns. It
  // may read the database, but must not write to it or wait for background work, which would wait for it in turn.
  // Return false to end the call with `Cancelled`: what was compacted by then stays, and the rest is unchanged.
  std::function<bool(const CompactionProgress&)> progress = {};
};

struct CheckpointOptions {
  // An earlier checkpoint of the same database: tables that it already has are linked from it instead of copied again.
  // Both stay complete; either may be removed.
  std::string base = {};
  // Share table files with the database where the file system supports hard links. Off: every table is copied, or
  // linked from `base`, so that a bad sector under the database cannot damage the checkpoint.
  bool link_tables = true;
  // Read back what was copied and verify every byte.
  bool verify = false;
  // Called in the calling thread after each table, with the bytes of tables done so far, without locks held. It may
  // call the database.
  std::function<void(uint64_t done_bytes, uint64_t total_bytes)> progress = nullptr;
};

}  // namespace sepal
