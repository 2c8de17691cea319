// The iterator that database_iterator.h makes: for what is made of it.
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

// Going forward, `entries_` stands at the entry that is shown; behind it, if the value was made of merge operands
// or expires, among the versions of its key or after them, and `key_buffer_` and `value_buffer_` hold what is shown.
// Going backward, it stands at the entry where that is plainly the only version of its key; else before all versions of
// the key that is shown, which the buffers hold. Where an entry's value lies in a value file, that entry and some after
// it are in `ahead_`, the first is shown, and `entries_` stands behind the last of them in the direction of travel.
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
  // Where the entry that is shown lies in a plain block, null elsewhere; and a move ahead in that block.
  BlockCursor* PlainBlock() const { return in_plain_block_ && !Closed() ? entries_->LentPlainBlock() : nullptr; }
  void SkipInPlainBlock(uint32_t count);

 private:
  bool Closed() const { return !options_.open_mark->IsOpen(); }

  enum class Direction : uint8_t { kForward, kBackward };

  // What Next and Prev seldom do, apart from them: a step within a block takes some tens of instructions.
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

  // It may lie in the entry that is shown, which is gone once `entries_` moves.
  std::string_view Keep(std::string_view target) { return target_buffer_.assign(target); }

  CallWatch::Subject ASeek(std::string_view target) const {
    return {.column_family = options_.family_name, .key = target};
  }
  CallWatch::Subject AStep() const { return {.column_family = options_.family_name, .key_buffer = &key_buffer_}; }

  // Steps within blocks are counted together, once a block.
  void CountSteps() {
    if (steps_ > 0) options_.statistics->Add(Ticker::kNexts, std::exchange(steps_, 0));
    if (steps_back_ > 0) options_.statistics->Add(Ticker::kPrevs, std::exchange(steps_back_, 0));
  }

  // Whether it needs no more than the entry to show it.
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

  // From the entry that is shown to the last before all versions of its key, which is in `key_buffer_`.
  void GoBefore();
  // From where `entries_` stands, to the first entry to be shown. With `skip_key`, versions of the key in `key_buffer_`
  // are passed over.
  void FindNextVisible(bool skip_key);
  bool PassDeleted(bool skip_key);
  // Shows what is made of what begins where `entries_` stands: operands, a value that expires, or a reference. False: a
  // filter leaves out the key, which is in `key_buffer_`.
  bool ShowMade(Meaning meaning);
  // `entries_` stands at the oldest version of the first candidate. Collects the newest visible version of each key
  // until one is there.
  void FindPreviousVisible();
  // Shows the key in `key_buffer_`, whose newest version is an operand; `entries_` stands before all of them
  // afterwards.
  void ShowMergedBackward();

  // Whether a filter lets the key pass, whose value would have to be read.
  bool IsWanted(std::string_view key) const {
    return options_.key_filter == nullptr || options_.key_filter->MayContain(key);
  }
  bool AnyAhead() const { return ahead_ != nullptr && !ahead_->empty(); }
  // Begins a batch with the key that has the reference; what follows is up to Collect.
  void BeginAhead(std::string_view key, std::string_view reference, uint64_t expiry_millis);
  // Drops the entry that is shown, and those behind it that have expired since they were taken.
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
  // The entry that is shown lies in a plain block, all of whose entries are visible then.
  bool in_plain_block_ = false;
  Direction direction_ = Direction::kForward;  // in which `entries_` was moved last
  uint64_t steps_ = 0;                         // not counted yet
  uint64_t steps_back_ = 0;
  std::string key_buffer_;
  std::string target_buffer_;
  std::string value_buffer_;
  std::string_view shown_value_;         // unless `at_entry_`: in the buffer, in `ahead_` or pinned
  CachePin value_pin_;                   // of a value that lies in a value file
  std::unique_ptr<EntriesAhead> ahead_;  // null: no such value was met
  std::string passed_key_;               // going forward: the last that was taken into `ahead_`, or passed
  absl::Status merge_status_;            // of the key at which the last call ended
};

}  // namespace sepal
