// The tail of the write-ahead log in memory that outlives the process: the mapped, locked pages of a file of its own,
// `NNNNNN.ring`, which is never synced. A record is stored there, which is a copy, and written to the log file later,
// many records at once: by a task when a piece has come together, by whoever syncs, or by the appending thread when
// there is no room left. So the death of the process loses nothing, and a store waits neither for the disk nor for a
// page to be cleared (docs/internals/decisions/0004-write-ahead-log-ring-buffer.md).
//
// Bytes: db/format/log_format.h. What lay in the ring before never passes for a record: checksums are salted with the
// log's salt and the position.
//
// Laws:
// - What lies before `filed` is in the log files, what lies in [written, end) in the ring.
// - `written` lies between two records, at `filed` or before it, and nothing behind it is stored over. So each record
//   is whole in its file or in the ring; of one that is whole in its file a half may be stored over.
// - Tasks write up to multiples of a piece in the file, wherever those lie in a record: the system keeps and drops what
//   was written so in larger units (docs/internals/decisions/0004-write-ahead-log-ring-buffer.md).
// - Whoever calls the log files, but to sync records, holds the lock. Log files get their bytes in order.
// - A file takes records once its header is durable, and only then is it named by the ring's. The header's sync is made
//   with the lock held, most often by a task; who finds the ring full, has a large record or begins another file may
//   have to wait for it.
// - A write that failed is not tried again: what was not in a file by then stays in the ring, for recovery to find.
//
// Thread-safety: `GoOnIn`, `Append` and `Reserve` by one thread at a time; everything else by any, also beside them.
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
  // For so long pages that were made ready to be written are taken to be so.
  static constexpr uint64_t kReadyMicros = 100'000;

  struct Options {
    FileNumber number;     // in the name of the ring's file; never used before for a ring
    uint64_t bytes = 0;    // a multiple of 4096
    LogPosition position;  // of the first record
    // Charged with the ring; may be null.
    MemoryBudget* budget = nullptr;
    // Write pieces, and reserve space ahead, beside the appending thread, which else does it. To be closed before the
    // ring goes.
    TaskGroup* tasks = nullptr;
    // By which pages are made ready for a lap only after `kReadyMicros`; null: for each.
    Clock* clock = nullptr;
    // Told of a failure to write, by whoever met it.
    std::function<void(const absl::Status&)> on_failure = nullptr;
  };

  // An error says why there can be none: no mapping, no memory that may be locked, no space. The file's name is durable
  // after the next sync of the directory.
  static absl::StatusOr<std::unique_ptr<LogRing>> Make(Directory* directory, Options options);
  // Leaves the file, and what is not written, to recovery.
  ~LogRing();
  LogRing(const LogRing&) = delete;
  LogRing& operator=(const LogRing&) = delete;

  FileNumber number() const { return options_.number; }
  uint64_t bytes() const { return options_.bytes; }

  // Records from the end on belong to log `number`, and go to `output`; where that is not begun, a task begins it. That
  // of the log before is.
  void GoOnIn(FileNumber number, std::shared_ptr<LogOutput> output) ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes the header of the last log durable, unless it is.
  absl::Status Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  // Puts a record at the end, for which its file has space. An error is final.
  absl::Status Append(std::string_view header, std::string_view payload) ABSL_LOCKS_EXCLUDED(mutex_);
  // Space for the current file's bytes before `end`; see LogOutput::Reserve.
  absl::Status Reserve(uint64_t end) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns when all before `through`, which was appended, is in its file. `zero_ahead`: few bytes are about to be
  // synced.
  absl::Status WriteOut(LogPosition through, bool zero_ahead = false) ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes out all and gives back the current file's length behind its records. Nothing may be appended any more.
  absl::Status Finish() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Of the ring, as which its records are written.
  static constexpr uint64_t kPieces = 8;

  // Where the records from `begin` on go.
  struct Segment {
    FileNumber number;
    uint64_t begin;
    std::shared_ptr<LogOutput> output;
    bool named = false;  // by the ring's header, as the newest
  };

  LogRing(Options options, std::unique_ptr<WritableFile> file, std::unique_ptr<MappedRegion> region);
  uint64_t PieceBytes() const { return options_.bytes / kPieces; }
  // Of the file: a piece, of whole pages where it has one.
  uint64_t FilePieceBytes() const;
  // The last multiple at `end` or before it, where there is one that was not passed.
  uint64_t PassFilePieces(uint64_t end);
  // Where the first record ends that ends behind `position` and in a later piece: there is one when a record of at most
  // a piece does not fit into the ring before `position` is written.
  uint64_t PieceEndBehind(uint64_t position) const;
  void Store(uint64_t position, std::string_view bytes);
  // What lies before `through`, in a task; `boundary` is where the last record ends that lies before it.
  void WriteBeside(uint64_t boundary, uint64_t through);
  // Lets files go whose records are all in them.
  void DropWritten() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the pages ready for the lap of `position`, unless they were lately.
  absl::Status MakeReady(uint64_t position) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status BeginLast() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteOutLocked(uint64_t boundary, uint64_t through) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What lies in [begin, end), to the first of the files.
  absl::Status WriteToFirst(uint64_t begin, uint64_t end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // At once, of a record that is large.
  absl::Status WriteThrough(std::string_view header, std::string_view payload) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Keep(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Where `position` lies in the file of `segment`.
  static uint64_t OffsetIn(const Segment& segment, uint64_t position);

  const Options options_;
  const std::unique_ptr<WritableFile> file_;
  const std::unique_ptr<MappedRegion> region_;
  // Stored by the appending thread alone, and with the lock held.
  std::atomic<uint64_t> end_;
  std::atomic<uint64_t> written_;
  // The appending thread's: for each piece, by its number, where the record ended that was the first to reach into it.
  std::array<uint64_t, kPieces> piece_ends_ = {};
  // Likewise: where the current file next has a multiple of its pieces.
  uint64_t file_piece_end_ = 0;

  Mutex mutex_;
  std::deque<Segment> segments_ ABSL_GUARDED_BY(mutex_);
  uint64_t filed_ ABSL_GUARDED_BY(mutex_);
  uint64_t ready_lap_ ABSL_GUARDED_BY(mutex_);     // the last one for which the pages were made ready
  uint64_t ready_micros_ ABSL_GUARDED_BY(mutex_);  // and when
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal
