#include "db/engine/transaction/overlay_iterator.h"

#include <string_view>
#include <utility>

#include "util/base/status.h"
#include "util/thread/fork.h"

namespace sepal {

namespace {

class OverlayIterator final : public Iterator {
 public:
  OverlayIterator(Overlay overlay, std::unique_ptr<Iterator> base)
      : overlay_(std::move(overlay)),
        none_(overlay_.family),
        part_(PartOf(overlay_, &none_)),
        at_(overlay_.batch->last()),
        generation_(overlay_.batch->generation()),
        base_(std::move(base)),
        next_(part_->keys.end()) {}
  ~OverlayIterator() override {
    if (overlay_.core->Forked()) LeakAfterFork(overlay_);
  }

  bool Valid() const override { return valid_ && Usable(); }

  void SeekToFirst() override {
    if (!BeginSeek({.begin = overlay_.lower_bound, .end = {}}, RangeReads::Grows::kEnd)) return;
    base_->SeekToFirst();
    next_ = overlay_.lower_bound.has_value() ? part_->keys.lower_bound(*overlay_.lower_bound) : part_->keys.begin();
    SettleForward();
  }
  void SeekToLast() override {
    const ConflictRange behind{.begin = {}, .end = overlay_.upper_bound, .end_inclusive = false};
    if (!BeginSeek(behind, RangeReads::Grows::kBegin)) return;
    base_->SeekToLast();
    next_ = BehindLast();
    SettleBackward();
  }
  void Seek(std::string_view target) override {
    if (!Usable()) return;
    const std::string from(target);
    const bool below = overlay_.lower_bound.has_value() && order().Less(from, *overlay_.lower_bound);
    const std::string& begin = below ? *overlay_.lower_bound : from;
    if (!BeginSeek({.begin = begin, .end = begin}, RangeReads::Grows::kNone)) return;
    base_->Seek(begin);
    next_ = part_->keys.lower_bound(begin);
    SettleForward();
  }
  void SeekForPrev(std::string_view target) override {
    if (!Usable()) return;
    const std::string from(target);
    if (overlay_.upper_bound.has_value() && !order().Less(from, *overlay_.upper_bound)) return SeekToLast();
    if (!BeginSeek({.begin = from, .end = from}, RangeReads::Grows::kNone)) return;
    base_->SeekForPrev(from);
    next_ = part_->keys.upper_bound(from);
    SettleBackward();
  }

  void Next() override {
    if (!Usable()) return;
    if (forward_) {
      StepForward();
    } else {
      const std::string from(key_);
      base_->Seek(from);
      if (base_->Valid() && order().Equal(base_->key(), from)) base_->Next();
      next_ = part_->keys.upper_bound(from);
    }
    SettleForward();
  }
  void Prev() override {
    if (!Usable()) return;
    if (forward_) {
      const std::string from(key_);
      base_->SeekForPrev(from);
      if (base_->Valid() && order().Equal(base_->key(), from)) base_->Prev();
      next_ = part_->keys.lower_bound(from);
    } else {
      StepBackward();
    }
    SettleBackward();
  }

  std::string_view key() const override { return key_; }
  std::string_view value() const override { return value_; }
  absl::Status status() const override {
    RETURN_IF_ERROR(overlay_.core->CheckOpen());
    if (!Ended()) return status_;
    return absl::FailedPreconditionError(
        "the transaction or batch of this iterator has ended, was cleared, or was rolled back to a savepoint: make a "
        "new iterator");
  }

 private:
  static const BatchIndex::Part* PartOf(const Overlay& overlay, const BatchIndex::Part* none) {
    const BatchIndex::Part* const part = overlay.batch->Find(overlay.family->id);
    return part != nullptr ? part : none;
  }
  const KeyOrder& order() const { return overlay_.family->order; }
  bool Ended() const { return overlay_.batch->generation() != generation_; }
  // Once the database is closed, its comparator and merge operator may be gone, so they are not used.
  bool Usable() const { return !Ended() && overlay_.core->open_mark.IsOpen(); }
  bool BeginSeek(ConflictRange range, RangeReads::Grows grows) {
    valid_ = false;
    if (!Usable()) return false;
    status_ = overlay_.reads != nullptr ? overlay_.reads->Begin(std::move(range), grows) : absl::OkStatus();
    return status_.ok();
  }
  BatchIndex::Keys::const_iterator BehindLast() const {
    return overlay_.upper_bound.has_value() ? part_->keys.lower_bound(*overlay_.upper_bound) : part_->keys.end();
  }

