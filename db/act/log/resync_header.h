// The header of the last log of a recovered line, made durable: its writer may have died before it was, and a new log
// that names it would else outlive it.
#pragma once

#include "absl/status/status.h"
#include "db/act/log/log_recovery.h"

namespace sepal {

// To be called before a log is made whose predecessor is the last of `recovery.logs`. Nothing where there is none.
absl::Status MakeLastHeaderDurable(Directory* directory, const LogRecovery& recovery);

}  // namespace sepal
