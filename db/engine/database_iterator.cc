#include "db/engine/database_iterator.h"

#include <utility>

#include "util/check.h"

namespace sepal {

namespace {

// Going forward, `entries_` stands at the entry that is shown. Going backward, it stands before all versions of the key
// that is shown, and `key_buffer_` and `value_buffer_` hold what is shown.
class DatabaseIterator final : public Iterator {
 public:
  DatabaseIterator(DatabaseIteratorOptions options, std::unique_ptr<InternalIterator> entries)
      : options_(std::move(options)),
        order_(options_.order),
        hashable_(order_.hashable()),
        entries_(std::move(entries)) {}
  ~DatabaseIterator() override {
    CountSteps();
    entries_.reset();
  }

  bool Valid() const override { return valid_ && !Closed(); }
  std::string_view key() const override { return forward_ ? entries_->key().user_key : std::string_view(key_buffer_); }
  std::string_view value() const override { return forward_ ? entries_->value() : std::string_view(value_buffer_); }
  absl::Status status() const override {
    if (Closed()) return absl::FailedPreconditionError("the database of this iterator is closed");
    return entries_->status();
  }

  void SeekToFirst() override {
    const WatchedCall call(options_.calls, ASeek({}));
    if (!Begin(Ticker::kSeeks)) return;
    forward_ = true;
    if (options_.lower_bound.has_value()) {
      entries_->Seek({*options_.lower_bound, kFirstTrailer});
    } else {
      entries_->SeekToFirst();
    }
    FindNextVisible(/*skip_key=*/false);
  }

  void Seek(std::string_view target) override {
    if (options_.lower_bound.has_value() && order_.Less(target, *options_.lower_bound)) return SeekToFirst();
    const WatchedCall call(options_.calls, ASeek(target));
    if (!Begin(Ticker::kSeeks)) return;
    forward_ = true;
    entries_->Seek({target, SeekTrailer(options_.visible)});
    FindNextVisible(/*skip_key=*/false);
  }

  void SeekToLast() override {
    const WatchedCall call(options_.calls, ASeek({}));
    if (!Begin(Ticker::kSeeks)) return;
    forward_ = false;
    if (options_.upper_bound.has_value()) {
      entries_->SeekBefore({*options_.upper_bound, kFirstTrailer});
    } else {
      entries_->SeekToLast();
    }
    FindPreviousVisible();
  }

  void SeekForPrev(std::string_view target) override {
    if (options_.upper_bound.has_value() && !order_.Less(target, *options_.upper_bound)) return SeekToLast();
    const WatchedCall call(options_.calls, ASeek(target));
    if (!Begin(Ticker::kSeeks)) return;
    forward_ = false;
    // All versions of `target` are before (target, 0) or at it; no update has trailer 0 and sequence 0 but a
    // zeroed delete, which retention never leaves.
    entries_->SeekBefore({target, kLastTrailer});
    FindPreviousVisible();
  }

  void Next() override {
    SEPAL_DCHECK(valid_);
    if (forward_ && hashable_ && !Closed() && entries_->NextKeyInBlock()) [[likely]] {
      ++steps_;
      if (IsShown(entries_->key())) [[likely]]
        return;
      valid_ = false;
      const WatchedCall call(options_.calls, AStep("next"));
      return FindNextVisible(/*skip_key=*/false);
    }
    const WatchedCall call(options_.calls, AStep("next"));
    if (!Begin(Ticker::kNexts)) return;
    if (forward_) {
      key_buffer_.assign(entries_->key().user_key);
      entries_->Advance();
    } else {
      // Back to the versions of the key that was shown; the skip below passes them.
      forward_ = true;
      entries_->Seek({key_buffer_, kFirstTrailer});
    }
    FindNextVisible(/*skip_key=*/true);
  }

  void Prev() override {
    SEPAL_DCHECK(valid_);
    const WatchedCall call(options_.calls, AStep("prev"));
    if (!Begin(Ticker::kPrevs)) return;
    if (forward_) {
      forward_ = false;
      key_buffer_.assign(entries_->key().user_key);
      entries_->SeekBefore({key_buffer_, kFirstTrailer});
    }
    FindPreviousVisible();
  }

 private:
  bool Closed() const { return options_.closed->load(std::memory_order_acquire); }

  bool Begin(Ticker ticker) {
    valid_ = false;
    if (Closed()) [[unlikely]]
      return false;
    options_.statistics->Add(ticker);
    CountSteps();
    return true;
  }

  CallWatch::Subject ASeek(std::string_view target) const {
    return {.call = "seek", .histogram = Histogram::kSeekMicros, .column_family = options_.family_name, .key = target};
  }
  CallWatch::Subject AStep(std::string_view direction) const {
    return {.call = direction, .column_family = options_.family_name, .key_buffer = &key_buffer_};
  }

  // Steps within blocks are counted together, once a block.
  void CountSteps() {
    if (steps_ > 0) options_.statistics->Add(Ticker::kNexts, std::exchange(steps_, 0));
  }

  // Whether it can be told at a glance that an entry, the newest of its key, is to be shown.
  bool IsShown(const InternalKeyView& key) const {
    return key.sequence() <= options_.visible && !IsTombstone(key.kind()) && !options_.upper_bound.has_value();
  }

  // From where `entries_` stands, to the first entry to be shown. With `skip_key`, versions of the key in `key_buffer_`
  // are passed over.
  void FindNextVisible(bool skip_key) {
    for (; entries_->Valid(); entries_->Advance()) {
      const InternalKeyView& key = entries_->key();
      if (key.sequence() > options_.visible) continue;
      if (skip_key && order_.Equal(key.user_key, key_buffer_)) continue;
      if (IsTombstone(key.kind())) {
        key_buffer_.assign(key.user_key);
        skip_key = true;
        continue;
      }
      if (options_.upper_bound.has_value() && !order_.Less(key.user_key, *options_.upper_bound)) return;
      valid_ = true;
      return;
    }
  }

  // `entries_` stands at or before the newest candidate; versions come oldest first. Collects the newest visible
  // version of each key until one is not a tombstone.
  void FindPreviousVisible() {
    while (entries_->Valid()) {
      if (options_.lower_bound.has_value() && order_.Less(entries_->key().user_key, *options_.lower_bound)) return;
      key_buffer_.assign(entries_->key().user_key);
      bool found = false;
      while (entries_->Valid() && order_.Equal(entries_->key().user_key, key_buffer_)) {
        if (entries_->key().sequence() <= options_.visible) {
          found = !IsTombstone(entries_->key().kind());
          if (found) {
            key_buffer_.assign(entries_->key().user_key);
            value_buffer_.assign(entries_->value());
          }
        }
        entries_->Retreat();
      }
      if (!entries_->status().ok()) return;
      if (found) {
        valid_ = true;
        return;
      }
    }
  }

  const DatabaseIteratorOptions options_;
  const KeyOrder order_;
  const bool hashable_;
  std::unique_ptr<InternalIterator> entries_;
  bool valid_ = false;
  bool forward_ = true;
  uint64_t steps_ = 0;  // not counted yet
  std::string key_buffer_;
  std::string value_buffer_;
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
  return std::make_unique<DatabaseIterator>(std::move(options), std::move(entries));
}

std::unique_ptr<Iterator> NewErrorIterator(absl::Status status) {
  return std::make_unique<ErrorIterator>(std::move(status));
}

}  // namespace sepal
