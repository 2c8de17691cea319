// The range tombstones of a memtable: an ordered map from *borders* to the deletes that cover the keys from a border up
// to the next one.
//
// A new delete splits the stretches at its two ends, and is put in front of the deletes that it covers. That does not
// change what a reader sees at a lower sequence number, so readers need no snapshot of the map: they read its present
// state with their sequence number.
//
// Borders lie in sorted chunks, chunks in blocks, and blocks in one directory:
//
// | what      | changes                                                                                     |
// |-----------|---------------------------------------------------------------------------------------------|
// | chunk     | in place, by a delete that lies in it and finds room; its version is odd while it is changed |
// | chunks    | all that a delete meets are replaced by new ones, if there are several or it finds no room  |
// | block     | is replaced when its chunks are; the directory's pointer to it changes, or the directory    |
//
// Replaced parts stay unchanged until the arena is destroyed. A reader that still uses one finds all deletes that it
// may see, because later ones have higher numbers.
//
// Thread-safety: one writer, any number of lock-free readers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "db/state/ranges/range_tombstones.h"
#include "table/key/internal_key.h"
#include "util/base/numbers.h"
#include "util/memory/arena.h"

namespace sepal {

class RangeTombstoneMap {
 public:
  // Everything is allocated in `arena`, which must outlive the map.
  RangeTombstoneMap(KeyOrder order, Arena* arena);
  RangeTombstoneMap(const RangeTombstoneMap&) = delete;
  RangeTombstoneMap& operator=(const RangeTombstoneMap&) = delete;

  // Requires a number above all others, and begin < end. From then on, deletes that no reader at one of `stripes`, or
  // above the last, can distinguish from newer ones may be omitted; `stripes` is called only if older deletes are
  // covered. Cost: a search, and a visit of the borders inside the range.
  using StripesNow = absl::FunctionRef<Stripes()>;
  void Add(const RangeTombstone& tombstone, StripesNow stripes);

  // Returns the newest delete at or below `visible` that covers `key`; 0 if there is none. Cost: a search by 8 bytes.
  SequenceNumber Covering(std::string_view key, SequenceNumber visible) const;
  // Returns a stretch around `key`, not always the widest possible.
  RangeStretch StretchAt(std::string_view key, SequenceNumber visible) const;
  // Returns false if no delete above `lowest` covers any key in [smallest, largest].
  bool MayCoverAny(std::string_view smallest, std::string_view largest, SequenceNumber lowest) const;
  // The newest of all deletes.
  SequenceNumber newest() const { return SequenceNumber(newest_.load(std::memory_order_acquire)); }

  // Returns all deletes; null if there are none. The keys stay in the arena. Not to be called while deletes are added.
  RangeTombstonesRef ToList(Stripes stripes) const;

 private:
  // The numbers of borders in a chunk, and of children in a block or in the directory.
  static constexpr uint32_t kSlots = 32;
  static constexpr uint32_t kBlockChunks = 64;

  struct Key;      // bytes in the arena
  struct Deletes;  // of one stretch, newest first; shared, and never changed
  struct Border {
    const Key* key;  // null: before all keys
    const Deletes* deletes;
  };
  // Keys of slots are compared by the 8 bytes after the prefix that the chunk's keys share.
  struct Chunk;
  template <class Child>
  struct Index;
  using Block = Index<Chunk>;
  using Directory = Index<Block>;
  // The place of a chunk.
  struct Place {
    size_t block;
    size_t chunk;
    bool operator==(const Place&) const = default;
  };

  // Used by writer and readers.
  uint64_t PrefixAt(std::string_view key, uint64_t skip) const;
  template <class Child>
  size_t ChildOf(const Index<Child>& index, std::string_view key) const;
  uint32_t FloorIn(const Chunk& chunk, uint32_t count, std::string_view key) const;
  const Chunk& ChunkOf(std::string_view key) const;

  // Used by the writer.
  Place PlaceOf(std::string_view key) const;
  Place LastPlace() const;
  void Gather(const Place& first, const Place& last);
  size_t BorderAt(std::string_view key);
  const Deletes* InFront(SequenceNumber sequence, const Deletes* older, Stripes stripes);
  void Cover(const RangeTombstone& tombstone, Stripes stripes);
  bool AddToBareStretch(const RangeTombstone& tombstone, Chunk* chunk);
  void InsertBorders(uint32_t slot, std::span<const Border> borders, Chunk* chunk) const;
  const Key* NewKey(std::string_view bytes);
  void Set(uint32_t slot, const Border& border, Chunk* chunk) const;
  void Write(std::span<const Border> borders, Chunk* chunk) const;
  Chunk* NewChunk(std::span<const Border> borders, const Key* high);
  template <class Child>
  Index<Child>* NewIndex(std::span<Child* const> children);
  void ReplaceChunks(const Place& first, const Place& last);
  void ReplaceBlocks(size_t first, size_t last, std::span<Chunk* const> chunks);
  template <class Visit>
  void ForEachBorder(Visit visit) const;

  const KeyOrder order_;
  Arena* const arena_;
  std::atomic<Directory*> directory_;
  std::atomic<uint64_t> newest_{0};
  std::vector<Border> borders_;  // borders of the chunks that a delete meets, while it is added
};

}  // namespace sepal
