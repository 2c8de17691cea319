// Which of the listed logs form the line that log_recovery.h reads, by their headers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/act/log/log_listing.h"
#include "db/act/log/log_recovery.h"
#include "db/format/log_format.h"
#include "sepal/file_system.h"
#include "util/base/numbers.h"

namespace sepal {

// A log without records.
struct UnusedLog {
  LogHeader header;
  // Nothing was written to it: its ring exists, or its file was cut to its header, as a clean close does.
  bool empty = false;
};

struct LogLine {
  std::vector<LogFile> logs;  // the oldest first; each has a header
  std::vector<std::string> leftovers;
  std::vector<UnusedLog> unused;  // the newest one first
  // The position up to which, according to the headers of unused logs, the line was synced.
  LogPosition witnessed;
};

// Sorts the files into the line and the leftovers. Files below the minimum are neither. DataLoss: they form no line.
absl::StatusOr<LogLine> FindLogLine(Directory* directory, const LogRecoveryOptions& options,
                                    const std::vector<LogFile>& logs);

// For messages.
std::string PathOfLog(Directory* directory, std::string_view name);

}  // namespace sepal
