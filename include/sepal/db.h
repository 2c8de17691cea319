// Sepal: an embedded ordered key-value store.
//
//   sepal::Options options{.create_if_missing = true, .memory_limit = size_t{1} << 30};
//   absl::StatusOr<std::unique_ptr<sepal::DB>> db = sepal::DB::Open(options, "/var/lib/app");
//   if (!db.ok()) return db.status();
//   absl::Status written = (*db)->Put("key", "value", {.sync = true});
//   absl::StatusOr<std::string> value = (*db)->Get("key");
//
// Results are returned. Objects that a call fills (a PinnedValue, the spans of MultiGet) come after the inputs and
// before the options. A call takes objects by reference; a pointer may be null, and its comment says what null means.
// Options own their bytes.
//
// Keys and values are arbitrary bytes. A key has at most 16 MiB and a value at most 1 GiB. A batch (and likewise a
// single write) may take at most a quarter of `memory_limit`, counting about 64 bytes for each update besides its key
// and value. A larger write is refused with InvalidArgument, and nothing of it is written
// (`Options::large_batches` allows it, and PutStream writes such a value).
//
// Every method may be called from any number of threads at once, except that no other call may run concurrently with
// the destructor. No method throws. Calls without a column family use the default one. Errors:
//   NotFound            the key does not exist; for calls that name a database or a column family: it does not exist
//   InvalidArgument     a mistake of the caller; the message says what is wrong and how to correct it. Also returned
//                       for a handle, a snapshot or a batch of another database
//   AlreadyExists       the database exists (with `error_if_exists`), a column family of that name exists, or the
//                       directory of a checkpoint is not empty
//   FailedPrecondition  the database is closed or read-only; the column family was dropped; the files have a newer
//                       format version or belong to another engine; the process is a fork of the one that opened the
//                       database; the lock file was removed or replaced
//   PermissionDenied    the operating system refuses access
//   ResourceExhausted   the disk or the memory limit is full, too many files are open, or the system has no thread or
//                       address space left for opening. The call succeeds once there is room again
//   Unavailable         `no_slowdown` is set and the write would have to wait, or another process holds the lock
//   Cancelled           a callback or Close ended the call
//   Unimplemented       the file system does not support an option (`direct_reads`)
//   DataLoss            bytes read from a file fail their checksum; the message names file, offset, expected and got
//   Internal            a file operation failed
//   Aborted             a read-only view has been overtaken by the writer: call CatchUp, or open it again; or a
//                       transaction ended (sepal/transaction.h)
//   OutOfRange          a read as of a moment that is older than the history (sepal/history.h)
//   DeadlineExceeded    the lock of a transaction was not free in time: a second, for writes without one
//
// If a write or a sync fails, or if a background job fails for a reason other than damaged data or a full disk, the
// database stops accepting writes: every later write returns that first error. Reads continue to work, and reopening
// the database makes it writable again.
//
// After Close, calls return FailedPrecondition, and so does the status of an iterator. The exceptions: a second Close
// returns the status of the first one, KeyMayExist returns true, and GetProperty returns nullopt. ColumnFamilyNames,
// GetSnapshot, DefaultColumnFamily and statistics() still work. Objects that the database returned may outlive it:
// pinned values stay readable, and handles and snapshots can be destroyed at any time.
//
// A database that was opened read-only shows the state at its opening. CatchUp brings it, in all column families at
// once, to what another process, or another object of this one, has written since. It then shows every write that was
// acknowledged with `sync` before the call, and those others that the file system shows: all of them if the writer runs
// on the same machine. Existing iterators, snapshots and pinned values do not change. Families that the writer has
// created are found; calls with handles of families that it has dropped return FailedPrecondition. Cached blocks and
// open tables are kept, so that a call costs a listing of the directory and work in proportion to the changes. After an
// error, reads see what they saw before the call. CatchUp returns FailedPrecondition if the database was not opened
// read-only, or must be opened again, because the directory now holds another database or one that was restored from an
// older state, or because a family was given a merge operator or a filter. It returns Aborted if the writer changed the
// files during every attempt: call it again.
//
// A child process made by `fork` may destroy its copies of the database and of returned objects at any time, whatever
// the parent's other threads were doing: this closes its copy of the directory lock, and frees no memory. All other
// calls on these copies return FailedPrecondition in the child, Close and the status of an iterator included, and never
// wait. The exceptions: KeyMayExist returns true, GetProperty nullopt, ColumnFamilyNames nothing, and GetSnapshot a
// snapshot that keeps no versions; DefaultColumnFamily, the names of handles and statistics() work, and pinned values
// stay readable. The child can open other databases.
#pragma once

