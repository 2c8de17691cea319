#include "db/engine/read/database_iterator.h"

#include <utility>

#include "absl/base/attributes.h"
#include "db/decide/visibility/visibility.h"
#include "db/engine/read/block_sieve.h"
#include "db/engine/read/key_sieve.h"
#include "db/engine/read/merged_lookup.h"
#include "db/engine/read/separated_value.h"
#include "util/base/check.h"
#include "util/base/status.h"
#include "util/thread/fork.h"

namespace sepal {

namespace {

constexpr CallWatch::Kind kSeekCall = {.name = "seek", .histogram = Histogram::kSeekMicros};
constexpr CallWatch::Kind kNextCall = {.name = "next"};
constexpr CallWatch::Kind kPrevCall = {.name = "prev"};

absl::Status NotOpen(const OpenMark& mark) {
  return absl::FailedPreconditionError(
      mark.IsForked()
          ? "the database of this iterator was opened by the process that forked this one: open it after the fork"
          : "the database of this iterator is closed");
}

// Takes `entries` from the oldest version of `*key` to before all of them. What they mean; of a value, or a reference
// to one, `*key` is as its version spells it.
Meaning TakeBackward(SequenceNumber visible, const KeyOrder& order, ReadClock* clock, InternalIterator* entries,
                     std::string* key, std::string* value) {
  Meaning meaning = Meaning::kAbsent;
  for (; entries->Valid() && order.Equal(entries->key().user_key, *key); entries->Retreat()) {
    if (entries->key().sequence() > visible) continue;
    std::string_view payload = entries->value();
    meaning = MeaningNow(entries->key().trailer, &payload, clock);
    if (meaning != Meaning::kValue && meaning != Meaning::kReference) continue;
    key->assign(entries->key().user_key);
    value->assign(payload);
  }
  return meaning;
}

ReadClock* ClockOf(const DatabaseIteratorOptions& options) { return &options.source.core->expiry; }

ABSL_ATTRIBUTE_NOINLINE bool HasExpired(InternalIterator* entries, ReadClock* clock) {
  return clock->NowMillis() >= ParseExpiringValue(entries->value()).expiry_millis;
}
// Of the entry where `entries` stands.
bool IsAbsent(InternalIterator* entries, ReadClock* clock) {
  const Meaning meaning = MeaningOf(entries->key().trailer);
  if (meaning == Meaning::kExpiring) [[unlikely]]
    return HasExpired(entries, clock);
  return meaning == Meaning::kAbsent;
}

// The key where `entries` stands, and its value: one that expires and has not done so yet, one that lies in a value
// file, or what operands make.
absl::Status MakeShown(const DatabaseIteratorOptions& options, Meaning meaning, InternalIterator* entries,
                       std::string* key, std::string* value) {
  key->assign(entries->key().user_key);
  if (meaning == Meaning::kExpiring) {
    value->assign(ParseExpiringValue(entries->value()).value);
    return absl::OkStatus();
  }
  Core* const core = options.source.core;
  if (meaning == Meaning::kReference) return FetchValue(core, *key, entries->value(), value);
  ASSIGN_OR_RETURN(*value, MergeVersions(core, *options.source.family, options.visible, *key, entries));
  return absl::OkStatus();
}

// Going forward, `entries_` stands at the entry that is shown; behind it, if the value was made of merge operands
// or expires or lies in a value file, among the versions of its key or after them, and `key_buffer_` and
// `value_buffer_` hold what is shown. Going backward, it stands at the entry where that is plainly the only version of
// its key; else before all versions of the key that is shown, which the buffers hold.
class DatabaseIterator : public Iterator {
 public:
  DatabaseIterator(DatabaseIteratorOptions options, std::unique_ptr<InternalIterator> entries)
      : options_(std::move(options)),
        order_(options_.order),
        hashable_(order_.hashable()),
        dead_run_(options_.source),
        entries_(std::move(entries)) {}
  ~DatabaseIterator() override {
    if (options_.open_mark->IsForked()) LeakAfterFork(std::pair(std::move(entries_), options_.owner));
    CountSteps();
    entries_.reset();
  }

