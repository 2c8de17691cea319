#include "src/cursor.h"

#include <algorithm>

namespace sepal_python {
namespace {

constexpr size_t kMostEntries = 256;
constexpr size_t kMostBytes = size_t{64} << 10;

}  // namespace

void Cursor::Forget(Place place) {
  place_ = place;
  chunk_.clear();
  taken_ = 0;
  most_ = 1;
  status_ = absl::OkStatus();
}

void Cursor::Seek(std::string_view target) {
  Forget(Place::kBeforeEntry);
  iterator_->Seek(target);
  if (iterator_->Valid()) return;
  status_ = iterator_->status();
  place_ = Place::kStop;
}

// Of the entry behind the cursor, while the chunk is not used up.
std::string Cursor::KeyBehind() const {
  const Extent& extent = direction_ == Direction::kForward ? chunk_[taken_] : chunk_[taken_ - 1];
  return bytes_.substr(extent.begin, extent.key_size);
}

// The iterator is ahead of the cursor by what is left of the chunk.
void Cursor::GoBackToCursor() {
  if (taken_ < chunk_.size()) {
    Seek(KeyBehind());
  } else {
    most_ = 1;
  }
}

// Brings the iterator to the entry that the cursor steps over next. False: there is none.
bool Cursor::StepOnto(Direction direction) {
  const bool forward = direction == Direction::kForward;
  if (place_ == Place::kBeforeEntry) {
    if (!forward) iterator_->Prev();
  } else if (forward) {
    if (place_ == Place::kStop) return false;
    iterator_->SeekToFirst();
  } else {
    if (place_ == Place::kStart) return false;
    iterator_->SeekToLast();
  }
  if (iterator_->Valid()) return true;
  place_ = forward ? Place::kStop : Place::kStart;
  status_ = iterator_->status();
  return false;
}

void Cursor::Collect() {
  const std::string_view key = iterator_->key();
  const std::string_view value = with_values_ ? iterator_->value() : std::string_view();
  chunk_.push_back({bytes_.size(), key.size(), value.size()});
  bytes_.append(key).append(value);
}

void Cursor::Fill(Direction direction) {
  if (!status_.ok()) return;
  if (direction != direction_) GoBackToCursor();
  if (!status_.ok()) return;
  direction_ = direction;
  chunk_.clear();
  taken_ = 0;
  bytes_.clear();
  if (!StepOnto(direction)) return;
  place_ = Place::kBeforeEntry;
  const bool forward = direction == Direction::kForward;
  while (true) {
    Collect();
    const bool full = chunk_.size() >= most_ || bytes_.size() >= kMostBytes;
    if (full && !forward) break;  // it stands before the entry
    forward ? iterator_->Next() : iterator_->Prev();
    if (!iterator_->Valid()) {
      place_ = forward ? Place::kStop : Place::kStart;
      status_ = iterator_->status();
      break;
    }
    if (full) break;
  }
  most_ = std::min(most_ * 2, kMostEntries);
}

}  // namespace sepal_python