#if __cplusplus < 202002L
#error "Sepal needs C++20: compile with -std=c++20 or a later standard"
#endif

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/abi.h"
#include "sepal/column_family.h"
#include "sepal/compaction_filter.h"
#include "sepal/comparator.h"
#include "sepal/context_filter.h"
#include "sepal/explanation.h"
#include "sepal/export.h"
#include "sepal/history.h"
#include "sepal/iterator.h"
#include "sepal/key_filter.h"
#include "sepal/merge_operator.h"
#include "sepal/named_snapshots.h"
#include "sepal/options.h"
#include "sepal/perf_context.h"
#include "sepal/properties.h"
#include "sepal/repair.h"
#include "sepal/scan.h"
#include "sepal/snapshot.h"
#include "sepal/statistics.h"
#include "sepal/transaction.h"
#include "sepal/value_stream.h"
#include "sepal/write_batch.h"
#include "sepal/write_conditions.h"

namespace sepal {

inline constexpr size_t kMaxKeyBytes = size_t{16} << 20;
inline constexpr size_t kMaxValueBytes = size_t{1} << 30;
inline constexpr int kMostTransactionAttempts = 100;

// The value that a read returned. A long value is not copied: the object then pins the memory that holds the value (a
// cached block or a memtable), and that memory counts against the memory limit while it is pinned. A short value is
// copied into the object itself, so moving the object invalidates views of it. Move-only; may outlive the database.
class SEPAL_EXPORT PinnedValue {
 public:
  PinnedValue() = default;
  PinnedValue(PinnedValue&& other) noexcept { *this = std::move(other); }
  PinnedValue& operator=(PinnedValue&& other) noexcept;
  ~PinnedValue() { Reset(); }

  std::string_view value() const { return value_; }
  // Releases the memory; the value is empty afterwards.
  void Reset();

 private:
  friend struct PinnedValueAccess;
  using Release = void (*)(void* owner, void* detail);
  static constexpr size_t kNearBytes = 128;

  // Pins `value` until `release(owner, detail)` is called.
  void Pin(std::string_view value, Release release, void* owner, void* detail);
  // Copies `value` into this object or, if it is long, into a buffer that later copies reuse.
  void Copy(std::string_view value);

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

// The base class has PutStream and ReadValue (sepal/value_stream.h), and History (sepal/history.h).
class SEPAL_EXPORT DB : public Histories {
 public:
  // Opens the database in `directory`, or creates it. Unless it is opened read-only, the database holds an exclusive
  // lock on `directory` and on `log_directory` until it is closed.
  //
  // Errors: NotFound if there is no database and `create_if_missing` is off, or if `column_families` names a family
  // that does not exist; AlreadyExists with `error_if_exists`; InvalidArgument for an option out of its range, or for a
  // comparator other than the one that the family was created with; Unavailable if the database is already open, in
  // this process or another one, or if `log_directory` is in use by another open database; FailedPrecondition for files
  // of a newer format version or of another engine, or if `log_directory` holds files of another database; DataLoss if
  // a file is damaged or missing (docs/internals/durability.md); Unimplemented if `direct_reads` is set and the file
  // system does not support it.
  //
  // Cost: opening reads the manifest and the logs, writes the updates found in the logs to tables, and writes a new
  // manifest. Tables are opened when they are first read.
  static absl::StatusOr<std::unique_ptr<DB>> Open(const Options& options, std::string_view directory);
  // Deletes the database in `directory`, with everything that repairs have put aside, and its logs in
  // `options.log_directory`. Other files stay; the directory is removed if it is then empty. Only `env` and
  // `log_directory` of `options` are used. Ok if there is no database; Unavailable if it is open, or if another open
  // database keeps its logs there; FailedPrecondition for files of another engine. After an error, call it again.
  static absl::Status Destroy(const Options& options, std::string_view directory);
  // Restores a database that cannot be opened, or parts of which return `DataLoss`, from whatever can still be read,
  // and returns a report of exactly what was dropped. `options` are as for Open; the comparators must be those of the
  // database. A column family for which they give only defaults is written with the options that it was last opened
  // with. Of `env`, only the file system, the clock and the seed are used. The database must not be open.
  // FailedPrecondition if the files belong to another engine, if `log_directory` holds files of another database, or if
  // the logs are not in `log_directory` (see RepairOptions::logs_lost).
  //
  // No file is changed before its replacement is durable, and every damaged file is kept in the directory `lost`. If
  // the process dies during a repair, call it again. If the manifest itself is damaged, all tables in the directory are
  // merged: entries that were overwritten or deleted long ago can then reappear, and the report says so. An undamaged
  // database is not touched.
  static absl::StatusOr<RepairReport> Repair(const Options& options, std::string_view directory,
                                             const RepairOptions& repair = {});
  // Returns the names of the column families of a database in the order of their ids, the default one first. It reads
  // only the manifest, takes no lock, and works while another process writes (Aborted if the writer changed the
  // manifest during every attempt). NotFound if there is no database. Only `env` of `options` is used.
  static absl::StatusOr<std::vector<std::string>> ListColumnFamilies(const Options& options,
                                                                     std::string_view directory);

