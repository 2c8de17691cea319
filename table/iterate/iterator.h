// The contract of every ordered source of entries inside the engine: memtables, blocks, tables, merges.
//
// An iterator is at an entry (`Valid`), or not: before the first seek, past either end, or after a failure (`status`).
// The current entry lies in fields of the base class, so that looking at it costs no virtual call. Implementations set
// them on every move. The views live until the next move.
//
// Where the current entry lies in a block, the iterator may also *lend* the cursor over it, so that steps within the
// block cost no virtual call, however many iterators are stacked (`NextInBlock`, `Advance`).
//
// One thread at a time.
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
  // To the first entry at or after `target`, which must not lie in this iterator's current entry.
  virtual void Seek(InternalKeyView target) = 0;
  // To the last entry before `target`.
  virtual void SeekBefore(InternalKeyView target) = 0;
  // For who is about to seek several iterators to `target`: calls on all of them, step after step from 0 up to
  // kSeekSteps, let their cache misses overlap. The position is lost; Seek to the same target must follow. Does nothing
  // by default.
  static constexpr int kSeekSteps = 5;
  virtual void PrepareSeek(InternalKeyView target, int step) { (void)target, (void)step; }
  // For who may come back later: lets go of what is only held for the position, which is lost. Does nothing by default.
  virtual void Rest() {}
  // Require Valid().
  virtual void Next() = 0;
  virtual void Prev() = 0;

  // The same moves, where they stay within the block that is lent. False: nothing was moved, Next (Prev) must be
  // called.
  bool NextInBlock() { return lent_ != nullptr && lent_->TryNext() && ShowLent(lent_); }
  bool PrevInBlock() { return lent_ != nullptr && lent_->TryPrev() && ShowLent(lent_); }
  // To the next user key within the block that is lent. False: the iterator stands at an entry of the same user key.
  // Requires that keys are equal only if identical.
  ABSL_ATTRIBUTE_NOINLINE bool NextKeyInBlock() {
    if (lent_ == nullptr) return false;
    const bool moved = lent_->TryNextKey();
    return ShowLent(lent_) && moved;
  }
  // Whether all of the block that is lent has one trailer and a new user key in each entry, so that
  // NextKeyInPlainBlock may be called until a move leaves the block.
  bool LendsPlainBlock() const { return lent_ != nullptr && lent_->plain(); }
  // NextKeyInBlock, of which it does not more than it must. False: nothing was moved.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool NextKeyInPlainBlock() {
    return lent_->StepPlain(&value_);  // the key lies where it lay
  }
  // To the previous entry within the block that is lent, where both that and the current one are the newest of their
  // user keys, and that is the only one of its own. False: nothing was moved. Requires the same.
  bool PrevKeyInBlock() { return lent_ != nullptr && lent_->TryPrevKey() && ShowLent(lent_); }
  // Whether the block that is lent shows that no newer entry has the current one's user key. Requires the same.
  bool BeginsKeyInBlock() const { return lent_ != nullptr && lent_->BeginsKey(); }
  void Advance() {
    if (!NextInBlock()) Next();
  }
  void Retreat() {
    if (!PrevInBlock()) Prev();
  }

  // Ok unless the last move failed; a failed iterator is not valid.
  virtual absl::Status status() const = 0;

 protected:
  // Where `cursor` stands, which is lent from now on.
  bool ShowLent(BlockCursor* cursor) {
    lent_ = cursor;
    key_ = cursor->key();
    value_ = ByWords(cursor->value());
    return true;
  }
  // Where `child` stands, if it is valid. What it lends is lent on.
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
  // Null where nothing is lent. Stands at the current entry.
  BlockCursor* lent_ = nullptr;
};

// An iterator over nothing, with a status.
std::unique_ptr<InternalIterator> NewEmptyIterator(absl::Status status = absl::OkStatus());

}  // namespace sepal
