// The iterator that database_iterator.h makes, for classes derived from it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "db/decide/visibility/visibility.h"
#include "db/engine/read/database_iterator.h"
#include "db/engine/read/entries_ahead.h"
#include "sepal/key_filter.h"
#include "table/block/block_cursor.h"
#include "util/base/check.h"
#include "util/cache/block_cache.h"
#include "util/thread/fork.h"

namespace sepal {

// Going forward, `entries_` is at the shown entry; if its value was made from merge operands or expires, `entries_` is
// among or after the versions of its key, and `key_buffer_` and `value_buffer_` hold what is shown. Going backward, it
// is at the entry if that is clearly the only version of its key; otherwise it is before all versions of the shown key,
// which the buffers hold. If an entry's value lies in a value file, that entry and some after it are in `ahead_`, the
// first of them is shown, and `entries_` is past the last of them in the direction of travel.
class DatabaseIterator : public Iterator {
 public:
  DatabaseIterator(DatabaseIteratorOptions options, std::unique_ptr<InternalIterator> entries)
      : options_(std::move(options)),
        order_(options_.order),
        hashable_(order_.hashable()),
        dead_run_(options_.source),
        entries_(std::move(entries)) {}
  ~DatabaseIterator() override {
    if (options_.open_mark->IsForked()) {
      LeakAfterFork(std::tuple(std::move(entries_), std::move(ahead_), std::move(value_pin_), options_.owner));
    }
    CountSteps();
    entries_.reset();
  }

  bool Valid() const override { return valid_ && !Closed(); }
  std::string_view key() const override { return at_entry_ ? entries_->key().user_key : std::string_view(key_buffer_); }
  std::string_view value() const override { return at_entry_ ? entries_->value() : shown_value_; }
  absl::Status status() const override;

  void SeekToFirst() override;
  void Seek(std::string_view target) override;
  void SeekToLast() override;
  void SeekForPrev(std::string_view target) override;

  void Next() override {
    SEPAL_DCHECK(valid_);
    if (in_plain_block_ && !Closed()) [[likely]] {
      if (!entries_->NextKeyInPlainBlock()) [[unlikely]]
        return NextElsewhere();
      direction_ = Direction::kForward;
      ++steps_;
      if (!options_.upper_bound.has_value()) [[likely]]
        return;
      return HideBehindBound();
    }
    NextInAnyBlock();
  }

  void Prev() override {
    SEPAL_DCHECK(valid_);
    if (at_entry_ && hashable_ && !Closed() && entries_->PrevKeyInBlock()) [[likely]] {
      direction_ = Direction::kBackward;
      ++steps_back_;
      if (IsVisible(entries_->key()) && !IsBefore(entries_->key().user_key)) [[likely]]
        return;
      return ShowBackwardFromHere();
    }
    PrevElsewhere();
  }

 protected:
  const DatabaseIteratorOptions& options() const { return options_; }
  // Returns the plain block of the shown entry, or null if it is in none; SkipInPlainBlock moves ahead in that block.
  BlockCursor* PlainBlock() const { return in_plain_block_ && !Closed() ? entries_->LentPlainBlock() : nullptr; }
  void SkipInPlainBlock(uint32_t count);

 private:
  bool Closed() const { return !options_.open_mark->IsOpen(); }

  enum class Direction : uint8_t { kForward, kBackward };

  // Rare paths of Next and Prev are kept apart, because a step within a block takes only some tens of instructions.
  ABSL_ATTRIBUTE_NOINLINE void HideBehindBound() {
    if (IsBehind(entries_->key().user_key)) Hide();
  }
  ABSL_ATTRIBUTE_NOINLINE void NextInAnyBlock() {
    if (!at_entry_ || !hashable_ || Closed() || !entries_->NextKeyInBlock()) return NextElsewhere();
    direction_ = Direction::kForward;
    ++steps_;
    if (IsVisible(entries_->key()) && !IsBehind(entries_->key().user_key)) return;
    ShowFromHere();
  }
  void ShowFromHere();
  void NextElsewhere();
  void ShowBackwardFromHere();
  void PrevElsewhere();

  void SetOut(Direction direction) {
    direction_ = direction;
    at_entry_ = direction == Direction::kForward;
  }

  void ShowEntry() {
    valid_ = at_entry_ = true;
    in_plain_block_ = hashable_ && entries_->LendsPlainBlock();
  }
  void ShowBuffers() {
    shown_value_ = value_buffer_;
    valid_ = true;
  }
  void Hide() { valid_ = in_plain_block_ = false; }

