// The newest entries of one column family, in memory, until they are flushed to a table file.
//
// One writer at a time (under the caller's lock), and any number of concurrent readers without locks. Readers see every
// entry whose sequence number was published (the caller's release store of the last visible sequence) before they
// began. They may also see newer ones, which they skip by sequence number. Entries never change.
//
// Law: an entry that newer ones of its key supersede is let go once no reader reads at a sequence number at which it
// can be seen, and its memory is used again once no reader can stand at it (SetReaders). A reader holds the view in
// which it found the memtable as long as it uses the entries; a value may outlive that as a ValuePin.
//
// Two structures lead to a key's newest entry, which links to the ones before it: a hash index for point lookups, and a
// B+-tree with inline 8-byte key prefixes for ordered access. Both point to entries in an arena.
//
// Memory is charged to MemoryPart::kMemtables as it grows, and released on destruction. Ownership is shared: readers
// hold a shared_ptr through their read view.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "db/format/batch_format.h"
#include "db/state/memtable/insert_hint.h"
#include "db/state/memtable/memtable_readers.h"
#include "db/state/ranges/range_tombstone_map.h"
#include "table/iterate/iterator.h"
#include "table/key/internal_key.h"
#include "util/memory/memory_budget.h"
#include "util/memory/ready_pages.h"

namespace sepal {

class MemTableEntry;

class MemTable : public std::enable_shared_from_this<MemTable> {
 public:
  // The sources of a memtable's memory. Those that are not null must outlive it.
  struct Memory {
    MemoryBudget* budget = nullptr;
    ReadyPages* chunks = nullptr;
    ReadyPages* indexes = nullptr;
    // Values of more bytes may be pinned.
    size_t copied_value_bytes = 0;
  };
  // `hash_seed` is the database's. The hash index comes when there are more than a few keys, sized for `expected_bytes`
  // of entries; more entries make lookups somewhat slower. Without the index, lookups use the tree.
  MemTable(KeyOrder order, uint64_t hash_seed, size_t expected_bytes, const Memory& memory, bool indexed = true);
  static size_t IndexBytes(size_t expected_bytes);
  // What an empty memtable takes.
  static size_t FixedBytes();
  // About the memory that a batch takes in memtables. An entry takes 65 to 74 bytes there besides key and value
  // (decision 0042), and at least 4 in the batch.
  static size_t BytesOfBatch(std::string_view batch) { return BytesOfBatch(BatchCount(batch), batch.size()); }
  static size_t BytesOfBatch(uint32_t entries, size_t batch_bytes) {
    constexpr size_t kMoreForEach = 68;
    return batch_bytes + entries * kMoreForEach;
  }
  ~MemTable();
  MemTable(const MemTable&) = delete;
  MemTable& operator=(const MemTable&) = delete;

  // Requires that no other Add runs, and a sequence number above those of all earlier Adds. Copies key and value.
  // `hash` is HashKey(user_key, hash_seed) (ignored if the order is not hashable). `hint` is the result of PrefetchAdd
  // for this key, or empty. `oldest`: of a folded merge, the oldest update that it stands for.
  void Add(SequenceNumber sequence, ValueKind kind, std::string_view user_key, std::string_view value, uint64_t hash,
           const InsertHint& hint = {}, SequenceNumber oldest = {});
  // From now on the chains of updates that Add makes have skips, for readers at old sequence numbers: without them such
  // a reader walks over all that is newer. For the writer, of a family that keeps its history.
  void UseSkips();
  // Bytes of entries that were superseded by Add since the last SetReaders.
  size_t SupersededBytes() const;
  // From now on Add lets go of entries that none of `readers` needs. For the writer, when it has replaced the view that
  // readers find the memtable in.
  void SetReaders(MemTableReaders readers);
  // Returns whether a version that a reader at one of these numbers needs may have been released. This is never so for
  // the numbers in the list of snapshots (snapshot_list.h). May not run beside Add.
  bool MayLackVersionsFor(std::span<const SequenceNumber> sequences) const;
  // Prefetches what Add will touch. For the writer only.
  InsertHint PrefetchAdd(std::string_view user_key, uint64_t hash) const;

