// A cursor over a block, without virtual calls. Borrows the block's bytes. It holds the current key in its own buffer,
// and writes the prefix into it only once for each block.
//
// Table iterators lend their cursor to a caller that steps through entries (InternalIterator::NextInBlock), within a
// part of the block in which no other source has an entry. That part is the whole block unless it was narrowed.
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
  // Starts before the first entry of the block.
  void Attach(std::string_view bytes, KeyOrder order);
  void Detach();
  // The bytes that the key's buffer takes.
  size_t BufferBytes() const { return key_.capacity(); }
  bool attached() const { return view_.has_value(); }

  bool Valid() const { return attached() && index_ < view_->count(); }
  InternalKeyView key() const { return {{key_.data(), key_size_}, trailer_}; }
  std::string_view value() const { return value_; }

  // These moves undo Narrow.
  void SeekToFirst() { MoveTo(0); }
  void SeekToLast() { MoveTo(view_->count() - 1); }
  void Seek(const InternalKeyView& target) {
    MoveTo(LowerBound(target));
    if (!Valid()) return;
    for (ptrdiff_t ahead = 0; ahead < kValueBytesAhead; ahead += 64) __builtin_prefetch(value_.data() + ahead);
  }
  // Moves to the last entry before `target`.
  void SeekBefore(const InternalKeyView& target) { MoveTo(LowerBound(target) - 1); }
  void Next() { MoveTo(index_ + 1); }
  // Moving before the first entry makes the cursor invalid.
  void Prev() { MoveTo(index_ - 1); }

  // The methods below require Valid().
  uint32_t index() const { return index_; }
  uint32_t count() const { return view_->count(); }
  uint32_t LowerBound(const InternalKeyView& target) const { return view_->LowerBound(target, order_); }
  // Restricts the moves below to [begin, end), which must hold the current entry, and to the part of an earlier Narrow.
  void Narrow(uint32_t begin, uint32_t end) {
    narrowed_ = true;
    begin_ = std::max(begin_, begin);
    end_ = std::min(end_, end);
  }
  // Returns false, and does not move, at the end of the part.
  bool TryNext() { return TryNextPlain() || (index_ + 1 < end_ && ShowNext(index_ + 1)); }
  // TryNext for a plain block, where it does the same as TryNextKey; only the value and the bytes of the key change.
  // Also returns false if the block is not plain.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool TryNextPlain() { return plain_ && StepPlain(&value_); }
  bool plain() const { return plain_; }
  // TryNextPlain if the block is known to be plain. Also sets `*value` to the new value, so that the caller need not
  // load it again.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool StepPlain(std::string_view* value) {
    return index_ + 1 < end_ && ShowNextPlain(index_ + 1, value);
  }
  // Only for a plain block. The number of entries of the part after the current one; the bytes of a key; and the keys
  // of `count` entries from the current one on, each written to `stride` bytes of `out`, at least PlainKeyRoom().
  // Values are not touched.
  uint32_t EntriesAhead() const { return end_ - index_ - 1; }
  size_t PlainKeyBytes() const { return key_size_; }
  size_t PlainKeyRoom() const { return prefix_size_ + kShortSuffix; }
  void CopyPlainKeys(uint32_t count, size_t stride, char* out) const;
  // Moves `count` entries ahead, at most EntriesAhead().
  void SkipPlain(uint32_t count, std::string_view* value) {
    ShowHere(index_ + count);
    *value = value_;
  }
  // Set by a scan that looks at keys and passes most of their values: no value is prefetched in later blocks.
  void PassValues(bool passes) { passes_values_ = passes; }
  bool passes_values() const { return passes_values_; }
  bool TryPrev() { return index_ > begin_ && ShowPrevious(index_ - 1); }
  // Moves to the next user key. Returns false if the part has none; the cursor is then at the last entry of the part,
  // which has the same user key. Requires that keys are equal only if identical.
  bool TryNextKey();
  // Moves to the previous entry if the part shows that both it and the current entry are the newest of their user keys,
  // and that it is the only entry of its own. Otherwise returns false and does not move. Same requirement.
  bool TryPrevKey() { return index_ > begin_ && BeginsKey(index_) && BeginsKey(index_ - 1) && TryPrev(); }
  // Whether the part shows that no newer entry has the current user key. Same requirement.
  bool BeginsKey() const { return BeginsKey(index_); }

 private:
  static constexpr size_t kShortSuffix = BlockView::kShortSuffix;
  // Values that are this many bytes ahead in the direction of travel are prefetched.
  static constexpr ptrdiff_t kValueBytesAhead = 512;

  bool BeginsKey(uint32_t index) const {
    if (index > begin_) [[likely]]
      return plain_ || !view_->RepeatsKey(index);
    // Another source may hold a newer entry, which lies before the part.
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
  // Inlined into the caller, because it is most of the work of a step.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool ShowHere(uint32_t index);
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool ShowNext(uint32_t index) {
    __builtin_prefetch(value_.data() + value_.size() + kValueBytesAhead);
    return ShowHere(index);
  }
  // ShowNext for a plain block, from the entry before: the trailer and the length of the key do not change.
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
  bool plain_ = false;  // whether the block is plain
  bool passes_values_ = false;
  std::string key_;
  size_t prefix_size_ = 0;  // the length of the block's prefix
  size_t key_size_ = 0;
  Trailer trailer_ = 0;
  std::string_view value_;
};

inline bool BlockCursor::ShowHere(uint32_t index) {
  // Reads everything from the block first: for the compiler, a write to the key's buffer could change the view.
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
