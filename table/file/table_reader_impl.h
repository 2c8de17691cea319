// What the parts of the table reader (open, lookup, iterator, verification) share. Not for other rooms.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "table/file/table_reader.h"
#include "table/index/index_page.h"

namespace sepal {

// Constant after Open, but for the hints, which are relaxed atomics (a lost update costs one hash lookup), and the
// bytes that they take.
struct TableReader::Impl {
  TableReaderOptions options;
  std::unique_ptr<ReadableFile> file;
  uint64_t file_size = 0;
  Footer footer;
  TableProperties properties;
  // Whether tags and filters may be asked.
  bool hashable = false;
  std::optional<BlockSource> source;
  BlockBuffer root_bytes;
  std::optional<IndexPageView> root;

  mutable std::unique_ptr<HintWord[]> leaf_hints;  // one a leaf page
  // Where each leaf page was last seen. Only ever prefetched, as `guard_lines`.
  mutable std::unique_ptr<std::atomic<const char*>[]> leaf_begins;
  // For each leaf page those of its blocks, or null while it has not been searched.
  mutable std::unique_ptr<std::atomic<BlockHint*>[]> block_hints;
  mutable HintWord guard_hint{0};
  // Where the guard's lines were last seen. Only ever prefetched, so that it does not matter if they are gone.
  mutable std::atomic<const char*> guard_lines{nullptr};
  mutable std::atomic<size_t> memory_bytes{0};

  ~Impl();

  bool has_guard() const { return footer.guard.size != 0; }
  bool has_filters() const { return hashable && (has_guard() || properties.lane_bytes != 0); }
  // Leaf pages and the guard are kept in the cache whatever the caller wants kept of data.
  absl::StatusOr<CachePin> Leaf(uint32_t page) const;
  // Of the blocks of leaf page `page`, which is `leaf`; null while open tables take more than their share of memory,
  // since hints stay as long as the reader.
  BlockHint* BlockHints(uint32_t page, const IndexPageView& leaf) const {
    BlockHint* const hints = block_hints[page].load(std::memory_order_acquire);
    return hints != nullptr ? hints : MakeBlockHints(page, leaf);
  }
  // Starts to fetch the hints of a page's blocks. Which of them is wanted only a search in the page tells; both then
  // come at once.
  void PrefetchBlockHints(uint32_t page) const {
    constexpr size_t kLines = 64 * sizeof(BlockHint) / 64;  // of a page of 64 blocks
    const auto* const hints = reinterpret_cast<const char*>(block_hints[page].load(std::memory_order_relaxed));
    if (hints == nullptr) return;
    for (size_t line = 0; line < kLines; ++line) __builtin_prefetch(hints + line * 64);
  }
  // Starts to fetch what a search looks at of a leaf page: before it is found, where it was seen before, ...
  void PrefetchLeaf(uint32_t page) const {
    const char* const begin = leaf_begins[page].load(std::memory_order_relaxed);
    if (begin != nullptr) IndexPageView::PrefetchFences(begin);
  }
  // ... and once it is, where it lies elsewhere.
  void NoteLeaf(uint32_t page, const char* begin) const {
    if (leaf_begins[page].load(std::memory_order_relaxed) == begin) return;
    leaf_begins[page].store(begin, std::memory_order_relaxed);
    IndexPageView::PrefetchFences(begin);
  }
  void Charge(size_t bytes) const;
  BlockHint* MakeBlockHints(uint32_t page, const IndexPageView& leaf) const;
  uint64_t data_bytes() const { return root->begin_offset(); }

  // Whether blocks hold what the index has there: that a lookup of the first and of the last key of block `i` of leaf
  // page `page`, which is `leaf`, comes to it; of a page, that one of its last separator does. All keys that lie in
  // such blocks of such pages are in order. `key` is for its use.
  absl::Status CheckPlace(uint32_t page, const IndexPageView& leaf) const;
  absl::Status CheckPlace(uint32_t page, const IndexPageView& leaf, uint32_t i, std::string_view block,
                          std::string* key) const;

  absl::StatusOr<BlockBuffer> ReadTail(uint64_t most_bytes) const;
  absl::Status ReadFooter(std::string_view tail);
  absl::Status ReadProperties(std::string_view tail);
  absl::Status ReadRoot(std::string_view tail);
  // A unit out of the bytes at the file's end, or from the file where they do not reach so far.
  absl::StatusOr<BlockBuffer> FromTail(std::string_view tail, BlockHandle handle, UnitKind kind) const;
};

}  // namespace sepal
