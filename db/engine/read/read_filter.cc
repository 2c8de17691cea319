#include "db/engine/read/read_filter.h"

#include <utility>

#include "util/base/status.h"

namespace sepal {

namespace {

absl::StatusOr<bool> Ask(const Family& family, const FilterEpoch* epoch, std::string_view key, std::string_view value) {
  if (epoch == nullptr) return true;
  const PureFilter* const filter = family.options.compaction_filter.get();
  if (filter == nullptr) return NoFilter(family.name, family.filter_name);
  return filter->Keep(key, value, epoch->epoch);
}

absl::Status Hide(const Family& family, const FilterEpoch* epoch, std::string_view key, PointResult* result) {
  if (result->kind != PointResult::Kind::kFound) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool keeps, Ask(family, epoch, key, result->value));
  if (!keeps) *result = {.kind = PointResult::Kind::kRefused};
  return absl::OkStatus();
}

const FilterEpoch* EpochOf(const FilterEpochs* epochs, SequenceNumber visible) {
  return epochs == nullptr ? nullptr : EpochAt(epochs->list, visible);
}

FilterEpochsRef Share(const FilterEpochs* epochs) { return epochs == nullptr ? nullptr : epochs->shared_from_this(); }

class FilteredIterator final : public Iterator {
 public:
  FilteredIterator(std::unique_ptr<Iterator> entries, ReadFilter filter, bool keys_only)
      : filter_(std::move(filter)), keys_only_(keys_only), entries_(std::move(entries)) {}

  bool Valid() const override { return status_.ok() && entries_->Valid(); }
  void SeekToFirst() override {
    entries_->SeekToFirst();
    GoForward();
  }
  void SeekToLast() override {
    entries_->SeekToLast();
    GoBackward();
  }
  void Seek(std::string_view target) override {
    entries_->Seek(target);
    GoForward();
  }
  void SeekForPrev(std::string_view target) override {
    entries_->SeekForPrev(target);
    GoBackward();
  }
  void Next() override {
    entries_->Next();
    GoForward();
  }
  void Prev() override {
    entries_->Prev();
    GoBackward();
  }
  std::string_view key() const override { return entries_->key(); }
  std::string_view value() const override { return keys_only_ ? std::string_view() : entries_->value(); }
  absl::Status status() const override { return status_.ok() ? entries_->status() : status_; }

 private:
  // Moves from `entries_` to the first entry that the filter keeps.
  void GoForward() {
    for (status_ = absl::OkStatus(); entries_->Valid() && !StopsHere(); entries_->Next()) {
    }
  }
  void GoBackward() {
    for (status_ = absl::OkStatus(); entries_->Valid() && !StopsHere(); entries_->Prev()) {
    }
  }
  // Returns true at an entry that is shown, or if the filter cannot be asked.
  bool StopsHere() {
    const absl::StatusOr<bool> keeps = filter_.Keeps(entries_->key(), entries_->value());
    status_ = keeps.status();
    return !keeps.ok() || *keeps;
  }

  const ReadFilter filter_;
  const bool keys_only_;
  const std::unique_ptr<Iterator> entries_;
  absl::Status status_;  // of the entry at which the last call ended
};

}  // namespace

absl::Status HideIfRefused(const Family& family, std::string_view key, SequenceNumber visible, PointResult* result) {
  return Hide(family, EpochOf(family.filter_history.now(), visible), key, result);
}

// A list that replaces this one meanwhile would serve as well, because it has the epochs of all present readers.
ReadFilter::ReadFilter(const Family& family, SequenceNumber visible)
    : family_(family), epochs_(Share(family.filter_history.now())), epoch_(EpochOf(epochs_.get(), visible)) {}

absl::StatusOr<bool> ReadFilter::Keeps(std::string_view key, std::string_view value) const {
  return Ask(family_, epoch_, key, value);
}

absl::Status ReadFilter::HideIfRefused(std::string_view key, PointResult* result) const {
  return Hide(family_, epoch_, key, result);
}

std::unique_ptr<Iterator> NewFilteredIterator(std::unique_ptr<Iterator> entries, ReadFilter filter, bool keys_only) {
  return std::make_unique<FilteredIterator>(std::move(entries), std::move(filter), keys_only);
}

}  // namespace sepal
