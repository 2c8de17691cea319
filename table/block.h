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
#include "util/hash.h"

namespace sepal {

inline constexpr size_t kBlockHeaderBytes = 24;

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
  // What Finish would return now, in bytes; and after one more Add.
  size_t SizeEstimate() const;
  size_t SizeEstimateWith(InternalKeyView key, std::string_view value) const;
  std::string_view last_user_key() const;
  InternalKeyView first_key() const;
  InternalKeyView last_key() const;

  // The block's bytes; valid until Reset. Requires at least one entry.
  std::string_view Finish(bool continuation);
  void Reset();

 private:
  struct Pending {
    uint32_t key_offset, key_size, value_size;
    Trailer trailer;
    uint8_t tag;
  };
  bool tags_;
  std::string raw_;  // keys and values as given, one after another
  std::vector<Pending> keys_;
  size_t shared_ = 0;  // prefix that all keys share
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
  bool continuation() const;
  std::string_view prefix() const { return prefix_; }
  Trailer trailer(uint32_t i) const;
  std::string_view key_suffix(uint32_t i) const;
  std::string_view value(uint32_t i) const;
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
  int CompareKey(uint32_t i, std::string_view user_key, KeyOrder order) const;

  const char* data_;
  uint32_t count_;
  uint32_t entries_bytes_;
  uint64_t base_sequence_;
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
  void Next() { MoveTo(index_ + 1); }
  // Past the first entry the cursor is invalid.
  void Prev() { MoveTo(index_ - 1); }
  InternalKeyView key() const { return {{key_.data(), key_size_}, trailer_}; }
  std::string_view value() const { return value_; }

 private:
  void MoveTo(uint32_t index);

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

}  // namespace sepal
