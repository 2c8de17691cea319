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
  if (current_.has_value()) before_.AddRange(family_, order_, *std::exchange(current_, std::nullopt));
  // Its ends may later become other keys of about that size.
  const size_t most = std::max(range.begin.value_or("").size(), range.end.value_or("").size());
  const size_t bytes = before_.MemoryBytes() + sizeof(range) + 2 * most;
  MemoryBudget& budget = core_->budget;
  if (bytes > charged_bytes_) {
    RETURN_IF_ERROR(CheckTransactionMemory(budget, bytes - charged_bytes_));
    budget.Charge(MemoryPart::kTransactions, bytes - charged_bytes_);
  } else {
    budget.Release(MemoryPart::kTransactions, charged_bytes_ - bytes);
  }
  charged_bytes_ = bytes;
  current_ = std::move(range);
  grows_ = grows;
  return absl::OkStatus();
}

void RangeReads::Extend(std::string_view key) {
  if (!current_.has_value()) return;  // the seek was refused
  const Grows grows = std::exchange(grows_, Grows::kNone);
  if (grows == Grows::kBegin || IsBefore(order_, key, *current_)) current_->begin = std::string(key);
  if (grows == Grows::kEnd || IsBehind(order_, key, *current_)) {
    current_->end = std::string(key);
    current_->end_inclusive = true;
  }
}

void RangeReads::ExtendToEnd(const std::optional<std::string>& upper_bound) {
  if (!current_.has_value()) return;
  current_->end = upper_bound;
  current_->end_inclusive = false;
}

void RangeReads::ExtendToBegin(const std::optional<std::string>& lower_bound) {
  if (current_.has_value()) current_->begin = lower_bound;
}

void RangeReads::AddTo(ConflictSet* all) const {
  all->Add(before_);
  if (current_.has_value()) all->AddRange(family_, order_, *current_);
}

}  // namespace sepal
