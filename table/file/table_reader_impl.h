// What the parts of the table reader (opening, lookup, iterator, verification) share. Only for this folder.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "table/file/table_reader.h"
#include "table/index/index_page.h"

namespace sepal {

// Constant after Open, except for the hints, which are relaxed atomics (a lost update costs one hash lookup), and the
// size of their memory.
struct TableReader::Impl {
  TableReaderOptions options;
  std::unique_ptr<ReadableFile> file;
  uint64_t file_size = 0;
  Footer footer;
  TableProperties properties;
  // Whether tags and filters may be used.
  bool hashable = false;
  std::optional<BlockSource> source;
  BlockBuffer root_bytes;
  std::optional<IndexPageView> root;

  mutable std::unique_ptr<HintWord[]> leaf_hints;  // one for each leaf page
  // The address at which each leaf page was last found. Only ever prefetched, as `guard_lines`.
  mutable std::unique_ptr<std::atomic<const char*>[]> leaf_begins;
  // For each leaf page the hints of its blocks, or null until it was searched.
  mutable std::unique_ptr<std::atomic<BlockHint*>[]> block_hints;
  mutable HintWord guard_hint{0};
  // The address at which the guard's lines were last found. Only ever prefetched, so that it does not matter if they
  // were freed.
  mutable std::atomic<const char*> guard_lines{nullptr};
  mutable std::atomic<size_t> memory_bytes{0};

  ~Impl();

  bool has_guard() const { return footer.guard.size != 0; }
  bool has_filters() const { return hashable && (has_guard() || properties.lane_bytes != 0); }
  // Leaf pages and the guard are kept in the cache, whatever the caller wants for data blocks.
  absl::StatusOr<CachePin> Leaf(uint32_t page) const;
  // Returns the hints for the blocks of leaf page `page`, which is `leaf`; null while open tables take more than their
  // share of memory, because hints live as long as the reader.
  BlockHint* BlockHints(uint32_t page, const IndexPageView& leaf) const {
    BlockHint* const hints = block_hints[page].load(std::memory_order_acquire);
    return hints != nullptr ? hints : MakeBlockHints(page, leaf);
  }
  // Prefetches the hints of a page's blocks. Only a search in the page tells which of them is needed; both then arrive
  // at the same time.
  void PrefetchBlockHints(uint32_t page) const {
    constexpr size_t kLines = 64 * sizeof(BlockHint) / 64;  // for a page of 64 blocks
    const auto* const hints = reinterpret_cast<const char*>(block_hints[page].load(std::memory_order_relaxed));
    if (hints == nullptr) return;
    for (size_t line = 0; line < kLines; ++line) __builtin_prefetch(hints + line * 64);
  }
  // Prefetches the part of a leaf page that a search reads: before the page is found, at the address where it was last
  // seen, ...
  void PrefetchLeaf(uint32_t page) const {
    const char* const begin = leaf_begins[page].load(std::memory_order_relaxed);
    if (begin != nullptr) IndexPageView::PrefetchFences(begin);
  }
  // ... and once it is found, if it is at another address.
  void NoteLeaf(uint32_t page, const char* begin) const {
    if (leaf_begins[page].load(std::memory_order_relaxed) == begin) return;
    leaf_begins[page].store(begin, std::memory_order_relaxed);
    IndexPageView::PrefetchFences(begin);
  }
  void Charge(size_t bytes) const;
  BlockHint* MakeBlockHints(uint32_t page, const IndexPageView& leaf) const;
  uint64_t data_bytes() const { return root->begin_offset(); }

  // Checks that blocks agree with the index: that a lookup of the first and of the last key of block `i` of leaf page
  // `page`, which is `leaf`, finds the block, and for a page, that a lookup of its last separator finds the page. All
  // keys in such blocks of such pages are in order. `key` is a scratch buffer.
  absl::Status CheckPlace(uint32_t page, const IndexPageView& leaf) const;
  absl::Status CheckPlace(uint32_t page, const IndexPageView& leaf, uint32_t i, std::string_view block,
                          std::string* key) const;

  absl::StatusOr<BlockBuffer> ReadTail(uint64_t most_bytes) const;
  absl::Status ReadFooter(std::string_view tail);
  absl::Status ReadProperties(std::string_view tail);
  absl::Status ReadRoot(std::string_view tail);
  // Puts the units that lookups need first into the cache, as far as they are at the file's end.
  void KeepTail(std::string_view tail) const;
  // For a remote file: makes the store fetch a unit that is about to be read, unless it is cached.
  void AskAhead(BlockHandle handle) const;
  // Decodes a unit from the bytes at the file's end, or reads it from the file if they do not contain it.
  absl::StatusOr<BlockBuffer> FromTail(std::string_view tail, BlockHandle handle, UnitKind kind) const;
};

}  // namespace sepal