  // Closes the database and ignores errors; call Close first to see them. No other call may be running.
  virtual ~DB() = default;

  // A write returns once it is visible to readers and its record is in the log. It then survives the death of the
  // process; with `sync` it is durable, also against power loss; with `disable_wal` it is only in memory.
  virtual absl::Status Put(const ColumnFamily& family, std::string_view key, std::string_view value,
                           const WriteOptions& options = {}) = 0;
  virtual absl::Status Delete(const ColumnFamily& family, std::string_view key, const WriteOptions& options = {}) = 0;
  // See WriteBatch::SingleDelete.
  virtual absl::Status SingleDelete(const ColumnFamily& family, std::string_view key,
                                    const WriteOptions& options = {}) = 0;
  // Merges `operand` into the value of `key` (sepal/merge_operator.h), without reading it. InvalidArgument if the
  // family has no merge operator.
  virtual absl::Status Merge(const ColumnFamily& family, std::string_view key, std::string_view operand,
                             const WriteOptions& options = {}) = 0;
  // Deletes all keys in [begin, end), or from `begin` up to the last key if there is no end, as one update: its cost
  // does not depend on the number of keys. Reads of deleted keys cost no more than those of absent ones, and iterators
  // skip the whole range in one step. Compactions reclaim the space. InvalidArgument if `end` sorts before `begin`; if
  // they are equal, nothing is deleted. Versions before 0.2 cannot open a database that has had one.
  virtual absl::Status DeleteRange(const ColumnFamily& family, std::string_view begin,
                                   std::optional<std::string_view> end, const WriteOptions& options = {}) = 0;
  // Sets the epoch with which the family's filter (sepal/compaction_filter.h) is called. Reads use it at once, except
  // those of snapshots and iterators that exist already. When the call returns, the epoch and all earlier logged writes
  // are durable; a crash during the call leaves the old epoch or the new one. Returns InvalidArgument if the family has
  // no filter, or if `epoch` is longer than kMaxFilterEpochBytes. Removes nothing itself: later compactions do, and
  // CompactRange does. Cost: two syncs, for which writers wait.
  virtual absl::Status SetFilterEpoch(const ColumnFamily& family, std::string_view epoch) = 0;
  // Does not change `batch`. If the batch is refused, nothing of it is written.
  virtual absl::Status Write(const WriteBatch& batch, const WriteOptions& options = {}) = 0;
  // Writes `batch` if all `conditions` hold, and returns whether they did. The check and the write are one atomic step.
  // Reads the keys of the conditions while others write, and reads those that changed meanwhile once more.
  virtual absl::StatusOr<bool> WriteIf(const WriteConditions& conditions, const WriteBatch& batch,
                                       const WriteOptions& options = {}) = 0;
  // Puts `value` if `key` does not exist, and returns whether it was put.
  absl::StatusOr<bool> PutIfAbsent(const ColumnFamily& family, std::string_view key, std::string_view value,
                                   const WriteOptions& options = {});
  // If `key` has the value `expected` (nullopt: if it does not exist), gives it the value `desired` (nullopt: deletes
  // it). Returns whether it did.
  absl::StatusOr<bool> CompareAndSet(const ColumnFamily& family, std::string_view key,
                                     std::optional<std::string_view> expected, std::optional<std::string_view> desired,
                                     const WriteOptions& options = {});
  // Deletes `key` if it has the value `expected`, and returns whether it did.
  absl::StatusOr<bool> DeleteIf(const ColumnFamily& family, std::string_view key, std::string_view expected,
                                const WriteOptions& options = {});

