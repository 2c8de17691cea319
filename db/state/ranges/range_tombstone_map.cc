#include "db/state/ranges/range_tombstone_map.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "util/base/check.h"
#include "util/base/coding.h"
#include "util/base/strings.h"

namespace sepal {

struct RangeTombstoneMap::Key {
  std::string_view bytes() const { return {reinterpret_cast<const char*>(this + 1), size}; }

  uint32_t size;  // of the bytes after it
};

struct RangeTombstoneMap::Deletes {
  SequenceNumber sequence;
  const Deletes* older;
};

struct RangeTombstoneMap::Chunk {
  Chunk(const Key* end, uint32_t shared) : high(end), skip(shared) {}

  const Key* low() const { return keys[0].load(std::memory_order_acquire); }
  bool Unchanged(uint32_t since) const { return version.load(std::memory_order_acquire) == since; }
  // Waits for a change in progress, which takes some hundred instructions.
  uint32_t EvenVersion() const {
    constexpr int kPatience = 100;
    for (int tries = 0;; ++tries) {
      const uint32_t now = version.load(std::memory_order_acquire);
      if (now % 2 == 0) [[likely]]
        return now;
      if (tries >= kPatience) std::this_thread::yield();
    }
  }
  // Returns what `read` finds in the first `count` slots, while the chunk does not change.
  template <class Read>
  auto Confirmed(Read read) const {
    for (;;) {
      const uint32_t before = EvenVersion();
      const auto found = read(count.load(std::memory_order_acquire));
      if (Unchanged(before)) [[likely]]
        return found;
    }
  }

  // Keeps the version odd.
  class Change {
   public:
    explicit Change(Chunk* chunk) : chunk_(chunk), before_(chunk->version.load(std::memory_order_relaxed)) {
      chunk_->version.store(before_ + 1, std::memory_order_relaxed);
    }
    ~Change() { chunk_->version.store(before_ + 2, std::memory_order_release); }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    Chunk* const chunk_;
    const uint32_t before_;
  };

  const Key* const high;  // where the next chunk begins; null if there is none
  const uint32_t skip;    // bytes that all keys from `low` to `high` share
  std::atomic<uint32_t> version{0};
  std::atomic<uint32_t> count{0};
  std::array<std::atomic<uint64_t>, kSlots> prefixes = {};
  std::array<std::atomic<const Key*>, kSlots> keys = {};
  std::array<std::atomic<const Deletes*>, kSlots> deletes = {};
};

// Children in order, in three arrays after the header. It never changes, except for the directory's pointers to blocks.
template <class Child>
struct RangeTombstoneMap::Index {
  explicit Index(size_t children_count) : count(children_count) {}
  static size_t Bytes(size_t count) { return sizeof(Index) + 3 * count * sizeof(uint64_t); }

  const Key* low() const { return lows()[0]; }
  Child* child(size_t i) const { return children()[i].load(std::memory_order_acquire); }
  uint64_t* prefixes() const { return reinterpret_cast<uint64_t*>(const_cast<Index*>(this) + 1); }
  const Key** lows() const { return reinterpret_cast<const Key**>(prefixes() + count); }
  std::atomic<Child*>* children() const { return reinterpret_cast<std::atomic<Child*>*>(lows() + count); }

