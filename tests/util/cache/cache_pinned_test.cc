// What a cache does while pins hold most of its blocks.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "util/cache/block_cache.h"

namespace sepal {
namespace {

constexpr size_t kPinnedBlockBytes = 1000;

class CachePinnedTest : public testing::Test {
 protected:
  CachePin Insert(const CacheKey& key, MemoryPart part = MemoryPart::kDataBlocks) {
    return cache_.Insert(key, BlockBuffer(kPinnedBlockBytes), part);
  }
  bool IsKept(const CachePin& pin) const { return pin.hint().word != 0; }
  // Fills the cache with `pages` leaf pages and data blocks, all pinned.
  void PinAll(uint64_t pages) {
    for (uint64_t i = 0; i < pages; ++i) pins_.push_back(Insert({1, i}, MemoryPart::kLeafPages));
    for (uint64_t i = pages; IsKept(pins_.back()); ++i) pins_.push_back(Insert({1, i}));
    pins_.pop_back();
  }

  MemoryBudget budget_{size_t{40000} * (kPinnedBlockBytes + 300)};  // some 2^17 frames
  BlockCache cache_{&budget_, kPinnedBlockBytes};
  std::vector<CachePin> pins_;
};

TEST_F(CachePinnedTest, AnInsertComesByAFewFramesAndInsertsByAll) {
  PinAll(3);
  // These outlive some rounds of the hand, all of which the next insert would take if it did not know better.
  for (uint64_t i = 0; i < 3; ++i) pins_[i].Reset();
  uint64_t inserts = 0;
  while (!IsKept(Insert({2, inserts}))) {
    ++inserts;
    ASSERT_LT(inserts, 5000u);
  }
  EXPECT_GT(inserts, 500u);
}

TEST_F(CachePinnedTest, OncePinsAreGoneEveryInsertGetsRoom) {
  PinAll(1);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_FALSE(IsKept(Insert({2, i})));
  pins_.clear();
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(IsKept(Insert({3, i})));
}

TEST_F(CachePinnedTest, ALargePinAsksForReliefOrMakesRoomItselfAfterAWalkInVain) {
  constexpr size_t kLarge = size_t{4} << 20;
  uint64_t asked = 0;
  budget_.RelieveBy([&asked] { ++asked; });
  for (uint64_t i = 0; i < 60000; ++i) Insert({2, i});
  (void)cache_.PinUncached(BlockBuffer(kLarge));
  EXPECT_EQ(asked, 1u);
  PinAll(1);
  EXPECT_FALSE(IsKept(Insert({3, 0})));
  pins_.clear();
  const CachePin large = cache_.PinUncached(BlockBuffer(kLarge));
  for (uint64_t i = 0; budget_.total() > budget_.limit_bytes(); ++i) {
    ASSERT_LT(i, 100u);
    (void)cache_.PinUncached(BlockBuffer(size_t{64} << 10));
  }
  EXPECT_EQ(asked, 1u);
}

}  // namespace
}  // namespace sepal