  // Begins a transaction (sepal/transaction.h). InvalidArgument if an option is out of its range.
  virtual absl::StatusOr<std::unique_ptr<Transaction>> BeginTransaction(const TransactionOptions& options = {}) = 0;
  // Return all prepared transactions, or the one of that name. NotFound if there is none; FailedPrecondition if another
  // Transaction object has it.
  virtual absl::StatusOr<std::vector<PreparedTransaction>> PreparedTransactions() = 0;
  virtual absl::StatusOr<std::unique_ptr<Transaction>> FindPrepared(std::string_view name) = 0;
  // Begins a transaction, calls `body`, which must not end it, and commits. Repeats all of this after growing pauses
  // while `body` or the commit returns Aborted, up to `kMostTransactionAttempts` times. Any other error of `body` rolls
  // back.
  absl::Status RunTransaction(const TransactionOptions& options, const std::function<absl::Status(Transaction&)>& body,
                              const WriteOptions& write_options = {});

  // Reads the value of `key`; `key` may point into `value`. NotFound (without allocating memory) leaves `value` empty.
  virtual absl::Status Get(const ColumnFamily& family, std::string_view key, PinnedValue& value,
                           const ReadOptions& options = kDefaultReadOptions) = 0;
  virtual absl::StatusOr<std::string> Get(const ColumnFamily& family, std::string_view key,
                                          const ReadOptions& options = kDefaultReadOptions) = 0;
  // Reads several keys as of one moment, with one status and value for each. No key may point into `values`. If one key
  // fails, the others are read nevertheless. Returns ok if every key was found or does not exist, else the first error
  // of `statuses`. InvalidArgument, and nothing is filled, if the three spans differ in length.
  virtual absl::Status MultiGet(const ColumnFamily& family, std::span<const std::string_view> keys,
                                std::span<PinnedValue> values, std::span<absl::Status> statuses,
                                const ReadOptions& options = kDefaultReadOptions) = 0;
  // The same with copies of the values, in the order of `keys`.
  virtual std::vector<absl::StatusOr<std::string>> MultiGet(const ColumnFamily& family,
                                                            std::span<const std::string_view> keys,
                                                            const ReadOptions& options = kDefaultReadOptions) = 0;
  // Returns whether `key` may exist, from data in memory and without I/O. False is certain. Also true if the call is
  // refused (the database is closed, the family was dropped, or the handle or snapshot belongs to another database).
  virtual bool KeyMayExist(const ColumnFamily& family, std::string_view key,
                           const ReadOptions& options = kDefaultReadOptions) = 0;
  // Never returns null: if the call is refused, the iterator's status says why.
  virtual std::unique_ptr<Iterator> NewIterator(const ColumnFamily& family,
                                                const ReadOptions& options = kDefaultReadOptions) = 0;
  // The entries for a range-based for loop, in ascending order (sepal/scan.h). Read its status after the loop.
  [[nodiscard]] ScanRange Scan(const ColumnFamily& family, const ReadOptions& options = kDefaultReadOptions) {
    return ScanRange(NewIterator(family, options));
  }

  // Returns a snapshot of all column families as of now. What it sees is kept until its last owner releases it.
  virtual std::shared_ptr<const Snapshot> GetSnapshot() = 0;
  // The same, kept durably under `name` until DropSnapshot (sepal/named_snapshots.h). AlreadyExists: it is taken.
  virtual absl::StatusOr<std::shared_ptr<const Snapshot>> CreateSnapshot(std::string_view name,
                                                                         const NamedSnapshotOptions& options = {}) = 0;
  virtual absl::StatusOr<std::shared_ptr<const Snapshot>> FindSnapshot(std::string_view name) = 0;
  virtual absl::Status DropSnapshot(std::string_view name) = 0;
  virtual absl::StatusOr<std::vector<NamedSnapshot>> ListSnapshots(const ListSnapshotsOptions& options = {}) = 0;

