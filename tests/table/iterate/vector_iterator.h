// Entries in a vector as an InternalIterator, for tests.
//
// Scribbles: the bytes of an entry's views are overwritten as soon as the iterator moves, so that the use of a stale
// view is detected. Can be made to fail.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "table/iterate/iterator.h"
#include "table/key/internal_key.h"
#include "util/base/check.h"

namespace sepal {

struct TestEntry {
  std::string user_key;
  Trailer trailer = 0;
  std::string value;

  InternalKeyView key() const { return {user_key, trailer}; }
  friend bool operator==(const TestEntry&, const TestEntry&) = default;
};

class VectorIterator final : public InternalIterator {
 public:
  // `entries` are in `order`, and outlive the iterator.
  VectorIterator(KeyOrder order, const std::vector<TestEntry>* entries) : order_(order), entries_(entries) {}
  ~VectorIterator() override { Scribble(); }

  // Every arrival at entry `index` fails with `status` from now on.
  void FailAt(size_t index, absl::Status status) {
    failing_index_ = index;
    failure_ = std::move(status);
  }

  void SeekToFirst() override { MoveTo(0); }
  void SeekToLast() override { MoveTo(entries_->size() - 1); }
  void Seek(InternalKeyView target) override { MoveTo(LowerBound(target)); }
  void SeekBefore(InternalKeyView target) override { MoveTo(LowerBound(target) - 1); }
  void Rest() override { MoveTo(std::numeric_limits<size_t>::max()); }
  void Next() override {
    SEPAL_CHECK(valid_);
    MoveTo(index_ + 1);
  }
  void Prev() override {
    SEPAL_CHECK(valid_);
    MoveTo(index_ - 1);
  }
  absl::Status status() const override { return status_; }

 private:
  size_t LowerBound(InternalKeyView target) const {
    const auto less = [this](const TestEntry& entry, InternalKeyView t) { return order_.Less(entry.key(), t); };
    return static_cast<size_t>(std::lower_bound(entries_->begin(), entries_->end(), target, less) - entries_->begin());
  }
  // An index past either end (those before the first wrap round) ends the iteration.
  void MoveTo(size_t index) {
    Scribble();
    status_ = index == failing_index_ ? failure_ : absl::OkStatus();
    index_ = index;
    valid_ = status_.ok() && index < entries_->size();
    if (!valid_) return;
    shown_ = std::make_unique<TestEntry>((*entries_)[index]);
    key_ = shown_->key();
    value_ = shown_->value;
  }
  void Scribble() {
    key_ = {"scribbled", 0x5c5c5c5c5c5c5c5c};
    value_ = "scribbled";
    if (shown_ == nullptr) return;
    std::fill(shown_->user_key.begin(), shown_->user_key.end(), '\x5c');
    std::fill(shown_->value.begin(), shown_->value.end(), '\x5c');
    shown_.reset();
  }

  const KeyOrder order_;
  const std::vector<TestEntry>* const entries_;
  std::unique_ptr<TestEntry> shown_;
  size_t index_ = 0;
  size_t failing_index_ = std::numeric_limits<size_t>::max() - 1;
  absl::Status failure_;
  absl::Status status_;
};

}  // namespace sepal