  bool Valid() const override { return valid_ && !Closed(); }
  std::string_view key() const override { return at_entry_ ? entries_->key().user_key : std::string_view(key_buffer_); }
  std::string_view value() const override { return at_entry_ ? entries_->value() : std::string_view(value_buffer_); }
  absl::Status status() const override {
    if (!Closed()) return merge_status_.ok() ? entries_->status() : merge_status_;
    return NotOpen(*options_.open_mark);
  }

  // What a closed database was given, a comparator, a clock or a listener, may be gone.
  void SeekToFirst() override {
    if (Closed()) [[unlikely]]
      return Hide();
    const WatchedCall call(options_.calls, kSeekCall, [this] { return ASeek({}); });
    if (!Begin(Ticker::kSeeks)) return;
    SetOut(Direction::kForward);
    if (options_.lower_bound.has_value()) {
      entries_->Seek({*options_.lower_bound, kFirstTrailer});
    } else {
      entries_->SeekToFirst();
    }
    FindNextVisible(/*skip_key=*/false);
  }

  void Seek(std::string_view target) override {
    if (Closed()) [[unlikely]]
      return Hide();
    if (IsBefore(target)) return DatabaseIterator::SeekToFirst();
    target = Keep(target);
    const WatchedCall call(options_.calls, kSeekCall, [&] { return ASeek(target); });
    if (!Begin(Ticker::kSeeks)) return;
    SetOut(Direction::kForward);
    entries_->Seek({target, SeekTrailer(options_.visible)});
    FindNextVisible(/*skip_key=*/false);
  }

  void SeekToLast() override {
    if (Closed()) [[unlikely]]
      return Hide();
    const WatchedCall call(options_.calls, kSeekCall, [this] { return ASeek({}); });
    if (!Begin(Ticker::kSeeks)) return;
    SetOut(Direction::kBackward);
    if (options_.upper_bound.has_value()) {
      entries_->SeekBefore({*options_.upper_bound, kFirstTrailer});
    } else {
      entries_->SeekToLast();
    }
    FindPreviousVisible();
  }

  void SeekForPrev(std::string_view target) override {
    if (Closed()) [[unlikely]]
      return Hide();
    if (IsBehind(target)) return DatabaseIterator::SeekToLast();
    target = Keep(target);
    const WatchedCall call(options_.calls, kSeekCall, [&] { return ASeek(target); });
    if (!Begin(Ticker::kSeeks)) return;
    SetOut(Direction::kBackward);
    // All versions of `target` are before (target, 0) or at it; no update has trailer 0 and sequence 0 but a
    // zeroed delete, which retention never leaves.
    entries_->SeekBefore({target, kLastTrailer});
    FindPreviousVisible();
  }

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
  ABSL_ATTRIBUTE_NOINLINE void ShowFromHere() {
    Hide();
    const WatchedCall call(options_.calls, kNextCall, [this] { return AStep(); });
    FindNextVisible(/*skip_key=*/false);
  }
  ABSL_ATTRIBUTE_NOINLINE void NextElsewhere() {
    if (Closed()) [[unlikely]]
      return Hide();
    const WatchedCall call(options_.calls, kNextCall, [this] { return AStep(); });
    if (!Begin(Ticker::kNexts)) return;
    if (at_entry_) {
      key_buffer_.assign(entries_->key().user_key);
      // Where keys may be told by their bytes, there is nothing more in the block that was lent.
      hashable_ ? entries_->Next() : entries_->Advance();
    } else if (direction_ == Direction::kBackward) {
      // Back to the versions of the key that was shown; the skip below passes them.
      entries_->Seek({key_buffer_, kFirstTrailer});
    }
    SetOut(Direction::kForward);
    FindNextVisible(/*skip_key=*/true);
  }
  ABSL_ATTRIBUTE_NOINLINE void ShowBackwardFromHere() {
    Hide();
    const WatchedCall call(options_.calls, kPrevCall, [this] { return AStep(); });
    FindPreviousVisible();
  }
  ABSL_ATTRIBUTE_NOINLINE void PrevElsewhere() {
    if (Closed()) [[unlikely]]
      return Hide();
    const WatchedCall call(options_.calls, kPrevCall, [this] { return AStep(); });
    if (!Begin(Ticker::kPrevs)) return;
    if (at_entry_) key_buffer_.assign(entries_->key().user_key);
    if (at_entry_ || direction_ == Direction::kForward) GoBefore();
    FindPreviousVisible();
  }

