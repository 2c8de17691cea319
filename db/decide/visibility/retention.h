// Decides which versions of a key survive a flush or a compaction. Pure apart from the place in the stream.
//
// Snapshots cut history into *stripes*: an entry belongs to the oldest snapshot that sees it. Within a stripe only the
// newest entry of a key can ever be seen. Above the last snapshot each sequence number is a stripe of its own, because
// readers may read anywhere there, so nothing there is dropped. For a family that keeps its history, the last
// "snapshot" is the floor of the history. All entries must be fed in internal key order; then, for each key:
//   - an entry under a newer put or delete of its stripe is dropped, except single deletes (below);
//   - a delete is dropped when `bottommost` and no snapshot divides it from older entries;
//   - a single delete and the next put of its key in its stripe are dropped together; one that meets no older entry of
//     its key is dropped when `bottommost`; otherwise it is kept, even under a newer entry: its put may lie deeper, and
//     would come back if a later single delete took that newer entry away;
//   - a put that is kept gets sequence number 0 when `bottommost` and every snapshot sees it;
//   - the operands of a stripe are folded (operand_fold.h): with the put or delete below them into a put, also when
//     `bottommost` and nothing is below; else into one operand, if the operator can do that. Where it fails they stay;
//   - an entry that a range tombstone of its stripe covers is dropped, whatever it is and at any level. A key under any
//     range tombstone keeps its sequence numbers: with number 0 a put would be covered by a delete that it came after.
//     The range tombstones must be durable, or become so with what is written here;
//   - an expiring put is treated like a put, but no operand is folded into it. Once it has expired
//     (`expired_through_millis`), it is a delete of its sequence number. One with number 0, below which nothing is, is
//     then dropped;
//   - a reference is treated like a put, but no operand is folded into it, and no filter is asked about it;
//   - a put that is kept, but that the family's filter refuses to all readers that see it (entry_filter.h), becomes a
//     delete of its sequence number, or is dropped where a delete would be.
// No view of any snapshot, and no later view, changes. Single deletes are promised this only under their contract:
// between two of them a key is put once, and not deleted otherwise.
//
// One thread, one stream. Cost: one key comparison an entry; unless keys stay, the user key is copied when it changes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "db/decide/visibility/entry_filter.h"
#include "db/decide/visibility/operand_fold.h"
#include "db/decide/visibility/visibility.h"
#include "db/state/ranges/range_tombstones.h"
#include "table/key/internal_key.h"
#include "util/base/status.h"

namespace sepal {

struct RetentionOptions {
  KeyOrder order = {};
  // The sequence numbers at which readers may read, ascending. The last must be one at or above which every later
  // reader will read: the last published one, taken no later than the list of live snapshots, or the floor of the
  // family's history if that is lower.
  std::vector<SequenceNumber> snapshots = {};
  // See CompactionPlan::bottommost. Never for a flush: tables of level 0 keep their sequence numbers.
  bool bottommost = false;
  // The time, in milliseconds since 1970, up to which expired entries are removed for good. It must become durable at
  // the latest with what is made of the entries.
  uint64_t expired_through_millis = 0;
  // If null, operands stay as they are.
  const MergeOperator* merge = nullptr;
  // The put that a single delete meets may also exist elsewhere, so that the two must not be dropped together.
  bool keeps_single_deletes = false;
  // The durable range tombstones of the family; null if there are none. Must outlive the retention.
  const RangeTombstones* ranges = nullptr;
  // If null, nothing is refused; null if the family has merges. Must outlive the retention.
  const StripeFilter* filter = nullptr;
  // The bytes of keys stay in place as long as the retention lives, as those of memtables do.
  bool keys_stay = false;
};

struct RetentionCounts {
  uint64_t entries_in = 0;
  uint64_t entries_out = 0;
  uint64_t hidden_dropped = 0;      // below a newer entry
  uint64_t tombstones_dropped = 0;  // single deletes with their puts count once
  uint64_t zeroed = 0;
  uint64_t operands_folded = 0;  // into others, or into a put
  uint64_t covered_dropped = 0;  // by range tombstones
  uint64_t expired = 0;          // turned into deletes, or dropped
  uint64_t refused = 0;          // by the filter: likewise
};

class Retention {
 public:
  explicit Retention(RetentionOptions options);

