#include <algorithm>
#include <cstring>

#include "sepal/db.h"
#include "table/filter/filter.h"
#include "table/index/index_page.h"
#include "util/base/check.h"
#include "util/base/coding.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

constexpr uint64_t kMaxBlocks = uint64_t{1} << 24;
constexpr uint64_t kMaxSeparatorBytes = uint64_t{1} << 30;
constexpr uint64_t kMaxLanesBytes = uint64_t{UINT16_MAX} * 8;

// The number of a separator's bytes after the page's prefix that are in its fence.
size_t FenceBytes(const Separator& separator, size_t prefix_size, KeyOrder order) {
  return order.bytewise() ? std::min(separator.user_key.size() - prefix_size, size_t{8}) : 0;
}

}  // namespace

void IndexPageBuilder::Add(const Separator& separator, BlockHandle handle, uint64_t entries, uint64_t tombstones,
                           std::string_view lane) {
  SEPAL_DCHECK(!Full() && lane.size() % 8 == 0 && lane.size() <= kMaxLaneBytes && tombstones <= entries);
  if (blocks_.empty()) base_offset_ = handle.offset;
  SEPAL_DCHECK(blocks_.empty() || handle.offset == blocks_.back().end);
  lanes_.append(lane);
  entries_ += entries;
  separator_bytes_ += separator.user_key.size() + kTrailerBytes;
  const uint64_t dead = entries == 0 ? 0 : (tombstones * 255 + entries - 1) / entries;
  blocks_.push_back({separator, EndOf(handle), static_cast<uint32_t>(lanes_.size()), static_cast<uint8_t>(dead)});
}

bool IndexPageBuilder::Full() const {
  if (blocks_.empty()) return false;
  return blocks_.size() >= kMaxBlocks ||
         blocks_.back().end - base_offset_ > UINT32_MAX - kMaxUnitBytes - kUnitTrailerBytes ||
         lanes_.size() > kMaxLanesBytes - kMaxLaneBytes ||
         separator_bytes_ > kMaxSeparatorBytes - kMaxKeyBytes - kTrailerBytes;
}

size_t IndexPageBuilder::MemoryBytes() const {
  return blocks_.capacity() * sizeof(Block) + separator_bytes_ + lanes_.capacity();
}

std::string IndexPageBuilder::Finish(uint64_t entries_before) {
  SEPAL_DCHECK(!blocks_.empty());
  const size_t n = blocks_.size();
  const std::string_view first = blocks_.front().separator.user_key;
  // In bytewise order, a prefix that the first and the last key share is shared by all keys.
  const size_t prefix_size = order_.bytewise() ? CommonPrefixSize(first, blocks_.back().separator.user_key) : 0;
  size_t tails_size = 0;
  for (const Block& block : blocks_) {
    tails_size += block.separator.user_key.size() - prefix_size - FenceBytes(block.separator, prefix_size, order_) +
                  (block.separator.has_trailer ? kTrailerBytes : 0);
  }
  const uint64_t lanes_offset = IndexPageLanesOffset(n, prefix_size, tails_size);
  std::string page(lanes_offset, '\0');
  page.append(lanes_);
  const bool has_lanes = !lanes_.empty();
  EncodeFixed32(page.data(), static_cast<uint32_t>(n));
  page[4] = static_cast<char>(level_);
  page[5] = static_cast<char>(has_lanes ? FilterKind::kBloom : FilterKind::kNone);
  page[6] = static_cast<char>(has_lanes ? lane_probes_ : 0);
  EncodeFixed64(page.data() + 8, base_offset_);
  EncodeFixed64(page.data() + 16, entries_);
  EncodeFixed32(page.data() + 24, static_cast<uint32_t>(prefix_size));
  EncodeFixed32(page.data() + 28, static_cast<uint32_t>(tails_size));
  EncodeFixed32(page.data() + 32, static_cast<uint32_t>(lanes_offset));
  EncodeFixed32(page.data() + 36, static_cast<uint32_t>(lanes_.size()));
  EncodeFixed64(page.data() + 40, entries_before);
  WriteColumns(page.data(), prefix_size);
  return page;
}

void IndexPageBuilder::WriteColumns(char* page, size_t prefix_size) const {
  const size_t n = blocks_.size();
  char* const fences = page + kIndexPageHeaderBytes;
  char* const block_ends = fences + n * 8;
  char* const tail_ends = block_ends + n * 4;
  char* const lane_ends = tail_ends + n * 4;
  char* const shapes = lane_ends + n * 2;
  char* const dead = shapes + n;
  char* const prefix = dead + n;
  char* const tails = prefix + prefix_size;
  std::memcpy(prefix, blocks_.front().separator.user_key.data(), prefix_size);
  char* tail = tails;
  for (size_t i = 0; i < n; ++i) {
    const Block& block = blocks_[i];
    const std::string_view rest = std::string_view(block.separator.user_key).substr(prefix_size);
    const size_t fence_bytes = FenceBytes(block.separator, prefix_size, order_);
    if (order_.bytewise()) EncodeFixed64(fences + i * 8, BigEndianPrefix(rest));
    EncodeFixed32(block_ends + i * 4, static_cast<uint32_t>(block.end - base_offset_));
    std::memcpy(tail, rest.data() + fence_bytes, rest.size() - fence_bytes);
    tail += rest.size() - fence_bytes;
    if (block.separator.has_trailer) {
      EncodeFixed64(tail, block.separator.trailer);
      tail += kTrailerBytes;
    }
    EncodeFixed32(tail_ends + i * 4, static_cast<uint32_t>(tail - tails));
    EncodeFixed16(lane_ends + i * 2, static_cast<uint16_t>(block.lane_end / 8));
    shapes[i] = static_cast<char>(fence_bytes | (block.separator.has_trailer ? kSeparatorHasTrailer : 0));
    dead[i] = static_cast<char>(block.dead);
  }
}

void IndexPageBuilder::Reset() {
  blocks_.clear();
  lanes_.clear();
  base_offset_ = entries_ = separator_bytes_ = 0;
}

}  // namespace sepal
