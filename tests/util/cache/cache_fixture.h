// A cache of blocks whose bytes follow from their keys.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "util/base/hash.h"
#include "util/cache/block_cache.h"

namespace sepal {

inline constexpr size_t kCachedBlockBytes = 1000;

inline BlockBuffer CacheBuffer(std::string_view bytes) {
  BlockBuffer buffer(bytes.size());
  std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return buffer;
}

// The bytes that belong to a key, of a size that depends on it.
inline std::string CachedBytesOf(const CacheKey& key) {
  const uint64_t h = Mix64(key.file * 1000003 + key.offset);
  std::string bytes(kCachedBlockBytes + h % 64, static_cast<char>(h));
  std::memcpy(bytes.data(), &h, sizeof h);
  return bytes;
}

class BlockCacheTest : public testing::Test {
 protected:
  // Memory for about `blocks` blocks.
  void MakeCache(size_t blocks, EpochDomain* epochs = nullptr) {
    budget_ = std::make_unique<MemoryBudget>(blocks * (kCachedBlockBytes + 300));
    cache_ = std::make_unique<BlockCache>(budget_.get(), kCachedBlockBytes, epochs);
  }
  CachePin Insert(const CacheKey& key, MemoryPart part = MemoryPart::kDataBlocks) {
    return cache_->Insert(key, CacheBuffer(CachedBytesOf(key)), part);
  }
  bool Has(const CacheKey& key) {
    const CachePin pin = cache_->Lookup(key);
    if (pin) {
      EXPECT_EQ(pin.bytes(), CachedBytesOf(key));
    }
    return static_cast<bool>(pin);
  }
  size_t Held() const {
    return budget_->used(MemoryPart::kDataBlocks) + budget_->used(MemoryPart::kLeafPages) +
           budget_->used(MemoryPart::kGuards);
  }
  void Erase(uint64_t file) {
    cache_->NoteGone(file);
    cache_->EraseGone();
  }
  // Inserts so many blocks of `file` that a cache of 50 forgets all that was not asked for since it was put in.
  void Flood(uint64_t file) {
    for (uint64_t i = 0; i < 500; ++i) Insert({file, i});
  }

  void EvictAll() {
    budget_->Charge(MemoryPart::kLog, budget_->limit_bytes());
    cache_->Shrink();
    budget_->Release(MemoryPart::kLog, budget_->limit_bytes());
  }

  EpochDomain epochs_;
  std::unique_ptr<MemoryBudget> budget_;
  std::unique_ptr<BlockCache> cache_;
};

}  // namespace sepal
