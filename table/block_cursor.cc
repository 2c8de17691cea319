#include <cstring>
#include <utility>

#include "table/block.h"
#include "util/cache.h"

namespace sepal {
namespace {

// Suffixes up to this length are copied with one move of fixed size; it must not exceed the padding of blocks.
constexpr size_t kShortSuffix = 32;
static_assert(kShortSuffix <= BlockBuffer::kPadding);

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
    if (!valid_) return;
    key_ = cursor_.key();
    value_ = cursor_.value();
  }

  BlockCursor cursor_;
};

}  // namespace

void BlockCursor::Attach(std::string_view bytes, KeyOrder order) {
  view_.emplace(bytes);
  order_ = order;
  index_ = ~uint32_t{0};
  const std::string_view prefix = view_->prefix();
  if (key_.size() < prefix.size() + kShortSuffix) key_.resize(prefix.size() + kShortSuffix);
  std::memcpy(key_.data(), prefix.data(), prefix.size());
}

void BlockCursor::Detach() {
  view_.reset();
  index_ = ~uint32_t{0};
}

void BlockCursor::MoveTo(uint32_t index) {
  index_ = index;
  if (index >= view_->count()) return;
  const std::string_view suffix = view_->key_suffix(index);
  const size_t prefix_size = view_->prefix().size();
  key_size_ = prefix_size + suffix.size();
  if (suffix.size() <= kShortSuffix) [[likely]] {
    std::memcpy(key_.data() + prefix_size, suffix.data(), kShortSuffix);
  } else {
    if (key_.size() < key_size_) key_.resize(key_size_);
    std::memcpy(key_.data() + prefix_size, suffix.data(), suffix.size());
  }
  trailer_ = view_->trailer(index);
  value_ = view_->value(index);
}

std::unique_ptr<InternalIterator> NewBlockIterator(std::string_view bytes, KeyOrder order) {
  return std::make_unique<BlockIterator>(bytes, order);
}

}  // namespace sepal
