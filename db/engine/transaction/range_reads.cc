#include "db/engine/transaction/range_reads.h"

#include <algorithm>
#include <utility>

#include "db/engine/transaction/transaction_memory.h"
#include "util/base/status.h"

namespace sepal {

RangeReads::~RangeReads() {
  if (!core_->Forked()) core_->budget.Release(MemoryPart::kTransactions, charged_bytes_);
}

absl::Status RangeReads::Begin(ConflictRange range, Grows grows) {
  // Its ends may grow to other keys of about that size.
  const size_t bytes = sizeof(range) + 2 * std::max(range.begin.value_or("").size(), range.end.value_or("").size());
  RETURN_IF_ERROR(CheckTransactionMemory(core_->budget, bytes));
  core_->budget.Charge(MemoryPart::kTransactions, bytes);
  charged_bytes_ += bytes;
  ranges_.push_back(std::move(range));
  grows_ = grows;
  return absl::OkStatus();
}

void RangeReads::Extend(std::string_view key) {
  ConflictRange& range = ranges_.back();
  const Grows grows = std::exchange(grows_, Grows::kNone);
  if (grows == Grows::kBegin || IsBefore(order, key, range)) range.begin = std::string(key);
  if (grows == Grows::kEnd || IsBehind(order, key, range)) {
    range.end = std::string(key);
    range.end_inclusive = true;
  }
}

void RangeReads::ExtendToEnd(const std::optional<std::string>& upper_bound) {
  ranges_.back().end = upper_bound;
  ranges_.back().end_inclusive = false;
}

void RangeReads::ExtendToBegin(const std::optional<std::string>& lower_bound) { ranges_.back().begin = lower_bound; }

}  // namespace sepal