  const size_t count;
  uint64_t skip = 0;  // bytes that all lows but the first share
};

namespace {

// Prefetches a header and the data searched after it: the lines are loaded in parallel, where a search would wait for
// one after another.
void PrefetchBytes(const void* start, size_t bytes) {
  for (size_t at = 0; at < bytes + 64; at += 64) __builtin_prefetch(static_cast<const char*>(start) + at);
}

// Returns how many slots come before the first one from `from` on that is after the key: those with a lower prefix, and
// those with the same prefix for which `is_after` is false.
template <class PrefixOf, class IsAfter>
size_t CountThrough(size_t from, size_t count, uint64_t prefix, PrefixOf prefix_of, IsAfter is_after) {
  size_t low = from;
  for (size_t left = count - from; left > 0;) {
    const size_t half = (left + 1) / 2;
    low = prefix_of(low + half - 1) < prefix ? low + half : low;
    left -= half;
  }
  size_t high = low;
  while (high < count && prefix_of(high) == prefix) ++high;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (is_after(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace

uint64_t RangeTombstoneMap::PrefixAt(std::string_view key, uint64_t skip) const {
  if (!order_.bytewise() || key.size() <= skip) return 0;
  return BigEndianPrefix(key.data() + skip, key.size() - skip);
}

template <class Child>
size_t RangeTombstoneMap::ChildOf(const Index<Child>& index, std::string_view key) const {
  if (index.count == 1) return 0;
  if (index.skip > 0) {
    const int c = key.substr(0, index.skip).compare(index.lows()[1]->bytes().substr(0, index.skip));
    if (c != 0) return c < 0 ? 0 : index.count - 1;
  }
  const uint64_t* const prefixes = index.prefixes();
  const auto is_after = [&](size_t i) { return order_.Less(key, index.lows()[i]->bytes()); };
  return CountThrough(
             1, index.count, PrefixAt(key, index.skip), [&](size_t i) { return prefixes[i]; }, is_after) -
         1;
}

// Returns the slot of the last border at or before `key`, which lies in the chunk.
uint32_t RangeTombstoneMap::FloorIn(const Chunk& chunk, uint32_t count, std::string_view key) const {
  const auto prefix_of = [&](size_t i) { return chunk.prefixes[i].load(std::memory_order_acquire); };
  const auto is_after = [&](size_t i) {
    return order_.Less(key, chunk.keys[i].load(std::memory_order_acquire)->bytes());
  };
  return static_cast<uint32_t>(CountThrough(1, count, PrefixAt(key, chunk.skip), prefix_of, is_after)) - 1;
}

const RangeTombstoneMap::Chunk& RangeTombstoneMap::ChunkOf(std::string_view key) const {
  const Directory& directory = *directory_.load(std::memory_order_acquire);
  const Block* const block = directory.child(ChildOf(directory, key));
  PrefetchBytes(block, kBlockChunks * sizeof(uint64_t));
  const Chunk* const chunk = block->child(ChildOf(*block, key));
  PrefetchBytes(chunk, kSlots * sizeof(uint64_t));
  return *chunk;
}

SequenceNumber RangeTombstoneMap::Covering(std::string_view key, SequenceNumber visible) const {
  const Chunk& chunk = ChunkOf(key);
  const Deletes* deletes = chunk.Confirmed(
      [&](uint32_t count) { return chunk.deletes[FloorIn(chunk, count, key)].load(std::memory_order_acquire); });
  while (deletes != nullptr && deletes->sequence > visible) deletes = deletes->older;
  return deletes == nullptr ? SequenceNumber(0) : deletes->sequence;
}

RangeStretch RangeTombstoneMap::StretchAt(std::string_view key, SequenceNumber visible) const {
  const Chunk& chunk = ChunkOf(key);
  return chunk.Confirmed([&](uint32_t count) {
    const auto newest_at = [&](uint32_t slot) {
      const Deletes* deletes = chunk.deletes[slot].load(std::memory_order_acquire);
      while (deletes != nullptr && deletes->sequence > visible) deletes = deletes->older;
      return deletes == nullptr ? SequenceNumber(0) : deletes->sequence;
    };
    uint32_t first = FloorIn(chunk, count, key);
    uint32_t end = first + 1;
    RangeStretch stretch{.begin = std::nullopt, .end = std::nullopt, .newest = newest_at(first)};
    while (first > 0 && newest_at(first - 1) == stretch.newest) --first;
    while (end < count && newest_at(end) == stretch.newest) ++end;
    const Key* const low = chunk.keys[first].load(std::memory_order_acquire);
    const Key* const high = end < count ? chunk.keys[end].load(std::memory_order_acquire) : chunk.high;
    if (low != nullptr) stretch.begin = low->bytes();
    if (high != nullptr) stretch.end = high->bytes();
    return stretch;
  });
}

bool RangeTombstoneMap::MayCoverAny(std::string_view smallest, std::string_view largest, SequenceNumber lowest) const {
  if (newest() <= lowest) return false;
  const Chunk& chunk = ChunkOf(smallest);
  return chunk.Confirmed([&](uint32_t count) {
    const uint32_t at = FloorIn(chunk, count, smallest);
    const Deletes* const deletes = chunk.deletes[at].load(std::memory_order_acquire);
    if (deletes != nullptr && deletes->sequence > lowest) return true;
    const Key* const next = at + 1 < count ? chunk.keys[at + 1].load(std::memory_order_acquire) : chunk.high;
    return next != nullptr && !order_.Less(largest, next->bytes());
  });
}

RangeTombstoneMap::RangeTombstoneMap(KeyOrder order, Arena* arena) : order_(order), arena_(arena) {
  const Border nothing{.key = nullptr, .deletes = nullptr};
  Chunk* const chunk = NewChunk({&nothing, 1}, nullptr);
  Block* const block = NewIndex<Chunk>({&chunk, 1});
  directory_.store(NewIndex<Block>({&block, 1}), std::memory_order_release);
}

RangeTombstoneMap::Chunk* RangeTombstoneMap::NewChunk(std::span<const Border> borders, const Key* high) {
  SEPAL_CHECK(!borders.empty() && borders.size() <= kSlots);
  const Key* const low = borders.front().key;
  const bool bounded = order_.bytewise() && low != nullptr && high != nullptr;
  const size_t shared = bounded ? CommonPrefixSize(low->bytes(), high->bytes()) : 0;
  auto* chunk = new (arena_->AllocateAligned(sizeof(Chunk), 64)) Chunk(high, static_cast<uint32_t>(shared));
  Write(borders, chunk);
  return chunk;
}

// The version is odd here and in all the following.
void RangeTombstoneMap::Set(uint32_t slot, const Border& border, Chunk* chunk) const {
  const auto& [key, deletes] = border;
  if (chunk->keys[slot].load(std::memory_order_relaxed) != key) {
    chunk->prefixes[slot].store(PrefixAt(key->bytes(), chunk->skip), std::memory_order_release);
    chunk->keys[slot].store(key, std::memory_order_release);
  }
  chunk->deletes[slot].store(deletes, std::memory_order_release);
}

void RangeTombstoneMap::Write(std::span<const Border> borders, Chunk* chunk) const {
  const Chunk::Change change(chunk);
  for (uint32_t i = 0; i < borders.size(); ++i) Set(i, borders[i], chunk);
  chunk->count.store(static_cast<uint32_t>(borders.size()), std::memory_order_release);
}

void RangeTombstoneMap::InsertBorders(uint32_t slot, std::span<const Border> borders, Chunk* chunk) const {
  const uint32_t count = chunk->count.load(std::memory_order_relaxed);
  const auto more = static_cast<uint32_t>(borders.size());
  for (uint32_t i = count; i-- > slot;) {
    const auto move = [&](auto& slots) {
      slots[i + more].store(slots[i].load(std::memory_order_relaxed), std::memory_order_release);
    };
    move(chunk->prefixes);
    move(chunk->keys);
    move(chunk->deletes);
  }
  for (uint32_t i = 0; i < more; ++i) Set(slot + i, borders[i], chunk);
  chunk->count.store(count + more, std::memory_order_release);
}

// The common case: the delete lies in one stretch of the chunk that no delete covers, and there is room. Returns false
// otherwise.
bool RangeTombstoneMap::AddToBareStretch(const RangeTombstone& tombstone, Chunk* chunk) {
  const uint32_t count = chunk->count.load(std::memory_order_relaxed);
  if (count + 2 > kSlots || !tombstone.end.has_value()) return false;
  const uint32_t at = FloorIn(*chunk, count, tombstone.begin);
  const Key* const key = chunk->keys[at].load(std::memory_order_relaxed);
  if (key != nullptr && order_.Equal(key->bytes(), tombstone.begin)) return false;
  if (at + 1 < count && !order_.Less(*tombstone.end, chunk->keys[at + 1].load(std::memory_order_relaxed)->bytes())) {
    return false;
  }
  if (chunk->deletes[at].load(std::memory_order_relaxed) != nullptr) return false;
  const std::array<Border, 2> borders = {
      Border{NewKey(tombstone.begin), InFront(tombstone.sequence, /*older=*/nullptr, /*stripes=*/{})},
      Border{NewKey(*tombstone.end), nullptr}};
  const Chunk::Change change(chunk);
  InsertBorders(at + 1, borders, chunk);
  return true;
}

template <class Child>
RangeTombstoneMap::Index<Child>* RangeTombstoneMap::NewIndex(std::span<Child* const> children) {
  const size_t count = children.size();
  auto* index = new (arena_->AllocateAligned(Index<Child>::Bytes(count), 64)) Index<Child>(count);
  if (order_.bytewise() && count > 1)
    index->skip = CommonPrefixSize(children[1]->low()->bytes(), children[count - 1]->low()->bytes());
  for (size_t i = 0; i < count; ++i) {
    const Key* const low = children[i]->low();
    new (index->prefixes() + i) uint64_t(low == nullptr ? 0 : PrefixAt(low->bytes(), index->skip));
    new (index->lows() + i) const Key*(low);
    new (index->children() + i) std::atomic<Child*>(children[i]);
  }
  return index;
}

RangeTombstoneMap::Place RangeTombstoneMap::PlaceOf(std::string_view key) const {
  const Directory& directory = *directory_.load(std::memory_order_relaxed);
  const size_t block = ChildOf(directory, key);
  return {block, ChildOf(*directory.child(block), key)};
}

RangeTombstoneMap::Place RangeTombstoneMap::LastPlace() const {
  const Directory& directory = *directory_.load(std::memory_order_relaxed);
  return {directory.count - 1, directory.child(directory.count - 1)->count - 1};
}

// Takes the borders of all chunks from `first` to `last`.
void RangeTombstoneMap::Gather(const Place& first, const Place& last) {
  borders_.clear();
  const Directory& directory = *directory_.load(std::memory_order_relaxed);
  for (size_t b = first.block; b <= last.block; ++b) {
    const Block& block = *directory.child(b);
    const size_t begin = b == first.block ? first.chunk : 0;
    const size_t end = b == last.block ? last.chunk + 1 : block.count;
    for (size_t c = begin; c < end; ++c) {
      const Chunk& chunk = *block.child(c);
      const uint32_t count = chunk.count.load(std::memory_order_relaxed);
      for (uint32_t i = 0; i < count; ++i) {
        borders_.push_back(
            {chunk.keys[i].load(std::memory_order_relaxed), chunk.deletes[i].load(std::memory_order_relaxed)});
      }
    }
  }
}

// Returns the index of the border at `key` among those taken; makes it if there is none.
size_t RangeTombstoneMap::BorderAt(std::string_view key) {
  const auto after =
      std::upper_bound(borders_.begin() + 1, borders_.end(), key,
                       [&](std::string_view k, const Border& b) { return order_.Less(k, b.key->bytes()); });
  const Border floor = *std::prev(after);
  const size_t at = static_cast<size_t>(after - borders_.begin());
  if (floor.key != nullptr && order_.Equal(floor.key->bytes(), key)) return at - 1;
  borders_.insert(after, {NewKey(key), floor.deletes});
  return at;
}

const RangeTombstoneMap::Key* RangeTombstoneMap::NewKey(std::string_view bytes) {
  char* const memory = arena_->AllocateAligned(sizeof(Key) + bytes.size(), alignof(Key));
  if (!bytes.empty()) std::memcpy(memory + sizeof(Key), bytes.data(), bytes.size());
  return new (memory) Key{static_cast<uint32_t>(bytes.size())};
}

// Omits deletes that no reader can distinguish from newer ones.
const RangeTombstoneMap::Deletes* RangeTombstoneMap::InFront(SequenceNumber sequence, const Deletes* older,
                                                             Stripes stripes) {
  const auto made = [this](SequenceNumber number, const Deletes* behind) -> const Deletes* {
    return new (arena_->AllocateAligned(sizeof(Deletes), alignof(Deletes))) Deletes{number, behind};
  };
  const auto is_hidden = [&](const Deletes& d, SequenceNumber newer) {
    const size_t stripe = StripeOf(stripes, d.sequence);
    return stripe < stripes.size() && stripe == StripeOf(stripes, newer);
  };
  std::vector<SequenceNumber> kept;
  bool any_hidden = false;
  SequenceNumber newer = sequence;
  for (const Deletes* d = older; d != nullptr; newer = d->sequence, d = d->older) {
    if (!is_hidden(*d, newer)) {
      kept.push_back(d->sequence);
    } else {
      any_hidden = true;
    }
  }
  if (!any_hidden) return made(sequence, older);
  const Deletes* rest = nullptr;
  for (size_t i = kept.size(); i-- > 0;) rest = made(kept[i], rest);
  return made(sequence, rest);
}

// Puts a delete in front of those that it covers among the taken borders, and joins equal stretches.
void RangeTombstoneMap::Cover(const RangeTombstone& tombstone, Stripes stripes) {
  const auto is_same = [](const Deletes* a, const Deletes* b) {
    for (; a != b && a != nullptr && b != nullptr; a = a->older, b = b->older) {
      if (a->sequence != b->sequence) return false;
    }
    return a == b;
  };
  const size_t begin = BorderAt(tombstone.begin);
  const size_t end = tombstone.end.has_value() ? BorderAt(*tombstone.end) : borders_.size();
  const Deletes* before = nullptr;
  const Deletes* after = InFront(tombstone.sequence, nullptr, stripes);
  size_t kept = begin;
  for (size_t i = begin; i < end; ++i) {
    if (borders_[i].deletes != before) {
      before = borders_[i].deletes;
      after = InFront(tombstone.sequence, before, stripes);
    }
    if (kept > begin && is_same(borders_[kept - 1].deletes, after)) continue;
    borders_[kept++] = {borders_[i].key, after};
  }
  borders_.erase(borders_.begin() + static_cast<ptrdiff_t>(kept), borders_.begin() + static_cast<ptrdiff_t>(end));
}

void RangeTombstoneMap::Add(const RangeTombstone& tombstone, StripesNow stripes) {
  const Place first = PlaceOf(tombstone.begin);
  const Place last = tombstone.end.has_value() ? PlaceOf(*tombstone.end) : LastPlace();
  Chunk* const chunk = directory_.load(std::memory_order_relaxed)->child(first.block)->child(first.chunk);
  if (first != last || !AddToBareStretch(tombstone, chunk)) {
    Gather(first, last);
    Cover(tombstone, stripes());
    if (first == last && borders_.size() <= kSlots) {
      Write(borders_, chunk);
    } else {
      ReplaceChunks(first, last);
    }
  }
  newest_.store(tombstone.sequence.value(), std::memory_order_release);
}

// Replaces them by chunks of the borders that were taken.
void RangeTombstoneMap::ReplaceChunks(const Place& first, const Place& last) {
  const Directory& directory = *directory_.load(std::memory_order_relaxed);
  std::vector<Chunk*> chunks;
  const auto keep = [&](size_t block, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) chunks.push_back(directory.child(block)->child(i));
  };
  keep(first.block, 0, first.chunk);
  const Block& last_block = *directory.child(last.block);
  const Key* const high = last_block.child(last.chunk)->high;
  const size_t parts = borders_.size() <= kSlots ? 1 : borders_.size() / (kSlots / 2);
  for (size_t i = 0; i < parts; ++i) {
    const size_t begin = borders_.size() * i / parts;
    const size_t end = borders_.size() * (i + 1) / parts;
    chunks.push_back(
        NewChunk(std::span(borders_).subspan(begin, end - begin), end == borders_.size() ? high : borders_[end].key));
  }
  keep(last.block, last.chunk + 1, last_block.count);
  ReplaceBlocks(first.block, last.block, chunks);
}

void RangeTombstoneMap::ReplaceBlocks(size_t first, size_t last, std::span<Chunk* const> chunks) {
  Directory* const directory = directory_.load(std::memory_order_relaxed);
  std::vector<Block*> blocks;
  const auto keep = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) blocks.push_back(directory->child(i));
  };
  const size_t parts = chunks.size() <= kBlockChunks ? 1 : chunks.size() / (kBlockChunks / 2);
  if (parts == 1 && first == last) {
    directory->children()[first].store(NewIndex<Chunk>(chunks), std::memory_order_release);
    return;
  }
  keep(0, first);
  for (size_t i = 0; i < parts; ++i) {
    const size_t begin = chunks.size() * i / parts;
    blocks.push_back(NewIndex<Chunk>(chunks.subspan(begin, chunks.size() * (i + 1) / parts - begin)));
  }
  keep(last + 1, directory->count);
  directory_.store(NewIndex<Block>(blocks), std::memory_order_release);
}

template <class Visit>
void RangeTombstoneMap::ForEachBorder(Visit visit) const {
  const Directory& directory = *directory_.load(std::memory_order_acquire);
  for (size_t b = 0; b < directory.count; ++b) {
    const Block& block = *directory.child(b);
    for (size_t c = 0; c < block.count; ++c) {
      const Chunk& chunk = *block.child(c);
      const uint32_t count = chunk.count.load(std::memory_order_acquire);
      for (uint32_t i = 0; i < count; ++i) {
        visit(Border{chunk.keys[i].load(std::memory_order_acquire), chunk.deletes[i].load(std::memory_order_acquire)});
      }
    }
  }
}

RangeTombstonesRef RangeTombstoneMap::ToList(Stripes stripes) const {
  std::vector<RangeTombstone> all;
  size_t open = 0;  // the first that has no end yet
  ForEachBorder([&](const Border& border) {
    for (; open < all.size(); ++open) all[open].end = border.key->bytes();
    for (const Deletes* d = border.deletes; d != nullptr; d = d->older) {
      all.push_back({.begin = border.key->bytes(), .end = std::nullopt, .sequence = d->sequence});
    }
  });
  return RangeTombstones::OfFragments(order_, all, stripes, /*owner=*/nullptr);
}

}  // namespace sepal
