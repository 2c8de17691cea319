// Removes logs that were begun and never used, so that the line of logs can be read even if the process dies, or the
// power fails, between any two calls.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "db/act/log/log_recovery.h"

namespace sepal {

// Removes `recovery.leftovers` of `logs`, each one durably before the next. After an error, another call removes the
// rest.
absl::Status RemoveUnusedLogs(Directory* directory, const std::vector<LogFile>& logs, const LogRecovery& recovery);

}  // namespace sepal
