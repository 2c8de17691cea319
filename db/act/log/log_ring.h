// The tail of the write-ahead log, in memory that outlives the process: the mapped, locked pages of a separate file,
// `NNNNNN.ring`, whose length alone is synced. A record is stored there, which is a copy, and written to the log file
// later, many records at once: by a task when a piece is complete, by a sync, or by the appending thread when there is
// no room left. So the death of the process loses nothing, and a store waits neither for the disk nor for a page to be
// cleared (docs/internals/decisions/0004-write-ahead-log-ring-buffer.md).
//
// Bytes: db/format/log_format.h. Old contents of the ring are never taken for a record, because checksums are salted
// with the log's salt and the position.
//
// Laws:
// - Everything before `filed` is in the log files, and everything in [written, end) is in the ring.
// - `written` lies between two records, at or before `filed`, and nothing after it is overwritten. So each record is
//   whole in its file or in the ring; of a record that is whole in its file, a part may be overwritten in the ring.
// - Tasks write up to multiples of a piece in the file, even in the middle of a record, because the system keeps and
//   drops such writes in larger units (docs/internals/decisions/0004-write-ahead-log-ring-buffer.md).
// - Every call on the log files, except a sync of records, is made with the lock held. Log files get their bytes in
//   order.
// - A file takes records once its header is durable, and only then does the ring's header name it. The header is synced
//   with the lock held, usually by a task; a thread that finds the ring full, has a large record or begins another file
//   may have to wait for that sync.
// - A failed write is not tried again: bytes that were not in a file by then stay in the ring, where recovery finds
//   them.
// - A file that takes no more records is cut to their end once they are all in it, usually by a task, so that it holds
//   no space that others need. Its successor's header states that end, so recovery needs no length for it.
//
// Thread-safety: `SwitchToLogFile`, `Append` and `Reserve` are called by one thread at a time; everything else by any
// thread, also concurrently with them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/act/log/log_output.h"
#include "sepal/env.h"
#include "sepal/file_system.h"
#include "util/base/numbers.h"
#include "util/memory/memory_budget.h"
#include "util/thread/sync.h"
#include "util/thread/task_group.h"

namespace sepal {

class LogRing {
 public:
  // The time for which pages that were made ready are assumed to stay ready.
  static constexpr uint64_t kReadyMicros = 100'000;

  struct Options {
    FileNumber number;     // in the name of the ring's file; never used for another ring
    uint64_t bytes = 0;    // a multiple of 4096
    LogPosition position;  // of the first record
    // Charged with the ring's memory; may be null.
    MemoryBudget* budget = nullptr;
    // Runs tasks that write pieces and reserve space ahead, instead of the appending thread. Must be closed before the
    // ring is destroyed.
    TaskGroup* tasks = nullptr;
    // With a clock, pages are made ready for a lap only after `kReadyMicros`; null: for each lap.
    Clock* clock = nullptr;
    // Called when a write fails, by the thread that met the failure.
    std::function<void(const absl::Status&)> on_failure = nullptr;
  };

  // An error says why there can be no ring: no mapping, no permission to lock memory, no space. The file's length is
  // durable; its name is after the next sync of the directory.
  static absl::StatusOr<std::unique_ptr<LogRing>> Make(Directory* directory, Options options);
  // Leaves the file, and everything that is not written out, to recovery.
  ~LogRing();
  LogRing(const LogRing&) = delete;
  LogRing& operator=(const LogRing&) = delete;

  FileNumber number() const { return options_.number; }
  uint64_t bytes() const { return options_.bytes; }

  // Records from the end on belong to log `number` and go to `output`; if that one is not begun, a task begins it. The
  // previous log is begun already.
  void SwitchToLogFile(FileNumber number, std::shared_ptr<LogOutput> output) ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes the header of the last log durable, unless it already is.
  absl::Status Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  // Appends a record for which its file has space. An error is final.
  absl::Status Append(std::string_view header, std::string_view payload) ABSL_LOCKS_EXCLUDED(mutex_);
  // Reserves space for the current file's bytes before `end`; see LogOutput::Reserve.
  absl::Status Reserve(uint64_t end) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns when everything before `through`, which was appended, is in its file. `zero_ahead`: few bytes are about to
  // be synced.
  absl::Status WriteOut(LogPosition through, bool zero_ahead = false) ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes everything out and releases the current file's length beyond its records. Nothing may be appended
  // afterwards.
  absl::Status Finish() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // The number of pieces of the ring in which its records are written.
  static constexpr uint64_t kPieces = 8;

  // The file to which the records from `begin` on go.
  struct Segment {
    FileNumber number;
    uint64_t begin;
    std::shared_ptr<LogOutput> output;
    bool named = false;  // whether the ring's header names it as the newest
  };

  // A file that takes no more records, and has them all.
  struct Sealed {
    std::shared_ptr<LogOutput> output;
    uint64_t bytes;  // up to the end of its records
  };

  LogRing(Options options, std::unique_ptr<WritableFile> file, std::unique_ptr<MappedRegion> region);
  uint64_t PieceBytes() const { return options_.bytes / kPieces; }
  // The size of a piece in the file: whole pages if the ring's piece has one.
  uint64_t FilePieceBytes() const;
  // Returns the last multiple of that size at or before `end`, if there is one that was not passed yet.
  uint64_t PassFilePieces(uint64_t end);
  // Returns the end of the first record that ends after `position` and in a later piece. There is one if a record of at
  // most a piece does not fit into the ring before `position` is written.
  uint64_t PieceEndBehind(uint64_t position) const;
  void Store(uint64_t position, std::string_view bytes);
  // Writes what is before `through`, in a task; `boundary` is the end of the last record that ends before it.
  void WriteBeside(uint64_t boundary, uint64_t through);
  // Seals files all of whose records are in them.
  void DropWritten() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives back the space beyond the records of the files that were sealed.
  absl::Status CutSealed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the pages ready for the lap of `position`, unless that was done recently.
  absl::Status MakeReady(uint64_t position) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status BeginLast() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteOutLocked(uint64_t boundary, uint64_t through) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes [begin, end) to the first of the files.
  absl::Status WriteToFirst(uint64_t begin, uint64_t end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes a large record at once, without storing it in the ring.
  absl::Status WriteThrough(std::string_view header, std::string_view payload) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Keep(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The offset of `position` in the file of `segment`.
  static uint64_t OffsetIn(const Segment& segment, uint64_t position);

  const Options options_;
  const std::unique_ptr<WritableFile> file_;
  const std::unique_ptr<MappedRegion> region_;
  // Stored only by the appending thread, and with the lock held.
  std::atomic<uint64_t> end_;
  std::atomic<uint64_t> written_;
  // For the appending thread only: for each piece, by its number, the end of the first record that reached into it.
  std::array<uint64_t, kPieces> piece_ends_ = {};
  // Likewise: the next position in the current file that is a multiple of its pieces.
  uint64_t file_piece_end_ = 0;

  Mutex mutex_;
  std::deque<Segment> segments_ ABSL_GUARDED_BY(mutex_);
  std::vector<Sealed> sealed_ ABSL_GUARDED_BY(mutex_);  // still to be cut
  uint64_t filed_ ABSL_GUARDED_BY(mutex_);
  uint64_t ready_lap_ ABSL_GUARDED_BY(mutex_);     // the last lap for which the pages were made ready
  uint64_t ready_micros_ ABSL_GUARDED_BY(mutex_);  // when that was done
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal
