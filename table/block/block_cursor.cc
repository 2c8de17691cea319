#include "table/block/block_cursor.h"

#include "util/cache/block_cache.h"

namespace sepal {
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

void BlockCursor::CopyPlainKeys(uint32_t count, size_t stride, char* out) const {
  const std::string_view prefix = view_->prefix();
  for (uint32_t i = 0; i < count; ++i, out += stride) {
    if (prefix.size() <= kShortSuffix) [[likely]] {
      std::memcpy(out, key_.data(), kShortSuffix);
    } else {
      std::memcpy(out, prefix.data(), prefix.size());
    }
    std::memcpy(out + prefix.size(), view_->PlainKeySuffix(index_ + i), kShortSuffix);
  }
}

void BlockCursor::Detach() {
  view_.reset();
  index_ = ~uint32_t{0};
  begin_ = end_ = 0;
}

}  // namespace sepal