  // The same as Add, but neither iterators nor lookups see the entry before Arrange, which sorts all collected entries
  // at once instead of finding the place of each. Only for a memtable without an index. No Add may come in between.
  void Collect(SequenceNumber sequence, ValueKind kind, std::string_view user_key, std::string_view value);
  // Temporarily takes 16 bytes of memory for each collected entry.
  void Arrange();

  // Adds a delete of a range, which counts as an entry but stands among no others. Requires what Add requires, and
  // begin < end (RangeTombstoneMap::Add).
  void AddRangeTombstone(const RangeTombstone& tombstone, RangeTombstoneMap::StripesNow stripes);
  // Null: there are none.
  const RangeTombstoneMap* range_tombstones() const;

  // For the writer, of a reference that it adds: the value file, which `pin` keeps, stays as long as the memtable, and
  // the value counts as so many bytes. Not necessary twice for one file.
  bool HoldsValues(FileNumber file) const;
  void HoldValues(FileNumber file, std::shared_ptr<const void> pin);
  void CountSeparated(uint64_t bytes);
  // Of values that entries refer to, or referred to. May be read from any thread.
  uint64_t SeparatedBytes() const;

  struct Found {
    Trailer trailer;
    std::string_view value;  // valid as long as the memtable
    const MemTableEntry* entry = nullptr;
  };
  // Returns the newest entry for `user_key` with a sequence number at or below `visible`, tombstones included; nullopt
  // if there is none.
  std::optional<Found> Lookup(std::string_view user_key, uint64_t hash, SequenceNumber visible) const;
  // Of the entries of that key that are older than `newer`, the newest at or below `visible`.
  static std::optional<Found> LookupOlder(const Found& newer, SequenceNumber visible);
  // Keeps the value of an entry where it is. To be made while the view is held in which the entry was found.
  class ValuePin {
   public:
    explicit ValuePin(std::shared_ptr<const MemTable> memtable);
    ~ValuePin();
    ValuePin(const ValuePin&) = delete;
    ValuePin& operator=(const ValuePin&) = delete;

   private:
    const std::shared_ptr<const MemTable> memtable_;
  };
  // Prefetches what Lookup will touch first.
  void PrefetchLookup(uint64_t hash) const;

  // Of all entries. The memtable must outlive the iterator. The iterator's keys and values are valid as long as the
  // memtable.
  std::unique_ptr<InternalIterator> NewIterator() const;
  // Likewise, of what a reader at `visible` needs: of each key the newest entry at or below it, and if that is an
  // operand, those before it that it does not stand for, down to the first that is none.
  std::unique_ptr<InternalIterator> NewIterator(SequenceNumber visible) const;

  // May be read from any thread; exact while no Add runs. Entries that were let go do not count, but
  // their memory does.
  size_t MemoryBytes() const;   // all memory in use
  size_t DataBytes() const;     // of keys and values
  uint64_t EntryCount() const;  // range tombstones included
  uint64_t TombstoneCount() const;
  uint64_t OperandCount() const;  // of merges; a folded one is one
  bool empty() const { return EntryCount() == 0; }
  // Whether all entries were added in key order. For the writer only.
  bool InOrder() const;
  // The lowest and the highest sequence number added; meaningless while the memtable is empty.
  SequenceNumber FirstSequence() const;
  SequenceNumber LastSequence() const;
  // Estimates the bytes of keys and values in [begin, end).
  uint64_t ApproximateBytes(std::string_view begin, std::string_view end) const;

  // Returns at most `parts` - 1 user keys, ascending, that cut the entries into parts of about equal numbers; each key
  // begins a part. Only while nothing is added.
  std::vector<std::string> CutKeys(size_t parts) const;

  // Verifies order, links and counts of the whole structure. Only while nothing is added.
  absl::Status Check() const;

  uint64_t hash_seed() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sepal
