#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "sepal/db.h"
#include "table/block/block.h"
#include "table/block/tag_search.h"
#include "table/key/compare_bytes.h"

namespace sepal {
namespace {

// A mask of the first `size` of 8 bytes that were read as a big-endian number.
uint64_t PrefixMask(size_t size) { return size >= 8 ? ~uint64_t{0} : ~(~uint64_t{0} >> (8 * size)); }

// BigEndianPrefix of the `size` bytes at `p` (at most 8 count); 8 bytes must be readable.
uint64_t PaddedPrefix(const char* p, size_t size) { return __builtin_bswap64(DecodeFixed64(p)) & PrefixMask(size); }

// Returns the first i in [begin, end) whose prefix_of(i) is not below `wanted`, or end. No branch depends on a prefix.
template <class PrefixOf>
uint32_t FirstNotBelow(uint32_t begin, uint32_t end, uint64_t wanted, PrefixOf prefix_of) {
  if (begin == end) return end;
  uint32_t length = end - begin;
  while (length > 1) {
    const uint32_t half = length / 2;
    begin += half & -static_cast<uint32_t>(prefix_of(begin + half - 1) < wanted);
    length -= half;
  }
  return begin + (prefix_of(begin) < wanted ? 1 : 0);
}

// Builds whole keys, for orders that must compare them whole.
class WholeKey {
 public:
  explicit WholeKey(std::string_view prefix) : prefix_size_(prefix.size()), bytes_(prefix) {}
  std::string_view With(std::string_view suffix) {
    bytes_.resize(prefix_size_);
    return bytes_.append(suffix);
  }