  const ColumnFamily& DefaultColumnFamily() const { return *default_column_family_; }  // valid as long as this object
  // Creates a column family. AlreadyExists if the name is taken; InvalidArgument if an option is out of its range;
  // FailedPrecondition if no ids are left (file numbers have reached 2^32). The handle stays valid as long as it is
  // held.
  virtual absl::StatusOr<std::shared_ptr<ColumnFamily>> CreateColumnFamily(std::string_view name,
                                                                           const ColumnFamilyOptions& options = {}) = 0;
  // Drops a column family. Syncs the log first, so that all earlier writes are at least as durable as the drop; if that
  // sync fails, the database stops accepting writes. The family's data is removed once nothing reads it: existing
  // iterators and pinned values continue to work. The handle stays valid, and calls with it, a second drop included,
  // return FailedPrecondition, as does a drop while a prepared transaction has locks in the family. InvalidArgument for
  // the default family, which cannot be dropped. A new family of the same name is a different family.
  virtual absl::Status DropColumnFamily(const ColumnFamily& family) = 0;
  // NotFound if no column family has that name.
  virtual absl::StatusOr<std::shared_ptr<ColumnFamily>> FindColumnFamily(std::string_view name) = 0;
  // The names of all column families that were not dropped, in the order of their ids, the default one first.
  virtual std::vector<std::string> ColumnFamilyNames() = 0;

  // Writes the family's memtable, unless it is empty, to tables that form one sorted run. `Cancelled`: Close ended it.
  virtual absl::Status Flush(const ColumnFamily& family, const FlushOptions& options = {}) = 0;
  // Makes all earlier writes durable, except those with `disable_wal`, which only Flush makes durable.
  virtual absl::Status Sync() = 0;
  // Flushes, then compacts all tables that overlap the range into the last level, and so drops entries that are
  // overwritten or deleted. It works in the calling thread, and in others as well if the range can be split.
  // `Cancelled` if `options.progress` or Close ended it; what was compacted by then stays. `DataLoss` if a table that
  // it needs is damaged; `InvalidArgument` if `end` sorts before `begin`; once all is compacted, the first error of the
  // family's `context_filter`.
  virtual absl::Status CompactRange(const ColumnFamily& family, const CompactRangeOptions& options = {}) = 0;
  // Waits until no flush or compaction is running or due; returns the error that stopped them, if any. Ok if closed.
  virtual absl::Status WaitForBackgroundWork() = 0;
  // Returns once no flush or compaction reads or writes files any more: a running flush is completed first, and a
  // running compaction, CompactRange included, stops where it is. No work begins or continues until
  // ContinueBackgroundWork has been called as many times as this. Meanwhile memtables fill up; once they are full,
  // writes wait (or fail with `Unavailable` if `no_slowdown` is set), and so does a large write that does not fit into
  // `memory_limit` beside them. A waiting Flush, CompactRange and WaitForBackgroundWork return only after the pause.
  // Close does not wait for the end of the pause.
  virtual absl::Status PauseBackgroundWork() = 0;
  virtual absl::Status ContinueBackgroundWork() = 0;  // FailedPrecondition if background work is not paused
  // Accepts the wall clock as it is, after it jumped or was set back: removals, histories (sepal/history.h) and reads
  // go by it, even if expired keys reappear (docs/guide/expiry.md). Durable when it returns.
  virtual absl::Status AcceptClock() = 0;
  virtual absl::Status CatchUp() = 0;  // the top of this file describes it
  // Creates a copy of the database in `directory`, which must be missing or empty. The copy holds everything that is
  // visible now and nothing that is written later; writes continue meanwhile. Table files are hard-linked where the
  // file system supports it, and copied otherwise. The contents of memtables are written to tables of the checkpoint,
  // so that it has no log. The checkpoint is durable once this returns ok. After an error, everything that was created
  // is removed; after a crash, Open refuses the incomplete checkpoint. Also works on a read-only database. Open a
  // checkpoint without a log_directory, or with an empty one. With `base` and without `link_tables` it is an
  // incremental backup (docs/guide/operations.md).
  virtual absl::Status Checkpoint(std::string_view directory, const CheckpointOptions& options = {}) = 0;
  // Waits for running flushes and cancels compactions; CompactRange then returns `Cancelled`. Flushes what was written
  // with `disable_wal`, syncs the log, and releases the lock. Returns the first error; if that error says that unlogged
  // writes are lost, they cannot be recovered. A Flush that is still waiting returns `Cancelled` if its memtable has
  // not been written to a table. A second Close waits for the first one and returns its status. The top of this file
  // says what other calls return afterwards.
  virtual absl::Status Close() = 0;

