// An index page describes a run of consecutive blocks of a file: where each block ends in key order and where it lies,
// and in a leaf page also each block's lane. One read therefore serves index and filter. A *leaf page* describes data
// blocks; the *root* describes leaf pages, without lanes.
//
// The *separator* of a block sorts at or after its last entry and before the first entry of the next block. It is a
// user key (all versions of that user key are then at or before it) or, if two blocks share a user key, an internal
// key. A *fence* is the first 8 bytes of the separator after the page's common prefix, zero-padded, read as a
// big-endian number (and stored, as all numbers are, little-endian); equal fences are told apart by the whole
// separator. If the order is not bytewise, prefix and fences are empty (0), and only whole separators decide.
//
// Bytes (never compressed, so that a cached page is used in place; n = count):
//
// | part        | size         | meaning                                                                          |
// |-------------|--------------|----------------------------------------------------------------------------------|
// | header      | 64           | below                                                                            |
// | fences      | n * 8        |                                                                                  |
// | block ends  | n * 4        | offset after each block's trailer, less `base offset`                            |
// | tail ends   | n * 4        | where each separator tail ends in `tails`                                        |
// | lane ends   | n * 2        | where each lane ends, in units of 8 bytes; 0 throughout without lanes            |
// | shapes      | n            | low 4 bits: separator bytes in the fence, 0 to 8; bit 7: the tail's last 8 bytes  |
// |             |              | are an internal key's trailer                                                    |
// | dead        | n            | share of tombstones among the block's entries, 0 to 255, rounded up              |
// | prefix      | prefix length|                                                                                  |
// | tails       | variable     | separator bytes after the fence's, then the trailer if there is one              |
// | padding     | to 64        | 0                                                                                |
// | lanes       | variable     |                                                                                  |
//
// | header offset | size | meaning                                                  |
// |---------------|------|----------------------------------------------------------|
// | 0             | 4    | n, at least 1                                            |
// | 4             | 1    | level: 0 leaf page, 1 root                               |
// | 5             | 1    | FilterKind of the lanes: 0 none, 1 Bloom                 |
// | 6             | 1    | probes of the lanes, 1 to 16; 0 without lanes            |
// | 7             | 1    | 0                                                        |
// | 8             | 8    | base offset: where the first block begins                |
// | 16            | 8    | entries in all blocks below                              |
// | 24            | 4    | prefix length                                            |
// | 28            | 4    | tails length                                             |
// | 32            | 4    | offset of the lanes                                      |
// | 36            | 4    | lanes length                                             |
// | 40            | 8    | entries before this page's first, in the file            |
// | 48            | 16   | 0                                                        |
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "table/filter/filter.h"
#include "table/key/internal_key.h"
#include "table/key/unit_handle.h"
#include "util/base/coding.h"

namespace sepal {

inline constexpr size_t kIndexPageHeaderBytes = 64;
inline constexpr uint8_t kSeparatorHasTrailer = 0x80;
inline constexpr uint8_t kFenceBytesMask = 0x0f;

// The offset of a page's lanes: the size of everything before them, rounded up to a cache line.
inline constexpr uint64_t IndexPageLanesOffset(uint64_t count, uint64_t prefix_size, uint64_t tails_size) {
  return (kIndexPageHeaderBytes + count * 20 + prefix_size + tails_size + 63) / 64 * 64;
}

// A separator, as it is passed to the builder.
struct Separator {
  std::string user_key;
  // Set if the separator is an internal key.
  bool has_trailer = false;
  Trailer trailer = 0;
};

// The shortest user key that is at or after `last` and before `next`, if one is shorter than `last` (in bytewise order
// only); an internal key if both are versions of one user key.
Separator ShortestSeparator(InternalKeyView last, InternalKeyView next, KeyOrder order);
// For the last block of a file: the user key of `last`. A shorter successor would shorten the prefix that the
// separators of its page have in common.
Separator ShortestSuccessor(InternalKeyView last, KeyOrder order);

class IndexPageBuilder {
 public:
  IndexPageBuilder(int level, KeyOrder order, int lane_probes)
      : level_(level), order_(order), lane_probes_(lane_probes) {}
  // Blocks must be consecutive in the file: each one begins where the previous one ended.
  void Add(const Separator& separator, BlockHandle handle, uint64_t entries, uint64_t tombstones,
           std::string_view lane);
  bool empty() const { return blocks_.empty(); }
  size_t blocks() const { return blocks_.size(); }
  uint64_t entries() const { return entries_; }
  // Whether one more block would overflow a field, so that the page must be finished first.
  bool Full() const;
  const Separator& last_separator() const { return blocks_.back().separator; }
  size_t MemoryBytes() const;
  std::string Finish(uint64_t entries_before);
  void Reset();

