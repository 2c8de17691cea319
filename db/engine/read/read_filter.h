// What the filter of a family lets its readers see (db/decide/visibility/entry_filter.h). A family without an epoch
// asks none of this: Family::reads_ask_more is false.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/engine/core/family_state.h"
#include "db/engine/read/point_lookup.h"
#include "sepal/iterator.h"

namespace sepal {

// What was found is `kRefused` if the filter refuses it to a reader at `visible`. FailedPrecondition: the filter is not
// at hand. Inside the epoch guard under which `visible` was loaded.
absl::Status HideIfRefused(const Family& family, std::string_view key, SequenceNumber visible, PointResult* result);

// The same for a reader that stays: the epoch as it is when this is made, inside the epoch guard under which `visible`
// was loaded. It may be asked at any time while the family is there.
class ReadFilter {
 public:
  ReadFilter(const Family& family, SequenceNumber visible);

  // Null: nothing is refused.
  const FilterEpoch* epoch() const { return epoch_; }
  // FailedPrecondition: the filter is not at hand.
  absl::StatusOr<bool> Keeps(std::string_view key, std::string_view value) const;
  absl::Status HideIfRefused(std::string_view key, PointResult* result) const;

 private:
  const Family& family_;
  const FilterEpochsRef epochs_;
  const FilterEpoch* const epoch_;
};

// Shows what `entries`, of the filter's family, shows and the filter keeps; `keys_only`: without the values, for which
// the filter is asked.
std::unique_ptr<Iterator> NewFilteredIterator(std::unique_ptr<Iterator> entries, ReadFilter filter, bool keys_only);

}  // namespace sepal
