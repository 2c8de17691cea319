// Determines which entries of a family its filter refuses (sepal/compaction_filter.h), at which point of history.
//
// An epoch belongs to a sequence number, and a read point has the newest epoch at or below it. Law: a reader loads its
// sequence number first, and then the epochs; only those epochs are forgotten that no present or later reader needs.
//
// An entry that a flush or a compaction removes must be refused at every read point that sees it. The read points of a
// stripe (retention.h) are at or above the snapshot that ends it, so that snapshot's epoch decides for all of them,
// because a filter is monotone. If a family has merges, nothing is removed: a later operand builds on a refused value,
// and the result may be kept.
//
// Pure.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "db/format/version_edit.h"
#include "sepal/compaction_filter.h"
#include "util/base/numbers.h"

namespace sepal {

// The epochs of a family, ascending; immutable.
struct FilterEpochs : std::enable_shared_from_this<FilterEpochs> {
  explicit FilterEpochs(std::vector<FilterEpoch> ascending) : list(std::move(ascending)) {}
  const std::vector<FilterEpoch> list;
};
using FilterEpochsRef = std::shared_ptr<const FilterEpochs>;

// Returns the epoch in force at `visible`; null if none was set by then.
const FilterEpoch* EpochAt(std::span<const FilterEpoch> epochs, SequenceNumber visible);
// Returns `epochs` followed by `added`, without those that no read point at or above `oldest_reader` has.
std::vector<FilterEpoch> WithEpoch(std::span<const FilterEpoch> epochs, SequenceNumber oldest_reader,
                                   FilterEpoch added);
// Returns the epochs that are in force at `last` or before.
std::vector<FilterEpoch> EpochsThrough(std::span<const FilterEpoch> epochs, SequenceNumber last);

// The error if the family has values that only the filter with that name can decide about.
absl::Status NoFilter(std::string_view family, std::string_view name);

// The filter for a flush or a compaction.
class StripeFilter {
 public:
  // `snapshots`: as for Retention. `epochs`: loaded after those were taken, and all durable; not null.
  StripeFilter(std::shared_ptr<const PureFilter> filter, FilterEpochsRef epochs,
               std::span<const SequenceNumber> snapshots);

  // Returns whether every reader of that stripe and of later ones finds an entry with `value` refused.
  bool Refuses(size_t stripe, std::string_view key, std::string_view value) const {
    return stripe < of_stripes_.size() && of_stripes_[stripe] != nullptr &&
           !filter_->Keep(key, value, of_stripes_[stripe]->epoch);
  }
  // Returns the sequence number of the epoch that decides in that stripe; 0 if there is none.
  SequenceNumber EpochOf(size_t stripe) const {
    const bool any = stripe < of_stripes_.size() && of_stripes_[stripe] != nullptr;
    return any ? of_stripes_[stripe]->sequence : SequenceNumber(0);
  }
  // The epoch in force above all stripes.
  SequenceNumber newest() const { return EpochOf(of_stripes_.size() - 1); }

 private:
  const std::shared_ptr<const PureFilter> filter_;
  const FilterEpochsRef epochs_;
  std::vector<const FilterEpoch*> of_stripes_;  // null: nothing is refused there
};

}  // namespace sepal
