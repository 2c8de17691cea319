// The way of a memtable's entries that newer ones of their keys supersede: they wait until all readers see the newer
// ones and their owner drops them, then until no reader can stand at them, and then their memory is used for new
// entries of the same size.
//
// An entry that is dropped was reachable by readers of the views that were there. Once the current view has been
// replaced and all of these are gone, nobody can have its address but a pinned value (value_pins).
//
// For the memtable's writer. Memory: 8 bytes for each entry that waits, some hundred thousand at most, charged to
// MemoryPart::kMemtables.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "db/state/memtable/memtable_entry.h"
#include "util/memory/memory_budget.h"

namespace sepal {

class SupersededEntries {
 public:
  // Readers may have pinned values of more than `copied_bytes`, which others copy. `value_pins`, which must outlive
  // this, counts the values of the memtable that are pinned.
  SupersededEntries(MemoryBudget* budget, size_t copied_bytes, const std::atomic<int64_t>* value_pins)
      : budget_(budget), copied_bytes_(copied_bytes), value_pins_(value_pins) {}
  ~SupersededEntries();
  SupersededEntries(const SupersededEntries&) = delete;
  SupersededEntries& operator=(const SupersededEntries&) = delete;

  // `newer` superseded the update before it. With too many of them already, it is forgotten.
  void Add(const MemTableEntry* newer) {
    if (newer_.size() < newer_.capacity() || MakeRoomToAdd()) newer_.push_back(newer);
  }
  // The oldest of them; null: there is none.
  const MemTableEntry* first() const { return begin_ < newer_.size() ? newer_[begin_] : nullptr; }
  // Prefetches what those to come will touch.
  void PopFirst() {
    ++begin_;
    if (begin_ + 2 * kAhead < newer_.size()) newer_[begin_ + 2 * kAhead]->Prefetch();
    if (begin_ + kAhead < newer_.size()) PrefetchOlder(*newer_[begin_ + kAhead]);
    if (begin_ < newer_.size()) return;
    newer_.clear();
    begin_ = 0;
  }

  // Whether Drop may be called: not so many wait that more are not worth their memory.
  bool HasRoom() const { return dropped_.size() < kMostWaiting; }
  // Nothing leads to `entry` from now on.
  void Drop(const MemTableEntry* entry);
  // View `replaced` was the current one until now; of the views before, and of it, those from `oldest` on are left.
  void SetViews(uint64_t oldest, uint64_t replaced);

  // Entries must take so much of the arena, so that one of the same size can follow.
  static size_t RoundUp(size_t bytes) { return Class(bytes) * 8; }
  // Memory for an entry of so many bytes; null: none is free.
  char* Take(size_t bytes) {
    const size_t size = Class(bytes);
    if (size >= free_.size() || free_[size] == nullptr) [[likely]]
      return nullptr;
    return TakeFrom(size);
  }

 private:
  // The first word of a free piece leads to the next one of its size.
  static constexpr size_t kMostWaiting = size_t{1} << 16;
  static constexpr size_t kMostBytes = size_t{8} << 10;
  static constexpr size_t kAhead = 4;
  static size_t Class(size_t bytes) { return (bytes + 7) / 8; }
  static void PrefetchOlder(const MemTableEntry& newer) {
    if (const MemTableEntry* const older = newer.previous(); older != nullptr) older->Prefetch();
  }

  bool MakeRoomToAdd();
  char* TakeFrom(size_t size);
  void Free(const MemTableEntry* entry);
  void Charge();

  MemoryBudget* const budget_;
  const size_t copied_bytes_;
  const std::atomic<int64_t>* const value_pins_;
  // What was added begins at `begin_`; those before have been popped.
  std::vector<const MemTableEntry*> newer_;
  size_t begin_ = 0;
  std::vector<const MemTableEntry*> dropped_;  // since the last SetViews
  std::vector<const MemTableEntry*> leaving_;  // readers of views up to `leaving_view_` may stand at them
  uint64_t leaving_view_ = 0;
  std::vector<char*> free_;  // by size; empty until there is one
  size_t charged_ = 0;
};

}  // namespace sepal