  // Takes the next entry and passes on the entries that certainly survive: emit(InternalKeyView, std::string_view
  // value, bool first_of_key) -> absl::Status, called zero to two times; `first_of_key` is set for the first surviving
  // entry of a user key (where a new table may begin). Stops at emit's first error.
  template <class Emit>
  absl::Status Add(const InternalKeyView& key, std::string_view value, Emit&& emit) {
    if (asks_more_) [[unlikely]] {
      if (options_.ranges != nullptr && IsCovered(key)) return absl::OkStatus();
      if (options_.filter != nullptr) return AddFiltered(key, value, emit);
    }
    const Meaning meaning = MeaningOf(key.trailer);
    if (meaning == Meaning::kExpiring) [[unlikely]]
      return AddExpiring(key, value, emit);
    if (fold_ != nullptr || meaning == Meaning::kOperand) [[unlikely]]
      return AddToFold(key, value, emit);
    return AddEntry(key, value, emit);
  }
  // Called after the last entry.
  template <class Emit>
  absl::Status Finish(Emit&& emit) {
    if (fold_ != nullptr) RETURN_IF_ERROR(EndFold(/*key_ends=*/true, emit));
    return FinishHeld() ? EmitHeld(emit) : absl::OkStatus();
  }

  const RetentionCounts& counts() const { return counts_; }
  // For the entries passed on; see TableMetadata::swept_through.
  SequenceNumber SweptThrough() const;
  // Likewise; see TableMetadata::filtered_through.
  SequenceNumber FilteredThrough() const;

