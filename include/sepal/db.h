// Sepal: an embedded ordered key-value store.
//
//   sepal::Options options{.create_if_missing = true, .memory_limit = size_t{1} << 30};
//   absl::StatusOr<std::unique_ptr<sepal::DB>> db = sepal::DB::Open(options, "/var/lib/app");
//   if (!db.ok()) return db.status();
//   absl::Status written = (*db)->Put("key", "value", {.sync = true});
//   absl::StatusOr<std::string> value = (*db)->Get("key");
//
// Keys and values are any bytes. A key is at most 64 KiB, a value at most 1 GiB, and a batch, a single write too, takes
// at most a quarter of `memory_limit`, where each update takes some 64 bytes beside key and value: a larger one is
// refused with InvalidArgument, and nothing of it is written.
//
// Every call is safe from any number of threads, but no other call may run beside the destructor. No call throws. A
// null column family is the default one. Errors:
//   NotFound            the key is absent; of calls that name them: there is no such database, or column family
//   InvalidArgument     the caller's mistake: says what and how to mend it. Also a handle or a snapshot of another
//                       database
//   AlreadyExists       there is a database (`error_if_exists`), a column family of that name, or something in the
//                       directory of a checkpoint
//   FailedPrecondition  the database is closed or read-only, or the column family was dropped; the files are of a newer
//                       version, or another engine's; the process is a fork of the one that opened the database; the
//                       lock file was removed or replaced
//   PermissionDenied    the operating system refuses
//   ResourceExhausted   the disk or the memory limit is full, too many files are open, or the system has no thread or
//                       address space to open with: works again with room
//   Unavailable         `no_slowdown` was asked for and the write would have waited; or another process has the lock
//   Cancelled           a callback ended the call, or Close did
//   Unimplemented       the file system cannot do what an option asks for (`direct_reads`)
//   DataLoss            bytes read from a file fail their checksum; says file, offset, expected and got
//   Internal            a file call failed
//   Aborted             a read-only view has been overtaken by the writer: open it again
//
// A failed write or sync, or a job that failed for another reason than damage or a full disk, ends all writing: every
// later write returns that first error, reads go on, and the next opening writes again.
//
// After Close, calls give FailedPrecondition, and so does an iterator's status. But a second Close gives the first
// one's status, KeyMayExist says true, and GetProperty nullopt. ColumnFamilyNames, GetSnapshot, DefaultColumnFamily and
// statistics() still answer. What was handed out may outlive the database: values stay readable, handles and snapshots
// can be destroyed at any time.
//
// A child made by `fork` can destroy its copies of the database and of what was handed out whenever it likes, whatever
// other threads were at: it gives its copy of the directory's lock back, and all memory stays. It must not read in
// there, for a read may wait for a thread that only the parent has; it can open databases of its own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/column_family.h"
#include "sepal/comparator.h"
#include "sepal/explanation.h"
#include "sepal/export.h"
#include "sepal/iterator.h"
#include "sepal/options.h"
#include "sepal/perf_context.h"
#include "sepal/repair.h"
#include "sepal/snapshot.h"
#include "sepal/statistics.h"
#include "sepal/write_batch.h"

namespace sepal {

inline constexpr size_t kMaxKeyBytes = size_t{64} << 10;
inline constexpr size_t kMaxValueBytes = size_t{1} << 30;

// A value that was read, without copying where it is long: then it holds the memory that the value lies in (a cached
// block or a memtable), which counts against the memory limit while it is held. A short one is copied and lies in the
// object, so that views of it end with a move. Move-only; may outlive the database.
class SEPAL_EXPORT PinnedValue {
 public:
  PinnedValue() = default;
  PinnedValue(PinnedValue&& other) noexcept { *this = std::move(other); }
  PinnedValue& operator=(PinnedValue&& other) noexcept;
  ~PinnedValue() { Reset(); }

  std::string_view value() const { return value_; }
  // Lets go of the memory; the value is then empty.
  void Reset();

  // For the engine: a reference to release by `release(owner, detail)`.
  using Release = void (*)(void* owner, void* detail);
  void Pin(std::string_view value, Release release, void* owner, void* detail);
  // For the engine: a copy in this object or, when it is long, in memory that the next copy uses again.
  void Copy(std::string_view value);

 private:
  static constexpr size_t kNearBytes = 128;

