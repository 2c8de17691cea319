// Sorted items in immutable chunks, which a changed sequence shares with the one that it comes from.
//
// Law: a chunk holds between half of `kMostInChunk` and `kMostInChunk` items; a lone one may hold fewer, none is empty.
//
// Cost of a change: the items of the chunks that it meets (and of a neighbour, where one becomes too small), a search
// for each, and a pointer for every other chunk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "util/base/check.h"

namespace sepal {

// Fewer make more pointers to copy, more make more items to copy: measured in docs/internals/decisions/0020.
inline constexpr size_t kMostInChunk = 256;

// A `Chunk` has `Item` and `std::span<const Item> items() const`.
template <class Chunk>
struct ChunkList {
  std::vector<std::shared_ptr<const Chunk>> chunks;
  std::vector<size_t> fresh;  // the places of those that were made for it, ascending
};

// Puts a sequence together from chunks that are kept and items that are to be in chunks. `make` gives a chunk of items.
template <class Chunk, class Make>
class ChunkPacker {
 public:
  using Item = typename Chunk::Item;
  explicit ChunkPacker(const Make& make) : make_(make) {}

  void Add(std::vector<Item> items) {
    if (loose_.empty()) {
      loose_ = std::move(items);
    } else {
      loose_.insert(loose_.end(), std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
    }
  }
  void Keep(const std::shared_ptr<const Chunk>& chunk) {
    if (!loose_.empty() && loose_.size() < kFewest) {
      loose_.insert(loose_.end(), chunk->items().begin(), chunk->items().end());
      return;
    }
    Pack();
    list_.chunks.push_back(chunk);
  }
  ChunkList<Chunk> Finish() && {
    // What stands last was kept: items become chunks only before one that is kept.
    if (!loose_.empty() && loose_.size() < kFewest && !list_.chunks.empty()) {
      const std::shared_ptr<const Chunk> last = std::move(list_.chunks.back());
      list_.chunks.pop_back();
      loose_.insert(loose_.begin(), last->items().begin(), last->items().end());
    }
    Pack();
    return std::move(list_);
  }

 private:
  static constexpr size_t kFewest = kMostInChunk / 2;

  // As few chunks as hold them, alike in size.
  void Pack() {
    const size_t parts = (loose_.size() + kMostInChunk - 1) / kMostInChunk;
    for (size_t i = 0; i < parts; ++i) {
      const auto begin = loose_.begin() + static_cast<ptrdiff_t>(loose_.size() * i / parts);
      const auto end = loose_.begin() + static_cast<ptrdiff_t>(loose_.size() * (i + 1) / parts);
      list_.fresh.push_back(list_.chunks.size());
      list_.chunks.push_back(make_(std::vector<Item>(std::make_move_iterator(begin), std::make_move_iterator(end))));
    }
    loose_.clear();
  }

  const Make& make_;
  std::vector<Item> loose_;
  ChunkList<Chunk> list_;
};

// `items` without `removed`, which are among them, and with `added`; all in order.
template <class Item, class Less>
std::vector<Item> MergedItems(std::span<const Item> items, std::span<const Item> removed, std::span<const Item> added,
                              const Less& less) {
  SEPAL_CHECK(removed.size() <= items.size());
  std::vector<Item> merged;
  merged.reserve(items.size() + added.size() - removed.size());
  auto gone = removed.begin();
  auto next = added.begin();
  for (const Item& item : items) {
    if (gone != removed.end() && item == *gone) {
      ++gone;
      continue;
    }
    while (next != added.end() && less(*next, item)) merged.push_back(*next++);
    merged.push_back(item);
  }
  merged.insert(merged.end(), next, added.end());
  SEPAL_CHECK(gone == removed.end());
  return merged;
}

// The sequence without `removed`, which are in it, and with `added`; all in the order `less`.
template <class Chunk, class Less, class Make>
ChunkList<Chunk> EditChunks(std::span<const std::shared_ptr<const Chunk>> base,
                            std::span<const typename Chunk::Item> removed, std::span<const typename Chunk::Item> added,
                            const Less& less, const Make& make) {
  using Item = typename Chunk::Item;
  ChunkPacker<Chunk, Make> packer(make);
  // The first chunk from `from` on that does not end before the item; the last one takes what lies behind.
  const auto chunk_of = [&](const Item& item, size_t from) {
    const auto begin = base.begin() + static_cast<ptrdiff_t>(from);
    const auto ends_before = [&](const auto& chunk) { return less(chunk->items().back(), item); };
    return static_cast<size_t>(std::partition_point(begin, base.end() - 1, ends_before) - base.begin());
  };
  size_t next = 0;
  while (next < base.size() && !(removed.empty() && added.empty())) {
    size_t at = base.size() - 1;
    if (!removed.empty()) at = std::min(at, chunk_of(removed.front(), next));
    if (!added.empty()) at = std::min(at, chunk_of(added.front(), next));
    for (; next < at; ++next) packer.Keep(base[next]);
    const std::span<const Item> items = base[next++]->items();
    const auto beyond = [&](const Item& item) { return next < base.size() && less(items.back(), item); };
    const auto out = static_cast<size_t>(std::find_if(removed.begin(), removed.end(), beyond) - removed.begin());
    const auto in = static_cast<size_t>(std::find_if(added.begin(), added.end(), beyond) - added.begin());
    packer.Add(MergedItems(items, removed.first(out), added.first(in), less));
    removed = removed.subspan(out);
    added = added.subspan(in);
  }
  for (; next < base.size(); ++next) packer.Keep(base[next]);
  if (!added.empty()) packer.Add({added.begin(), added.end()});  // there was no chunk
  return std::move(packer).Finish();
}

// A sequence of `items`.
template <class Chunk, class Make>
ChunkList<Chunk> PackChunks(std::vector<typename Chunk::Item> items, const Make& make) {
  ChunkPacker<Chunk, Make> packer(make);
  packer.Add(std::move(items));
  return std::move(packer).Finish();
}

}  // namespace sepal
