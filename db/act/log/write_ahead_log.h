// The write-ahead log. A record survives the death of the process once `Append` has returned, and a power loss once a
// `Sync` that covers it has. Bytes: db/format/log_format.h.
//
// If the file system can map and lock memory and reserve space, a record is stored in the ring, from which it goes to
// the log file later (`LogRing`); otherwise it is written to the file at once.
//
// Laws:
// - A new log file's header and name are synced before its first record is written and before a successor's header
//   names it, the name perhaps long before; so is the name of the ring. So a successor proves that its predecessor
//   existed, and a log whose header is damaged is empty only if there is nothing after the header. If only the end of a
//   file can be lost (`LogOptions::in_order`), records follow the header unsynced, which is equivalent.
// - No two syncs of one file are under way at once, since one of them would not be told that the other failed.
// - A sync covers all earlier log files first, or together with the last one, because a log that lacks its end
//   invalidates those that name it.
// - A failed write or sync is final: every later call fails with its error. The fate of records not synced by then is
//   unknown, and this process must not use their sequence numbers again.
// - A full disk is not such a failure: space is allocated before anything is written, and if there is none, `Append`
//   and `Rotate` fail with ResourceExhausted and leave the log's records unchanged. They may be called again.
// - Only the current file, and one that is made ahead, have space beyond their records.
// - After recovery, nothing is appended before an edit that makes the new log the minimum is durable. By then all
//   replayed batches are in tables, or the new log begins with them and is synced. From then on all earlier positions
//   count as durable; the records with which the log begins do not claim that yet.
//
// Thread-safety: `Append`, `Rotate`, `PrepareNextFile` and `Close` are called by one thread at a time (under the commit
// lock); everything else may run concurrently with them and with itself. There is one internal lock, which is never
// held during a file operation, and one beside it for syncs in order; the clock is the only external call that is made
// with the first held. An append takes no lock: it publishes its end (a release store) after its bytes.
//
// Cost: an append is a copy or one write call, and neither allocates nor locks; once in an eighth of the ring, it
// schedules a task; if the tasks fall behind by a whole ring, it writes a part of the ring itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/act/log/log_output.h"
#include "db/act/log/log_ring.h"
#include "db/act/log/preallocated_log.h"
#include "db/decide/writing/sync_group.h"
#include "db/format/log_format.h"
#include "sepal/env.h"
#include "sepal/file_system.h"
#include "util/base/numbers.h"
#include "util/base/random.h"
#include "util/memory/memory_budget.h"
#include "util/thread/side_job.h"
#include "util/thread/sync.h"

namespace sepal {

struct LogOptions {
  uint64_t database_id = 0;
  // Salts are drawn from it and from the log's number.
  uint64_t random_seed = 0;
  // Space is reserved in steps of this size.
  uint64_t allocation_step_bytes = 4 << 20;
  // The size of the ring, a multiple of 4096; files are then longer than their records, even if there can be no ring.
  // 0: records are written at once. Requires that the file system reserves space.
  uint64_t ring_bytes = 0;
  // Charged with the ring; may be null; otherwise it must outlive the log.
  MemoryBudget* budget = nullptr;
  // Create the next file ahead and write the ring out; may be null; otherwise it must be closed before the log is
  // destroyed.
  TaskGroup* tasks = nullptr;
  // Only the end of a file that was not synced can be lost, so that one sync is enough for a header and the records
  // after it. There is no ring then.
  bool in_order = false;
  // A larger batch is written in fragments, so that the write buffer stays small.
  size_t max_fragment_bytes = 1 << 20;
  // Measures syncs, which then wait for calls that are likely to come (db/decide/writing/sync_group.h), and tells when
  // the ring's pages were last made ready. If null, no sync waits.
  Clock* clock = nullptr;
  // What records refer to. Each sync of records makes it durable as well, in parallel with the log's files if
  // `executor`, which must outlive the log, has a thread for that.
  struct Referred {
    std::function<bool()> due = nullptr;  // whether any of it may not be durable; null if records refer to nothing
    std::function<absl::Status()> sync = nullptr;  // makes everything written before durable; a failure is the log's
    Executor* executor = nullptr;
  };
  Referred referred = {};
  // Called after each sync with its duration, by the thread that made it. Requires a clock.
  std::function<void(std::string_view path, uint64_t micros)> on_sync = nullptr;
};

// A batch of a log. Its first entry has the sequence number `first`.
struct LoggedBatch {
  SequenceNumber first = {};
  std::string bytes;
};

// The beginning of a new line of log files; LogRecovery::Next makes it from what was recovered.
struct LogStart {
  FileNumber number = {};             // of the first file
  LogPosition position = {};          // the end of the recovered logs; 0 for a new database
  LogPosition durable = {};           // the position up to which they are known to be durable
  LogPredecessor predecessor = {};    // number 0: none
  SequenceNumber last_sequence = {};  // the last one used
  ManifestReference manifest = {};    // the one that takes edits now
  // Batches of the recovered logs, in order, which the new log holds again, so that nothing depends on the old ones.
  std::span<const LoggedBatch> carried = {};
};

// A log file that is still needed.
struct LiveLog {
  FileNumber number = {};
  LogPosition start = {};
  LogPosition end = {};
  SequenceNumber last_sequence = {};  // of the last entry in it or before it
  uint64_t size_bytes = 0;            // the header included
  bool durable = false;               // synced to its end
};

// The end of a log that was closed cleanly: the manifest's `log closed`.
struct LogEnd {
  FileNumber number = {};
  uint64_t length_bytes = 0;
};

class WriteAheadLog {
 public:
  // Creates the first file, and syncs it with what is carried over. `directory` must outlive the log.
  static absl::StatusOr<std::unique_ptr<WriteAheadLog>> Create(Directory* directory, LogOptions options,
                                                               const LogStart& start);
  // Closes the files without syncing.
  ~WriteAheadLog();
  WriteAheadLog(const WriteAheadLog&) = delete;
  WriteAheadLog& operator=(const WriteAheadLog&) = delete;