  bool Begin(Ticker ticker) {
    Hide();
    merge_status_ = absl::OkStatus();
    value_pin_.Reset();
    if (Closed()) [[unlikely]]
      return false;
    options_.statistics->Add(ticker);
    CountSteps();
    return true;
  }
  bool BeginSeek();

  // Copies the target, which may point into the shown entry, before `entries_` moves.
  std::string_view Keep(std::string_view target) { return target_buffer_.assign(target); }

  CallWatch::Subject ASeek(std::string_view target) const {
    return {.column_family = options_.family_name, .key = target};
  }
  CallWatch::Subject AStep() const { return {.column_family = options_.family_name, .key_buffer = &key_buffer_}; }

  // Steps within a block are counted together, once per block.
  void CountSteps() {
    if (steps_ > 0) options_.statistics->Add(Ticker::kNexts, std::exchange(steps_, 0));
    if (steps_back_ > 0) options_.statistics->Add(Ticker::kPrevs, std::exchange(steps_back_, 0));
  }

  // Returns whether the entry alone is enough to show it.
  bool IsShownAsItStands(Meaning meaning) const {
    return meaning == Meaning::kValue || (options_.keys_only && meaning == Meaning::kReference);
  }
  bool IsVisible(const InternalKeyView& key) const {
    return key.sequence() <= options_.visible && IsShownAsItStands(MeaningOf(key.trailer));
  }
  // The bounds.
  bool IsBefore(std::string_view user_key) const {
    return options_.lower_bound.has_value() && order_.Less(user_key, *options_.lower_bound);
  }
  bool IsBehind(std::string_view user_key) const {
    return options_.upper_bound.has_value() && !order_.Less(user_key, *options_.upper_bound);
  }

  // Moves from the shown entry to the last entry before all versions of its key, which is in `key_buffer_`.
  void GoBefore();
  // Moves from `entries_` to the first entry to be shown. With `skip_key`, skips versions of the key in `key_buffer_`.
  void FindNextVisible(bool skip_key);
  bool PassDeleted(bool skip_key);
  // Shows the key at `entries_`, whose value must be made: from operands, an expiring value, or a reference. Returns
  // false if a filter excludes the key, which is then in `key_buffer_`.
  bool ShowMade(Meaning meaning);
  // `entries_` is at the oldest version of the first candidate. Takes the newest visible version of each key until one
  // is to be shown.
  void FindPreviousVisible();
  // Shows the key in `key_buffer_`, whose newest version is an operand; afterwards `entries_` is before all its
  // versions.
  void ShowMergedBackward();

  // Returns whether a filter lets a key pass, before its value is read.
  bool IsWanted(std::string_view key) const {
    return options_.key_filter == nullptr || options_.key_filter->MayContain(key);
  }
  bool AnyAhead() const { return ahead_ != nullptr && !ahead_->empty(); }
  // Begins a batch with the key that has the reference; what follows is up to Collect.
  void BeginAhead(std::string_view key, std::string_view reference, uint64_t expiry_millis);
  // Drops the shown entry, and the next ones that have expired since they were taken.
  void PopAhead();
  // Steps in the batch, if there is one in this direction; false: the step has to be made without.
  bool NextAhead();
  bool PrevAhead();
  void CollectForward();
  void CollectBackward();
  void ShowAhead();

  const DatabaseIteratorOptions options_;
  const KeyOrder order_;
  const bool hashable_;
  DeadRun dead_run_;
  std::unique_ptr<InternalIterator> entries_;
  bool valid_ = false;
  bool at_entry_ = true;
  // The shown entry lies in a plain block, and all entries of that block are visible.
  bool in_plain_block_ = false;
  Direction direction_ = Direction::kForward;  // in which `entries_` was last moved
  uint64_t steps_ = 0;                         // not yet counted in the statistics
  uint64_t steps_back_ = 0;
  std::string key_buffer_;
  std::string target_buffer_;
  std::string value_buffer_;
  std::string_view shown_value_;         // unless `at_entry_`: in the buffer, in `ahead_` or pinned
  CachePin value_pin_;                   // of a value in a value file
  std::unique_ptr<EntriesAhead> ahead_;  // null until such a value is met
  std::string passed_key_;               // going forward: the last key taken into `ahead_`, or skipped
  absl::Status merge_status_;            // of the key at which the last call ended
};

}  // namespace sepal
