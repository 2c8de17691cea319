// Which entries of a family its filter refuses (sepal/compaction_filter.h), at which point of history.
//
// An epoch belongs to a sequence number, and a read point has the newest one at or below it. Law: a reader loads the
// sequence number that it reads at first, and the epochs after it; and of the epochs those are forgotten that no reader
// needs which is there or may come.
//
// What a flush or a compaction removes must be refused at every read point that sees it. Those of a stripe
// (retention.h) are at or above the snapshot that ends it, so that its epoch decides for all of them: a filter is
// monotone. Where a family has merges, nothing is removed: an operand that comes later builds on what is refused, and
// what it makes may be kept.
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

// The epoch in force at `visible`; null: none was set by then.
const FilterEpoch* EpochAt(std::span<const FilterEpoch> epochs, SequenceNumber visible);
// `epochs` and then `added`, without those that no read point at or above `oldest_reader` has.
std::vector<FilterEpoch> WithEpoch(std::span<const FilterEpoch> epochs, SequenceNumber oldest_reader,
                                   FilterEpoch added);
// Those that are in force at `last` or before it.
std::vector<FilterEpoch> EpochsThrough(std::span<const FilterEpoch> epochs, SequenceNumber last);

// The family has values that only the filter of that name can decide about.
absl::Status NoFilter(std::string_view family, std::string_view name);

// What a flush or a compaction asks.
class StripeFilter {
 public:
  // `snapshots`: as for Retention. `epochs`: as they are later than those were taken, and all of them durable; not
  // null.
  StripeFilter(std::shared_ptr<const PureFilter> filter, FilterEpochsRef epochs,
               std::span<const SequenceNumber> snapshots);

  // Whether every reader of that stripe and of those above is to find an entry with `value` refused.
  bool Refuses(size_t stripe, std::string_view key, std::string_view value) const {
    return stripe < of_stripes_.size() && of_stripes_[stripe] != nullptr &&
           !filter_->Keep(key, value, of_stripes_[stripe]->epoch);
  }
  // The number from which on the epoch is in force that decides in that stripe; 0: none does.
  SequenceNumber EpochOf(size_t stripe) const {
    const bool any = stripe < of_stripes_.size() && of_stripes_[stripe] != nullptr;
    return any ? of_stripes_[stripe]->sequence : SequenceNumber(0);
  }
  // What is in force above all stripes.
  SequenceNumber newest() const { return EpochOf(of_stripes_.size() - 1); }

 private:
  const std::shared_ptr<const PureFilter> filter_;
  const FilterEpochsRef epochs_;
  std::vector<const FilterEpoch*> of_stripes_;  // null: nothing is refused there
};

}  // namespace sepal