  void SetOut(Direction direction) {
    direction_ = direction;
    at_entry_ = direction == Direction::kForward;
  }

  void ShowEntry() {
    valid_ = at_entry_ = true;
    in_plain_block_ = hashable_ && entries_->LendsPlainBlock();
  }
  void Hide() { valid_ = in_plain_block_ = false; }

  bool Begin(Ticker ticker) {
    Hide();
    merge_status_ = absl::OkStatus();
    if (Closed()) [[unlikely]]
      return false;
    options_.statistics->Add(ticker);
    CountSteps();
    return true;
  }

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

  bool IsVisible(const InternalKeyView& key) const {
    return key.sequence() <= options_.visible && MeaningOf(key.trailer) == Meaning::kValue;
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
  void FindNextVisible(bool skip_key) {
    dead_run_.Begin(DeadRun::Direction::kForward);
    const bool found = PassDeleted(skip_key);
    dead_run_.End(key_buffer_, /*after=*/true);
    if (!found) return;
    const Meaning meaning = MeaningOf(entries_->key().trailer);
    meaning == Meaning::kValue ? ShowEntry() : ShowMade(meaning);
  }
  // Shows what is made of what begins where `entries_` stands: operands, a value that expires, or a reference.
  ABSL_ATTRIBUTE_NOINLINE void ShowMade(Meaning meaning) {
    merge_status_ = MakeShown(options_, meaning, entries_.get(), &key_buffer_, &value_buffer_);
    at_entry_ = false;
    valid_ = merge_status_.ok();
  }
  bool PassDeleted(bool skip_key) {
    while (entries_->Valid()) {
      const InternalKeyView& key = entries_->key();
      const bool passed = skip_key && key.sequence() <= options_.visible && order_.Equal(key.user_key, key_buffer_);
      if (!passed && IsBehind(key.user_key)) return false;
      if (!passed && key.sequence() <= options_.visible) {
        if (!IsAbsent(entries_.get(), ClockOf(options_))) return true;
        key_buffer_.assign(key.user_key);
        skip_key = true;
        if (dead_run_.Pass(key_buffer_)) {
          entries_->Seek(dead_run_.target());
          skip_key = false;
          continue;
        }
      }
      entries_->Advance();
    }
    return false;
  }

  // `entries_` stands at the oldest version of the first candidate. Collects the newest visible version of each key
  // until one is there.
  void FindPreviousVisible() {
    SetOut(Direction::kBackward);
    dead_run_.Begin(DeadRun::Direction::kBackward);
    while (entries_->Valid()) {
      if (IsBefore(entries_->key().user_key)) break;
      if (hashable_ && entries_->BeginsKeyInBlock() && IsVisible(entries_->key())) {
        ShowEntry();
        break;
      }
      key_buffer_.assign(entries_->key().user_key);
      const Meaning meaning =
          TakeBackward(options_.visible, order_, ClockOf(options_), entries_.get(), &key_buffer_, &value_buffer_);
      if (!entries_->status().ok()) return;
      if (meaning != Meaning::kAbsent) {
        valid_ = true;
        if (meaning == Meaning::kOperand) ShowMergedBackward();
        if (meaning == Meaning::kReference) ShowReferencedBackward();
        return dead_run_.End(key_buffer_, /*after=*/true);
      }
      if (dead_run_.Pass(key_buffer_)) entries_->SeekBefore(dead_run_.target());
    }
    dead_run_.End(key_buffer_, /*after=*/false);
  }

  // Shows the key in `key_buffer_`, whose newest version is an operand; `entries_` stands before all of them
  // afterwards.
  ABSL_ATTRIBUTE_NOINLINE void ShowMergedBackward() {
    Hide();
    entries_->Seek({key_buffer_, SeekTrailer(options_.visible)});
    ShowMade(Meaning::kOperand);
    entries_->SeekBefore({key_buffer_, kFirstTrailer});
    if (!entries_->status().ok()) valid_ = false;
  }

  // Shows the key in `key_buffer_`; `value_buffer_` has a reference to its value.
  void ShowReferencedBackward();

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
  absl::Status merge_status_;  // of the key at which the last call ended
};

void DatabaseIterator::SkipInPlainBlock(uint32_t count) {
  entries_->SkipInPlainBlock(count);
  direction_ = Direction::kForward;
  steps_ += count;
  if (options_.upper_bound.has_value()) HideBehindBound();
}

void DatabaseIterator::ShowReferencedBackward() {
  const std::string reference = std::exchange(value_buffer_, {});
  merge_status_ = FetchValue(options_.source.core, key_buffer_, reference, &value_buffer_);
  valid_ = merge_status_.ok();
}

void DatabaseIterator::GoBefore() {
  if (direction_ == Direction::kForward) return entries_->SeekBefore({key_buffer_, kFirstTrailer});
  do {
    entries_->Retreat();
  } while (entries_->Valid() && order_.Equal(entries_->key().user_key, key_buffer_));
}

// One that shows only what a key filter lets pass. What there is to a step stays as it is: a filter costs others
// nothing. In a plain block, where each entry is a key of its own that is visible, it asks about many keys at once.
class SievingIterator final : public DatabaseIterator {
 public:
  SievingIterator(DatabaseIteratorOptions options, std::unique_ptr<InternalIterator> entries)
      : DatabaseIterator(std::move(options), std::move(entries)), sieve_(this->options().key_filter) {}

