// A memtable of the other shape, in the least code that shows what it costs
// (docs/internals/decisions/0003 says what came of it):
// a small live chunk to which entries are appended, and sealed chunks behind it, each sorted by radix. Point reads go
// through the same hash index as the real one's. One thread, bytewise keys.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/state/memtable/memtable_entry.h"
#include "db/state/memtable/memtable_index.h"
#include "table/iterate/merging_iterator.h"
#include "util/base/coding.h"
#include "util/base/strings.h"
#include "util/memory/arena.h"

namespace sepal {

class ChunkedMemTable {
 public:
  // An entry and the 8 bytes of its key that follow what all keys of its chunk share.
  struct Ranked {
    uint64_t rank;
    const MemTableEntry* entry;
  };
  using Chunk = std::vector<Ranked>;

  ChunkedMemTable(size_t most_entries, size_t chunk_entries) : index_(most_entries), chunk_entries_(chunk_entries) {
    live_.reserve(chunk_entries_);
  }

  void Add(SequenceNumber sequence, std::string_view user_key, std::string_view value, uint64_t hash) {
    char* const memory = arena_.AllocateAligned(MemTableEntry::Bytes(user_key, value), MemTableEntry::kAlignment);
    MemTableEntry* const entry = MemTableEntry::Make(memory, PackTrailer(sequence, ValueKind::kPut), user_key, value,
                                                     MemTableIndex::ShortHash(hash));
    index_.Insert(entry);
    live_.push_back({0, entry});
    if (live_.size() == chunk_entries_) Seal();
  }
  void Seal() {
    if (live_.empty()) return;
    Sort(&live_);
    sealed_.push_back(std::exchange(live_, {}));
    live_.reserve(chunk_entries_);
  }
  // Merges the sealed chunks.
  std::unique_ptr<InternalIterator> NewIterator() const;
  // All entries in one order, as a flush wants them: sorted once, whatever the chunks are.
  Chunk InOrder() const {
    Chunk all;
    all.reserve(chunk_entries_ * (sealed_.size() + 1));
    for (const Chunk& chunk : sealed_) all.insert(all.end(), chunk.begin(), chunk.end());
    all.insert(all.end(), live_.begin(), live_.end());
    Sort(&all);
    return all;
  }
  size_t MemoryBytes() const {
    return arena_.memory_bytes() + index_.memory_bytes() + (sealed_.size() + 1) * chunk_entries_ * sizeof(Ranked);
  }

 private:
  static void Sort(Chunk* chunk) {
    std::string prefix((*chunk)[0].entry->user_key());
    for (const Ranked& ranked : *chunk) ShortenToCommonPrefix(&prefix, ranked.entry->user_key());
    for (Ranked& ranked : *chunk) ranked.rank = BigEndianPrefix(ranked.entry->user_key().substr(prefix.size()));
    SortByRank(chunk);
    const KeyOrder order;
    for (auto begin = chunk->begin(); begin != chunk->end();) {
      const auto end = std::find_if(begin, chunk->end(), [&](const Ranked& r) { return r.rank != begin->rank; });
      std::sort(begin, end,
                [&](const Ranked& a, const Ranked& b) { return order.Less(a.entry->key(), b.entry->key()); });
      begin = end;
    }
  }
  // From the lowest byte to the highest; a byte that all have in common costs its count alone.
  static void SortByRank(Chunk* chunk) {
    std::array<std::array<uint32_t, 256>, 8> counts = {};
    for (const Ranked& ranked : *chunk) {
      for (size_t byte = 0; byte < 8; ++byte) ++counts[byte][ranked.rank >> (8 * byte) & 255];
    }
    Chunk other(chunk->size());
    for (size_t byte = 0; byte < 8; ++byte) {
      const size_t shift = 8 * byte;
      if (counts[byte][(*chunk)[0].rank >> shift & 255] == chunk->size()) continue;
      std::array<uint32_t, 256> next = {};
      for (size_t i = 1; i < 256; ++i) next[i] = next[i - 1] + counts[byte][i - 1];
      for (const Ranked& ranked : *chunk) other[next[ranked.rank >> shift & 255]++] = ranked;
      chunk->swap(other);
    }
  }

  Arena arena_;
  MemTableIndex index_;
  const size_t chunk_entries_;
  Chunk live_;
  std::vector<Chunk> sealed_;
};

class ChunkIterator final : public InternalIterator {
 public:
  explicit ChunkIterator(const ChunkedMemTable::Chunk* chunk) : chunk_(*chunk) {}
  void SeekToFirst() override { Show(0); }
  void SeekToLast() override { Show(chunk_.size() - 1); }
  void Seek(InternalKeyView target) override { Show(Find(target)); }
  void SeekBefore(InternalKeyView target) override { Show(Find(target) - 1); }
  void Next() override { Show(at_ + 1); }
  void Prev() override { Show(at_ - 1); }
  absl::Status status() const override { return absl::OkStatus(); }

 private:
  size_t Find(InternalKeyView target) const {
    const auto less = [](const ChunkedMemTable::Ranked& a, InternalKeyView b) {
      return KeyOrder().Less(a.entry->key(), b);
    };
    return static_cast<size_t>(std::lower_bound(chunk_.begin(), chunk_.end(), target, less) - chunk_.begin());
  }
  void Show(size_t at) {
    at_ = at;
    valid_ = at < chunk_.size();
    if (!valid_) return;
    key_ = chunk_[at].entry->key();
    value_ = chunk_[at].entry->value();
    if (at + kAhead < chunk_.size()) chunk_[at + kAhead].entry->Prefetch();
  }

  static constexpr size_t kAhead = 2;
  const ChunkedMemTable::Chunk& chunk_;
  size_t at_ = 0;
};

inline std::unique_ptr<InternalIterator> ChunkedMemTable::NewIterator() const {
  std::vector<std::unique_ptr<InternalIterator>> children;
  std::string prefix(sealed_.front().front().entry->user_key());
  for (const Chunk& chunk : sealed_) {
    ShortenToCommonPrefix(&prefix, chunk.front().entry->user_key());
    ShortenToCommonPrefix(&prefix, chunk.back().entry->user_key());
    children.push_back(std::make_unique<ChunkIterator>(&chunk));
  }
  return NewMergingIterator(KeyOrder(), std::move(children), prefix);
}

}  // namespace sepal