  std::string_view value_;
  Release release_ = nullptr;  // null: `value_` lies in `near_` or `far_`, or is empty
  void* owner_ = nullptr;
  void* detail_ = nullptr;
  std::string far_;
  char near_[kNearBytes];
};

struct Range {
  std::string_view begin = {};  // inclusive
  std::string_view end = {};    // exclusive
};

class SEPAL_EXPORT DB {
 public:
  // Opens or creates the database in `directory`. Holds an exclusive lock on it, and on `log_directory`, until closed
  // (except read-only).
  //
  // NotFound if there is no database and `create_if_missing` is off, or if `column_families` names one that is missing;
  // AlreadyExists with `error_if_exists`; InvalidArgument for an option out of its range, or a comparator that is not
  // the one the family was made with; Unavailable if it is open elsewhere, also in this process, or another database's
  // logs are made in `log_directory`; FailedPrecondition for files of a newer version or of another engine, or another
  // database's in `log_directory`; DataLoss for damage, or where a file is missing (docs/internals/durability.md);
  // Unimplemented for `direct_reads` where the file system has none.
  //
  // Costs a reading of the manifest and of the logs, whose updates are written to tables, and a new manifest. Tables
  // are opened when they are first read.
  static absl::StatusOr<std::unique_ptr<DB>> Open(const Options& options, std::string_view directory);
  // Removes a database, what repairs of it have put aside, and nothing else from `directory`, and the directory if that
  // leaves it empty; from `options.log_directory` its logs. No other option counts but `env`. Ok if there is none;
  // Unavailable if it, or another with its logs there, is open; FailedPrecondition if the files are another engine's.
  // After an error some files may be gone: call it again.
  static absl::Status Destroy(const Options& options, std::string_view directory);
  // Makes a database that cannot be opened, or parts of which are `DataLoss`, whole again out of what can be read, and
  // says exactly what was dropped. `options` as for Open: the comparators must be the database's; no `Env` part but
  // file system, clock and seed is used. The database must not be open. FailedPrecondition for another engine's files,
  // or another database's in `log_directory`, or where that is not where the logs lie (RepairOptions::logs_lost).
  //
  // Nothing is changed before what replaces it is durable, and whatever is damaged is kept in the directory `lost`; if
  // the process dies half-way, call it again. Where the manifest itself is damaged, all tables in the directory are
  // merged: entries that were overwritten or deleted long ago can then show again, and the report says so. With nothing
  // wrong, nothing is touched.
  static absl::Status Repair(const Options& options, std::string_view directory, RepairReport* report,
                             const RepairOptions& repair = {});
  // The names of the column families of a database, by id, the default one first. Reads the manifest alone, takes no
  // lock, and works beside a writer (Aborted if that was faster at every look). NotFound if there is no database. Of
  // `options` only `env` counts.
  static absl::StatusOr<std::vector<std::string>> ListColumnFamilies(const Options& options,
                                                                     std::string_view directory);

  // Closes, without an error being seen. Call Close first. No other call may be under way.
  virtual ~DB() = default;

  // Each write returns when it is readable and its record is in the log, which survives the death of the process (with
  // `sync`: durable, also against loss of power; with `disable_wal`: in memory alone).
  virtual absl::Status Put(const ColumnFamily* family, std::string_view key, std::string_view value,
                           const WriteOptions& options = {}) = 0;
  virtual absl::Status Delete(const ColumnFamily* family, std::string_view key, const WriteOptions& options = {}) = 0;
  // See WriteBatch::SingleDelete.
  virtual absl::Status SingleDelete(const ColumnFamily* family, std::string_view key,
                                    const WriteOptions& options = {}) = 0;
  // `batch` is not changed. Where it is refused, nothing of it is written.
  virtual absl::Status Write(const WriteBatch* batch, const WriteOptions& options = {}) = 0;

  // The value of `key`, which may lie in `value`; or NotFound (which allocates nothing), and `value` is empty.
  virtual absl::Status Get(const ColumnFamily* family, std::string_view key, PinnedValue* value,
                           const ReadOptions& options = {}) = 0;
  virtual absl::StatusOr<std::string> Get(const ColumnFamily* family, std::string_view key,
                                          const ReadOptions& options = {}) = 0;
  // One status and value for each key, all as of one moment. No key may lie in `values`. A key that fails does not keep
  // the others from being read. The three spans must have one length: the process ends if they have not.
  virtual void MultiGet(const ColumnFamily* family, std::span<const std::string_view> keys,
                        std::span<PinnedValue> values, std::span<absl::Status> statuses,
                        const ReadOptions& options = {}) = 0;
  // Whether `key` may exist, from memory alone, without I/O: false is certain. True also where the call is refused
  // (closed, dropped, another database's handle or snapshot).
  virtual bool KeyMayExist(const ColumnFamily* family, std::string_view key, const ReadOptions& options = {}) = 0;
  // Never null: what refuses the call is the iterator's status.
  virtual std::unique_ptr<Iterator> NewIterator(const ColumnFamily* family, const ReadOptions& options = {}) = 0;

