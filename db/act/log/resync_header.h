// Makes the header of the last log of a recovered line durable. Its writer may have died before that, and a new log
// that names it could otherwise outlive it.
#pragma once

#include "absl/status/status.h"
#include "db/act/log/log_recovery.h"

namespace sepal {

// To be called before a log is created whose predecessor is the last of `recovery.logs`. Does nothing if there is none.
absl::Status MakeLastHeaderDurable(Directory* directory, const LogRecovery& recovery);

}  // namespace sepal
