#include "db/engine/transaction/transaction_memory.h"

#include "absl/strings/str_format.h"

namespace sepal {

absl::Status CheckTransactionMemory(const MemoryBudget& budget, size_t bytes) {
  const size_t transactions = budget.used(MemoryPart::kTransactions), held = budget.unreclaimable();
  if (transactions + bytes <= budget.limit_bytes() / 2 && held + bytes <= budget.limit_bytes()) [[likely]]
    return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrFormat("a transaction needs %d more bytes. Of memory_limit (%d bytes) all transactions may have half, "
                      "and hold %d; %d are "
                      "held in all: commit or roll back transactions, or raise it",
                      bytes, budget.limit_bytes(), transactions, held));
}

}  // namespace sepal
