// Reading what can be read of damaged write-ahead logs. Unlike recovery (log_recovery.h), it passes over bad places and
// goes on behind them: what it delivers is no prefix of the history, but every batch of it is whole. Where a log's
// header is damaged, the next log says what reading its records takes. Nothing is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "db/act/log/log_recovery.h"

namespace sepal {

// A place of a log that could not be read.
struct LogGap {
  std::string name;
  uint64_t begin_offset = 0;
  uint64_t end_offset = 0;
  std::string reason;
};

// Delivers the whole batches of all logs from `minimum` on, oldest first. `database_id` 0: any. An error of the sink
// ends it and is returned.
absl::Status SalvageLogs(Directory* directory, const std::vector<LogFile>& logs, uint64_t database_id,
                         FileNumber minimum, const LogSink& sink, std::vector<LogGap>* gaps);

}  // namespace sepal
