#include <algorithm>
#include <bit>
#include <cstring>

#include "table/block/block.h"
#include "table/key/compare_bytes.h"
#include "util/base/check.h"
#include "util/base/coding.h"
#include "util/base/strings.h"
#include "util/memory/block_buffer.h"

namespace sepal {
namespace {

// Buffers that one large value has grown beyond this are freed.
constexpr size_t kKeptBytes = size_t{1} << 20;
// Keys without the prefix up to this length are copied with one move of fixed size. It must not exceed the padding.
constexpr size_t kShortSuffix = 16;

// The length of the common prefix of `key` and the first `shared` bytes of `first`.
inline size_t SharedWith(std::string_view first, size_t shared, std::string_view key) {
  if (key.size() >= shared && EqualBytes(first.data(), key.data(), shared)) [[likely]]
    return shared;
  return CommonPrefixSize(first.substr(0, shared), key);
}

}  // namespace

int BlockBuilder::Shape::SequenceWidth() const { return (std::bit_width(highest_sequence - lowest_sequence) + 7) / 8; }

inline void BlockBuilder::Include(const InternalKeyView& key, size_t value_bytes, Shape* shape) const {
  const uint64_t sequence = key.sequence().value();
  const size_t size = key.user_key.size();
  if (entries_.empty()) {
    shape->shared = shape->shortest_key = shape->longest_key = size;
    shape->lowest_sequence = shape->highest_sequence = sequence;
  } else {
    shape->shared = SharedWith(first_user_key(), shape->shared, key.user_key);
    shape->shortest_key = std::min(shape->shortest_key, size);
    shape->longest_key = std::max(shape->longest_key, size);
    shape->lowest_sequence = std::min(shape->lowest_sequence, sequence);
    shape->highest_sequence = std::max(shape->highest_sequence, sequence);
    shape->uniform_kind = shape->uniform_kind && ((key.trailer ^ entries_.front().trailer) & 0xff) == 0;
  }
  ++shape->entries;
  shape->key_bytes += size;
  shape->value_bytes += value_bytes;
}

void BlockBuilder::Add(const InternalKeyView& key, std::string_view value, uint64_t hash) {
  Include(key, value.size(), &shape_);
  tombstones_ += IsTombstone(key.kind()) ? 1 : 0;
  SEPAL_DCHECK(shape_.key_bytes <= UINT32_MAX && shape_.value_bytes <= UINT32_MAX);
  const size_t size = key.user_key.size();
  entries_.push_back({static_cast<uint32_t>(keys_.size()), static_cast<uint32_t>(size),
                      static_cast<uint32_t>(value.size()), tags_ ? BlockTag(hash) : uint8_t{0}, key.trailer});
  CopyBytes(keys_.Room(size + kShortSuffix), key.user_key.data(), size);
  keys_.Extend(size);
  out_.Append(value);
}

size_t BlockBuilder::SizeOf(const Shape& shape) const {
  const size_t columns = static_cast<size_t>(shape.SequenceWidth()) + (shape.uniform_kind ? 0 : 1) + (tags_ ? 1 : 0) +
                         shape.ValueWidth() + shape.KeyWidth();
  return shape.value_bytes + shape.KeysPart() + shape.entries * columns + shape.shared + kBlockHeaderBytes;
}

size_t BlockBuilder::SizeEstimateWith(const InternalKeyView& key, std::string_view value) const {
  Shape next = shape_;
  Include(key, value.size(), &next);
  return SizeOf(next);
}

// These functions return the end of what they wrote.
char* BlockBuilder::WriteKeys(char* out) const {
  const size_t shared = shape_.shared;
  const char* key = keys_.data();
  if (shape_.longest_key - shared <= kShortSuffix) {
    for (const Entry& entry : entries_) {
      std::memcpy(out, key + shared, kShortSuffix);
      out += entry.key_size - shared;
      key += entry.key_size;
    }
    return out;
  }
  for (const Entry& entry : entries_) {
    CopyBytes(out, key + shared, entry.key_size - shared);
    out += entry.key_size - shared;
    key += entry.key_size;
  }
  return out;
}

char* BlockBuilder::WriteSequencesKindsTags(char* out) const {
  if (const int width = shape_.SequenceWidth(); width > 0) {
    for (const Entry& entry : entries_) {
      EncodeFixed64(out, (entry.trailer >> 8) - shape_.lowest_sequence);
      out += width;
    }
  }
  if (!shape_.uniform_kind) {
    for (const Entry& entry : entries_) *out++ = static_cast<char>(entry.trailer & 0xff);
  }
  if (tags_) {
    for (const Entry& entry : entries_) *out++ = static_cast<char>(entry.tag);
  }
  return out;
}

char* BlockBuilder::WriteBegins(char* out) const {
  uint32_t begin = 0;
  const size_t value_width = shape_.ValueWidth();
  for (const Entry& entry : entries_) {
    EncodeFixed32(out, begin);
    out += value_width;
    begin += entry.value_size;
  }
  if (shape_.UniformKeySize()) return out;
  begin = 0;
  const size_t key_width = shape_.KeyWidth();
  for (const Entry& entry : entries_) {
    EncodeFixed32(out, begin);
    out += key_width;
    begin += static_cast<uint32_t>(entry.key_size - shape_.shared);
  }
  return out;
}

char* BlockBuilder::WriteHeader(char* out, bool continuation) const {
  EncodeFixed32(out, static_cast<uint32_t>(shape_.entries));
  EncodeFixed32(out + 4, static_cast<uint32_t>(shape_.value_bytes));
  EncodeFixed64(out + 8, shape_.lowest_sequence);
  EncodeFixed32(out + 16, static_cast<uint32_t>(shape_.KeysPart()));
  EncodeFixed32(out + 20, static_cast<uint32_t>(shape_.shared));
  out[24] = static_cast<char>(
      (tags_ ? kBlockHasTags : 0) | (continuation ? kBlockContinuation : 0) |
      (shape_.uniform_kind ? kBlockUniformKind : 0) | (shape_.ValueWidth() == 4 ? kBlockWideValues : 0) |
      (shape_.UniformKeySize() ? kBlockUniformKeySize : 0) | (shape_.KeyWidth() == 4 ? kBlockWideKeys : 0));
  out[25] = static_cast<char>(shape_.uniform_kind ? entries_.front().trailer & 0xff : 0);
  out[26] = static_cast<char>(shape_.SequenceWidth());
  out[27] = 0;
  return out + kBlockHeaderBytes;
}

std::string_view BlockBuilder::Finish(bool continuation) {
  SEPAL_DCHECK(!entries_.empty() && out_.size() == shape_.value_bytes);
  static_assert(kShortSuffix <= BlockBuffer::kPadding);
  const size_t size = SizeEstimate();
  char* const begin = out_.Room(size - shape_.value_bytes + BlockBuffer::kPadding);
  // Narrow columns are written with wide stores that overrun into the following part, so the parts are written front to
  // back.
  char* out = WriteBegins(WriteSequencesKindsTags(WriteKeys(begin)));
  if (shape_.shared > 0) std::memcpy(out, keys_.data(), shape_.shared);
  out = WriteHeader(out + shape_.shared, continuation);
  SEPAL_DCHECK(out == out_.data() + size);
  return {out_.data(), size};
}

void BlockBuilder::Reset() {
  entries_.clear();
  keys_.Clear(kKeptBytes);
  out_.Clear(kKeptBytes);
  shape_ = {};
  tombstones_ = 0;
}

}  // namespace sepal
