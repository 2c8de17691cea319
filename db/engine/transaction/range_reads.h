// What an iterator of a serializable transaction has gone over.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "db/decide/transaction/conflict_set.h"
#include "db/engine/core/core.h"

namespace sepal {

// Shared by the iterator, which adds to it, and the transaction. Its memory is charged to the core's budget.
class RangeReads {
 public:
  RangeReads(std::shared_ptr<Core> core, ColumnFamilyId its_family, KeyOrder its_order)
      : family(its_family), order(its_order), core_(std::move(core)) {}
  ~RangeReads();
  RangeReads(const RangeReads&) = delete;
  RangeReads& operator=(const RangeReads&) = delete;

  // An end of a range that the first key to come decides, as nothing has been read yet.
  enum class Grows : uint8_t { kNone, kBegin, kEnd };
  // A seek. ResourceExhausted: there is no memory for more.
  absl::Status Begin(ConflictRange range, Grows grows);
  // The iterator has come to `key`; or to an end of its bounds, which are as in ConflictRange.
  void Extend(std::string_view key);
  void ExtendToEnd(const std::optional<std::string>& upper_bound);
  void ExtendToBegin(const std::optional<std::string>& lower_bound);

  const std::vector<ConflictRange>& ranges() const { return ranges_; }

  const ColumnFamilyId family;
  const KeyOrder order;

 private:
  const std::shared_ptr<Core> core_;
  std::vector<ConflictRange> ranges_;
  Grows grows_ = Grows::kNone;  // of the last range
  size_t charged_bytes_ = 0;
};

}  // namespace sepal
