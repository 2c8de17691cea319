#include <utility>

#include "table/merging_iterator.h"
#include "util/check.h"

namespace sepal {
namespace {

class ConcatenatingIterator final : public InternalIterator {
 public:
  explicit ConcatenatingIterator(std::unique_ptr<ConcatenationSources> sources) : sources_(std::move(sources)) {}

  void SeekToFirst() override {
    prepared_ = false;
    if (!Enter(0)) return;
    current_->SeekToFirst();
    SettleForward();
  }
  void SeekToLast() override {
    prepared_ = false;
    if (!Enter(sources_->Count() - 1)) return;
    current_->SeekToLast();
    SettleBackward();
  }
  void Seek(InternalKeyView target) override {
    const bool entered = std::exchange(prepared_, false) ? current_ != nullptr : Enter(sources_->Find(target));
    if (!entered) return;
    current_->Seek(target);
    SettleForward();
  }
  void PrepareSeek(InternalKeyView target, int step) override {
    valid_ = false;
    if (step == 0) {
      Enter(sources_->Find(target));
      prepared_ = true;
    }
    if (current_ != nullptr) current_->PrepareSeek(target, step);
  }
  void SeekBefore(InternalKeyView target) override {
    prepared_ = false;
    const size_t index = sources_->Find(target);
    if (index >= sources_->Count()) return SeekToLast();
    Enter(index);
    current_->SeekBefore(target);
    SettleBackward();
  }
  void Next() override {
    SEPAL_DCHECK(valid_);
    current_->Advance();
    SettleForward();
  }
  void Prev() override {
    SEPAL_DCHECK(valid_);
    current_->Retreat();
    SettleBackward();
  }
  absl::Status status() const override { return current_ == nullptr ? absl::OkStatus() : current_->status(); }

 private:
  // Opens source `index` unless it is open and well. False if there is none (the one before the first included, whose
  // index wraps round): then nothing is open, and the iterator has ended.
  bool Enter(size_t index) {
    if (index >= sources_->Count()) {
      current_.reset();
      valid_ = false;
      lent_ = nullptr;
      return false;
    }
    if (current_ == nullptr || index != index_ || !current_->status().ok()) {
      current_ = sources_->Open(index);
      index_ = index;
    }
    return true;
  }
  // While the current source has ended, and well, goes on to the next one.
  void SettleForward() {
    while (!current_->Valid() && current_->status().ok()) {
      if (!Enter(index_ + 1)) return;
      current_->SeekToFirst();
    }
    ShowChild(*current_);
  }
  void SettleBackward() {
    while (!current_->Valid() && current_->status().ok()) {
      if (!Enter(index_ - 1)) return;
      current_->SeekToLast();
    }
    ShowChild(*current_);
  }

  const std::unique_ptr<ConcatenationSources> sources_;
  std::unique_ptr<InternalIterator> current_;
  size_t index_ = 0;  // of `current_`
  bool prepared_ = false;
};

}  // namespace

std::unique_ptr<InternalIterator> NewConcatenatingIterator(std::unique_ptr<ConcatenationSources> sources) {
  return std::make_unique<ConcatenatingIterator>(std::move(sources));
}

}  // namespace sepal