  // As of now, for all column families. The versions that it sees are kept until the last owner lets go of it.
  virtual std::shared_ptr<const Snapshot> GetSnapshot() = 0;

  // Owned by the database, and valid as long as this object.
  virtual ColumnFamily* DefaultColumnFamily() const = 0;
  // AlreadyExists if the name is taken, InvalidArgument if an option is out of its range, FailedPrecondition if there
  // are no ids left (file numbers have come to 2^32). The handle stays valid as long as it is held.
  virtual absl::StatusOr<std::shared_ptr<ColumnFamily>> CreateColumnFamily(std::string_view name,
                                                                           const ColumnFamilyOptions& options = {}) = 0;
  // Syncs the log first: what was written before is as durable as the drop. A failed sync ends writing.
  // The family's data is removed once nothing reads it: iterators and pinned values of before go on. The handle stays
  // valid and is answered with FailedPrecondition, as is a second drop. The default family cannot be dropped:
  // InvalidArgument. A new family of that name is another one.
  virtual absl::Status DropColumnFamily(const ColumnFamily* family) = 0;
  // NotFound if there is none of that name.
  virtual absl::StatusOr<std::shared_ptr<ColumnFamily>> FindColumnFamily(std::string_view name) = 0;
  // By id, the default one first; dropped ones excluded.
  virtual std::vector<std::string> ColumnFamilyNames() = 0;

  // Writes the family's memtable to tables, which make one sorted run. Nothing happens if it is empty. `Cancelled` if
  // Close came before the memtable was in tables.
  virtual absl::Status Flush(const ColumnFamily* family, const FlushOptions& options = {}) = 0;
  // Makes all earlier writes durable, but for those with `disable_wal`, which Flush makes so.
  virtual absl::Status Sync() = 0;
  // Rewrites the range into the last level, dropping what is overwritten or deleted there, after a Flush. Works in the
  // calling thread and, if it can be cut, others. `Cancelled` if `options.progress` or Close ended it: what was merged
  // by then stays so. `DataLoss` if a table that it needs is damaged, `InvalidArgument` if `end` sorts before `begin`.
  virtual absl::Status CompactRange(const ColumnFamily* family, const CompactRangeOptions& options = {}) = 0;
  // Returns when no flush or compaction runs or is due; with the error, if background work has stopped on one. Ok, with
  // work perhaps left, if the database is closed meanwhile.
  virtual absl::Status WaitForBackgroundWork() = 0;
  // Returns when no flush or compaction reads or writes a file any more: a flush under way ends first, a compaction, a
  // CompactRange too, stands still where it is. None begins or goes on until ContinueBackgroundWork was called as
  // often. Meanwhile memtables fill up; once they are full, writes wait (`no_slowdown`: fail with `Unavailable`), a
  // large one also where it does not fit into `memory_limit` beside them. A Flush that waits, CompactRange and
  // WaitForBackgroundWork return only after it. Close need not wait for it.
  virtual absl::Status PauseBackgroundWork() = 0;
  // FailedPrecondition if nothing is paused.
  virtual absl::Status ContinueBackgroundWork() = 0;
  // Makes a database in `directory`, which must be missing or empty, that holds all that is visible now, and nothing
  // that is written later. Writes go on meanwhile. Table files are hard links where the file system can, copies
  // elsewhere; what is still in memtables is written to tables of the checkpoint's own, so that it has no log. When it
  // returns ok the checkpoint is durable. A half-made one (a crash) is refused by Open; an error removes what was made.
  // Works on a read-only database too. Open it with no log_directory, or with an empty one.
  //
  // With `base` and without `link_tables` it is an incremental backup: docs/guide/backup.md.
  virtual absl::Status Checkpoint(std::string_view directory, const CheckpointOptions& options = {}) = 0;
  // Waits for flushes under way; compactions give up, CompactRange too, which then returns `Cancelled`. Flushes what
  // was written with `disable_wal`, syncs the log, releases the lock. The first error that was met is returned; if it
  // says that such writes are lost, nothing brings them back. A Flush that still waits gives `Cancelled` if its
  // memtable is in no table. A second Close waits for the first and returns its status. What calls give afterwards:
  // above.
  virtual absl::Status Close() = 0;