  // Returns a property as text (sepal/properties.h has the names); nullopt for an unknown name, for a family that was
  // dropped or belongs to another database, and after Close.
  virtual std::optional<std::string> GetProperty(const ColumnFamily& family, std::string_view name) = 0;
  // Returns the properties that are numbers, as of one moment, except for those that background work changes meanwhile.
  virtual absl::StatusOr<Properties> GetProperties(const ColumnFamily& family) = 0;
  // Explains how a Get of `key` finds its answer: the answer of each memtable, file, filter and block on the way. For
  // people and tools; it costs several times as much as a Get.
  virtual absl::StatusOr<GetExplanation> ExplainGet(const ColumnFamily& family, std::string_view key,
                                                    const ReadOptions& options = kDefaultReadOptions) = 0;
  // Estimates how many bytes of table files and memtables each range takes; one number for each range. Costs at most a
  // few block reads.
  virtual absl::StatusOr<std::vector<uint64_t>> GetApproximateSizes(const ColumnFamily& family,
                                                                    std::span<const Range> ranges) = 0;
  // Estimates the number of different keys, in the whole family or in a range. Keys in tables are counted by sketches:
  // the standard error for a whole family is 3.3 %; a range adds some percent of a table, because the positions of its
  // ends in their tables are guessed. Deleted and expired keys count until compactions have removed them. Cost: each
  // key in memory is read, and 1 KiB of memory for each table; the first call after an opening reads each table's
  // properties. InvalidArgument if the comparator can call different bytes equal: such keys are in no sketch.
  virtual absl::StatusOr<double> ApproximateDistinct(const ColumnFamily& family,
                                                     const std::optional<Range>& range = std::nullopt) = 0;
  // Returns a Bloom filter of all keys that a scan with `read` shows, as of its snapshot or one moment. With it a
  // client can avoid requests for absent keys (BloomFilter::Serialize makes a file of it). Cost: a scan of the keys,
  // and a second one if their number was not known beforehand: `read` has bounds, or the estimate by
  // ApproximateDistinct was too low, or too high by a quarter. InvalidArgument as for BloomShape::For;
  // ResourceExhausted if the filter does not fit into the rest of memory_limit, which it uses until the call returns.
  virtual absl::StatusOr<filters::BloomFilter> ExportFilter(const ColumnFamily& family,
                                                            const ExportFilterOptions& options = {},
                                                            const ReadOptions& read = kDefaultReadOptions) = 0;
  // The statistics of the whole database. Valid as long as this object, also after Close.
  virtual Statistics& statistics() = 0;

  // Checks the order and consistency of the whole tree in memory, and that every file exists with the expected size.
  virtual absl::Status CheckConsistency() = 0;
  // Reads every byte of every table file, verifies its checksum, and checks that entries, index and filters agree.
  // Continues to the end and returns the first damage. `progress`, if set, is called before the first table and after
  // each one; if it returns false, the verification ends with `Cancelled`. Both callbacks are called in the calling
  // thread without locks held, and may call the database.
  virtual absl::Status VerifyChecksums(const VerifyChecksumsOptions& options = {}) = 0;

