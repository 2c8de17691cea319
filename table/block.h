// A data block: sorted entries, laid out in columns so that a point read touches a tag, an offset and one entry.
//
// Bytes before compression (all integers little-endian; n = entry count, W = offset width, S = sequence width):
//
// | part      | size          | meaning                                                                        |
// |-----------|---------------|--------------------------------------------------------------------------------|
// | entries   | variable      | n times: key suffix length (varint32), key suffix, value                       |
// | sequences | n * S         | sequence number minus `base sequence`, S bytes each                            |
// | kinds     | n or 0        | kind byte of each entry; absent when all are `uniform kind`                    |
// | tags      | n or 0        | BlockTag(hash of the user key); absent without flag kHasTags                   |
// | offsets   | n * W         | where each entry begins, from the start of the block                           |
// | prefix    | prefix length | the bytes that all user keys of the block begin with                           |
// | header    | 24            | below; at the very end                                                         |
//
// | header offset | size | meaning                                                                            |
// |---------------|------|------------------------------------------------------------------------------------|
// | 0             | 4    | n, at least 1                                                                      |
// | 4             | 4    | bytes of the entries part: the last entry's value ends there                       |
// | 8             | 8    | base sequence: the lowest sequence number in the block                             |
// | 16            | 4    | prefix length, at most kMaxKeyBytes                                                |
// | 20            | 1    | flags: 1 has tags, 2 continuation, 4 kinds are uniform, 8 offsets are 4 bytes wide  |
// | 21            | 1    | uniform kind, or 0                                                                 |
// | 22            | 1    | S, 0 to 7                                                                          |
// | 23            | 1    | 0                                                                                  |
//
// A value ends where the next entry begins. Offsets ascend. W is 2 unless the entries part is longer than 65535 bytes.
//
// A block whose first user key is the last one of the block before is a *continuation*.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "table/internal_key.h"
#include "table/iterator.h"
#include "util/coding.h"
#include "util/hash.h"

namespace sepal {

inline constexpr size_t kBlockHeaderBytes = 24;
inline constexpr uint8_t kBlockHasTags = 1;
inline constexpr uint8_t kBlockContinuation = 2;
inline constexpr uint8_t kBlockUniformKind = 4;
inline constexpr uint8_t kBlockWideOffsets = 8;

// The byte of a key's hash that its block entry is found by. Independent of the bits that guard and lane use.
inline uint8_t BlockTag(uint64_t hash) { return static_cast<uint8_t>(Mix64(hash ^ 0x5e9a1b10c4ull) >> 56); }

class BlockBuilder {
 public:
  // `tags`: whether entries get tags (the order is hashable).
  explicit BlockBuilder(bool tags) : tags_(tags) {}

  // Requires: after all entries added since Reset, in internal key order. `hash` is ignored without tags.
  void Add(InternalKeyView key, std::string_view value, uint64_t hash);
  bool empty() const { return keys_.empty(); }
  size_t entries() const { return keys_.size(); }
  size_t tombstones() const { return tombstones_; }
  // What Finish would return now, in bytes; and after one more Add. Exact while no key suffix is longer than 127 bytes,
  // else up to two bytes an entry too much.
  size_t SizeEstimate() const;
  size_t SizeEstimateWith(InternalKeyView key, std::string_view value) const;
  std::string_view last_user_key() const;
  InternalKeyView first_key() const;
  InternalKeyView last_key() const;

  // The block's bytes; valid until Reset, and readable for BlockBuffer::kPadding bytes past their end. Requires at
  // least one entry.
  std::string_view Finish(bool continuation);
  void Reset();

 private:
  struct Pending {
    uint32_t key_offset, key_size, value_size;
    uint8_t tag;
    Trailer trailer;
  };
  InternalKeyView KeyOf(const Pending& entry) const {
    return {std::string_view(raw_).substr(entry.key_offset, entry.key_size), entry.trailer};
  }
  size_t SizeFor(size_t entries, size_t bytes, size_t shared, size_t longest_key, uint64_t sequence_span,
                 bool uniform_kind) const;
  void WriteEntries(char* out, char* offsets, size_t offset_width) const;
  char* WriteSequencesKindsTags(char* out, int sequence_width) const;

  bool tags_;
  std::string raw_;  // keys and values as given, one after another, in its first `raw_bytes_`
  size_t raw_bytes_ = 0;
  std::vector<Pending> keys_;
  size_t shared_ = 0;  // prefix that all keys share
  size_t longest_key_ = 0;
  uint64_t lowest_sequence_ = 0, highest_sequence_ = 0;
  bool uniform_kind_ = true;
  size_t tombstones_ = 0;
  std::string out_;
};

// Reads a block in place. Cheap to make; borrows the bytes, which must have passed Validate, and must be readable for
// BlockBuffer::kPadding bytes past their end.
class BlockView {
 public:
  // Whether `bytes` is a block that every other member can read without going out of bounds: offsets, lengths, widths,
  // kinds, and the order of entries (under `order`). `why` says what is wrong.
  static bool Validate(std::string_view bytes, KeyOrder order, std::string* why);

  explicit BlockView(std::string_view bytes);

