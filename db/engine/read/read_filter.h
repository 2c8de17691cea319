// What a family's filter lets its readers see (db/decide/visibility/entry_filter.h). A family without an epoch never
// uses this: Family::reads_ask_more is false.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/engine/core/family_state.h"
#include "db/engine/read/point_lookup.h"
#include "sepal/iterator.h"

namespace sepal {

// Makes the result `kRefused` if the filter refuses it to a reader at `visible`. FailedPrecondition: the filter is
// missing. Called inside the epoch guard under which `visible` was loaded.
absl::Status HideIfRefused(const Family& family, std::string_view key, SequenceNumber visible, PointResult* result);

// The same for a reader that stays: it takes the epoch when it is made, inside the epoch guard under which `visible`
// was loaded. It may be asked at any time while the family exists.
class ReadFilter {
 public:
  ReadFilter(const Family& family, SequenceNumber visible);

  // Null if nothing is refused.
  const FilterEpoch* epoch() const { return epoch_; }
  // FailedPrecondition: the filter is missing.
  absl::StatusOr<bool> Keeps(std::string_view key, std::string_view value) const;
  absl::Status HideIfRefused(std::string_view key, PointResult* result) const;

 private:
  const Family& family_;
  const FilterEpochsRef epochs_;
  const FilterEpoch* const epoch_;
};

// Shows the entries that `entries`, of the filter's family, shows and the filter keeps. With `keys_only`, without the
// values, which only the filter gets.
std::unique_ptr<Iterator> NewFilteredIterator(std::unique_ptr<Iterator> entries, ReadFilter filter, bool keys_only);

}  // namespace sepal