  // The same calls on the default column family.
  absl::Status Put(std::string_view key, std::string_view value, const WriteOptions& options = {}) {
    return Put(DefaultColumnFamily(), key, value, options);
  }
  absl::Status Delete(std::string_view key, const WriteOptions& options = {}) {
    return Delete(DefaultColumnFamily(), key, options);
  }
  absl::Status SingleDelete(std::string_view key, const WriteOptions& options = {}) {
    return SingleDelete(DefaultColumnFamily(), key, options);
  }
  absl::Status Merge(std::string_view key, std::string_view operand, const WriteOptions& options = {}) {
    return Merge(DefaultColumnFamily(), key, operand, options);
  }
  absl::Status DeleteRange(std::string_view begin, std::optional<std::string_view> end,
                           const WriteOptions& options = {}) {
    return DeleteRange(DefaultColumnFamily(), begin, end, options);
  }
  absl::StatusOr<bool> PutIfAbsent(std::string_view key, std::string_view value, const WriteOptions& options = {}) {
    return PutIfAbsent(DefaultColumnFamily(), key, value, options);
  }
  absl::StatusOr<bool> CompareAndSet(std::string_view key, std::optional<std::string_view> expected,
                                     std::optional<std::string_view> desired, const WriteOptions& options = {}) {
    return CompareAndSet(DefaultColumnFamily(), key, expected, desired, options);
  }
  absl::StatusOr<bool> DeleteIf(std::string_view key, std::string_view expected, const WriteOptions& options = {}) {
    return DeleteIf(DefaultColumnFamily(), key, expected, options);
  }
  absl::Status SetFilterEpoch(std::string_view epoch) { return SetFilterEpoch(DefaultColumnFamily(), epoch); }
  absl::Status Get(std::string_view key, PinnedValue& value, const ReadOptions& options = kDefaultReadOptions) {
    return Get(DefaultColumnFamily(), key, value, options);
  }
  absl::StatusOr<std::string> Get(std::string_view key, const ReadOptions& options = kDefaultReadOptions) {
    return Get(DefaultColumnFamily(), key, options);
  }
  absl::Status MultiGet(std::span<const std::string_view> keys, std::span<PinnedValue> values,
                        std::span<absl::Status> statuses, const ReadOptions& options = kDefaultReadOptions) {
    return MultiGet(DefaultColumnFamily(), keys, values, statuses, options);
  }
  std::vector<absl::StatusOr<std::string>> MultiGet(std::span<const std::string_view> keys,
                                                    const ReadOptions& options = kDefaultReadOptions) {
    return MultiGet(DefaultColumnFamily(), keys, options);
  }
  bool KeyMayExist(std::string_view key, const ReadOptions& options = kDefaultReadOptions) {
    return KeyMayExist(DefaultColumnFamily(), key, options);
  }
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options = kDefaultReadOptions) {
    return NewIterator(DefaultColumnFamily(), options);
  }
  [[nodiscard]] ScanRange Scan(const ReadOptions& options = kDefaultReadOptions) {
    return Scan(DefaultColumnFamily(), options);
  }
  absl::Status Flush(const FlushOptions& options = {}) { return Flush(DefaultColumnFamily(), options); }
  absl::Status CompactRange(const CompactRangeOptions& options = {}) {
    return CompactRange(DefaultColumnFamily(), options);
  }
  absl::StatusOr<GetExplanation> ExplainGet(std::string_view key, const ReadOptions& options = kDefaultReadOptions) {
    return ExplainGet(DefaultColumnFamily(), key, options);
  }
  std::optional<std::string> GetProperty(std::string_view name) { return GetProperty(DefaultColumnFamily(), name); }
  absl::StatusOr<Properties> GetProperties() { return GetProperties(DefaultColumnFamily()); }
  absl::StatusOr<std::vector<uint64_t>> GetApproximateSizes(std::span<const Range> ranges) {
    return GetApproximateSizes(DefaultColumnFamily(), ranges);
  }
  absl::StatusOr<double> ApproximateDistinct(const std::optional<Range>& range = std::nullopt) {
    return ApproximateDistinct(DefaultColumnFamily(), range);
  }
  absl::StatusOr<filters::BloomFilter> ExportFilter(const ExportFilterOptions& options = {},
                                                    const ReadOptions& read = kDefaultReadOptions) {
    return ExportFilter(DefaultColumnFamily(), options, read);
  }

 protected:
  DB() = default;
};

}  // namespace sepal
