// Prefetches for the readers of a table, by the addresses at which data was last seen: a lookup or a scan of data in
// memory waits for one cache miss instead of several in a row. Such an address is only ever prefetched, so that it does
// not matter if its bytes have been freed.
//
// Each was measured by leaving it out (2 million entries of 100 bytes, all cached, processor time):
//
// | left out                                              | costs                                            |
// |-------------------------------------------------------|--------------------------------------------------|
// | ScanPrefetch::AfterPin: the next data of a scan       | readseq 1.30 times, readreverse 1.25             |
// | the same with values of 4 KiB, a block each           | readseq 1.30, readreverse 1.25                   |
// | ScanPrefetch::BeforePin: the block's end              | seekrandom 1.30                                  |
// | TableSearch::AskLane: the block's end                 | readrandom 1.22, multireadrandom 1.23            |
// | TableReader::Impl::PrefetchBlockHints                 | readrandom 1.12, seekrandom 1.14                 |
// | TableReader::Impl::PrefetchLeaf, before the page is   | readrandom 1.03, seekrandom 1.05                 |
// | found in the cache                                    |                                                  |
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "table/file/block_source.h"
#include "table/index/index_page.h"

namespace sepal {

// Prefetches the last `lines` cache lines of a block: its header and the columns before it.
inline void PrefetchBlockEnd(std::string_view bytes, size_t lines) {
  constexpr size_t kLine = 64;
  for (size_t back = 0; back < lines * kLine && back < bytes.size(); back += kLine) {
    __builtin_prefetch(bytes.data() + bytes.size() - 1 - back);
  }
}
// The same for the address at which a block ended, whose bytes may have been freed.
inline void PrefetchBeforeEnd(const char* end, size_t lines) {
  const auto address = reinterpret_cast<uintptr_t>(end);
  for (size_t line = 0; line < lines; ++line)
    __builtin_prefetch(reinterpret_cast<const char*>(address - 1 - line * 64));
}

// For a block of one or two entries: the header, the columns, and the end of the last value.
inline constexpr size_t kLinesOfFewEntries = 2;

// For an iterator that goes through the blocks of a leaf page.
class ScanPrefetch {
 public:
  // `source` must outlive this.
  explicit ScanPrefetch(const BlockSource& source) : source_(source) {}

  // Called when the iterator enters a page; `hints`, those of its blocks, may be null.
  void EnterPage(const IndexPageView& page, BlockHint* hints) {
    hints_ = hints;
    blocks_ = page.count();
    few_entries_ = page.BlocksHaveFewEntries();
  }
  // Called before block `block` is pinned ...
  void BeforePin(uint32_t block) const {
    if (hints_ != nullptr) PrefetchEnd(block);
  }
  // ... and after. `step`: 1 or -1 if a scan continues in that direction, otherwise 0. `values`: whether it reads the
  // values too, or passes most of them.
  void AfterPin(uint32_t block, std::string_view bytes, int step, bool values) const {
    if (hints_ != nullptr && step != 0) PrefetchAhead(block, bytes.size(), step, values);
    const char* const end = bytes.data() + bytes.size();
    if (hints_ != nullptr && hints_[block].end.load(std::memory_order_relaxed) == end) return;
    PrefetchBlockEnd(bytes, lines());
    if (hints_ != nullptr) hints_[block].end.store(end, std::memory_order_relaxed);
  }

 private:
  // The header of a block, the columns and most keys.
  static constexpr size_t kScanLines = 12;
  // How far ahead blocks of one or two entries are prefetched, because nearly every step goes to another block.
  static constexpr int kFewEntriesAhead = 3;

  size_t lines() const { return few_entries_ ? kLinesOfFewEntries : kScanLines; }
  bool IsInPage(int64_t block) const { return block >= 0 && block < blocks_; }
  // Returns where the block ended; null if that is unknown.
  const char* PrefetchEnd(int64_t block) const {
    source_.PrefetchFrame(hints_[block].frame);
    const char* const end = hints_[block].end.load(std::memory_order_relaxed);
    if (end != nullptr) PrefetchBeforeEnd(end, lines());
    return end;
  }
  // Assumes that blocks are about as long as this one, of `size` bytes.
  void PrefetchAhead(uint32_t block, size_t size, int step, bool values) const {
    const int64_t wanted = int64_t{block} + step * (few_entries_ ? kFewEntriesAhead : 1);
    if (!IsInPage(wanted)) return;
    if (!few_entries_ && IsInPage(wanted + step)) source_.PrefetchFrame(hints_[wanted + step].frame);
    const char* const end = PrefetchEnd(wanted);
    if (end == nullptr || !values) return;
    if (few_entries_) {
      PrefetchBeforeEnd(end - size + 1, 1);  // the first value
    } else if (step > 0) {
      PrefetchBeforeEnd(end - size + 64 * kScanLines, kScanLines);  // the first values
    }
  }

  const BlockSource& source_;
  BlockHint* hints_ = nullptr;
  uint32_t blocks_ = 0;
  bool few_entries_ = false;
};

}  // namespace sepal