  // Writes a batch (batch_format.h; at least its header) whose first entry has the sequence number `first`, which must
  // be greater than all earlier ones. Returns the position of its end.
  absl::StatusOr<LogPosition> Append(SequenceNumber first, std::string_view batch);

  // Returns once everything up to `through` (at most End()) is on the disk. One sync serves all waiting calls, and
  // itself waits for a fraction of its duration for further calls that are likely to come.
  absl::Status Sync(LogPosition through) ABSL_LOCKS_EXCLUDED(mutex_);

  // Continues in a new file, the one that was created ahead if it is ready, else `next`; returns its number. `next`
  // must be greater than every earlier log number and never used before, not even by a failed `Rotate`. The old file
  // stays live. The new file's header may become durable later: before any record after it does, and before `BeginFile`
  // returns.
  absl::StatusOr<FileNumber> Rotate(FileNumber next, ManifestReference manifest) ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes the current file's header durable, unless it already is; returns the file's number. No edit may depend on a
  // log whose header could still be lost.
  absl::StatusOr<FileNumber> BeginFile() ABSL_LOCKS_EXCLUDED(mutex_);
  // Creates the file for the next `Rotate` concurrently with the writer, if one is wanted; its number must satisfy the
  // conditions of `Rotate`. The current file's header, which that one depends on, is made durable too.
  bool WantsNextFile() const { return next_file_.wanted(); }
  void PrepareNextFile(FileNumber number);
  // Returns a function that any thread may call to wait for the file that is being created; null if none is.
  std::function<void()> NextFileAwaiter() const { return next_file_.Awaiter(); }
  // Removes the file that was created ahead, because the log will not continue.
  void DiscardNextFile() { next_file_.Discard(); }

  // Drops the files below `number`, whose updates are in tables or dropped. The current file stays. The caller removes
  // the files from the directory.
  void ForgetBefore(FileNumber number) ABSL_LOCKS_EXCLUDED(mutex_);

  // Syncs and closes everything. Later appends fail with FailedPrecondition.
  absl::StatusOr<LogEnd> Close() ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes the ring's file. To be called once it is durable that the log was closed; if the file remains nevertheless,
  // the next opening removes it.
  void RemoveRing();

  // The end of the last record that was appended.
  LogPosition End() const { return LogPosition(end_.load(std::memory_order_acquire)); }
  // Everything before this position is on the disk.
  LogPosition Durable() const { return LogPosition(durable_.load(std::memory_order_acquire)); }
  // The oldest first; the last one takes the appends.
  std::vector<LiveLog> Live() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The bytes of all live files.
  uint64_t LiveBytes() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The number in the name of the ring's file; 0: there is none.
  FileNumber RingNumber() const { return ring_ == nullptr ? FileNumber() : ring_->number(); }
  // How records get into the files, for people: through a ring, or one by one and why.
  std::string ModeText() const;
  // The error that made the log fail for good, or ok.
  absl::Status Failure() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct OpenLog;
  // A call of `Sync` that has to wait.
  struct SyncCall {
    LogPosition through = {};
    bool counted = false;
    bool gathers = false;        // this call is the one that waits for others
    uint64_t gathers_since = 0;  // the time when it last began to
  };
  // One sync of everything that was appended when it began.
  struct SyncRound {
    LogPosition target = {};
    bool small = false;
    std::vector<std::shared_ptr<LogOutput>> files = {};
    std::vector<FileNumber> numbers = {};  // the numbers of the files
  };