 private:
  // Add, if the filter must be asked.
  template <class Emit>
  ABSL_ATTRIBUTE_NOINLINE absl::Status AddFiltered(const InternalKeyView& key, std::string_view value, Emit& emit) {
    const Meaning meaning = MeaningOf(key.trailer);
    if (meaning == Meaning::kOperand || fold_ != nullptr) {
      kept_through_ = SequenceNumber(0);  // the result is not filtered
      return AddToFold(key, value, emit);
    }
    if (meaning == Meaning::kExpiring && ParseExpiringValue(value).expiry_millis <= options_.expired_through_millis) {
      return AddExpiring(key, value, emit);
    }
    return AddEntry</*kFiltered=*/true>(key, value, emit);
  }
  template <class Emit>
  ABSL_ATTRIBUTE_NOINLINE absl::Status AddExpiring(const InternalKeyView& key, std::string_view value, Emit& emit) {
    if (ParseExpiringValue(value).expiry_millis > options_.expired_through_millis) {
      return fold_ != nullptr ? AddToFold(key, value, emit) : AddEntry(key, value, emit);
    }
    ++counts_.expired;
    if (key.sequence() == SequenceNumber(0)) {
      ++counts_.entries_in;
      return absl::OkStatus();
    }
    const InternalKeyView gone{key.user_key, PackTrailer(key.sequence(), ValueKind::kDelete)};
    return fold_ != nullptr ? AddToFold(gone, {}, emit) : AddEntry(gone, {}, emit);
  }
  template <bool kFiltered = false, class Emit>
  absl::Status AddEntry(const InternalKeyView& key, std::string_view value, Emit&& emit) {
    const Step step = Next(key);
    if (step.release_held) RETURN_IF_ERROR(EmitHeld(emit));
    if (step.begins_key) BeginKey(key.user_key);
    if constexpr (kFiltered) {
      if (Refuses(step.fate, key, value)) return EmitRefused(step.fate, key, emit);
    }
    switch (step.fate) {
      case Fate::kKeep:
        return EmitEntry(key, value, emit);
      case Fate::kKeepZeroed:
        return EmitEntry({key.user_key, PackTrailer(SequenceNumber(0), key.kind())}, value, emit);
      case Fate::kDrop:
        return absl::OkStatus();
      case Fate::kHold:
        held_ = key.trailer;
        return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  // The entry is an operand, or follows one of its key.
  template <class Emit>
  ABSL_ATTRIBUTE_NOINLINE absl::Status AddToFold(const InternalKeyView& key, std::string_view value, Emit& emit) {
    const size_t stripe = StripeOf(key.sequence());
    const bool begins_key = !in_key_ || !options_.order.Equal(user_key_, key.user_key);
    if (fold_ != nullptr) {
      if (begins_key || stripe != stripe_) RETURN_IF_ERROR(EndFold(begins_key, emit));
      if (fold_ != nullptr && fold_->Covers(key.sequence())) {
        ++counts_.entries_in;
        ++counts_.operands_folded;
        return absl::OkStatus();
      }
    }
    if (MeaningOf(key.trailer) != Meaning::kOperand) return AddBelowOperands(key, value, emit);
    ++counts_.entries_in;
    if (begins_key || stripe != stripe_) cover_ = Cover::kNone;
    if (held_ != 0 && (!begins_key || FinishHeld())) RETURN_IF_ERROR(EmitHeld(emit));
    if (begins_key) {
      BeginKey(key.user_key);
    } else if (fold_ == nullptr || fold_->empty()) {
      SpellKey(key.user_key);
    }
    stripe_ = stripe;
    if (cover_ == Cover::kEntry) {
      Hidden();
      return absl::OkStatus();
    }
    if (fold_ == nullptr) fold_ = std::make_unique<OperandFold>(options_.merge);
    fold_->Add(user_key_, key.trailer, value, StripeBegin());
    return fold_->IsFull() ? EmitOperands(emit) : absl::OkStatus();
  }
  // Called for a put or a delete below operands of its key and stripe, if any are left.
  template <class Emit>
  absl::Status AddBelowOperands(const InternalKeyView& key, std::string_view value, Emit& emit) {
    if (fold_ == nullptr || fold_->empty()) return AddEntry(key, value, emit);
    const bool ends_chain = fold_->Resolve(user_key_, key.trailer, value);
    if (!ends_chain) {
      RETURN_IF_ERROR(EmitOperands(emit));
      return AddEntry(key, value, emit);
    }
    ++counts_.entries_in;
    return EmitValue(emit);
  }
  // Called when the stripe, or the key, has no more entries.
  template <class Emit>
  absl::Status EndFold(bool key_ends, Emit& emit) {
    absl::Status status;
    if (!fold_->empty()) {
      const bool all_here = key_ends && options_.bottommost && stripe_ == 0;
      status = all_here && fold_->ResolveWithoutBase(user_key_) ? EmitValue(emit) : EmitOperands(emit);
    }
    // After it, entries of the key that a folded merge stands for may follow.
    if (key_ends) fold_.reset();
    return status;
  }
  // Emits the put that was made from operands, and hides older entries.
  template <class Emit>
  absl::Status EmitValue(Emit& emit) {
    cover_ = Cover::kEntry;
    counts_.operands_folded += fold_->added();
    const bool zero = options_.bottommost && stripe_ == 0 && !key_under_range_;
    counts_.zeroed += zero ? 1 : 0;
    const SequenceNumber sequence = zero ? SequenceNumber(0) : fold_->newest();
    const absl::Status status = EmitEntry({user_key_, PackTrailer(sequence, ValueKind::kPut)}, fold_->value(), emit);
    fold_->Clear();
    return status;
  }
  template <class Emit>
  absl::Status EmitOperands(Emit& emit) {
    fold_->Combine(user_key_);
    counts_.operands_folded += fold_->added() - fold_->entries().size();
    for (const OperandFold::Entry& entry : fold_->entries()) {
      RETURN_IF_ERROR(EmitEntry({user_key_, entry.trailer}, entry.operand, emit));
    }
    fold_->Clear();
    return absl::OkStatus();
  }

  enum class Fate : uint8_t { kKeep, kKeepZeroed, kDrop, kHold };
  struct Step {
    bool release_held;  // pass the held single delete on before this entry
    bool begins_key;
    Fate fate;
  };
  // Inlined into the caller, because the result would be returned through memory.
  ABSL_ATTRIBUTE_ALWAYS_INLINE Step Next(const InternalKeyView& key);
  // What happens when the held single delete meets the next entry.
  enum class Meeting : uint8_t { kRelease, kDropHeld, kDropBoth };
  Meeting MeetHeld(bool begins_key, bool same_stripe, ValueKind kind) const;
  bool EndHeld(bool begins_key, bool same_stripe, ValueKind kind, bool* release);
  Fate FateOf(const InternalKeyView& key);
  // Returns whether a range tombstone hides the entry from all readers; if so, counts it.
  bool IsCovered(const InternalKeyView& key);
  Fate Hidden();
  // Returns whether a kept entry is refused to all readers that see it. If not, its table counts as filtered no
  // further.
  bool Refuses(Fate fate, const InternalKeyView& key, std::string_view value);
  // A delete replaces the refused entry, unless nothing is below it.
  template <class Emit>
  absl::Status EmitRefused(Fate fate, const InternalKeyView& key, Emit& emit) {
    ++counts_.refused;
    counts_.zeroed -= fate == Fate::kKeepZeroed ? 1 : 0;
    if (key.sequence() == SequenceNumber(0) || (options_.bottommost && stripe_ == 0)) return absl::OkStatus();
    return EmitEntry({key.user_key, PackTrailer(key.sequence(), ValueKind::kDelete)}, {}, emit);
  }
  bool FinishHeld();
  // The result of operands has the newest operand's key, whose bytes may differ from those of the key in newer stripes.
  void SpellKey(std::string_view user_key) {
    user_key_ = options_.keys_stay ? user_key : std::string_view(copy_.assign(user_key));
  }
  void BeginKey(std::string_view user_key) {
    SpellKey(user_key);
    in_key_ = true;
    nothing_emitted_of_key_ = true;
    key_under_range_ = under_range_;
  }

  template <class Emit>
  absl::Status EmitEntry(const InternalKeyView& key, std::string_view value, Emit&& emit) {
    const bool first = std::exchange(nothing_emitted_of_key_, false);
    ++counts_.entries_out;
    return emit(key, value, first);
  }
  template <class Emit>
  absl::Status EmitHeld(Emit&& emit) {
    return EmitEntry({user_key_, std::exchange(held_, 0)}, {}, emit);
  }

  // Returns the index of the snapshot whose stripe it is.
  size_t StripeOf(SequenceNumber sequence) const {
    if (sequence <= options_.snapshots.front()) [[likely]]
      return 0;
    return StripeAbove(sequence);
  }
  size_t StripeAbove(SequenceNumber sequence) const;
  // The lowest sequence number of the stripe.
  SequenceNumber StripeBegin() const;
  // What is above the next entries of the stripe.
  enum class Cover : uint8_t {
    kNone,
    kPair,   // a single delete with its put: hides puts, but is dropped itself, so that deletes below it still matter
    kEntry,  // a put or delete
  };

  const RetentionOptions options_;
  const bool asks_more_;  // there are range tombstones, or a filter
  RetentionCounts counts_;
  std::string_view user_key_;
  std::string copy_;  // of `user_key_`, unless keys stay
  bool in_key_ = false;
  bool nothing_emitted_of_key_ = true;
  size_t stripe_ = 0;
  Cover cover_ = Cover::kNone;
  // The trailer of the single delete that waits for the next entry; 0 if there is none.
  Trailer held_ = 0;
  RangeTombstoneCursor ranges_;
  bool under_range_ = false;      // some range tombstone covers the current entry's key
  bool key_under_range_ = false;  // the same for `user_key_`
  // The lowest number of a range tombstone that covers an entry kept for a snapshot.
  std::optional<SequenceNumber> kept_under_;
  // The number through which everything kept was filtered; unset if nothing was kept.
  std::optional<SequenceNumber> kept_through_;
  // The operands of the current key; null if it has had none so far.
  std::unique_ptr<OperandFold> fold_;
};

inline Retention::Step Retention::Next(const InternalKeyView& key) {
  ++counts_.entries_in;
  const size_t stripe = StripeOf(key.sequence());
  const bool begins_key = !in_key_ || !options_.order.Equal(user_key_, key.user_key);
  const bool same_stripe = !begins_key && stripe == stripe_;
  bool release_held = false;
  if (held_ != 0 && EndHeld(begins_key, same_stripe, key.kind(), &release_held)) [[unlikely]]
    return {false, false, Fate::kDrop};
  if (!same_stripe) cover_ = Cover::kNone;
  stripe_ = stripe;
  return {release_held, begins_key, FateOf(key)};
}

}  // namespace sepal
