#include <algorithm>
#include <bit>
#include <cstring>

#include "table/block.h"
#include "table/equal_bytes.h"
#include "util/cache.h"
#include "util/check.h"
#include "util/coding.h"

namespace sepal {
namespace {

// Buffers that one large value has grown beyond this are given back.
constexpr size_t kKeptBytes = size_t{1} << 20;

size_t CommonPrefix(std::string_view a, std::string_view b) {
  const size_t limit = std::min(a.size(), b.size());
  return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(limit), b.begin()).first -
                             a.begin());
}

// The prefix of `shared` bytes of `first` that `key` begins with, too.
size_t SharedWith(std::string_view first, size_t shared, std::string_view key) {
  if (key.size() >= shared && EqualBytes(first.data(), key.data(), shared)) return shared;
  return CommonPrefix(first.substr(0, shared), key);
}

int BytesFor(uint64_t v) { return (std::bit_width(v) + 7) / 8; }

}  // namespace

void BlockBuilder::Add(InternalKeyView key, std::string_view value, uint64_t hash) {
  const uint64_t sequence = key.sequence().value();
  if (keys_.empty()) {
    shared_ = longest_key_ = key.user_key.size();
    lowest_sequence_ = highest_sequence_ = sequence;
  } else {
    shared_ = SharedWith(first_key().user_key, shared_, key.user_key);
    longest_key_ = std::max(longest_key_, key.user_key.size());
    lowest_sequence_ = std::min(lowest_sequence_, sequence);
    highest_sequence_ = std::max(highest_sequence_, sequence);
    uniform_kind_ &= ((key.trailer ^ keys_.front().trailer) & 0xff) == 0;
  }
  tombstones_ += IsTombstone(key.kind()) ? 1 : 0;
  const size_t bytes = raw_bytes_ + key.user_key.size() + value.size();
  SEPAL_DCHECK(bytes <= UINT32_MAX);
  if (bytes > raw_.size()) raw_.resize(std::max(bytes, 2 * raw_.size()));
  keys_.push_back({static_cast<uint32_t>(raw_bytes_), static_cast<uint32_t>(key.user_key.size()),
                   static_cast<uint32_t>(value.size()), tags_ ? BlockTag(hash) : uint8_t{0}, key.trailer});
  std::memcpy(raw_.data() + raw_bytes_, key.user_key.data(), key.user_key.size());
  std::memcpy(raw_.data() + raw_bytes_ + key.user_key.size(), value.data(), value.size());
  raw_bytes_ = bytes;
}

size_t BlockBuilder::SizeFor(size_t entries, size_t bytes, size_t shared, size_t longest_key, uint64_t sequence_span,
                             bool uniform_kind) const {
  const size_t length_bytes = static_cast<size_t>(VarintLength(longest_key - shared));
  const size_t entries_bytes = bytes + entries * length_bytes - entries * shared;
  const size_t columns = static_cast<size_t>(BytesFor(sequence_span)) + (uniform_kind ? 0 : 1) + (tags_ ? 1 : 0) +
                         (entries_bytes > UINT16_MAX ? 4 : 2);
  return entries_bytes + entries * columns + shared + kBlockHeaderBytes;
}

size_t BlockBuilder::SizeEstimate() const {
  return SizeFor(keys_.size(), raw_bytes_, shared_, longest_key_, highest_sequence_ - lowest_sequence_, uniform_kind_);
}

size_t BlockBuilder::SizeEstimateWith(InternalKeyView key, std::string_view value) const {
  const size_t bytes = raw_bytes_ + key.user_key.size() + value.size();
  if (keys_.empty()) return SizeFor(1, bytes, key.user_key.size(), key.user_key.size(), 0, true);
  const uint64_t sequence = key.sequence().value();
  return SizeFor(keys_.size() + 1, bytes, SharedWith(first_key().user_key, shared_, key.user_key),
                 std::max(longest_key_, key.user_key.size()),
                 std::max(highest_sequence_, sequence) - std::min(lowest_sequence_, sequence),
                 uniform_kind_ && ((key.trailer ^ keys_.front().trailer) & 0xff) == 0);
}

