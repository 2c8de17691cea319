// A data block: sorted entries, laid out in columns. A point read touches a tag, an offset, one key and one value. A
// search by order reads only keys, which lie together in a few cache lines.
//
// Bytes before compression (all integers little-endian; n = entry count; V, K and S are widths):
//
// | part        | size          | meaning                                                                        |
// |-------------|---------------|--------------------------------------------------------------------------------|
// | values      | variable      | the values, one after another                                                  |
// | keys        | variable      | the user keys without the prefix, one after another                            |
// | sequences   | n * S         | sequence number minus `base sequence`, S bytes each                            |
// | kinds       | n or 0        | kind byte of each entry; absent when all are `uniform kind`                    |
// | tags        | n or 0        | BlockTag(hash of the user key); absent without flag 1                          |
// | value begins| n * V         | where each value begins, from the start of the values                          |
// | key begins  | n * K or 0    | where each key begins, from the start of the keys; absent with flag 16         |
// | prefix      | prefix length | the bytes that all user keys of the block begin with                           |
// | header      | 28            | below; at the very end                                                         |
//
// | header offset | size | meaning                                                                            |
// |---------------|------|------------------------------------------------------------------------------------|
// | 0             | 4    | n, at least 1                                                                      |
// | 4             | 4    | bytes of the values                                                                |
// | 8             | 8    | base sequence: the lowest sequence number in the block                             |
// | 16            | 4    | bytes of the keys                                                                  |
// | 20            | 4    | prefix length, at most kMaxKeyBytes                                                |
// | 24            | 1    | flags: 1 has tags, 2 continuation, 4 kinds are uniform, 8 V is 4 rather than 2,    |
// |               |      | 16 all keys have one length (bytes of the keys / n), 32 K is 4 rather than 2       |
// | 25            | 1    | uniform kind, or 0                                                                 |
// | 26            | 1    | S, 0 to 7                                                                          |
// | 27            | 1    | 0                                                                                  |
//
// A value or key ends where the next begins, the last one where its part ends. V (K) is 4 exactly when the values
// (keys) are longer than 65535 bytes and the column is there.
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
#include "table/key/compare_bytes.h"
#include "table/key/internal_key.h"
#include "util/base/coding.h"
#include "util/base/hash.h"
#include "util/memory/append_buffer.h"

namespace sepal {

inline constexpr size_t kBlockHeaderBytes = 28;
inline constexpr uint8_t kBlockHasTags = 1;
inline constexpr uint8_t kBlockContinuation = 2;
inline constexpr uint8_t kBlockUniformKind = 4;
inline constexpr uint8_t kBlockWideValues = 8;
inline constexpr uint8_t kBlockUniformKeySize = 16;
inline constexpr uint8_t kBlockWideKeys = 32;

// The byte of a key's hash by which its entry in a block is found. Independent of the bits that guard and lane use.
inline uint8_t BlockTag(uint64_t hash) { return static_cast<uint8_t>(Mix64(hash ^ 0x5e9a1b10c4ull) >> 56); }

class BlockBuilder {
 public:
  // `tags`: whether entries get tags (the order must be hashable).
  explicit BlockBuilder(bool tags) : tags_(tags) {}

  // Requires internal key order among all entries added since Reset. `hash` is ignored without tags.
  void Add(const InternalKeyView& key, std::string_view value, uint64_t hash);
  bool empty() const { return entries_.empty(); }
  size_t entries() const { return entries_.size(); }
  size_t tombstones() const { return tombstones_; }
  size_t key_bytes() const { return shape_.key_bytes; }
  size_t value_bytes() const { return shape_.value_bytes; }
  // The number of bytes that Finish would return now, and after one more Add.
  size_t SizeEstimate() const { return SizeOf(shape_); }
  size_t SizeEstimateWith(const InternalKeyView& key, std::string_view value) const;
  // The methods below require at least one entry.
  SequenceNumber lowest_sequence() const { return SequenceNumber(shape_.lowest_sequence); }
  SequenceNumber highest_sequence() const { return SequenceNumber(shape_.highest_sequence); }
  std::string_view last_user_key() const { return KeyOf(entries_.back()); }
  InternalKeyView first_key() const { return {first_user_key(), entries_.front().trailer}; }
  InternalKeyView last_key() const { return {last_user_key(), entries_.back().trailer}; }

