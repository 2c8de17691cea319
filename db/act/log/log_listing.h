// The write-ahead logs and rings of a directory, with their headers (db/format/log_format.h). Nothing is written. Works
// beside a live writer, where a file may disappear (NotFound).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/act/files/buffered_file_reader.h"
#include "db/format/log_format.h"
#include "sepal/file_system.h"
#include "util/base/numbers.h"

namespace sepal {

// A file that is named as a log.
struct LogFile {
  std::string name;
  FileNumber named;                 // the number in its name
  std::optional<LogHeader> header;  // none: `problem` says why
  absl::Status problem = {};
  // Whether there were bytes other than zero behind the header as that was read; none: its first page does not tell.
  std::optional<bool> has_bytes = {};
  // A window on the file, where one was asked for: whoever reads it takes what is in it.
  std::shared_ptr<BufferedFileReader> window = {};
};

absl::StatusOr<LogFile> ReadLogHeader(Directory* directory, const std::string& name, FileNumber named);

// Lists all logs in a directory with their headers. Must be called before the manifest is read, because what a header
// says about the manifest is older than the header.
absl::StatusOr<std::vector<LogFile>> ListLogs(Directory* directory);
// Where a log will be read: far away these bytes travel with the headers.
struct LogWindow {
  FileNumber named;
  uint64_t offset = 0;
};
inline constexpr size_t kLogWindowFarAway = size_t{4} << 20;
// The same, from a listing of the directory.
absl::StatusOr<std::vector<LogFile>> ListLogs(Directory* directory, std::span<const DirectoryEntry> listing,
                                              std::optional<LogWindow> ahead = std::nullopt);

// A file that is named as a ring.
struct RingFile {
  std::string name;
  FileNumber named;
  std::optional<RingHeader> header;  // none: never written, or damaged
};

absl::StatusOr<std::vector<RingFile>> ListRings(Directory* directory);
// The same, from a listing of the directory.
absl::StatusOr<std::vector<RingFile>> ListRings(Directory* directory, std::span<const DirectoryEntry> listing);
// The greatest number of a log or a ring in any ring's name or header: numbers up to it were used.
FileNumber NewestNumber(const std::vector<RingFile>& rings);

// Whether nothing was ever written after the header: no byte of the file there differs from zero, and the log's ring,
// if it has one, holds no record of it. `listing`: as it was when the logs were listed, by the rings that there
// were; none: as it is now.
absl::StatusOr<bool> HoldsNoRecord(Directory* directory, const LogFile& log,
                                   std::optional<std::span<const DirectoryEntry>> listing = std::nullopt);

// The newest manifest that a log of this listing names, and what that log says about it.
ManifestReference NewestManifest(const std::vector<LogFile>& logs);

}  // namespace sepal