 private:
  struct Block {
    Separator separator;
    uint64_t end;
    uint32_t lane_end;
    uint8_t dead;
  };
  // Fills the columns, prefix and tails of a page of zeros.
  void WriteColumns(char* page, size_t prefix_size) const;

  int level_;
  KeyOrder order_;
  int lane_probes_;
  uint64_t base_offset_ = 0;
  uint64_t entries_ = 0;
  uint64_t separator_bytes_ = 0;  // trailers included
  std::vector<Block> blocks_;
  std::string lanes_;
};

// Reads a page in place. The bytes must be aligned to 64 and validated.
class IndexPageView {
 public:
  // Checks that all lengths and offsets are within bounds, separators ascend, and blocks lie within [0, file_size).
  static bool Validate(std::string_view bytes, uint64_t file_size, KeyOrder order, std::string* why);
  explicit IndexPageView(std::string_view bytes);

  uint32_t count() const { return count_; }
  int level() const;
  // Returns the first block whose separator is at or after the key; count() if there is none. A point lookup passes
  // SeekTrailer(visible).
  uint32_t Find(const InternalKeyView& key, KeyOrder order) const;
  // Whether separator i sorts before the key.
  bool EndsBefore(uint32_t i, const InternalKeyView& key, KeyOrder order) const;
  BlockHandle handle(uint32_t i) const;
  std::string_view lane(uint32_t i) const;
  int lane_probes() const { return lane_probes_; }
  bool LaneMayContain(uint32_t i, uint64_t hash) const;
  // The share of tombstones, 0 to 255.
  uint8_t dead(uint32_t i) const;
  uint64_t entries() const;
  // Whether blocks hold two entries or fewer on average, because values are as large as blocks.
  bool BlocksHaveFewEntries() const { return entries() <= uint64_t{2} * count_; }
  uint64_t entries_before() const;
  Separator separator(uint32_t i) const;
  // The range of the file that the page's blocks take.
  uint64_t begin_offset() const;
  uint64_t end_offset() const;
  // The bytes of this page that are filters.
  size_t LaneBytes() const;
  // Prefetches what Find reads of the page that begins at `page`; the page may have been freed.
  static void PrefetchFences(const char* page) {
    constexpr size_t kLines = 9;  // the header, and the fences of a leaf page of 64 blocks
    for (size_t line = 0; line < kLines; ++line) __builtin_prefetch(page + line * 64);
  }
  // Prefetches the columns that say where block `i` and its lane lie.
  void PrefetchBlock(uint32_t i) const;

 private:
  bool ValidateBlocks(uint64_t file_size, std::string* why) const;
  bool ValidateSeparators(KeyOrder order, std::string* why) const;
  uint32_t TailBegin(uint32_t i) const { return i == 0 ? 0 : DecodeFixed32(tail_ends_ + size_t{i - 1} * 4); }
  uint32_t BlockBegin(uint32_t i) const { return i == 0 ? 0 : DecodeFixed32(block_ends_ + size_t{i - 1} * 4); }
  size_t LaneBegin(uint32_t i) const { return i == 0 ? 0 : size_t{DecodeFixed16(lane_ends_ + size_t{i - 1} * 2)} * 8; }
  // A separator in place: `fence_bytes` of its bytes after the prefix are in the fence, the others in `tail`.
  struct Parts {
    size_t fence_bytes;
    std::string_view tail;
    bool has_trailer;
    Trailer trailer;
  };
  Parts PartsOf(uint32_t i) const;
  // Whether separator i sorts before the key, if their fences are equal. `rest` is the key after the prefix.
  bool SeparatorLess(uint32_t i, std::string_view rest, Trailer trailer) const;
  bool EndsBeforeByOrder(uint32_t i, const InternalKeyView& key, KeyOrder order) const;
  bool SeparatorsAscend(uint32_t i, KeyOrder order) const;
  uint32_t FindByOrder(const InternalKeyView& key, KeyOrder order) const;

  const char* data_;
  uint32_t count_;
  int lane_probes_;
  const uint64_t* fences_;
  const char* block_ends_;
  const char* tail_ends_;
  const char* lane_ends_;
  const char* shapes_;
  const char* dead_;
  const char* tails_;
  const char* lanes_;
  std::string_view prefix_;
};

}  // namespace sepal