  void SeekToFirst() override {
    DatabaseIterator::SeekToFirst();
    BeginForward();
  }
  void Seek(std::string_view target) override {
    DatabaseIterator::Seek(target);
    BeginForward();
  }
  void SeekToLast() override {
    DatabaseIterator::SeekToLast();
    GoBackward();
  }
  void SeekForPrev(std::string_view target) override {
    DatabaseIterator::SeekForPrev(target);
    GoBackward();
  }
  void Next() override {
    if (sieve_.PassesUnasked()) [[likely]]
      return DatabaseIterator::Next();
    NextAsked();
  }
  void Prev() override {
    DatabaseIterator::Prev();
    GoBackward();
  }

 private:
  void BeginForward() {
    block_sieve_.Forget();
    GoForward();
  }
  ABSL_ATTRIBUTE_NOINLINE void NextAsked() {
    if (block_sieve_.KnowsAhead() && PlainBlock() != nullptr) {
      block_sieve_.PassCurrent();
      if (ToPassing()) return;
    }
    DatabaseIterator::Next();
    GoForward();
  }
  void GoForward() {
    while (DatabaseIterator::Valid() && !sieve_.PassesUnasked()) {
      BlockCursor* const block = PlainBlock();
      const bool asked = block != nullptr && block_sieve_.Ask(block, &sieve_);
      if (asked ? ToPassing() : sieve_.Passes(DatabaseIterator::key())) return;
      DatabaseIterator::Next();
    }
  }
  // True where an entry that passes, or the upper bound, ends the search.
  bool ToPassing() {
    bool found = false;
    if (const uint32_t skipped = block_sieve_.Skip(&found); skipped > 0) SkipInPlainBlock(skipped);
    return found || !DatabaseIterator::Valid();
  }
  void GoBackward() {
    block_sieve_.Forget();
    while (DatabaseIterator::Valid() && !sieve_.Passes(DatabaseIterator::key())) DatabaseIterator::Prev();
  }

  KeySieve sieve_;
  BlockSieve block_sieve_;
};

class ErrorIterator final : public Iterator {
 public:
  explicit ErrorIterator(absl::Status status) : status_(std::move(status)) {}
  bool Valid() const override { return false; }
  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(std::string_view) override {}
  void SeekForPrev(std::string_view) override {}
  void Next() override {}
  void Prev() override {}
  std::string_view key() const override { return {}; }
  std::string_view value() const override { return {}; }
  absl::Status status() const override { return status_; }

 private:
  absl::Status status_;
};

}  // namespace

std::unique_ptr<Iterator> NewDatabaseIterator(DatabaseIteratorOptions options,
                                              std::unique_ptr<InternalIterator> entries) {
  if (options.key_filter != nullptr) return std::make_unique<SievingIterator>(std::move(options), std::move(entries));
  return std::make_unique<DatabaseIterator>(std::move(options), std::move(entries));
}

std::unique_ptr<Iterator> NewErrorIterator(absl::Status status) {
  return std::make_unique<ErrorIterator>(std::move(status));
}

}  // namespace sepal
