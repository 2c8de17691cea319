// One update in a memtable: a header, then the bytes of key and value, in one piece of the arena. A folded merge has a
// shortcut behind them, over the updates that it stands for, and some updates have skips behind that.
//
// It is written completely before its address is published (release). Only its two links change afterwards, which the
// writer stores (release) and readers follow (acquire). The lowest bits of the first say whether the entry must stay as
// long as the memtable, and whether it has skips; entries begin at multiples of 8.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "table/key/internal_key.h"

namespace sepal {

class MemTableEntry {
 public:
  static constexpr size_t kAlignment = 8;
  static size_t Bytes(ValueKind kind, std::string_view user_key, std::string_view value, bool skips = false) {
    return kHeaderBytes + user_key.size() + value.size() + (IsFolded(kind) ? sizeof(Shortcut) : 0) +
           (skips ? sizeof(Skips) : 0);
  }
  struct Shortcut {
    SequenceNumber oldest;              // that the entry stands for
    const MemTableEntry* to = nullptr;  // the newest update of the key before that one, or null
  };
  struct Skip {
    const MemTableEntry* to = nullptr;  // an older update of the key, which has skips too; null: there is none
    SequenceNumber sequence = {};
  };
  // With these a reader takes a number of steps that is logarithmic in the length of a chain (E. W. Myers, An
  // applicative random-access stack, Information Processing Letters 17, 1983). An update with skips is never let go of,
  // so that a skip leads to what is there.
  struct Skips {
    Skip near;           // to the next one that has skips
    Skip far;            // to that one, or one further
    uint64_t depth = 0;  // how many of the older updates have skips

    // For the update after `nearest`, which has skips and is the newest such; null: none has.
    static Skips Over(const MemTableEntry* nearest) {
      if (nearest == nullptr) return {};
      const Skip near = nearest->Self();
      const Skips skips = nearest->skips();
      if (skips.far.to == nullptr) return {near, near, skips.depth + 1};
      const Skips further = skips.far.to->skips();
      const uint64_t furthest = further.far.to == nullptr ? further.depth : further.far.to->skips().depth;
      const bool equal_strides = skips.depth - further.depth == further.depth - furthest;
      return {near, !equal_strides ? near : further.far.to == nullptr ? skips.far : further.far, skips.depth + 1};
    }
    // Null: every skip leads too far for a reader at `visible`.
    const MemTableEntry* Towards(SequenceNumber visible) const {
      if (far.sequence > visible) return far.to;
      return near.sequence > visible ? near.to : nullptr;
    }
  };

  // Creates an entry in `memory`, which must have room for it. Lengths are below 4 GiB. Null: without skips.
  static MemTableEntry* Make(char* memory, Trailer trailer, std::string_view user_key, std::string_view value,
                             uint32_t hash, const Skips* skips = nullptr) {
    auto* entry = new (memory) MemTableEntry(trailer, user_key.size(), value.size(), hash);
    char* bytes = memory + kHeaderBytes;
    if (!user_key.empty()) std::memcpy(bytes, user_key.data(), user_key.size());
    if (!value.empty()) std::memcpy(bytes + user_key.size(), value.data(), value.size());
    if (IsFolded(entry->kind())) entry->SetShortcut({});
    if (skips != nullptr) {
      entry->previous_.store(kHasSkips, std::memory_order_relaxed);
      std::memcpy(bytes + entry->SkipsOffset(), skips, sizeof(Skips));
    }
    return entry;
  }
  // Of a folded merge, the oldest update that it stands for.
  SequenceNumber oldest() const { return shortcut().oldest; }
  // For folded merges, before publication.
  void SetShortcut(const Shortcut& shortcut) {
    std::memcpy(const_cast<char*>(bytes()) + key_bytes_ + value_bytes_, &shortcut, sizeof(shortcut));
  }

  Trailer trailer() const { return trailer_; }
  ValueKind kind() const { return TrailerKind(trailer_); }
  std::string_view user_key() const { return {bytes(), key_bytes_}; }
  std::string_view value() const { return {bytes() + key_bytes_, value_bytes_}; }
  InternalKeyView key() const { return {user_key(), trailer_}; }
  uint64_t data_bytes() const { return uint64_t{key_bytes_} + value_bytes_; }
  uint32_t hash() const { return hash_; }

