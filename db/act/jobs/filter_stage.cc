#include "db/act/jobs/filter_stage.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "db/decide/visibility/visibility.h"
#include "db/format/expiring_value.h"
#include "db/format/value_reference.h"
#include "sepal/db.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/base/unix_time.h"

namespace sepal {

class FilterStage::JudgedEntry final : public FilterEntry {
 public:
  JudgedEntry(const InternalKeyView& key, std::string_view value, ValueStore* values)
      : key_(key.user_key), value_(value), values_(values) {
    switch (MeaningOf(key.trailer)) {
      case Meaning::kExpiring: {
        const ExpiringValue expiring = ParseExpiringValue(value);
        value_ = expiring.value;
        expires_at_ = TimeOfMillis(expiring.expiry_millis);
        break;
      }
      case Meaning::kReference:
      case Meaning::kValue:
      case Meaning::kAbsent:
      case Meaning::kOperand:
        break;
    }
    reference_ = ReferenceOf(key.kind(), value);
  }

  std::string_view key() const override { return key_; }
  uint64_t value_bytes() const override { return reference_.has_value() ? reference_->value_bytes() : value_.size(); }
  std::optional<std::chrono::system_clock::time_point> expires_at() const override { return expires_at_; }
  absl::StatusOr<std::string_view> Value() const override {
    if (!reference_.has_value()) return value_;
    if (!fetched_) {
      RETURN_IF_ERROR(values_->Read(*reference_, &separated_));
      fetched_ = true;
    }
    return separated_;
  }

 private:
  const std::string_view key_;
  std::string_view value_;
  ValueStore* const values_;
  std::optional<std::chrono::system_clock::time_point> expires_at_;
  std::optional<ValueReference> reference_;
  mutable bool fetched_ = false;
  mutable std::string separated_;
};

bool FilterStage::IsToJudge(const InternalKeyView& key, bool first_of_key) const {
  if (filter_ == nullptr || !first_of_key) return false;
  switch (MeaningOf(key.trailer)) {
    case Meaning::kValue:
    case Meaning::kExpiring:
    case Meaning::kReference:
      return !options_.newest_snapshot.has_value() || key.sequence() > *options_.newest_snapshot;
    case Meaning::kAbsent:
    case Meaning::kOperand:
      break;
  }
  return false;
}

absl::Status FilterStage::Add(const InternalKeyView& key, std::string_view value, bool first_of_key) {
  if (!IsToJudge(key, first_of_key)) return emit_(key, value, first_of_key);
  absl::StatusOr<FilterVerdict> verdict = Judge(key, value);
  if (!verdict.ok()) {
    status_ = std::move(verdict).status();
    filter_.reset();
    return emit_(key, value, first_of_key);
  }
  switch (verdict->kind) {
    case FilterVerdict::Kind::kKeep:
      break;
    case FilterVerdict::Kind::kRemoveThrough:
      remove_through_ = std::move(verdict->bytes);
      return Remove(key);
    case FilterVerdict::Kind::kRemove:
      return Remove(key);
    case FilterVerdict::Kind::kChange:
      return Change(key, value, verdict->bytes);
  }
  return emit_(key, value, first_of_key);
}

absl::StatusOr<FilterVerdict> FilterStage::Judge(const InternalKeyView& key, std::string_view value) {
  if (remove_through_.has_value()) {
    if (options_.order.Compare(key.user_key, *remove_through_) <= 0) return FilterVerdict::Remove();
    remove_through_.reset();
  }
  const JudgedEntry entry(key, value, options_.values);
  absl::StatusOr<FilterVerdict> verdict = filter_->Judge(entry);
  if (verdict.ok() && verdict->kind == FilterVerdict::Kind::kChange && verdict->bytes.size() > kMaxValueBytes) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the filter with context changes the value of \"%s\" to one of %u bytes; at most %u are possible",
        Printable(key.user_key), verdict->bytes.size(), kMaxValueBytes));
  }
  return verdict;
}

absl::Status FilterStage::Remove(const InternalKeyView& key) {
  // Nothing lies below an entry with sequence number 0.
  if (key.sequence() == SequenceNumber(0) || (options_.bottommost && !options_.newest_snapshot.has_value())) {
    ++dropped_;
    return absl::OkStatus();
  }
  return emit_({key.user_key, PackTrailer(key.sequence(), ValueKind::kDelete)}, {}, /*first_of_key=*/true);
}

absl::Status FilterStage::Change(const InternalKeyView& key, std::string_view value, const std::string& changed) {
  const ValueKind kind = InlineKind(key.kind());
  return emit_({key.user_key, PackTrailer(key.sequence(), kind)}, WithSameExpiry(kind, value, changed),
               /*first_of_key=*/true);
}

}  // namespace sepal
