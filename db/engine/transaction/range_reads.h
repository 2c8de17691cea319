// The ranges that an iterator of a serializable transaction has read.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "db/decide/transaction/conflict_set.h"
#include "db/engine/core/core.h"

namespace sepal {

// Shared by the iterator, which adds to it, and the transaction. Its memory is charged to the core's budget.
class RangeReads {
 public:
  RangeReads(std::shared_ptr<Core> core, ColumnFamilyId family, KeyOrder order)
      : family_(family), order_(order), core_(std::move(core)) {}
  ~RangeReads();
  RangeReads(const RangeReads&) = delete;
  RangeReads& operator=(const RangeReads&) = delete;

  // The end of the range that the next key sets, because nothing has been read yet.
  enum class Grows : uint8_t { kNone, kBegin, kEnd };
  // Begins a seek. ResourceExhausted: there is no memory for more.
  absl::Status Begin(ConflictRange range, Grows grows);
  // Called when the iterator has reached `key`, or an end of its bounds, which are as in ConflictRange.
  void Extend(std::string_view key);
  void ExtendToEnd(const std::optional<std::string>& upper_bound);
  void ExtendToBegin(const std::optional<std::string>& lower_bound);

  void AddTo(ConflictSet* all) const;

 private:
  const ColumnFamilyId family_;
  const KeyOrder order_;
  const std::shared_ptr<Core> core_;
  ConflictSet before_;                    // of earlier seeks
  std::optional<ConflictRange> current_;  // of the last seek
  Grows grows_ = Grows::kNone;
  size_t charged_bytes_ = 0;
};

}  // namespace sepal