  // The update of the same key before this one, or null.
  const MemTableEntry* previous() const {
    return reinterpret_cast<const MemTableEntry*>(previous_.load(std::memory_order_acquire) & ~kMarks);
  }
  // The newest update of another key in the same bucket of the hash index, or null.
  const MemTableEntry* next_in_bucket() const { return next_in_bucket_.load(std::memory_order_acquire); }
  // The newest of this update and those before it that is at or below `visible`, or null.
  const MemTableEntry* AsOf(SequenceNumber visible) const {
    const MemTableEntry* entry = this;
    while (entry != nullptr && entry->trailer_ > SeekTrailer(visible)) entry = entry->Towards(visible);
    return entry;
  }
  // Of the updates before this one, the newest that a reader of this one needs too; null: none.
  const MemTableEntry* NextNeeded() const {
    if (!IsOperand(kind())) return nullptr;
    return IsFolded(kind()) ? shortcut().to : previous();
  }

  bool has_skips() const { return (previous_.load(std::memory_order_relaxed) & kHasSkips) != 0; }
  // Requires has_skips.
  Skips skips() const {
    Skips skips;
    std::memcpy(&skips, bytes() + SkipsOffset(), sizeof(skips));
    return skips;
  }
  // This update, or the newest before it, that has skips; null: none has.
  const MemTableEntry* NewestWithSkips() const {
    const MemTableEntry* entry = this;
    while (entry != nullptr && !entry->has_skips()) entry = entry->previous();
    return entry;
  }

  // For the writer only.
  void set_previous(const MemTableEntry* entry) const {
    previous_.store(reinterpret_cast<uintptr_t>(entry) | (previous_.load(std::memory_order_relaxed) & kMarks),
                    std::memory_order_release);
  }
  bool stays() const { return (previous_.load(std::memory_order_relaxed) & kStays) != 0; }
  // Inner nodes of the tree have its key.
  void Stay() const { previous_.store(previous_.load(std::memory_order_relaxed) | kStays, std::memory_order_relaxed); }
  // What it takes, without what is between its end and the next multiple of 8.
  size_t bytes_used() const { return Bytes(kind(), user_key(), value(), has_skips()); }
  void set_next_in_bucket(const MemTableEntry* entry) const { next_in_bucket_.store(entry, std::memory_order_release); }

  // Whether a reader of this update, an operand, needs `older` too if that is the one before it.
  bool StandsOn(const MemTableEntry& older) const {
    if (!IsOperand(kind())) return false;
    return !IsFolded(kind()) || TrailerSequence(older.trailer_) < shortcut().oldest;
  }

  void Prefetch() const { __builtin_prefetch(this); }
  // Prefetches the cache line after the header's, with the end of the key and the beginning of the value.
  void PrefetchRest() const { __builtin_prefetch(reinterpret_cast<const char*>(this) + 64); }
  // Prefetches all of a small entry.
  void PrefetchAll() const {
    Prefetch();
    PrefetchRest();
    __builtin_prefetch(reinterpret_cast<const char*>(this) + 128);
  }

 private:
  Shortcut shortcut() const {
    Shortcut shortcut;
    std::memcpy(&shortcut, bytes() + key_bytes_ + value_bytes_, sizeof(shortcut));
    return shortcut;
  }
  size_t SkipsOffset() const { return key_bytes_ + value_bytes_ + (IsFolded(kind()) ? sizeof(Shortcut) : 0); }
  Skip Self() const { return {this, TrailerSequence(trailer_)}; }
  const MemTableEntry* Towards(SequenceNumber visible) const {
    if (has_skips()) {
      if (const MemTableEntry* const to = skips().Towards(visible); to != nullptr) return to;
    }
    if (IsFolded(kind()) && shortcut().oldest > visible) [[unlikely]]
      return shortcut().to;
    return previous();
  }

  // Excludes the padding at the end.
  static constexpr size_t kHeaderBytes = 36;

  MemTableEntry(Trailer trailer, size_t key_bytes, size_t value_bytes, uint32_t hash)
      : trailer_(trailer),
        key_bytes_(static_cast<uint32_t>(key_bytes)),
        value_bytes_(static_cast<uint32_t>(value_bytes)),
        hash_(hash) {}
  const char* bytes() const { return reinterpret_cast<const char*>(this) + kHeaderBytes; }

  static constexpr uintptr_t kStays = 1;
  static constexpr uintptr_t kHasSkips = 2;
  static constexpr uintptr_t kMarks = kStays | kHasSkips;

  mutable std::atomic<uintptr_t> previous_ = 0;
  mutable std::atomic<const MemTableEntry*> next_in_bucket_ = nullptr;
  const Trailer trailer_;
  const uint32_t key_bytes_;
  const uint32_t value_bytes_;
  const uint32_t hash_;
};

}  // namespace sepal
