#include "db/decide/visibility/entry_filter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "util/base/check.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

// Returns how many of the epochs are in force at `visible` or before.
size_t CountThrough(std::span<const FilterEpoch> epochs, SequenceNumber visible) {
  const auto above = std::partition_point(epochs.begin(), epochs.end(),
                                          [&](const FilterEpoch& epoch) { return epoch.sequence <= visible; });
  return static_cast<size_t>(above - epochs.begin());
}

}  // namespace

const FilterEpoch* EpochAt(std::span<const FilterEpoch> epochs, SequenceNumber visible) {
  const size_t count = CountThrough(epochs, visible);
  return count == 0 ? nullptr : &epochs[count - 1];
}

std::vector<FilterEpoch> WithEpoch(std::span<const FilterEpoch> epochs, SequenceNumber oldest_reader,
                                   FilterEpoch added) {
  SEPAL_DCHECK(epochs.empty() || epochs.back().sequence < added.sequence);
  // The epoch that the oldest reader has, and later ones.
  const size_t passed = CountThrough(epochs, oldest_reader);
  const std::span<const FilterEpoch> needed = epochs.subspan(passed == 0 ? 0 : passed - 1);
  std::vector<FilterEpoch> with(needed.begin(), needed.end());
  with.push_back(std::move(added));
  return with;
}

std::vector<FilterEpoch> EpochsThrough(std::span<const FilterEpoch> epochs, SequenceNumber last) {
  const std::span<const FilterEpoch> through = epochs.first(CountThrough(epochs, last));
  return {through.begin(), through.end()};
}

absl::Status NoFilter(std::string_view family, std::string_view name) {
  return absl::FailedPreconditionError(
      absl::StrFormat("column family \"%s\" has the filter \"%s\", which decides what is there, and it was opened "
                      "without: open it with ColumnFamilyOptions::compaction_filter",
                      Printable(family), Printable(name)));
}

StripeFilter::StripeFilter(std::shared_ptr<const PureFilter> filter, FilterEpochsRef epochs,
                           std::span<const SequenceNumber> snapshots)
    : filter_(std::move(filter)), epochs_(std::move(epochs)) {
  of_stripes_.reserve(snapshots.size());
  for (const SequenceNumber snapshot : snapshots) of_stripes_.push_back(EpochAt(epochs_->list, snapshot));
}

}  // namespace sepal
