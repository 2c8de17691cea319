// The memory of open transactions: what they have written, read and locked.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "util/memory/memory_budget.h"

namespace sepal {

// ResourceExhausted: that many more bytes do not fit. All transactions together get half of the limit, so that
// memtables have room for what they commit.
absl::Status CheckTransactionMemory(const MemoryBudget& budget, size_t bytes);

}  // namespace sepal
