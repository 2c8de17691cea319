// An iterator over the entries of one data block, so that the conformance suite of iterators runs over block cursors.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "table/block/block_cursor.h"
#include "table/iterate/iterator.h"

namespace sepal {

class BlockIterator final : public InternalIterator {
 public:
  BlockIterator(std::string_view bytes, KeyOrder order) { cursor_.Attach(bytes, order); }
  void SeekToFirst() override {
    Publish([](BlockCursor& c) { c.SeekToFirst(); });
  }
  void SeekToLast() override {
    Publish([](BlockCursor& c) { c.SeekToLast(); });
  }
  void Seek(InternalKeyView target) override {
    Publish([=](BlockCursor& c) { c.Seek(target); });
  }
  void SeekBefore(InternalKeyView target) override {
    Publish([=](BlockCursor& c) { c.SeekBefore(target); });
  }
  void Next() override {
    Publish([](BlockCursor& c) { c.Next(); });
  }
  void Prev() override {
    Publish([](BlockCursor& c) { c.Prev(); });
  }
  absl::Status status() const override { return absl::OkStatus(); }

 private:
  template <class Move>
  void Publish(Move move) {
    move(cursor_);
    valid_ = cursor_.Valid();
    if (valid_) ShowLent(&cursor_);
  }

  BlockCursor cursor_;
};

// `bytes` must outlive the iterator.
inline std::unique_ptr<InternalIterator> NewBlockIterator(std::string_view bytes, KeyOrder order) {
  return std::make_unique<BlockIterator>(bytes, order);
}

}  // namespace sepal
