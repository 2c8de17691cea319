#include <algorithm>
#include <cstring>

#include "sepal/db.h"
#include "table/filter/filter.h"
#include "table/index/fence_search.h"
#include "table/index/index_page.h"
#include "table/key/compare_bytes.h"

namespace sepal {

IndexPageView::IndexPageView(std::string_view bytes)
    : data_(bytes.data()),
      count_(DecodeFixed32(data_)),
      lane_probes_(static_cast<uint8_t>(data_[6])),
      fences_(reinterpret_cast<const uint64_t*>(data_ + kIndexPageHeaderBytes)) {
  const size_t n = count_;
  const size_t prefix_size = DecodeFixed32(data_ + 24);
  block_ends_ = data_ + kIndexPageHeaderBytes + n * 8;
  tail_ends_ = block_ends_ + n * 4;
  lane_ends_ = tail_ends_ + n * 4;
  shapes_ = lane_ends_ + n * 2;
  dead_ = shapes_ + n;
  prefix_ = {dead_ + n, prefix_size};
  tails_ = prefix_.data() + prefix_size;
  lanes_ = data_ + DecodeFixed32(data_ + 32);
}

uint32_t IndexPageView::Find(const InternalKeyView& key, KeyOrder order) const {
  if (!order.bytewise()) [[unlikely]]
    return FindByOrder(key, order);
  const size_t prefix_size = prefix_.size();
  if (key.user_key.size() < prefix_size || !EqualBytes(key.user_key.data(), prefix_.data(), prefix_size)) {
    return key.user_key < prefix_ ? 0 : count_;
  }
  const std::string_view rest = key.user_key.substr(prefix_size);
  const uint64_t fence = BigEndianPrefix(rest);
  const uint32_t first = CountFencesLess(fences_, count_, fence);
  const auto less = [&](uint32_t i) { return fences_[i] == fence && SeparatorLess(i, rest, key.trailer); };
  if (first == count_ || !less(first)) [[likely]]
    return first;
  // The versions of one key can fill many blocks.
  uint32_t begin = first + 1;
  uint32_t end = count_;
  while (begin < end) {
    const uint32_t middle = begin + (end - begin) / 2;
    if (less(middle)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

bool IndexPageView::SeparatorLess(uint32_t i, std::string_view rest, Trailer trailer) const {
  const Parts parts = PartsOf(i);
  // Equal fences may contain different numbers of bytes: the one with more bytes then ends in zero bytes and is
  // greater.
  const size_t rest_fence_bytes = std::min(rest.size(), size_t{8});
  if (parts.fence_bytes != rest_fence_bytes) return parts.fence_bytes < rest_fence_bytes;
  const int c = parts.tail.compare(rest.substr(rest_fence_bytes));
  if (c != 0) return c < 0;
  return parts.has_trailer && parts.trailer > trailer;
}

bool IndexPageView::EndsBefore(uint32_t i, const InternalKeyView& key, KeyOrder order) const {
  if (!order.bytewise()) [[unlikely]]
    return EndsBeforeByOrder(i, key, order);
  const size_t prefix_size = prefix_.size();
  if (key.user_key.size() < prefix_size || !EqualBytes(key.user_key.data(), prefix_.data(), prefix_size)) {
    return key.user_key > prefix_;
  }
  const std::string_view rest = key.user_key.substr(prefix_size);
  const uint64_t fence = BigEndianPrefix(rest);
  return fences_[i] != fence ? fences_[i] < fence : SeparatorLess(i, rest, key.trailer);
}

bool IndexPageView::EndsBeforeByOrder(uint32_t i, const InternalKeyView& key, KeyOrder order) const {
  const Parts parts = PartsOf(i);
  const int c = order.Compare(parts.tail, key.user_key);
  return c < 0 || (c == 0 && parts.has_trailer && parts.trailer > key.trailer);
}

uint32_t IndexPageView::FindByOrder(const InternalKeyView& key, KeyOrder order) const {
  uint32_t begin = 0;
  uint32_t end = count_;
  while (begin < end) {
    const uint32_t middle = begin + (end - begin) / 2;
    if (EndsBeforeByOrder(middle, key, order)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

IndexPageView::Parts IndexPageView::PartsOf(uint32_t i) const {
  const auto shape = static_cast<uint8_t>(shapes_[i]);
  const uint32_t begin = TailBegin(i);
  std::string_view tail(tails_ + begin, TailBegin(i + 1) - begin);
  const bool has_trailer = (shape & kSeparatorHasTrailer) != 0;
  Trailer trailer = 0;
  if (has_trailer) {
    tail.remove_suffix(kTrailerBytes);
    trailer = DecodeFixed64(tail.data() + tail.size());
  }
  return {size_t{shape} & kFenceBytesMask, tail, has_trailer, trailer};
}

Separator IndexPageView::separator(uint32_t i) const {
  const Parts parts = PartsOf(i);
  Separator separator{std::string(prefix_), parts.has_trailer, parts.trailer};
  for (size_t byte = 0; byte < parts.fence_bytes; ++byte) {
    separator.user_key.push_back(static_cast<char>(fences_[i] >> (56 - 8 * byte)));
  }
  separator.user_key.append(parts.tail);
  return separator;
}

BlockHandle IndexPageView::handle(uint32_t i) const {
  const uint32_t begin = BlockBegin(i);
  return {begin_offset() + begin, BlockBegin(i + 1) - begin - kUnitTrailerBytes};
}

std::string_view IndexPageView::lane(uint32_t i) const {
  const size_t begin = LaneBegin(i);
  return {lanes_ + begin, LaneBegin(i + 1) - begin};
}

bool IndexPageView::LaneMayContain(uint32_t i, uint64_t hash) const {
  const std::string_view bytes = lane(i);
  return sepal::LaneMayContain(bytes.data(), bytes.size(), lane_probes_, hash);
}

int IndexPageView::level() const { return data_[4]; }
uint8_t IndexPageView::dead(uint32_t i) const { return static_cast<uint8_t>(dead_[i]); }
uint64_t IndexPageView::entries() const { return DecodeFixed64(data_ + 16); }
uint64_t IndexPageView::entries_before() const { return DecodeFixed64(data_ + 40); }
uint64_t IndexPageView::begin_offset() const { return DecodeFixed64(data_ + 8); }
uint64_t IndexPageView::end_offset() const { return begin_offset() + BlockBegin(count_); }
size_t IndexPageView::LaneBytes() const { return DecodeFixed32(data_ + 36); }

void IndexPageView::PrefetchBlock(uint32_t i) const {
  __builtin_prefetch(block_ends_ + size_t{i} * 4);
  __builtin_prefetch(lane_ends_ + size_t{i} * 2);
  // Lanes have similar sizes, so this is approximately the right address.
  __builtin_prefetch(lanes_ + LaneBytes() / count_ * i);
}

bool IndexPageView::Validate(std::string_view bytes, uint64_t file_size, KeyOrder order, std::string* why) {
  const auto fail = [why](const char* reason) {
    *why = reason;
    return false;
  };
  if (bytes.size() < kIndexPageHeaderBytes || bytes.size() > UINT32_MAX) return fail("size of the index page");
  const char* const header = bytes.data();
  const uint64_t n = DecodeFixed32(header);
  const auto level = static_cast<uint8_t>(header[4]);
  const auto kind = static_cast<uint8_t>(header[5]);
  const auto probes = static_cast<uint8_t>(header[6]);
  const uint64_t prefix_size = DecodeFixed32(header + 24);
  const uint64_t tails_size = DecodeFixed32(header + 28);
  const uint64_t lanes_offset = DecodeFixed32(header + 32);
  const uint64_t lanes_size = DecodeFixed32(header + 36);
  if (n == 0) return fail("index page without blocks");
  if (level > 1) return fail("unknown level of the index page");
  const auto is_zero = [](char c) { return c == 0; };
  if (header[7] != 0 || !std::all_of(header + 48, header + kIndexPageHeaderBytes, is_zero)) {
    return fail("unknown fields in the header of the index page");
  }
  if (kind > static_cast<uint8_t>(FilterKind::kBloom)) return fail("unknown kind of lanes");
  const bool has_lanes = kind == static_cast<uint8_t>(FilterKind::kBloom);
  if (has_lanes ? probes < 1 || probes > kMaxLaneProbes : probes != 0) return fail("probes of the lanes");
  if (!has_lanes && lanes_size != 0) return fail("lanes of no kind");
  if (prefix_size > (order.bytewise() ? kMaxKeyBytes : 0)) return fail("length of the separators' prefix");
  if (lanes_offset != IndexPageLanesOffset(n, prefix_size, tails_size) || lanes_offset + lanes_size != bytes.size()) {
    return fail("parts of the index page do not add up to its size");
  }
  const IndexPageView view(bytes);
  return view.ValidateBlocks(file_size, why) && view.ValidateSeparators(order, why);
}

// Checks the ends of blocks, tails and lanes. Requires that the columns lie within the page.
bool IndexPageView::ValidateBlocks(uint64_t file_size, std::string* why) const {
  const auto fail = [why](const char* reason, uint32_t i) {
    *why = std::string(reason) + " of block " + std::to_string(i) + " of an index page";
    return false;
  };
  if (begin_offset() > file_size || BlockBegin(count_) > file_size - begin_offset()) return fail("end", count_ - 1);
  if (TailBegin(count_) != DecodeFixed32(data_ + 28)) return fail("end of the separator", count_ - 1);
  if (LaneBegin(count_) != LaneBytes()) return fail("end of the lane", count_ - 1);
  for (uint32_t i = 0; i < count_; ++i) {
    if (BlockBegin(i + 1) < uint64_t{BlockBegin(i)} + kUnitTrailerBytes) return fail("end", i);
    if (TailBegin(i + 1) < TailBegin(i)) return fail("end of the separator", i);
    if (LaneBegin(i + 1) < LaneBegin(i)) return fail("end of the lane", i);
  }
  return true;
}

// Requires that the ends of tails ascend within the page.
bool IndexPageView::ValidateSeparators(KeyOrder order, std::string* why) const {
  const auto fail = [why](const char* reason, uint32_t i) {
    *why = std::string(reason) + " of separator " + std::to_string(i) + " of an index page";
    return false;
  };
  for (uint32_t i = 0; i < count_; ++i) {
    const auto shape = static_cast<uint8_t>(shapes_[i]);
    const size_t fence_bytes = shape & kFenceBytesMask;
    if ((shape & ~(kSeparatorHasTrailer | kFenceBytesMask)) != 0 || fence_bytes > (order.bytewise() ? 8 : 0)) {
      return fail("shape", i);
    }
    size_t tail_bytes = TailBegin(i + 1) - TailBegin(i);
    if ((shape & kSeparatorHasTrailer) != 0) {
      if (tail_bytes < kTrailerBytes) return fail("trailer", i);
      tail_bytes -= kTrailerBytes;
    }
    if (order.bytewise() && fence_bytes < 8 && tail_bytes != 0) return fail("tail", i);
    if (fence_bytes < 8 && fences_[i] << (8 * fence_bytes) != 0) return fail("fence", i);
    if (prefix_.size() + fence_bytes + tail_bytes > kMaxKeyBytes) return fail("length", i);
    if (i > 0 && !SeparatorsAscend(i - 1, order)) return fail("order", i);
  }
  return true;
}

// Whether separator i sorts before the next one. Requires that the shapes of both are valid.
bool IndexPageView::SeparatorsAscend(uint32_t i, KeyOrder order) const {
  const Parts a = PartsOf(i), b = PartsOf(i + 1);
  int c = 0;
  if (fences_[i] != fences_[i + 1]) {
    c = fences_[i] < fences_[i + 1] ? -1 : 1;
  } else if (a.fence_bytes != b.fence_bytes) {
    c = a.fence_bytes < b.fence_bytes ? -1 : 1;  // see SeparatorLess
  } else {
    c = order.Compare(a.tail, b.tail);
  }
  // A separator without a trailer sorts after all versions of its key.
  return c < 0 || (c == 0 && a.has_trailer && (!b.has_trailer || a.trailer > b.trailer));
}

}  // namespace sepal