std::string_view BlockBuilder::last_user_key() const { return last_key().user_key; }
InternalKeyView BlockBuilder::first_key() const { return KeyOf(keys_.front()); }
InternalKeyView BlockBuilder::last_key() const { return KeyOf(keys_.back()); }

// Writes the entries to `out`, and where each begins to `offsets`.
void BlockBuilder::WriteEntries(char* out, char* offsets, size_t offset_width) const {
  const char* const begin = out;
  for (const Pending& entry : keys_) {
    EncodeFixed32(offsets, static_cast<uint32_t>(out - begin));
    offsets += offset_width;
    const size_t suffix = entry.key_size - shared_;
    out = EncodeVarint32(out, static_cast<uint32_t>(suffix));
    // The value follows its key in `raw_` as it does in the block.
    const size_t bytes = suffix + entry.value_size;
    std::memcpy(out, raw_.data() + entry.key_offset + shared_, bytes);
    out += bytes;
  }
}

char* BlockBuilder::WriteSequencesKindsTags(char* out, int sequence_width) const {
  if (sequence_width > 0) {
    for (const Pending& entry : keys_) {
      EncodeFixed64(out, (entry.trailer >> 8) - lowest_sequence_);
      out += sequence_width;
    }
  }
  if (!uniform_kind_) {
    for (const Pending& entry : keys_) *out++ = static_cast<char>(entry.trailer & 0xff);
  }
  if (tags_) {
    for (const Pending& entry : keys_) *out++ = static_cast<char>(entry.tag);
  }
  return out;
}

std::string_view BlockBuilder::Finish(bool continuation) {
  SEPAL_DCHECK(!keys_.empty());
  const size_t n = keys_.size();
  size_t entries_bytes = raw_bytes_ - n * shared_;
  if (longest_key_ - shared_ < 0x80) [[likely]] {
    entries_bytes += n;
  } else {
    for (const Pending& entry : keys_) entries_bytes += static_cast<size_t>(VarintLength(entry.key_size - shared_));
  }
  const bool wide = entries_bytes > UINT16_MAX;
  const int sequence_width = BytesFor(highest_sequence_ - lowest_sequence_);
  const size_t columns = static_cast<size_t>(sequence_width) + (uniform_kind_ ? 0 : 1) + (tags_ ? 1 : 0);
  const size_t offset_width = wide ? 4 : 2;
  const size_t size = entries_bytes + n * (columns + offset_width) + shared_ + kBlockHeaderBytes;
  if (out_.size() < size + BlockBuffer::kPadding) out_.resize(size + BlockBuffer::kPadding);

  // Narrow columns are written with wide stores, which run over into the part behind: so front to back, except that
  // entries are exact.
  char* out = WriteSequencesKindsTags(out_.data() + entries_bytes, sequence_width);
  WriteEntries(out_.data(), out, offset_width);
  out += n * offset_width;
  std::memcpy(out, raw_.data() + keys_.front().key_offset, shared_);
  out += shared_;
  EncodeFixed32(out, static_cast<uint32_t>(n));
  EncodeFixed32(out + 4, static_cast<uint32_t>(entries_bytes));
  EncodeFixed64(out + 8, lowest_sequence_);
  EncodeFixed32(out + 16, static_cast<uint32_t>(shared_));
  out[20] = static_cast<char>((tags_ ? kBlockHasTags : 0) | (continuation ? kBlockContinuation : 0) |
                              (uniform_kind_ ? kBlockUniformKind : 0) | (wide ? kBlockWideOffsets : 0));
  out[21] = static_cast<char>(uniform_kind_ ? keys_.front().trailer & 0xff : 0);
  out[22] = static_cast<char>(sequence_width);
  out[23] = 0;
  SEPAL_DCHECK(out + kBlockHeaderBytes == out_.data() + size);
  return {out_.data(), size};
}

void BlockBuilder::Reset() {
  keys_.clear();
  raw_bytes_ = 0;
  if (raw_.capacity() > kKeptBytes) std::string().swap(raw_);
  if (out_.capacity() > kKeptBytes) std::string().swap(out_);
  shared_ = longest_key_ = tombstones_ = 0;
  lowest_sequence_ = highest_sequence_ = 0;
  uniform_kind_ = true;
}

}  // namespace sepal
