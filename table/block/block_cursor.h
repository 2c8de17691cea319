// A cursor over a block: no virtual calls. Borrows the block's bytes. Holds the key it stands at in a buffer of its
// own, whose prefix is written once a block.
//
// Table iterators lend theirs to whoever goes on step by step (InternalIterator::NextInBlock): within a part of the
// block in which no other source has an entry. That part is the whole block unless it was narrowed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "absl/base/attributes.h"
#include "table/block/block.h"
#include "table/key/internal_key.h"

namespace sepal {

class BlockCursor {
 public:
  BlockCursor() = default;
  // Stands before the first entry.
  void Attach(std::string_view bytes, KeyOrder order);
  void Detach();
  // What the buffer of the key takes.
  size_t BufferBytes() const { return key_.capacity(); }
  bool attached() const { return view_.has_value(); }

  bool Valid() const { return attached() && index_ < view_->count(); }
  InternalKeyView key() const { return {{key_.data(), key_size_}, trailer_}; }
  std::string_view value() const { return value_; }

  // These moves end what Narrow began.
  void SeekToFirst() { MoveTo(0); }
  void SeekToLast() { MoveTo(view_->count() - 1); }
  void Seek(const InternalKeyView& target) {
    MoveTo(LowerBound(target));
    if (!Valid()) return;
    for (ptrdiff_t ahead = 0; ahead < kValueBytesAhead; ahead += 64) __builtin_prefetch(value_.data() + ahead);
  }
  // To the last entry before `target`.
  void SeekBefore(const InternalKeyView& target) { MoveTo(LowerBound(target) - 1); }
  void Next() { MoveTo(index_ + 1); }
  // Past the first entry the cursor is invalid.
  void Prev() { MoveTo(index_ - 1); }

  // The rest require Valid().
  uint32_t index() const { return index_; }
  uint32_t count() const { return view_->count(); }
  uint32_t LowerBound(const InternalKeyView& target) const { return view_->LowerBound(target, order_); }
  // Keeps the moves below within [begin, end), which holds the current entry, and within what was narrowed before.
  void Narrow(uint32_t begin, uint32_t end) {
    narrowed_ = true;
    begin_ = std::max(begin_, begin);
    end_ = std::min(end_, end);
  }
  // False at the end of the part, where nothing is moved.
  bool TryNext() { return TryNextPlain() || (index_ + 1 < end_ && ShowNext(index_ + 1)); }
  // TryNext in a plain block, where it is TryNextKey as well; only the value and the bytes of the key change. False
  // also where the block is not plain.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool TryNextPlain() { return plain_ && StepPlain(&value_); }
  bool plain() const { return plain_; }
  // TryNextPlain where the block is plain. `*value` gets the new value, which callers need not load again.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool StepPlain(std::string_view* value) {
    return index_ + 1 < end_ && ShowNextPlain(index_ + 1, value);
  }
  bool TryPrev() { return index_ > begin_ && ShowPrevious(index_ - 1); }
  // To the next user key. False where the part ends before one: the cursor is then at the last entry of the part, which
  // has the user key it was at. Requires that keys are equal only if identical.
  bool TryNextKey();
  // To the previous entry, if the part shows that both it and the current one are the newest of their user keys, and it
  // is the only one of its own. False: nothing was moved. Requires the same.
  bool TryPrevKey() { return index_ > begin_ && BeginsKey(index_) && BeginsKey(index_ - 1) && TryPrev(); }
  // Whether the part shows that no newer entry has the user key of the current one. Requires the same.
  bool BeginsKey() const { return BeginsKey(index_); }

 private:
  static constexpr size_t kShortSuffix = BlockView::kShortSuffix;
  // Of the values, those that many bytes away in the direction of travel are being fetched.
  static constexpr ptrdiff_t kValueBytesAhead = 512;

  bool BeginsKey(uint32_t index) const {
    if (index > begin_) [[likely]]
      return plain_ || !view_->RepeatsKey(index);
    // What another source has before the part may be newer.
    return index == 0 && !narrowed_ && !view_->continuation();
  }
  void MoveTo(uint32_t index) {
    index_ = index;
    begin_ = 0;
    end_ = view_->count();
    narrowed_ = false;
    if (index < end_) {
      Show(index);
    } else {
      end_ = 0;  // no step leads back
    }
  }
  void Show(uint32_t index);
  // In the caller's code: it is most of what a step does.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool ShowHere(uint32_t index);
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool ShowNext(uint32_t index) {
    __builtin_prefetch(value_.data() + value_.size() + kValueBytesAhead);
    return ShowHere(index);
  }
  // ShowNext in a plain block, from the entry before: trailer and length of the key stay what they are.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool ShowNextPlain(uint32_t index, std::string_view* shown) {
    const char* const begin = value_.data() + value_.size();
    __builtin_prefetch(begin + kValueBytesAhead);
    const char* const suffix = view_->PlainKeySuffix(index);
    const std::string_view value(begin, view_->PlainValueSize(index, begin));
    value_ = value;
    *shown = value;
    index_ = index;
    std::memcpy(key_.data() + prefix_size_, suffix, kShortSuffix);
    return true;
  }
  bool ShowPrevious(uint32_t index) {
    __builtin_prefetch(value_.data() - kValueBytesAhead);
    return ShowHere(index);
  }

  std::optional<BlockView> view_;
  KeyOrder order_;
  uint32_t index_ = ~uint32_t{0};
  uint32_t begin_ = 0, end_ = 0;
  bool narrowed_ = false;
  bool plain_ = false;  // the block is
  std::string key_;
  size_t prefix_size_ = 0;  // of the block's keys
  size_t key_size_ = 0;
  Trailer trailer_ = 0;
  std::string_view value_;
};

inline bool BlockCursor::ShowHere(uint32_t index) {
  // All that is read of the block first: what is written to the key's buffer might, to the compiler, change the view.
  const std::string_view suffix = view_->key_suffix(index);
  const size_t prefix_size = prefix_size_;
  const Trailer trailer = view_->trailer(index);
  const std::string_view value = view_->value(index);
  index_ = index;
  trailer_ = trailer;
  value_ = value;
  key_size_ = prefix_size + suffix.size();
  if (suffix.size() <= kShortSuffix) [[likely]] {
    std::memcpy(key_.data() + prefix_size, suffix.data(), kShortSuffix);
  } else {
    if (key_.size() < key_size_) key_.resize(key_size_);
    std::memcpy(key_.data() + prefix_size, suffix.data(), suffix.size());
  }
  return true;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool BlockCursor::TryNextKey() {
  uint32_t next = index_ + 1;
  while (next < end_ && view_->RepeatsKey(next)) [[unlikely]]++ next;
  if (next < end_) [[likely]]
    return ShowNext(next);
  if (next > index_ + 1) Show(next - 1);
  return false;
}

}  // namespace sepal