  // A property by name, as text; nullopt for a name that is not known, for a family that was dropped or is another
  // database's, and after Close. Names:
  //   sepal.stats, sepal.levels, sepal.sstables, sepal.filters, sepal.memory, sepal.options, sepal.snapshots,
  //   sepal.scrub, sepal.log (how records get into it, and its files)
  //   sepal.num-files-at-level<N>, sepal.num-runs, sepal.num-entries (estimate), sepal.total-table-bytes,
  //   sepal.estimated-live-bytes (of the tables; rather too low, above all with tombstones, and where an
  //   earlier opening wrote tables whose keys have not come to matter yet),
  //   sepal.memtable-bytes, sepal.block-cache-bytes, sepal.compaction-debt-bytes, sepal.last-sequence,
  //   sepal.background-error, sepal.compactions-put-off (that met damage: the plan and the damage, a line each)
  //   sepal.prometheus: statistics, levels and memory of the whole database in Prometheus' text format
  virtual std::optional<std::string> GetProperty(const ColumnFamily* family, std::string_view name) = 0;
  // The way that a Get of `key` takes, and what each memtable, file, filter and block on it says. For people and tools:
  // it costs several times a Get.
  virtual absl::StatusOr<GetExplanation> ExplainGet(const ColumnFamily* family, std::string_view key,
                                                    const ReadOptions& options = {}) = 0;
  // About how many bytes of table files and memtables each range takes; costs no more than a few block reads. There
  // must be as many sizes as ranges.
  virtual absl::Status GetApproximateSizes(const ColumnFamily* family, std::span<const Range> ranges,
                                           std::span<uint64_t> sizes_bytes) = 0;
  // Of the whole database. Owned by it: valid as long as this object, also after Close.
  virtual Statistics* statistics() = 0;

  // Verifies the order and the bookkeeping of the whole tree in memory, and that every file exists with its size.
  virtual absl::Status CheckConsistency() = 0;
  // Reads every byte of every table file and checks its checksum, and that entries, index and filters agree. Goes on to
  // the end; the first damage is returned. `progress`, if set, is called before the first and after each table; false
  // from it ends the verification with `Cancelled`. Both callbacks are called in the calling thread with no lock held,
  // and may call the database.
  virtual absl::Status VerifyChecksums(const VerifyChecksumsOptions& options = {}) = 0;

  // The same calls on the default column family.
  absl::Status Put(std::string_view key, std::string_view value, const WriteOptions& options = {}) {
    return Put(nullptr, key, value, options);
  }
  absl::Status Delete(std::string_view key, const WriteOptions& options = {}) { return Delete(nullptr, key, options); }
  absl::Status SingleDelete(std::string_view key, const WriteOptions& options = {}) {
    return SingleDelete(nullptr, key, options);
  }
  absl::Status Get(std::string_view key, PinnedValue* value, const ReadOptions& options = {}) {
    return Get(nullptr, key, value, options);
  }
  absl::StatusOr<std::string> Get(std::string_view key, const ReadOptions& options = {}) {
    return Get(nullptr, key, options);
  }
  void MultiGet(std::span<const std::string_view> keys, std::span<PinnedValue> values, std::span<absl::Status> statuses,
                const ReadOptions& options = {}) {
    MultiGet(nullptr, keys, values, statuses, options);
  }
  bool KeyMayExist(std::string_view key, const ReadOptions& options = {}) { return KeyMayExist(nullptr, key, options); }
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options = {}) { return NewIterator(nullptr, options); }
  absl::Status Flush(const FlushOptions& options = {}) { return Flush(nullptr, options); }
  absl::Status CompactRange(const CompactRangeOptions& options = {}) { return CompactRange(nullptr, options); }
  absl::StatusOr<GetExplanation> ExplainGet(std::string_view key, const ReadOptions& options = {}) {
    return ExplainGet(nullptr, key, options);
  }
  std::optional<std::string> GetProperty(std::string_view name) { return GetProperty(nullptr, name); }
  absl::Status GetApproximateSizes(std::span<const Range> ranges, std::span<uint64_t> sizes_bytes) {
    return GetApproximateSizes(nullptr, ranges, sizes_bytes);
  }
};

}  // namespace sepal