  // Returns the block's bytes. They are valid until Add or Reset, and readable for BlockBuffer::kPadding bytes past
  // their end.
  std::string_view Finish(bool continuation);
  void Reset();

 private:
  struct Entry {
    uint32_t key_offset, key_size, value_size;
    uint8_t tag;
    Trailer trailer;
  };
  // The values that determine the widths and the size.
  struct Shape {
    size_t entries = 0;
    size_t key_bytes = 0, value_bytes = 0;
    size_t shared = 0;  // the length of the prefix that all keys share
    size_t shortest_key = 0, longest_key = 0;
    uint64_t lowest_sequence = 0, highest_sequence = 0;
    bool uniform_kind = true;

    size_t KeysPart() const { return key_bytes - entries * shared; }
    bool UniformKeySize() const { return shortest_key == longest_key; }
    int SequenceWidth() const;
    size_t ValueWidth() const { return value_bytes > UINT16_MAX ? 4 : 2; }
    size_t KeyWidth() const { return UniformKeySize() ? 0 : KeysPart() > UINT16_MAX ? 4 : 2; }
  };
  void Include(const InternalKeyView& key, size_t value_bytes, Shape* shape) const;
  size_t SizeOf(const Shape& shape) const;
  std::string_view KeyOf(const Entry& entry) const { return {keys_.data() + entry.key_offset, entry.key_size}; }
  std::string_view first_user_key() const { return {keys_.data(), entries_.front().key_size}; }
  char* WriteKeys(char* out) const;
  char* WriteSequencesKindsTags(char* out) const;
  char* WriteBegins(char* out) const;
  char* WriteHeader(char* out, bool continuation) const;

  bool tags_;
  AppendBuffer out_;   // the values, which begin the block; Finish appends the rest
  AppendBuffer keys_;  // whole keys, one after another
  std::vector<Entry> entries_;
  Shape shape_;
  size_t tombstones_ = 0;
};

// Reads a block in place. Cheap to create. Borrows the bytes, which must have passed Validate and must be readable for
// BlockBuffer::kPadding bytes past their end.
class BlockView {
 public:
  // Whether `bytes` is a block that every other method can read within its bounds: checks offsets, lengths, widths,
  // kinds, and the order of entries (under `order`). `why` is set to the problem.
  static bool Validate(std::string_view bytes, KeyOrder order, std::string* why);

  explicit BlockView(std::string_view bytes);

  uint32_t count() const { return count_; }
  // Whether all entries have one trailer (so that no user key repeats, and entries are in strict order), keys are short
  // and of one length, and value begins are narrow. Compactions into the last level produce such blocks. PlainValueSize
  // works only for them.
  bool plain() const {
    constexpr uint8_t kMasked = kBlockUniformKind | kBlockUniformKeySize | kBlockWideValues;
    return (flags_ & kMasked) == (kBlockUniformKind | kBlockUniformKeySize) && sequence_width_ == 0 &&
           key_size_ <= kShortSuffix;
  }
  // Keys without the prefix up to this length are copied with one move of fixed size. It must not exceed the padding.
  static constexpr size_t kShortSuffix = 32;
  // The size of value i, which begins at `begin`.
  size_t PlainValueSize(uint32_t i, const char* begin) const {
    const uint32_t end = i + 1 < count_ ? DecodeFixed16(value_begins_ + size_t{i + 1} * 2) : values_bytes_;
    return end - static_cast<size_t>(begin - values_);
  }
  bool continuation() const { return (flags_ & kBlockContinuation) != 0; }
  std::string_view prefix() const { return prefix_; }
  Trailer trailer(uint32_t i) const;
  std::string_view key_suffix(uint32_t i) const;
  const char* PlainKeySuffix(uint32_t i) const { return keys_ + size_t{i} * key_size_; }
  std::string_view value(uint32_t i) const;
  // The whole user key of entry i, built in `*buffer`.
  std::string_view user_key(uint32_t i, std::string* buffer) const;

