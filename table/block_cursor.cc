#include "table/block_cursor.h"

#include "table/iterator.h"
#include "util/cache.h"

namespace sepal {
namespace {

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

}  // namespace

void BlockCursor::Attach(std::string_view bytes, KeyOrder order) {
  static_assert(kShortSuffix <= BlockBuffer::kPadding);
  view_.emplace(bytes);
  order_ = order;
  index_ = ~uint32_t{0};
  begin_ = end_ = 0;
  plain_ = view_->plain();
  const std::string_view prefix = view_->prefix();
  prefix_size_ = prefix.size();
  if (key_.size() < prefix.size() + kShortSuffix) key_.resize(prefix.size() + kShortSuffix);
  if (prefix.size() <= kShortSuffix) [[likely]] {
    std::memcpy(key_.data(), prefix.data(), kShortSuffix);
  } else {
    std::memcpy(key_.data(), prefix.data(), prefix.size());
  }
}

void BlockCursor::Show(uint32_t index) { ShowHere(index); }

void BlockCursor::Detach() {
  view_.reset();
  index_ = ~uint32_t{0};
  begin_ = end_ = 0;
}

std::unique_ptr<InternalIterator> NewBlockIterator(std::string_view bytes, KeyOrder order) {
  return std::make_unique<BlockIterator>(bytes, order);
}

}  // namespace sepal
