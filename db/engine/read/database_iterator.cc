#include "db/engine/read/database_iterator.h"

#include <cstring>
#include <utility>

#include "absl/base/attributes.h"
#include "db/decide/visibility/visibility.h"
#include "db/engine/read/database_iterator_impl.h"
#include "db/engine/read/shown_entry.h"
#include "db/engine/read/sieving_iterator.h"
#include "db/format/value_reference.h"
#include "util/base/status.h"

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

ReadClock* ClockOf(const DatabaseIteratorOptions& options) { return &options.source.core->expiry; }

// Copies the current key before a step. The next key often has the same length, so memcpy is the fast path.
void CopyKey(std::string_view key, std::string* buffer) {
  if (key.size() != buffer->size()) [[unlikely]] {
    buffer->assign(key);
    return;
  }
  std::memcpy(buffer->data(), key.data(), key.size());
}

// Shows the same entries without their values.
template <class Entries>
class WithoutValues final : public Entries {
 public:
  using Entries::Entries;
  std::string_view value() const override { return {}; }
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

// A failure beyond the entry that is shown is reported only when that place is reached.
absl::Status DatabaseIterator::status() const {
  if (Closed()) return NotOpen(*options_.open_mark);
  return merge_status_.ok() && !AnyAhead() ? entries_->status() : merge_status_;
}

// --- seeks ---

bool DatabaseIterator::BeginSeek() {
  if (ahead_ != nullptr) ahead_->Restart();
  return Begin(Ticker::kSeeks);
}

// Nothing is touched once the database is closed, because its comparator, clock or listeners may be gone.
void DatabaseIterator::SeekToFirst() {
  if (Closed()) [[unlikely]]
    return Hide();
  const WatchedCall call(options_.calls, kSeekCall, [this] { return ASeek({}); });
  if (!BeginSeek()) return;
  SetOut(Direction::kForward);
  if (options_.lower_bound.has_value()) {
    entries_->Seek({*options_.lower_bound, kFirstTrailer});
  } else {
    entries_->SeekToFirst();
  }
  FindNextVisible(/*skip_key=*/false);
}

void DatabaseIterator::Seek(std::string_view target) {
  if (Closed()) [[unlikely]]
    return Hide();
  if (IsBefore(target)) return DatabaseIterator::SeekToFirst();
  target = Keep(target);
  const WatchedCall call(options_.calls, kSeekCall, [&] { return ASeek(target); });
  if (!BeginSeek()) return;
  SetOut(Direction::kForward);
  entries_->Seek({target, SeekTrailer(options_.visible)});
  FindNextVisible(/*skip_key=*/false);
}

void DatabaseIterator::SeekToLast() {
  if (Closed()) [[unlikely]]
    return Hide();
  const WatchedCall call(options_.calls, kSeekCall, [this] { return ASeek({}); });
  if (!BeginSeek()) return;
  SetOut(Direction::kBackward);
  if (options_.upper_bound.has_value()) {
    entries_->SeekBefore({*options_.upper_bound, kFirstTrailer});
  } else {
    entries_->SeekToLast();
  }
  FindPreviousVisible();
}

void DatabaseIterator::SeekForPrev(std::string_view target) {
  if (Closed()) [[unlikely]]
    return Hide();
  if (IsBehind(target)) return DatabaseIterator::SeekToLast();
  target = Keep(target);
  const WatchedCall call(options_.calls, kSeekCall, [&] { return ASeek(target); });
  if (!BeginSeek()) return;
  SetOut(Direction::kBackward);
  // All versions of `target` sort before (target, 0): only a delete with sequence number 0 has that trailer, and
  // retention drops those.
  entries_->SeekBefore({target, kLastTrailer});
  FindPreviousVisible();
}

// --- steps ---

ABSL_ATTRIBUTE_NOINLINE void DatabaseIterator::ShowFromHere() {
  Hide();
  const WatchedCall call(options_.calls, kNextCall, [this] { return AStep(); });
  FindNextVisible(/*skip_key=*/false);
}

ABSL_ATTRIBUTE_NOINLINE void DatabaseIterator::NextElsewhere() {
  if (Closed()) [[unlikely]]
    return Hide();
  const WatchedCall call(options_.calls, kNextCall, [this] { return AStep(); });
  if (!Begin(Ticker::kNexts)) return;
  if (ahead_ != nullptr && NextAhead()) return;
  if (at_entry_) {
    CopyKey(entries_->key().user_key, &key_buffer_);
    // If equal keys have equal bytes, the lent block has no older version, so Next is enough.
    hashable_ ? entries_->Next() : entries_->Advance();
  } else if (direction_ == Direction::kBackward) {
    // Goes back to the versions of the shown key, which FindNextVisible then skips.
    entries_->Seek({key_buffer_, kFirstTrailer});
  }
  SetOut(Direction::kForward);
  FindNextVisible(/*skip_key=*/true);
}

ABSL_ATTRIBUTE_NOINLINE void DatabaseIterator::ShowBackwardFromHere() {
  Hide();
  const WatchedCall call(options_.calls, kPrevCall, [this] { return AStep(); });
  FindPreviousVisible();
}

ABSL_ATTRIBUTE_NOINLINE void DatabaseIterator::PrevElsewhere() {
  if (Closed()) [[unlikely]]
    return Hide();
  const WatchedCall call(options_.calls, kPrevCall, [this] { return AStep(); });
  if (!Begin(Ticker::kPrevs)) return;
  if (ahead_ != nullptr && PrevAhead()) return;
  if (at_entry_) key_buffer_.assign(entries_->key().user_key);
  if (at_entry_ || direction_ == Direction::kForward) GoBefore();
  FindPreviousVisible();
}

void DatabaseIterator::SkipInPlainBlock(uint32_t count) {
  entries_->SkipInPlainBlock(count);
  direction_ = Direction::kForward;
  steps_ += count;
  if (options_.upper_bound.has_value()) HideBehindBound();
}

void DatabaseIterator::GoBefore() {
  if (direction_ == Direction::kForward) return entries_->SeekBefore({key_buffer_, kFirstTrailer});
  do {
    entries_->Retreat();
  } while (entries_->Valid() && order_.Equal(entries_->key().user_key, key_buffer_));
}

// --- what is shown ---

ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool DatabaseIterator::PassDeleted(bool skip_key) {
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

void DatabaseIterator::FindNextVisible(bool skip_key) {
  for (;; skip_key = true) {
    dead_run_.Begin(DeadRun::Direction::kForward);
    const bool found = PassDeleted(skip_key);
    dead_run_.End(key_buffer_, /*after=*/true);
    if (!found) return;
    const Meaning meaning = MeaningOf(entries_->key().trailer);
    if (IsShownAsItStands(meaning)) [[likely]]
      return ShowEntry();
    if (ShowMade(meaning)) return;
  }
}

ABSL_ATTRIBUTE_NOINLINE bool DatabaseIterator::ShowMade(Meaning meaning) {
  const ValueKind kind = entries_->key().kind();
  const bool refers = meaning != Meaning::kOperand && IsReference(kind) && !options_.keys_only;
  const bool shows = !refers || IsWanted(entries_->key().user_key);
  if (refers && shows) {
    at_entry_ = false;
    BeginAhead(entries_->key().user_key, ReferencePart(kind, entries_->value()),
               ExpiryOf(entries_->key().trailer, entries_->value()));
    CollectForward();
    ShowAhead();
    return true;
  }
  key_buffer_.assign(entries_->key().user_key);
  if (!shows) return false;
  at_entry_ = false;
  if (!options_.keys_only) merge_status_ = MakeShown(options_, meaning, key_buffer_, entries_.get(), &value_buffer_);
  shown_value_ = value_buffer_;
  valid_ = merge_status_.ok();
  return true;
}

void DatabaseIterator::FindPreviousVisible() {
  SetOut(Direction::kBackward);
  dead_run_.Begin(DeadRun::Direction::kBackward);
  while (entries_->Valid()) {
    if (IsBefore(entries_->key().user_key)) break;
    if (hashable_ && entries_->BeginsKeyInBlock() && IsVisible(entries_->key())) {
      ShowEntry();
      break;
    }
    CopyKey(entries_->key().user_key, &key_buffer_);
    const TakenVersions taken =
        TakeBackward(options_.visible, order_, ClockOf(options_), entries_.get(), &key_buffer_, &value_buffer_);
    const Meaning meaning = taken.meaning;
    if (!entries_->status().ok()) return;
    if (meaning != Meaning::kAbsent) {
      dead_run_.End(key_buffer_, /*after=*/true);
      if (IsShownAsItStands(meaning)) return ShowBuffers();
      if (meaning == Meaning::kOperand) return ShowMergedBackward();
      if (IsWanted(key_buffer_)) {
        BeginAhead(key_buffer_, value_buffer_, taken.expiry_millis);
        CollectBackward();
        return ShowAhead();
      }
      dead_run_.Begin(DeadRun::Direction::kBackward);
      continue;
    }
    if (dead_run_.Pass(key_buffer_)) entries_->SeekBefore(dead_run_.target());
  }
  dead_run_.End(key_buffer_, /*after=*/false);
}

void DatabaseIterator::ShowMergedBackward() {
  Hide();
  entries_->Seek({key_buffer_, SeekTrailer(options_.visible)});
  if (!entries_->Valid()) return;  // a read failed
  ShowMade(Meaning::kOperand);
  entries_->SeekBefore({key_buffer_, kFirstTrailer});
  if (!entries_->status().ok()) valid_ = false;
}

// --- values that lie in value files ---

void DatabaseIterator::BeginAhead(std::string_view key, std::string_view reference, uint64_t expiry_millis) {
  if (ahead_ == nullptr) ahead_ = std::make_unique<EntriesAhead>(options_.source.core, options_.fill_cache);
  ahead_->Begin(key, reference, expiry_millis);
}

void DatabaseIterator::PopAhead() {
  const auto expires = [this] { return ahead_->expiry_millis() != kNoExpiryMillis; };
  do {
    ahead_->Pop();
  } while (!ahead_->empty() && expires() && ClockOf(options_)->NowMillis() >= ahead_->expiry_millis());
}

ABSL_ATTRIBUTE_NOINLINE bool DatabaseIterator::NextAhead() {
  if (AnyAhead() && direction_ == Direction::kForward) {
    PopAhead();
    if (AnyAhead()) {
      ShowAhead();
      return true;
    }
    key_buffer_.assign(passed_key_);
  } else if (direction_ == Direction::kBackward) {
    ahead_->Restart();
  }
  return false;
}

ABSL_ATTRIBUTE_NOINLINE bool DatabaseIterator::PrevAhead() {
  if (AnyAhead() && direction_ == Direction::kBackward) {
    PopAhead();
    if (AnyAhead()) {
      ShowAhead();
      return true;
    }
  } else if (direction_ == Direction::kForward) {
    ahead_->Restart();
  }
  return false;
}

// From the reference where `entries_` stands on. What a merge operator makes is left for its turn.
void DatabaseIterator::CollectForward() {
  passed_key_.assign(entries_->key().user_key);
  for (entries_->Advance(); entries_->Valid(); entries_->Advance()) {
    const InternalKeyView& key = entries_->key();
    if (key.sequence() > options_.visible || order_.Equal(key.user_key, passed_key_)) {
      if (!ahead_->MayPass()) return;
      continue;
    }
    std::string_view payload = entries_->value();
    const uint64_t expiry = ExpiryOf(key.trailer, payload);
    const Meaning meaning = MeaningNow(key.trailer, &payload, ClockOf(options_));
    if (meaning == Meaning::kOperand || IsBehind(key.user_key)) return;
    if (!ahead_->HasRoomFor(key.user_key, payload)) return;
    if (meaning == Meaning::kValue) {
      ahead_->AddValue(key.user_key, payload, expiry);
    } else if (meaning == Meaning::kReference && IsWanted(key.user_key)) {
      ahead_->AddReference(key.user_key, payload, expiry);
    } else if (!ahead_->MayPass()) {
      return;
    }
    passed_key_.assign(key.user_key);
  }
}

// Collects from before the key that began the batch. A key that is left for later is given back: `entries_` returns to
// its oldest version.
void DatabaseIterator::CollectBackward() {
  std::string key;
  std::string value;
  while (entries_->Valid() && ahead_->HasRoomFor({}, {}) && !IsBefore(entries_->key().user_key)) {
    key.assign(entries_->key().user_key);
    const TakenVersions taken = TakeBackward(options_.visible, order_, ClockOf(options_), entries_.get(), &key, &value);
    if (!entries_->status().ok()) return;
    const bool absent = taken.meaning == Meaning::kAbsent;
    if (absent || (taken.meaning == Meaning::kReference && !IsWanted(key))) {
      if (!ahead_->MayPass()) return;
      continue;
    }
    const bool waits = taken.meaning == Meaning::kOperand;
    if (waits || !ahead_->HasRoomFor(key, value)) return entries_->SeekBefore({key, kLastTrailer});
    const bool refers = taken.meaning == Meaning::kReference;
    refers ? ahead_->AddReference(key, value, taken.expiry_millis) : ahead_->AddValue(key, value, taken.expiry_millis);
  }
}

void DatabaseIterator::ShowAhead() {
  key_buffer_.assign(ahead_->key());
  if (!ahead_->IsReference()) {
    shown_value_ = ahead_->value();
    valid_ = true;
    return;
  }
  absl::StatusOr<CachePin> pin = ahead_->Fetch();
  merge_status_ = pin.status();
  valid_ = pin.ok();
  if (!valid_) return;
  value_pin_ = *std::move(pin);
  shown_value_ = value_pin_.bytes();
}

std::unique_ptr<Iterator> NewDatabaseIterator(DatabaseIteratorOptions options,
                                              std::unique_ptr<InternalIterator> entries) {
  const bool sieves = options.key_filter != nullptr;
  if (options.keys_only) {
    if (sieves) return std::make_unique<WithoutValues<SievingIterator>>(std::move(options), std::move(entries));
    return std::make_unique<WithoutValues<DatabaseIterator>>(std::move(options), std::move(entries));
  }
  if (sieves) return std::make_unique<SievingIterator>(std::move(options), std::move(entries));
  return std::make_unique<DatabaseIterator>(std::move(options), std::move(entries));
}

std::unique_ptr<Iterator> NewErrorIterator(absl::Status status) {
  return std::make_unique<ErrorIterator>(std::move(status));
}

}  // namespace sepal
