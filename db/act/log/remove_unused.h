// Removing the logs that were begun and never used, so that the line of logs can be read after the process dies, or the
// power goes, between any two calls.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "db/act/log/log_recovery.h"

namespace sepal {

// Removes `recovery.leftovers` of `logs`, each for good before the next. An error leaves what another call removes.
absl::Status RemoveUnusedLogs(Directory* directory, const std::vector<LogFile>& logs, const LogRecovery& recovery);

}  // namespace sepal
