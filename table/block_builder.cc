#include <algorithm>
#include <bit>
#include <cstring>

#include "table/block.h"
#include "table/equal_bytes.h"
#include "util/cache.h"
#include "util/check.h"
#include "util/coding.h"
#include "util/strings.h"

namespace sepal {
namespace {

// Buffers that one large value has grown beyond this are given back.
constexpr size_t kKeptBytes = size_t{1} << 20;

// The prefix of `shared` bytes of `first` that `key` begins with, too.
size_t SharedWith(std::string_view first, size_t shared, std::string_view key) {
  if (key.size() >= shared && EqualBytes(first.data(), key.data(), shared)) return shared;
  return CommonPrefixSize(first.substr(0, shared), key);
}

}  // namespace

int BlockBuilder::Shape::SequenceWidth() const { return (std::bit_width(highest_sequence - lowest_sequence) + 7) / 8; }

BlockBuilder::Shape BlockBuilder::ShapeWith(InternalKeyView key, std::string_view value) const {
  const uint64_t sequence = key.sequence().value();
  const size_t size = key.user_key.size();
  Shape next = shape_;
  if (keys_.empty()) {
    next.shared = next.shortest_key = next.longest_key = size;
    next.lowest_sequence = next.highest_sequence = sequence;
  } else {
    next.shared = SharedWith(first_key().user_key, next.shared, key.user_key);
    next.shortest_key = std::min(next.shortest_key, size);
    next.longest_key = std::max(next.longest_key, size);
    next.lowest_sequence = std::min(next.lowest_sequence, sequence);
    next.highest_sequence = std::max(next.highest_sequence, sequence);
    next.uniform_kind = next.uniform_kind && ((key.trailer ^ keys_.front().trailer) & 0xff) == 0;
  }
  ++next.entries;
  next.key_bytes += size;
  next.value_bytes += value.size();
  return next;
}

void BlockBuilder::Add(InternalKeyView key, std::string_view value, uint64_t hash) {
  shape_ = ShapeWith(key, value);
  tombstones_ += IsTombstone(key.kind()) ? 1 : 0;
  SEPAL_DCHECK(shape_.key_bytes + shape_.value_bytes <= UINT32_MAX);
  keys_.push_back({static_cast<uint32_t>(raw_.size()), static_cast<uint32_t>(key.user_key.size()),
                   static_cast<uint32_t>(value.size()), tags_ ? BlockTag(hash) : uint8_t{0}, key.trailer});
  raw_.append(key.user_key);
  raw_.append(value);
}

size_t BlockBuilder::SizeOf(const Shape& shape) const {
  const size_t columns = static_cast<size_t>(shape.SequenceWidth()) + (shape.uniform_kind ? 0 : 1) + (tags_ ? 1 : 0) +
                         shape.ValueWidth() + shape.KeyWidth();
  return shape.value_bytes + shape.KeysPart() + shape.entries * columns + shape.shared + kBlockHeaderBytes;
}

std::string_view BlockBuilder::last_user_key() const { return last_key().user_key; }
InternalKeyView BlockBuilder::first_key() const { return KeyOf(keys_.front()); }
InternalKeyView BlockBuilder::last_key() const { return KeyOf(keys_.back()); }

// Returns the end of the keys.
char* BlockBuilder::WriteKeysAndValues(char* values, char* keys) const {
  for (const Pending& entry : keys_) {
    const char* const key = raw_.data() + entry.key_offset;
    const size_t suffix = entry.key_size - shape_.shared;
    std::memcpy(keys, key + shape_.shared, suffix);
    keys += suffix;
    std::memcpy(values, key + entry.key_size, entry.value_size);
    values += entry.value_size;
  }
  return keys;
}

char* BlockBuilder::WriteSequencesKindsTags(char* out) const {
  if (const int width = shape_.SequenceWidth(); width > 0) {
    for (const Pending& entry : keys_) {
      EncodeFixed64(out, (entry.trailer >> 8) - shape_.lowest_sequence);
      out += width;
    }
  }
  if (!shape_.uniform_kind) {
    for (const Pending& entry : keys_) *out++ = static_cast<char>(entry.trailer & 0xff);
  }
  if (tags_) {
    for (const Pending& entry : keys_) *out++ = static_cast<char>(entry.tag);
  }
  return out;
}

char* BlockBuilder::WriteBegins(char* out) const {
  uint32_t begin = 0;
  for (const Pending& entry : keys_) {
    EncodeFixed32(out, begin);
    out += shape_.ValueWidth();
    begin += entry.value_size;
  }
  if (shape_.UniformKeySize()) return out;
  begin = 0;
  for (const Pending& entry : keys_) {
    EncodeFixed32(out, begin);
    out += shape_.KeyWidth();
    begin += static_cast<uint32_t>(entry.key_size - shape_.shared);
  }
  return out;
}

std::string_view BlockBuilder::Finish(bool continuation) {
  SEPAL_DCHECK(!keys_.empty());
  const size_t size = SizeEstimate();
  if (out_.size() < size + BlockBuffer::kPadding) out_.resize(size + BlockBuffer::kPadding);
  // Narrow columns are written with wide stores, which run over into the part behind: so front to back.
  char* out = WriteKeysAndValues(out_.data(), out_.data() + shape_.value_bytes);
  out = WriteBegins(WriteSequencesKindsTags(out));
  std::memcpy(out, raw_.data() + keys_.front().key_offset, shape_.shared);
  out += shape_.shared;
  EncodeFixed32(out, static_cast<uint32_t>(shape_.entries));
  EncodeFixed32(out + 4, static_cast<uint32_t>(shape_.value_bytes));
  EncodeFixed64(out + 8, shape_.lowest_sequence);
  EncodeFixed32(out + 16, static_cast<uint32_t>(shape_.KeysPart()));
  EncodeFixed32(out + 20, static_cast<uint32_t>(shape_.shared));
  out[24] = static_cast<char>(
      (tags_ ? kBlockHasTags : 0) | (continuation ? kBlockContinuation : 0) |
      (shape_.uniform_kind ? kBlockUniformKind : 0) | (shape_.ValueWidth() == 4 ? kBlockWideValues : 0) |
      (shape_.UniformKeySize() ? kBlockUniformKeySize : 0) | (shape_.KeyWidth() == 4 ? kBlockWideKeys : 0));
  out[25] = static_cast<char>(shape_.uniform_kind ? keys_.front().trailer & 0xff : 0);
  out[26] = static_cast<char>(shape_.SequenceWidth());
  out[27] = 0;
  SEPAL_DCHECK(out + kBlockHeaderBytes == out_.data() + size);
  return {out_.data(), size};
}

void BlockBuilder::Reset() {
  keys_.clear();
  raw_.clear();
  if (raw_.capacity() > kKeptBytes) std::string().swap(raw_);
  if (out_.capacity() > kKeptBytes) std::string().swap(out_);
  shape_ = {};
  tombstones_ = 0;
}

}  // namespace sepal