  struct Hit {
    bool found = false;
    // If found is false: whether the block holds an entry of any age for the key.
    bool key_present = false;
    Trailer trailer = 0;
    std::string_view value;
  };
  // Finds the newest entry for `user_key` with a trailer at or after SeekTrailer(visible) in key order. Uses tags if
  // the block has them.
  Hit Find(std::string_view user_key, uint64_t hash, SequenceNumber visible, KeyOrder order) const;

  // Prefetches the key and the value that Find will most likely read. Only for blocks with tags.
  void PrefetchFind(uint64_t hash) const;

  // Whether entry i, which must not be the first, has the same user key as the entry before. Requires that keys are
  // equal only if identical.
  bool RepeatsKey(uint32_t i) const;

  // Returns the first entry at or after `target`; count() if there is none.
  uint32_t LowerBound(const InternalKeyView& target, KeyOrder order) const;

 private:
  uint32_t ValueBegin(uint32_t i) const {
    return (flags_ & kBlockWideValues) != 0 ? DecodeFixed32(value_begins_ + size_t{i} * 4)
                                            : DecodeFixed16(value_begins_ + size_t{i} * 2);
  }
  uint32_t ValueEnd(uint32_t i) const { return i + 1 < count_ ? ValueBegin(i + 1) : values_bytes_; }
  uint32_t KeyBegin(uint32_t i) const {
    return (flags_ & kBlockWideKeys) != 0 ? DecodeFixed32(key_begins_ + size_t{i} * 4)
                                          : DecodeFixed16(key_begins_ + size_t{i} * 2);
  }
  uint32_t KeyEnd(uint32_t i) const { return i + 1 < count_ ? KeyBegin(i + 1) : keys_bytes_; }
  bool ValidateEntries(KeyOrder order, std::string* why) const;
  // The same as LowerBound, among the entries from `begin` on.
  uint32_t LowerBoundFrom(uint32_t begin, const InternalKeyView& target, KeyOrder order) const;
  uint32_t LowerBoundBytewise(uint32_t begin, std::string_view suffix, Trailer trailer) const;
  Hit FindByOrder(std::string_view user_key, Trailer newest, KeyOrder order) const;
  Hit FirstVisible(uint32_t i, std::string_view user_key, Trailer newest, KeyOrder order) const;

  const char* values_;
  const char* keys_;
  uint32_t count_;
  uint32_t values_bytes_, keys_bytes_;
  uint32_t key_size_;  // the size of every suffix, with kBlockUniformKeySize
  uint64_t base_sequence_;
  uint64_t sequence_mask_;
  uint8_t flags_, uniform_kind_, sequence_width_;
  const char* sequences_;
  const char* kinds_;
  const char* tags_;
  const char* value_begins_;
  const char* key_begins_;
  std::string_view prefix_;
};

// The functions below must be inlined into the loops over a block.

inline Trailer BlockView::trailer(uint32_t i) const {
  // The eight bytes lie within the block, because its header follows the columns.
  const uint64_t delta = DecodeFixed64(sequences_ + size_t{i} * sequence_width_) & sequence_mask_;
  const uint8_t kind = (flags_ & kBlockUniformKind) != 0 ? uniform_kind_ : static_cast<uint8_t>(kinds_[i]);
  return (base_sequence_ + delta) << 8 | kind;
}

inline std::string_view BlockView::key_suffix(uint32_t i) const {
  if ((flags_ & kBlockUniformKeySize) != 0) [[likely]] {
    return {keys_ + size_t{i} * key_size_, key_size_};
  }
  const uint32_t begin = KeyBegin(i);
  return {keys_ + begin, KeyEnd(i) - begin};
}

inline bool BlockView::RepeatsKey(uint32_t i) const { return EqualBytes(key_suffix(i - 1), key_suffix(i)); }

inline std::string_view BlockView::value(uint32_t i) const {
  const uint32_t begin = ValueBegin(i);
  return {values_ + begin, ValueEnd(i) - begin};
}

}  // namespace sepal