 private:
  size_t prefix_size_;
  std::string bytes_;
};

}  // namespace

BlockView::BlockView(std::string_view bytes) : values_(bytes.data()) {
  const char* const header = bytes.data() + bytes.size() - kBlockHeaderBytes;
  count_ = DecodeFixed32(header);
  values_bytes_ = DecodeFixed32(header + 4);
  base_sequence_ = DecodeFixed64(header + 8);
  keys_bytes_ = DecodeFixed32(header + 16);
  const size_t prefix_size = DecodeFixed32(header + 20);
  flags_ = static_cast<uint8_t>(header[24]);
  uniform_kind_ = static_cast<uint8_t>(header[25]);
  sequence_width_ = static_cast<uint8_t>(header[26]);
  sequence_mask_ = (uint64_t{1} << (8 * sequence_width_)) - 1;
  const size_t n = count_;
  key_size_ = (flags_ & kBlockUniformKeySize) != 0 ? keys_bytes_ / count_ : 0;
  keys_ = values_ + values_bytes_;
  sequences_ = keys_ + keys_bytes_;
  kinds_ = sequences_ + n * sequence_width_;
  tags_ = kinds_ + ((flags_ & kBlockUniformKind) != 0 ? 0 : n);
  value_begins_ = tags_ + ((flags_ & kBlockHasTags) != 0 ? n : 0);
  key_begins_ = value_begins_ + n * ((flags_ & kBlockWideValues) != 0 ? 4 : 2);
  prefix_ = {header - prefix_size, prefix_size};
}

std::string_view BlockView::user_key(uint32_t i, std::string* buffer) const {
  buffer->assign(prefix_);
  return buffer->append(key_suffix(i));
}

BlockView::Hit BlockView::Find(std::string_view user_key, uint64_t hash, SequenceNumber visible, KeyOrder order) const {
  const Trailer newest = SeekTrailer(visible);
  if ((flags_ & kBlockHasTags) == 0 || !order.hashable()) return FindByOrder(user_key, newest, order);
  const size_t prefix_size = prefix_.size();
  if (user_key.size() < prefix_size || !EqualBytes(user_key.data(), prefix_.data(), prefix_size)) return {};
  const std::string_view suffix = user_key.substr(prefix_size);
  const uint8_t tag = BlockTag(hash);
  for (uint32_t base = 0; base < count_; base += 32) {
    uint32_t candidates = MatchTags(tags_ + base, tag);
    if (count_ - base < 32) candidates &= (uint32_t{1} << (count_ - base)) - 1;
    for (; candidates != 0; candidates &= candidates - 1) {
      const uint32_t i = base + static_cast<uint32_t>(std::countr_zero(candidates));
      const std::string_view candidate = key_suffix(i);
      const std::string_view candidate_value = value(i);
      __builtin_prefetch(candidate_value.data());
      __builtin_prefetch(candidate_value.data() + candidate_value.size());
      if (!EqualBytes(candidate, suffix)) continue;
      const Trailer trailer = this->trailer(i);
      if (trailer <= newest) [[likely]]
        return {true, true, trailer, value(i)};
      return FirstVisible(i, user_key, newest, order);
    }
  }
  return {};
}

void BlockView::PrefetchFind(uint64_t hash) const {
  if ((flags_ & kBlockHasTags) == 0) return;
  const uint8_t tag = BlockTag(hash);
  for (uint32_t base = 0; base < count_; base += 32) {
    const uint32_t candidates = MatchTags(tags_ + base, tag);
    if (candidates == 0) continue;
    const uint32_t i = base + static_cast<uint32_t>(std::countr_zero(candidates));
    if (i >= count_) return;
    __builtin_prefetch(key_suffix(i).data());
    const std::string_view found = value(i);
    __builtin_prefetch(found.data());
    if (found.size() > 64) __builtin_prefetch(found.data() + 64);
    return;
  }
}

// Requires that entry i is the first one of `user_key`, and that keys are equal only if identical.
BlockView::Hit BlockView::FirstVisible(uint32_t i, std::string_view user_key, Trailer newest, KeyOrder order) const {
  constexpr int kSteps = 8;  // then search, for keys with very many versions
  const std::string_view suffix = user_key.substr(prefix_.size());
  Hit hit;
  hit.key_present = true;
  Trailer found = trailer(i);
  for (int step = 0; found > newest; ++step) {
    i = step < kSteps ? i + 1 : LowerBoundFrom(i + 1, {user_key, newest}, order);
    if (i >= count_ || !EqualBytes(key_suffix(i), suffix)) return hit;
    found = trailer(i);
  }
  hit.found = true;
  hit.trailer = found;
  hit.value = value(i);
  return hit;
}

BlockView::Hit BlockView::FindByOrder(std::string_view user_key, Trailer newest, KeyOrder order) const {
  const uint32_t i = LowerBound({user_key, newest}, order);
  WholeKey whole(prefix_);
  Hit hit;
  if (i < count_ && order.Equal(whole.With(key_suffix(i)), user_key)) {
    hit.found = hit.key_present = true;
    hit.trailer = trailer(i);
    hit.value = value(i);
  } else {
    hit.key_present = i > 0 && order.Equal(whole.With(key_suffix(i - 1)), user_key);
  }
  return hit;
}

uint32_t BlockView::LowerBound(const InternalKeyView& target, KeyOrder order) const {
  return LowerBoundFrom(0, target, order);
}

uint32_t BlockView::LowerBoundFrom(uint32_t begin, const InternalKeyView& target, KeyOrder order) const {
  if (order.bytewise()) [[likely]] {
    const std::string_view key = target.user_key;
    if (key.size() >= prefix_.size() && EqualBytes(key.data(), prefix_.data(), prefix_.size())) [[likely]] {
      return LowerBoundBytewise(begin, key.substr(prefix_.size()), target.trailer);
    }
    return key < prefix_ ? begin : count_;
  }
  WholeKey whole(prefix_);
  uint32_t end = count_;
  while (begin < end) {
    const uint32_t middle = begin + (end - begin) / 2;
    if (order.Less({whole.With(key_suffix(middle)), trailer(middle)}, target)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

uint32_t BlockView::LowerBoundBytewise(uint32_t begin, std::string_view suffix, Trailer newest) const {
  const uint64_t wanted = BigEndianPrefix(suffix);
  const auto any_prefix = [this](uint32_t i) {
    const std::string_view candidate = key_suffix(i);
    return PaddedPrefix(candidate.data(), candidate.size());
  };
  if ((flags_ & kBlockUniformKeySize) != 0) [[likely]] {
    const auto uniform_prefix = [keys = keys_, size = size_t{key_size_}, mask = PrefixMask(key_size_)](uint32_t i) {
      return __builtin_bswap64(DecodeFixed64(keys + i * size)) & mask;
    };
    begin = FirstNotBelow(begin, count_, wanted, uniform_prefix);
    if (begin == count_ || uniform_prefix(begin) != wanted) [[likely]]
      return begin;
  } else {
    begin = FirstNotBelow(begin, count_, wanted, any_prefix);
    if (begin == count_ || any_prefix(begin) != wanted) return begin;
  }
  // Compares whole keys among those with the target's prefix; usually the first one matches.
  if (EqualBytes(key_suffix(begin), suffix) && trailer(begin) <= newest) [[likely]]
    return begin;
  uint32_t end = count_;
  for (uint32_t middle = begin; begin < end; middle = begin + (end - begin) / 2) {
    const int c = key_suffix(middle).compare(suffix);
    if (c < 0 || (c == 0 && trailer(middle) > newest)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

bool BlockView::Validate(std::string_view bytes, KeyOrder order, std::string* why) {
  const auto fail = [why](const char* reason) {
    *why = reason;
    return false;
  };
  if (bytes.size() < kBlockHeaderBytes || bytes.size() > UINT32_MAX) return fail("size of the block");
  const char* const header = bytes.data() + bytes.size() - kBlockHeaderBytes;
  const uint64_t n = DecodeFixed32(header);
  const uint64_t values_bytes = DecodeFixed32(header + 4);
  const uint64_t keys_bytes = DecodeFixed32(header + 16);
  const uint64_t prefix_size = DecodeFixed32(header + 20);
  const auto flags = static_cast<uint8_t>(header[24]);
  const auto has = [flags](uint8_t flag) { return (flags & flag) != 0; };
  const auto uniform_kind = static_cast<uint8_t>(header[25]);
  const auto sequence_width = static_cast<uint8_t>(header[26]);
  if (n == 0) return fail("block without entries");
  if (flags >= 64 || header[27] != 0) return fail("unknown flags in the block header");
  if (sequence_width > 7) return fail("width of sequence numbers");
  if (has(kBlockUniformKind) ? !IsKindOnDisk(uniform_kind) : uniform_kind != 0) return fail("uniform kind");
  if (prefix_size > kMaxKeyBytes) return fail("length of the key prefix");
  if (has(kBlockWideValues) != (values_bytes > UINT16_MAX)) return fail("width of value begins");
  const bool uniform = has(kBlockUniformKeySize);
  if (has(kBlockWideKeys) != (!uniform && keys_bytes > UINT16_MAX)) return fail("width of key begins");
  if (uniform && keys_bytes % n != 0) return fail("length of the keys");
  const uint64_t columns = sequence_width + (has(kBlockUniformKind) ? 0u : 1u) + (has(kBlockHasTags) ? 1u : 0u) +
                           (has(kBlockWideValues) ? 4u : 2u) +
                           (uniform               ? 0u
                            : has(kBlockWideKeys) ? 4u
                                                  : 2u);
  if (values_bytes + keys_bytes + n * columns + prefix_size + kBlockHeaderBytes != bytes.size()) {
    return fail("parts of the block do not add up to its size");
  }
  return BlockView(bytes).ValidateEntries(order, why);
}

namespace {
// Kinds up to here are on disk with any value: one compare for nearly all entries.
constexpr auto kLastPlainKind = static_cast<uint8_t>(ValueKind::kPut);
}  // namespace

// Requires that the columns lie within the block.
bool BlockView::ValidateEntries(KeyOrder order, std::string* why) const {
  const auto fail = [why](const char* reason, uint32_t i) {
    *why = reason;
    *why += " of entry " + std::to_string(i);
    return false;
  };
  const bool uniform = (flags_ & kBlockUniformKeySize) != 0;
  if (ValueBegin(0) != 0 || (!uniform && KeyBegin(0) != 0)) return fail("begin", 0);
  if (base_sequence_ > kMaxSequenceNumber.value()) return fail("sequence number", 0);
  std::array<WholeKey, 2> whole = {WholeKey(prefix_), WholeKey(prefix_)};
  std::string_view last_suffix;
  uint64_t last_prefix = 0;
  Trailer last_trailer = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    if (ValueBegin(i) > ValueEnd(i) || ValueEnd(i) > values_bytes_) return fail("begin of the value", i);
    if (!uniform && (KeyBegin(i) > KeyEnd(i) || KeyEnd(i) > keys_bytes_)) return fail("begin of the key", i);
    const std::string_view suffix = key_suffix(i);
    if (suffix.size() + prefix_.size() > kMaxKeyBytes) return fail("key length", i);
    const uint64_t delta = DecodeFixed64(sequences_ + size_t{i} * sequence_width_) & sequence_mask_;
    if (delta > kMaxSequenceNumber.value() - base_sequence_) return fail("sequence number", i);
    const Trailer trailer = this->trailer(i);
    if (const auto kind = static_cast<uint8_t>(trailer); kind > kLastPlainKind) [[unlikely]] {
      if (!IsKindOnDisk(kind)) return fail("kind", i);
      if (ValueEnd(i) - ValueBegin(i) < LeastValueBytes(TrailerKind(trailer))) return fail("expiry", i);
    }

    const uint64_t prefix = PaddedPrefix(suffix.data(), suffix.size());
    if (i > 0) {
      bool ascending;
      if (order.bytewise()) [[likely]] {
        ascending = last_prefix < prefix;
        if (last_prefix == prefix) {
          const int c = last_suffix.compare(suffix);
          ascending = c < 0 || (c == 0 && last_trailer > trailer);
        }
      } else {
        ascending = order.Less({whole[0].With(last_suffix), last_trailer}, {whole[1].With(suffix), trailer});
      }
      if (!ascending) return fail("order", i);
    }
    last_suffix = suffix;
    last_prefix = prefix;
    last_trailer = trailer;
  }
  return true;
}

}  // namespace sepal
