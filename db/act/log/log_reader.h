// Reads the records of one write-ahead log from its file and from the ring that its header names
// (db/format/log_format.h).
//
// Beside a live writer a record moves: it is in the ring until it is in the file. A record that is found in neither may
// have moved between the two reads; `RetryBesideWriter` drops both windows.
//
// Not safe for concurrent use. Memory: the window on the file and, once a record is not found in it, one of the ring.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "db/act/files/buffered_file_reader.h"
#include "db/format/log_format.h"
#include "sepal/file_system.h"
#include "util/base/numbers.h"

namespace sepal {

struct LogRecord {
  LogRecordHeader header;
  std::string_view payload;
  uint64_t end = 0;  // its offset in the log's file
};

// Why no record was found in the file.
struct BadPlace {
  std::string what;
  std::string expected;
  std::string got;
};

class LogReader {
 public:
  static absl::StatusOr<LogReader> Open(Directory* directory, std::string_view name, const LogHeader& header,
                                        size_t window_bytes = size_t{1} << 20);
  // Over a window that is open.
  LogReader(Directory* directory, const LogHeader& header, BufferedFileReader file)
      : directory_(directory), header_(header), file_(std::move(file)) {}

  // Returns the record that begins at `offset` and ends at or before `limit`, if that is known. If there is none,
  // `bad`, unless it is null, says why. Its bytes are valid until the next call.
  absl::StatusOr<std::optional<LogRecord>> At(uint64_t offset, std::optional<uint64_t> limit, BadPlace* bad);
  // Before another look at `offset`.
  absl::Status RetryBesideWriter(uint64_t offset);
  // Finds headers of records in the ring, at `offset` or less than a lap after it. Reads all of it, and looks at every
  // byte.
  struct RingRecords {
    LogPosition durable;  // the greatest one among these records
    uint64_t bytes = 0;
  };
  absl::StatusOr<RingRecords> InRingBehind(uint64_t offset);

  // The window on the log's file.
  BufferedFileReader* file() { return &file_; }
  // The size of the ring; 0 if it was not needed or does not exist.
  uint64_t ring_bytes() const { return ring_ != nullptr ? header_.ring.bytes : 0; }
  // Whether the header names a ring whose file is missing, or was cut short by anything but a loss of power. A database
  // that was not closed cleanly needs it.
  absl::StatusOr<bool> RingIsMissing();

 private:
  absl::StatusOr<std::optional<LogRecord>> InFile(uint64_t offset, uint64_t limit, BadPlace* bad);
  absl::StatusOr<std::optional<LogRecord>> InRing(uint64_t offset, uint64_t limit);
  // Opens the ring's file, unless it was opened already; none, if it is missing or too short.
  absl::Status OpenRing();
  // Returns the bytes of the ring at `position`, at least `length`, which is at most its size. Valid until the next
  // call.
  absl::StatusOr<std::string_view> RingBytes(LogPosition position, uint64_t length);
  // Fills the window by one read, so that it is of one time: with what begins at `position`, or with all of the ring.
  absl::Status ReadRing(LogPosition position, uint64_t length);

  Directory* directory_;
  LogHeader header_;
  BufferedFileReader file_;
  bool ring_sought_ = false;
  bool ring_missing_ = false;
  std::unique_ptr<ReadableFile> ring_;
  std::string ring_window_;
  LogPosition ring_window_begin_;  // where the window is a part of the ring
  std::string wrapped_;
};

}  // namespace sepal