  uint32_t count() const { return count_; }
  bool continuation() const { return (flags_ & kBlockContinuation) != 0; }
  std::string_view prefix() const { return prefix_; }
  Trailer trailer(uint32_t i) const;
  std::string_view key_suffix(uint32_t i) const;
  std::string_view value(uint32_t i) const { return value(i, key_suffix(i)); }
  // The same where the suffix of entry i is at hand.
  std::string_view value(uint32_t i, std::string_view suffix) const;
  // The whole user key of entry i, written to `*buffer`.
  std::string_view user_key(uint32_t i, std::string* buffer) const;

  struct Hit {
    bool found = false;
    // With found false: whether the block holds any entry (of any age) for the key.
    bool key_present = false;
    Trailer trailer = 0;
    std::string_view value;
  };
  // The newest entry for `user_key` with a trailer at or after SeekTrailer(visible) in key order. By tags where the
  // block has them.
  Hit Find(std::string_view user_key, uint64_t hash, SequenceNumber visible, KeyOrder order) const;

  // The first entry at or after `target`; count() if there is none.
  uint32_t LowerBound(InternalKeyView target, KeyOrder order) const;

 private:
  const char* EntryBegin(uint32_t i) const {
    return data_ + ((flags_ & kBlockWideOffsets) != 0 ? DecodeFixed32(offsets_ + size_t{i} * 4)
                                                      : DecodeFixed16(offsets_ + size_t{i} * 2));
  }
  // The length-prefixed suffix at `p`, of 128 bytes or more.
  static std::string_view LongSuffix(const char* p);
  const char* EntryEnd(uint32_t i) const { return i + 1 < count_ ? EntryBegin(i + 1) : data_ + entries_bytes_; }
  bool ValidateEntries(KeyOrder order, std::string* why) const;
  // As LowerBound, among the entries from `begin` on.
  uint32_t LowerBoundFrom(uint32_t begin, InternalKeyView target, KeyOrder order) const;
  uint32_t LowerBoundBytewise(uint32_t begin, std::string_view suffix, Trailer trailer) const;
  Hit FindByOrder(std::string_view user_key, Trailer newest, KeyOrder order) const;
  Hit FirstVisible(uint32_t i, std::string_view user_key, Trailer newest, KeyOrder order) const;

  const char* data_;
  uint32_t count_;
  uint32_t entries_bytes_;
  uint64_t base_sequence_;
  uint64_t sequence_mask_;
  uint8_t flags_, uniform_kind_, sequence_width_;
  const char* sequences_;
  const char* kinds_;
  const char* tags_;
  const char* offsets_;
  std::string_view prefix_;
};

// A cursor over a block, for table iterators: no virtual calls. Borrows the block's bytes. Holds the key it stands at
// in a buffer of its own, whose prefix is written once a block.
class BlockCursor {
 public:
  BlockCursor() = default;
  // Stands before the first entry.
  void Attach(std::string_view bytes, KeyOrder order);
  void Detach();
  bool attached() const { return view_.has_value(); }

  bool Valid() const { return attached() && index_ < view_->count(); }
  void SeekToFirst() { MoveTo(0); }
  void SeekToLast() { MoveTo(view_->count() - 1); }
  void Seek(InternalKeyView target) { MoveTo(view_->LowerBound(target, order_)); }
  // To the last entry before `target`.
  void SeekBefore(InternalKeyView target) { MoveTo(view_->LowerBound(target, order_) - 1); }
  void Next() { MoveTo(index_ + 1); }
  // Past the first entry the cursor is invalid.
  void Prev() { MoveTo(index_ - 1); }
  InternalKeyView key() const { return {{key_.data(), key_size_}, trailer_}; }
  std::string_view value() const { return value_; }

 private:
  void MoveTo(uint32_t index);
  void CopyLongSuffix(std::string_view suffix);

  std::optional<BlockView> view_;
  KeyOrder order_;
  uint32_t index_ = ~uint32_t{0};
  std::string key_;
  size_t key_size_ = 0;
  Trailer trailer_ = 0;
  std::string_view value_;
};

// A block as an iterator of its own, for tests and tools. `bytes` must outlive it.
std::unique_ptr<InternalIterator> NewBlockIterator(std::string_view bytes, KeyOrder order);

// Below: what must be inlined into the loops over a block.

inline Trailer BlockView::trailer(uint32_t i) const {
  // The eight bytes lie within the block: its header follows the columns.
  const uint64_t delta = DecodeFixed64(sequences_ + size_t{i} * sequence_width_) & sequence_mask_;
  const uint8_t kind = (flags_ & kBlockUniformKind) != 0 ? uniform_kind_ : static_cast<uint8_t>(kinds_[i]);
  return (base_sequence_ + delta) << 8 | kind;
}

inline std::string_view BlockView::key_suffix(uint32_t i) const {
  const char* const p = EntryBegin(i);
  const size_t size = static_cast<uint8_t>(*p);
  if (size >= 0x80) [[unlikely]]
    return LongSuffix(p);
  return {p + 1, size};
}

inline std::string_view BlockView::value(uint32_t i, std::string_view suffix) const {
  const char* const value = suffix.data() + suffix.size();
  return {value, static_cast<size_t>(EntryEnd(i) - value)};
}

}  // namespace sepal
