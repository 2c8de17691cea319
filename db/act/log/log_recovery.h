// Reads the write-ahead logs: returns all acknowledged batches, in order, or `DataLoss`.
//
// The logs are ordered by their headers and must form one line: each names the previous one. Records are read up to the
// first bad place, the hole. If anything proves that the bytes at the hole were once durable (a watermark in a later
// record or header, a clean close), this is `DataLoss` with file, offset, expected and got; otherwise it is a torn end,
// which was never acknowledged as durable, and everything from there on is dropped. A batch is delivered whole or not
// at all.
//
// A log of the line may begin with batches that earlier logs hold too, if an opening wrote them there and died before
// its manifest no longer needed the earlier logs (LogStart::carried). They are delivered only once.
//
// One kind of damage cannot be distinguished from a torn end: damage to records after the last watermark, that is, to
// those of the last sync before a crash.
//
// Nothing is written. Works beside a live writer, where a file may disappear (NotFound, or DataLoss for a log that is
// missing in the line): the caller then starts again from the manifest.
//
// Cost: one sequential read with a window of 1 MiB, far away of 4 MiB, and at the end of a log that goes through a ring
// some reads of that; memory for the largest batch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/act/log/log_listing.h"
#include "db/act/log/write_ahead_log.h"
#include "db/format/log_format.h"
#include "sepal/file_system.h"
#include "util/base/numbers.h"

namespace sepal {

// A place between two batches.
struct LogPlace {
  FileNumber log;
  uint64_t salt = 0;  // of that log
  uint64_t offset = 0;
  SequenceNumber last_sequence;  // of the batch before it
};

struct LogRecoveryOptions {
  uint64_t database_id = 0;
  // From the manifest. 0: there may be no log at all. Otherwise the line begins with this log, which must exist.
  FileNumber minimum = {};
  // From the manifest's `log closed`.
  std::optional<LogEnd> closed = {};
  // Called for each batch before it is delivered. DataLoss: what the batch refers to is missing, so its place is bad;
  // other errors end the recovery. Null if batches refer to nothing.
  std::function<absl::Status(SequenceNumber first, std::string_view batch)> look = nullptr;
  // The directory as it was when the logs were listed, after the manifest was read: logs begun since are left out. None
  // if the manifest may need a log that was begun since.
  std::optional<std::span<const DirectoryEntry>> listing = {};
  // For a reader that continues where an earlier recovery ended: what lies before is not read again.
  std::optional<LogPlace> from = {};
  // Searches every byte after a bad place of the last log for proof that it was durable. If false, such a place counts
  // as the end of what was written, as it nearly always is beside a writer that continues.
  bool look_behind_the_end = true;
};

struct RecoveredLog {
  std::string name;
  FileNumber number;
  uint64_t salt = 0;
  LogPosition start;
  LogPosition end;  // of its last good record
};

struct LogRecovery {
  // False if the line does not continue from LogRecoveryOptions::from: that log is not needed any more, or a new writer
  // has cut off a part of what was read, and may have given its sequence numbers to other updates. Then nothing was
  // delivered.
  bool goes_on = true;
  SequenceNumber last_sequence;   // of the last entry delivered; 0 if there was none
  std::optional<LogPlace> place;  // after that entry; unset if there was none
  LogPosition end;                // of the last batch delivered
  LogPosition durable;            // the position up to which the logs are known to have been synced
  uint64_t batches = 0;
  uint64_t dropped_bytes = 0;      // in the torn end, without the zeros that follow it
  std::string torn;                // where and why, for people; empty if the logs ended without damage
  std::vector<RecoveredLog> logs;  // the line, the oldest first
  // Files to which no record was ever written. Those below the minimum are not included: the edit that set it may not
  // be durable, so they must stay until it is.
  std::vector<std::string> leftovers;

  // Says how the logs continue in file `number`; `last_used` is the greater of this recovery's last sequence number and
  // the manifest's.
  LogStart Next(FileNumber number, SequenceNumber last_used, ManifestReference manifest) const;
};

// Receives a batch whose first entry has the sequence number `first`. The bytes are complete but need not be a valid
// batch. An error ends the recovery, which returns it; a DataLoss gets the place of the batch.
using LogSink = std::function<absl::Status(SequenceNumber first, std::string_view batch)>;

// After a failure, batches before the damage may have been delivered.
absl::StatusOr<LogRecovery> RecoverLogs(Directory* directory, const std::vector<LogFile>& logs,
                                        const LogRecoveryOptions& options, const LogSink& sink);

}  // namespace sepal