  WriteAheadLog(Directory* directory, LogOptions options, const LogStart& start);
  static absl::StatusOr<std::unique_ptr<WriteAheadLog>> CreateOnce(Directory* directory, LogOptions options,
                                                                   const LogStart& start);
  // Continues in `made`, else in a new file; returns the number.
  absl::StatusOr<FileNumber> StartFile(LogHeader header, std::optional<PreallocatedLog::Made> made);
  // Begins the log with `start.carried`, synced.
  absl::Status Carry(const LogStart& start) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns null, and sets `why_no_ring_`, if there can be no ring.
  std::unique_ptr<LogRing> MakeRing(const LogStart& start);
  absl::Status ReserveSpace(uint64_t bytes);
  // Writes the records of a batch; each says that everything before `durable` was synced.
  absl::Status WriteBatch(SequenceNumber first, std::string_view batch, LogPosition durable);
  absl::Status WriteRecord(SequenceNumber first, LogRecordKind kind, LogPosition durable, std::string_view payload);
  // Releases the length beyond the records.
  absl::Status CutToRecords();
  absl::Status Latch(const absl::Status& error) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Usable() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The end of a live log's records.
  LogPosition EndOf(const OpenLog& log) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t NowMicros() const { return options_.clock != nullptr ? options_.clock->MonotonicMicros() : 0; }
  // Counts a call for the sync that will serve it.
  void CountCall(SyncCall* call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // How long a call should wait for a sync that another thread makes, or for more calls; 0: it must sync now.
  uint64_t MicrosToWait(SyncCall* call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the header of log `number`, which is the current one or was, durable unless it already is.
  absl::Status BeginInOrder(const std::shared_ptr<LogOutput>& output, FileNumber number)
      ABSL_LOCKS_EXCLUDED(mutex_, sync_mutex_);
  // Between these two calls no other thread syncs.
  SyncRound BeginRound() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status FinishRound(SyncRound round) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns when no sync is running.
  void AwaitRound() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status SyncFiles(const SyncRound& round);
  absl::Status SyncRecords(const SyncRound& round);
  absl::Status SyncFile(LogOutput* file, FileNumber number) const;
  // If only the end of a file can be lost: waits for all files at once. A failure is latched before another sync can
  // begin. `last`: the number of the last file.
  absl::Status SyncInOrder(std::span<const std::shared_ptr<LogOutput>> outputs, FileNumber last)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(sync_mutex_) ABSL_LOCKS_EXCLUDED(mutex_);

  // Constant.
  Directory* const directory_;
  const LogOptions options_;

  // Used by the appending thread only.
  Random random_;
  absl::Status why_no_ring_;
  const std::unique_ptr<LogRing> ring_;  // null: records are written at once
  PreallocatedLog next_file_;
  std::shared_ptr<LogOutput> output_;
  LogHeader header_;
  uint64_t offset_ = 0;  // the offset of the next record
  std::string buffer_;

  // The job of the thread that syncs; null if records refer to nothing.
  const std::unique_ptr<SideJob> beside_;

  // Stored only by the appending thread.
  std::atomic<uint64_t> end_;
  std::atomic<uint64_t> last_sequence_;
  // Changes only with the mutex held.
  std::atomic<uint64_t> durable_;
  std::atomic<bool> usable_{true};  // false once it has failed or was closed

  Mutex sync_mutex_;  // held by syncs in order; taken before the other
  mutable Mutex mutex_;
  // Advances at a failure, and after each sync once the mutex is released: a thread that it wakes finds its position
  // durable, and needs no lock.
  EventCount rounds_;
  std::deque<OpenLog> logs_ ABSL_GUARDED_BY(mutex_);
  bool syncing_ ABSL_GUARDED_BY(mutex_) = false;
  LogPosition sync_target_ ABSL_GUARDED_BY(mutex_);  // the target of the running sync
  SyncGroup group_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal
