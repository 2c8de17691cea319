// The block cache: data blocks, leaf pages and guards of open tables, under one memory limit.
//
// A cached block is a *frame*: bytes that are never changed after they were inserted, and a key that names where they
// came from. A `CachePin` keeps a frame's bytes alive; an unpinned frame may go whenever memory is wanted. Frames are
// type-stable: the descriptors are never freed while the cache lives, so that a (frame, generation) pair, a
// `FrameHint`, may be kept anywhere and tried later: it either pins the very block it was taken from, or fails.
//
// Law: charged bytes of cached blocks stay within `MemoryBudget::CacheCapacity()` whenever eviction can make it so;
// pinned frames are never evicted. When everything is pinned, `Insert` still succeeds, as a frame that belongs to its
// pins alone and is gone with the last of them.
//
// Safe for concurrent use; a hit takes no lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "util/memory_budget.h"

namespace sepal {

// Names a block for good: `file` is unique among all tables that were ever opened with this cache.
struct CacheKey {
  uint64_t file = 0;
  uint64_t offset = 0;
  friend bool operator==(const CacheKey&, const CacheKey&) = default;
};

// Bytes of a block on their way into the cache, aligned to a cache line, readable for 64 bytes past the end (so that
// vector loads need no care). Move-only.
class BlockBuffer {
 public:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kPadding = 64;

  BlockBuffer() = default;
  explicit BlockBuffer(size_t size);
  BlockBuffer(BlockBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  BlockBuffer& operator=(BlockBuffer&& other) noexcept;
  ~BlockBuffer();

  char* data() { return data_; }
  std::string_view view() const { return {data_, size_}; }
  size_t size() const { return size_; }
  // What the buffer takes of memory.
  size_t charge() const { return data_ == nullptr ? 0 : size_ + kPadding; }
  // Gives the memory to the caller, who frees it with Free.
  char* Release() {
    size_ = 0;
    return std::exchange(data_, nullptr);
  }
  static void Free(char* data);

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

class BlockCache;
struct CacheFrame;

// A frame and the generation it had; 0 is no hint. One word, so that it can be kept in an atomic.
struct FrameHint {
  uint64_t word = 0;
};

// Keeps a frame's bytes alive. Move-only; releasing is one atomic operation. Must not outlive the cache.
class CachePin {
 public:
  CachePin() = default;
  CachePin(CachePin&& other) noexcept
      : cache_(std::exchange(other.cache_, nullptr)), frame_(std::exchange(other.frame_, nullptr)) {}
  CachePin& operator=(CachePin&& other) noexcept;
  ~CachePin() { Reset(); }

  explicit operator bool() const { return frame_ != nullptr; }
  std::string_view bytes() const;
  FrameHint hint() const;
  void Reset();
  // For handing a pin through a C-style pair of pointers: after this the caller calls BlockCache::Unpin(frame).
  std::pair<BlockCache*, CacheFrame*> Detach() {
    return {std::exchange(cache_, nullptr), std::exchange(frame_, nullptr)};
  }

 private:
  friend class BlockCache;
  CachePin(BlockCache* cache, CacheFrame* frame) : cache_(cache), frame_(frame) {}
  BlockCache* cache_ = nullptr;
  CacheFrame* frame_ = nullptr;
};

class BlockCache {
 public:
  // `budget` must outlive the cache. `expected_block_bytes` sizes the hash table: the typical charge of an entry.
  BlockCache(MemoryBudget* budget, size_t expected_block_bytes);
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // A number for CacheKey::file.
  uint64_t NewFileId();

  // The block, or an empty pin.
  CachePin Lookup(const CacheKey& key);
  // The block that `hint` was taken from, or an empty pin.
  CachePin Lookup(FrameHint hint, const CacheKey& key);
  // Puts a block in and pins it. If another thread put the same key in first, pins that one and drops `buffer`. `part`
  // must be kDataBlocks, kLeafPages or kGuards; the latter two are kept longer than data blocks.
  CachePin Insert(const CacheKey& key, BlockBuffer buffer, MemoryPart part);
  // Makes a pin for a block that is not kept: charged to kPins until released.
  CachePin PinAlone(BlockBuffer buffer);
  // Drops all unpinned blocks of a file that is gone.
  void EraseFile(uint64_t file);
  // Evicts until the cache fits its capacity, or nothing more can go. Called after others charged the budget.
  void Shrink();

  void Unpin(CacheFrame* frame);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sepal
