// Reads what can be read of damaged write-ahead logs. Unlike recovery (log_recovery.h), it skips bad places and
// continues after them: what it delivers is not a prefix of the history, but every batch of it is whole. If a log's
// header is damaged, the next log provides what is needed to read its records. Nothing is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "db/act/log/log_recovery.h"

namespace sepal {

// A part of a log that could not be read.
struct LogGap {
  std::string name;
  uint64_t begin_offset = 0;
  uint64_t end_offset = 0;
  std::string reason;
};

// Delivers the whole batches of all logs from `options.minimum` on, the oldest first. `options.database_id` 0: any. An
// error of the sink ends it and is returned.
absl::Status SalvageLogs(Directory* directory, const std::vector<LogFile>& logs, const LogRecoveryOptions& options,
                         const LogSink& sink, std::vector<LogGap>* gaps);

}  // namespace sepal
