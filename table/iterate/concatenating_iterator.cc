#include <algorithm>
#include <utility>
#include <vector>

#include "table/iterate/merging_iterator.h"
#include "util/base/check.h"

namespace sepal {
namespace {

class ConcatenatingIterator final : public InternalIterator {
 public:
  ConcatenatingIterator(std::unique_ptr<ConcatenationSources> sources, size_t kept)
      : sources_(std::move(sources)), open_(std::clamp<size_t>(sources_->Count(), 1, kept)) {
    SEPAL_CHECK(kept > 0);
  }

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
      sought_ = sources_->Find(target);
      asked_ = !IsOpen(sought_) && AskFor(sought_);
      if (asked_) return;
      Enter(sought_);
      prepared_ = true;
    }
    if (asked_) {
      PrepareAsked(target, step);
    } else if (current_ != nullptr) {
      current_->PrepareSeek(target, step);
    }
  }
  void AskForEnd(bool last) override {
    const size_t index = last ? sources_->Count() - 1 : 0;
    if (!IsOpen(index)) AskFor(index);
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
    current_->Next();
    SettleForward();
  }
  void Prev() override {
    SEPAL_DCHECK(valid_);
    current_->Prev();
    SettleBackward();
  }
  absl::Status status() const override { return current_ == nullptr ? absl::OkStatus() : current_->status(); }

 private:
  bool IsOpen(size_t index) const {
    if (current_ != nullptr && index == index_) [[likely]]
      return true;
    const OpenSource& source = open_[index % open_.size()];
    return source.iterator != nullptr && source.index == index;
  }
  bool AskFor(size_t index) { return index < sources_->Count() && sources_->Ask(index); }
  // What the source waits for was requested in the first step, while other iterators requested theirs; so it is opened
  // in the second step, and takes its own steps later, except for those that wait, whose requests overlap too.
  void PrepareAsked(InternalKeyView target, int step) {
    if (step == 1) {
      Enter(sought_);
      prepared_ = true;
      return current_->PrepareSeek(target, 0);
    }
    if (step == 2) current_->PrepareSeek(target, 1);
    current_->PrepareSeek(target, step);
  }
  // Goes to source `index`, and opens it unless it is already open and valid: a source that failed to open is opened
  // again, and one that failed later is retried by the seek that must follow. Returns false if there is no such source
  // (also before the first one, where the index wraps round); then no source is current, and the iterator has ended.
  bool Enter(size_t index) {
    if (index >= sources_->Count()) {
      LeaveCurrent();
      valid_ = false;
      lent_ = nullptr;
      return false;
    }
    if (current_ != nullptr && index == index_ && (current_->Valid() || current_->status().ok())) [[likely]]
      return true;
    LeaveCurrent();
    OpenSource& source = open_[index % open_.size()];
    if (source.iterator == nullptr || source.index != index || !source.iterator->status().ok()) {
      source.iterator = sources_->Open(index);
      source.index = index;
    }
    current_ = source.iterator.get();
    index_ = index;
    return true;
  }
  void LeaveCurrent() {
    if (current_ == nullptr) return;
    if (open_.size() == 1) {
      open_[0].iterator.reset();
    } else {
      current_->Rest();
    }
    current_ = nullptr;
  }
  // While the current source has ended without an error, goes on to the next one.
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

  // Source `index` has the place index modulo the number of places.
  struct OpenSource {
    size_t index = 0;
    std::unique_ptr<InternalIterator> iterator;
  };

  const std::unique_ptr<ConcatenationSources> sources_;
  std::vector<OpenSource> open_;
  InternalIterator* current_ = nullptr;
  size_t index_ = 0;  // the index of `current_`
  bool prepared_ = false;
  // For a seek that is being prepared.
  size_t sought_ = 0;
  bool asked_ = false;
};

}  // namespace

std::unique_ptr<InternalIterator> NewConcatenatingIterator(std::unique_ptr<ConcatenationSources> sources, size_t kept) {
  return std::make_unique<ConcatenatingIterator>(std::move(sources), kept);
}

}  // namespace sepal
