// The contract of every ordered source of entries inside the engine: memtables, blocks, tables, merging iterators.
//
// An iterator is at an entry (`Valid`) or not: before the first seek, past either end, or after a failure (`status`).
// The current entry is in fields of the base class, which implementations set on every move, so that reading it costs
// no virtual call. The views are valid until the next move.
//
// If the current entry is in a block, the iterator may also *lend* its cursor over the block, so that steps within the
// block cost no virtual call, however many iterators are stacked (`NextInBlock`, `Advance`).
//
// Not safe for concurrent use.
#pragma once

#include <memory>
#include <string_view>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "table/block/block_cursor.h"
#include "table/key/internal_key.h"

namespace sepal {

class InternalIterator {
 public:
  InternalIterator() = default;
  InternalIterator(const InternalIterator&) = delete;
  InternalIterator& operator=(const InternalIterator&) = delete;
  virtual ~InternalIterator() = default;

  bool Valid() const { return valid_; }
  // Require Valid().
  const InternalKeyView& key() const { return key_; }
  std::string_view value() const { return value_; }

  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  // Moves to the first entry at or after `target`, which must not point into this iterator's current entry.
  virtual void Seek(InternalKeyView target) = 0;
  // Moves to the last entry before `target`.
  virtual void SeekBefore(InternalKeyView target) = 0;
  // For a caller that is about to seek several iterators to `target`: calling this on all of them for each step from 0
  // up to kSeekSteps lets their cache misses overlap. The position is lost; a Seek to the same target must follow. The
  // default does nothing.
  static constexpr int kSeekSteps = 5;
  virtual void PrepareSeek(InternalKeyView target, int step) { (void)target, (void)step; }
  // For a caller that is about to move several iterators to their first entry, or to their last: makes each of them
  // request what it will need and does not have, without waiting. The default does nothing.
  virtual void AskForEnd(bool last) { (void)last; }
  // For a caller that may come back later: releases resources that are held only for the position, which is lost. The
  // default does nothing.
  virtual void Rest() {}
  // Require Valid().
  virtual void Next() = 0;
  virtual void Prev() = 0;

  // The same moves within the lent block. If they return false, nothing was moved, and Next (or Prev) must be called.
  bool NextInBlock() { return lent_ != nullptr && lent_->TryNext() && ShowLent(lent_); }
  bool PrevInBlock() { return lent_ != nullptr && lent_->TryPrev() && ShowLent(lent_); }
  // Moves to the next user key within the lent block. If it returns false, the iterator is at an entry of the same user
  // key. Requires that keys are equal only if identical.
  ABSL_ATTRIBUTE_NOINLINE bool NextKeyInBlock() {
    if (lent_ == nullptr) return false;
    const bool moved = lent_->TryNextKey();
    return ShowLent(lent_) && moved;
  }
  // Whether all entries of the lent block have one trailer, and each one has a new user key, so that
  // NextKeyInPlainBlock may be called until a move leaves the block.
  bool LendsPlainBlock() const { return lent_ != nullptr && lent_->plain(); }
  // A cheaper NextKeyInBlock, only for plain blocks. If it returns false, nothing was moved.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool NextKeyInPlainBlock() {
    return lent_->StepPlain(&value_);  // the address of the key does not change
  }
  // Returns the lent plain block from the current entry on, for a caller that looks at keys ahead
  // (BlockCursor::CopyPlainKeys).
  BlockCursor* LentPlainBlock() { return lent_; }
  // Moves `count` entries ahead in the lent plain block, which must have that many.
  void SkipInPlainBlock(uint32_t count) { lent_->SkipPlain(count, &value_); }
  // Moves to the previous entry within the lent block, if both it and the current entry are the newest of their user
  // keys, and it is the only entry of its own. If it returns false, nothing was moved. Same requirement.
  bool PrevKeyInBlock() { return lent_ != nullptr && lent_->TryPrevKey() && ShowLent(lent_); }
  // Whether the lent block shows that no newer entry has the current user key. Same requirement.
  bool BeginsKeyInBlock() const { return lent_ != nullptr && lent_->BeginsKey(); }
  void Advance() {
    if (!NextInBlock()) Next();
  }
  void Retreat() {
    if (!PrevInBlock()) Prev();
  }

  // Ok unless the last move failed. A failed iterator is not valid.
  virtual absl::Status status() const = 0;

 protected:
  // Shows the entry at `cursor`, which is lent from now on.
  bool ShowLent(BlockCursor* cursor) {
    lent_ = cursor;
    key_ = cursor->key();
    value_ = ByWords(cursor->value());
    return true;
  }
  // Shows the entry of `child`, if it is valid, and lends its cursor too.
  void ShowChild(const InternalIterator& child) {
    valid_ = child.valid_;
    lent_ = child.lent_;
    key_ = {ByWords(child.key_.user_key), child.key_.trailer};
    value_ = ByWords(child.value_);
  }
  static BlockCursor* LentBy(const InternalIterator& child) { return child.lent_; }

  InternalKeyView key_;
  std::string_view value_;
  bool valid_ = false;
  // Null if nothing is lent; otherwise at the current entry.
  BlockCursor* lent_ = nullptr;
};

// Returns an iterator over nothing, with a status.
std::unique_ptr<InternalIterator> NewEmptyIterator(absl::Status status = absl::OkStatus());

}  // namespace sepal