  // The sources of the current key.
  struct Sources {
    bool base;
    bool batch;
  };
  // Returns which source, or both, comes first. `batch_key`: null if the batch has no more keys.
  Sources First(const std::string* batch_key, int direction) const {
    if (batch_key == nullptr) return {.base = true, .batch = false};
    if (!base_->Valid()) return {.base = false, .batch = true};
    const int compared = direction * order().Compare(base_->key(), *batch_key);
    return {.base = compared <= 0, .batch = compared >= 0};
  }

  // Continues until there is a key to show. `base_` and `next_` are each at its next key; going backward, `next_` is
  // after it.
  void SettleForward() {
    forward_ = true;
    for (;; StepForward()) {
      if (!CheckBase()) return;
      const bool in_batch = next_ != part_->keys.end() &&
                            !(overlay_.upper_bound.has_value() && !order().Less(next_->first, *overlay_.upper_bound));
      if (!base_->Valid() && !in_batch) {
        if (overlay_.reads != nullptr) overlay_.reads->ExtendToEnd(overlay_.upper_bound);
        return;
      }
      from_ = First(in_batch ? &next_->first : nullptr, 1);
      if (Show(from_.batch ? &*next_ : nullptr) || !status_.ok()) return;
    }
  }
  void SettleBackward() {
    forward_ = false;
    for (;; StepBackward()) {
      if (!CheckBase()) return;
      const auto before = next_ != part_->keys.begin() ? std::prev(next_) : part_->keys.end();
      const bool in_batch = before != part_->keys.end() &&
                            !(overlay_.lower_bound.has_value() && order().Less(before->first, *overlay_.lower_bound));
      if (!base_->Valid() && !in_batch) {
        if (overlay_.reads != nullptr) overlay_.reads->ExtendToBegin(overlay_.lower_bound);
        return;
      }
      from_ = First(in_batch ? &before->first : nullptr, -1);
      if (Show(from_.batch ? &*before : nullptr) || !status_.ok()) return;
    }
  }
  void StepForward() {
    if (from_.base) base_->Next();
    if (from_.batch) ++next_;
  }
  void StepBackward() {
    if (from_.base) base_->Prev();
    if (from_.batch) --next_;
  }
  bool CheckBase() {
    valid_ = false;
    status_ = base_->status();
    return status_.ok();
  }

  // Makes the current key the iterator's, unless it is deleted. `updates`: the batch's updates of the key, or null.
  bool Show(const BatchIndex::Keys::value_type* updates) {
    const std::string_view key = updates != nullptr ? overlay_.batch->KeyAt(*updates, at_) : base_->key();
    std::optional<std::string_view> base;
    if (from_.base) base = base_->value();
    if (updates == nullptr) {
      if (!part_->ranges.empty() && BatchIndex::Covers(*part_, key, at_)) return false;
      value_ = *base;
    } else {
      if (!Make(key, *updates, base)) return false;
    }
    key_ = key;
    if (updates != nullptr) key_ = made_key_.assign(key);
    valid_ = true;
    if (overlay_.reads != nullptr) overlay_.reads->Extend(key_);
    return true;
  }

  // Applies the batch's updates to `base`, the key's value below them. Operands always make a value.
  bool Make(std::string_view key, const BatchIndex::Keys::value_type& updates, std::optional<std::string_view> base) {
    BatchIndex::Said said = overlay_.batch->Read(*part_, key, updates.second, at_);
    if (overlay_.keys_only) return said.meaning.has_value() ? *said.meaning != Meaning::kAbsent : base.has_value();
    absl::StatusOr<std::optional<std::string>> value = ValueOver(*overlay_.family, key, &said, base);
    status_ = value.status();
    if (!status_.ok() || !value->has_value()) return false;
    made_ = **std::move(value);
    value_ = made_;
    return true;
  }

  const Overlay overlay_;
  const BatchIndex::Part none_;
  const BatchIndex::Part* const part_;
  const uint32_t at_;
  const uint64_t generation_;
  const std::unique_ptr<Iterator> base_;
  BatchIndex::Keys::const_iterator next_;
  Sources from_ = {};
  bool forward_ = true;
  bool valid_ = false;
  std::string_view key_;    // points to the base's key or to `made_key_`
  std::string_view value_;  // points to the base's value or to `made_`
  std::string made_key_;
  std::string made_;
  absl::Status status_;
};

}  // namespace

std::unique_ptr<Iterator> NewOverlayIterator(Overlay overlay, std::unique_ptr<Iterator> base) {
  return std::make_unique<OverlayIterator>(std::move(overlay), std::move(base));
}

}  // namespace sepal
