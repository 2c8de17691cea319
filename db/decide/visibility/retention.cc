#include "db/decide/visibility/retention.h"

#include <algorithm>

#include "util/base/check.h"

namespace sepal {

Retention::Retention(RetentionOptions options)
    : options_(std::move(options)),
      asks_more_(options_.ranges != nullptr || options_.filter != nullptr),
      ranges_(options_.order, options_.ranges) {
  SEPAL_CHECK(!options_.snapshots.empty());
  SEPAL_CHECK(std::is_sorted(options_.snapshots.begin(), options_.snapshots.end()));
}

size_t Retention::StripeAbove(SequenceNumber sequence) const {
  const SequenceNumber last = options_.snapshots.back();
  if (sequence <= last) [[likely]]
    return sepal::StripeOf(options_.snapshots, sequence);
  return options_.snapshots.size() + static_cast<size_t>(sequence.value() - last.value() - 1);
}

SequenceNumber Retention::StripeBegin() const {
  if (stripe_ == 0) return SequenceNumber(0);
  const size_t last = options_.snapshots.size() - 1;
  if (stripe_ <= last) return options_.snapshots[stripe_ - 1].next();
  return SequenceNumber(options_.snapshots[last].value() + 1 + (stripe_ - last - 1));
}

bool Retention::IsCovered(const InternalKeyView& key) {
  const std::span<const SequenceNumber> deletes = ranges_.Covering(key.user_key);
  under_range_ = !deletes.empty();
  const auto above = std::find_if(deletes.rbegin(), deletes.rend(),
                                  [&](SequenceNumber sequence) { return sequence > key.sequence(); });
  if (above == deletes.rend()) return false;
  // The next delete above it; if that is in another stripe, so are those above it.
  const size_t stripe = StripeOf(key.sequence());
  if (stripe >= options_.snapshots.size() || stripe != StripeOf(*above)) {
    kept_under_ = std::min(kept_under_.value_or(*above), *above);
    return false;
  }
  ++counts_.entries_in;
  ++counts_.covered_dropped;
  return true;
}

SequenceNumber Retention::SweptThrough() const {
  if (options_.ranges == nullptr) return SequenceNumber(0);
  return kept_under_.has_value() ? SequenceNumber(kept_under_->value() - 1) : options_.ranges->highest_sequence();
}

bool Retention::Refuses(Fate fate, const InternalKeyView& key, std::string_view value) {
  if (fate != Fate::kKeep && fate != Fate::kKeepZeroed) return false;
  switch (MeaningOf(key.trailer)) {
    case Meaning::kAbsent:
    case Meaning::kOperand:
      return false;
    case Meaning::kReference:
      // The value is not read here, so reads continue to ask the filter about it.
      kept_through_ = SequenceNumber(0);
      return false;
    case Meaning::kExpiring:
      if (MeaningUntilExpiry(key.trailer) == Meaning::kReference) {
        kept_through_ = SequenceNumber(0);
        return false;
      }
      value = ParseExpiringValue(value).value;
      break;
    case Meaning::kValue:
      break;
  }
  if (options_.filter->Refuses(stripe_, key.user_key, value)) return true;
  const SequenceNumber through = options_.filter->EpochOf(stripe_);
  kept_through_ = std::min(kept_through_.value_or(through), through);
  return false;
}

SequenceNumber Retention::FilteredThrough() const {
  if (options_.filter == nullptr) return SequenceNumber(0);
  return kept_through_.value_or(options_.filter->newest());
}

// Decides about the held entry. Returns true if it and the next entry are dropped.
bool Retention::EndHeld(bool begins_key, bool same_stripe, ValueKind kind, bool* release) {
  switch (MeetHeld(begins_key, same_stripe, kind)) {
    case Meeting::kRelease:
      *release = true;
      return false;
    case Meeting::kDropHeld:
      held_ = 0;
      ++counts_.tombstones_dropped;
      return false;
    case Meeting::kDropBoth:
      held_ = 0;
      ++counts_.tombstones_dropped;
      cover_ = std::max(cover_, Cover::kPair);
      return true;
  }
  return false;
}

Retention::Meeting Retention::MeetHeld(bool begins_key, bool same_stripe, ValueKind kind) const {
  if (options_.keeps_single_deletes) return Meeting::kRelease;
  if (begins_key) return options_.bottommost ? Meeting::kDropHeld : Meeting::kRelease;
  if (!same_stripe) return Meeting::kRelease;
  switch (kind) {
    case ValueKind::kPut:
    case ValueKind::kExpiringPut:
    case ValueKind::kReference:
    case ValueKind::kExpiringReference:
      return Meeting::kDropBoth;
    case ValueKind::kDelete:
    case ValueKind::kSingleDelete:
      return Meeting::kDropHeld;  // the next one says the same
    case ValueKind::kMerge:
    case ValueKind::kFoldedMerge:
    case ValueKind::kRangeDelete:
      break;
  }
  return Meeting::kRelease;
}

Retention::Fate Retention::FateOf(const InternalKeyView& key) {
  // All older entries are here, and in this stripe.
  const bool seen_by_all = options_.bottommost && stripe_ == 0;
  switch (key.kind()) {
    case ValueKind::kPut:
    case ValueKind::kReference:
    case ValueKind::kExpiringReference:
    case ValueKind::kExpiringPut:
      if (cover_ != Cover::kNone) return Hidden();
      cover_ = Cover::kEntry;
      if (!seen_by_all || under_range_ || key.sequence() == SequenceNumber(0)) return Fate::kKeep;
      ++counts_.zeroed;
      return Fate::kKeepZeroed;
    case ValueKind::kDelete:
      if (cover_ == Cover::kEntry) return Hidden();
      cover_ = Cover::kEntry;
      if (!seen_by_all) return Fate::kKeep;
      ++counts_.tombstones_dropped;
      return Fate::kDrop;
    case ValueKind::kSingleDelete:
      return cover_ == Cover::kEntry && seen_by_all ? Hidden() : Fate::kHold;
    case ValueKind::kMerge:
    case ValueKind::kFoldedMerge:
    case ValueKind::kRangeDelete:  // in tables of their own
      break;
  }
  return Fate::kKeep;
}

Retention::Fate Retention::Hidden() {
  ++counts_.hidden_dropped;
  return Fate::kDrop;
}

bool Retention::FinishHeld() {
  if (held_ == 0) return false;
  if (!options_.bottommost) return true;
  held_ = 0;
  ++counts_.tombstones_dropped;
  return false;
}

}  // namespace sepal
