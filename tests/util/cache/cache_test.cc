#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/util/cache/cache_fixture.h"

namespace sepal {
namespace {

TEST_F(BlockCacheTest, AHitReturnsTheInsertedBytes) {
  MakeCache(1000);
  for (uint64_t i = 0; i < 200; ++i) EXPECT_EQ(Insert({1 + i % 3, i}).bytes(), CachedBytesOf({1 + i % 3, i}));
  for (uint64_t i = 0; i < 200; ++i) {
    EXPECT_TRUE(Has({1 + i % 3, i}));
    EXPECT_FALSE(Has({1 + (i + 1) % 3, i}));
  }
}

TEST_F(BlockCacheTest, AnEmptyCacheHasNothing) {
  MakeCache(100);
  EXPECT_FALSE(cache_->Lookup({0, 0}));
  EXPECT_FALSE(cache_->Lookup({1, 0}));
  EXPECT_FALSE(cache_->Lookup(FrameHint(), {1, 0}));
  EXPECT_EQ(Held(), 0u);
}

TEST_F(BlockCacheTest, ASecondInsertOfAKeyPinsTheBytesOfTheFirst) {
  MakeCache(100);
  const CachePin first = cache_->Insert({1, 1}, CacheBuffer("first"), MemoryPart::kDataBlocks);
  const size_t held = Held();
  const CachePin second = cache_->Insert({1, 1}, CacheBuffer("second"), MemoryPart::kDataBlocks);
  EXPECT_EQ(second.bytes(), "first");
  EXPECT_EQ(second.bytes().data(), first.bytes().data());
  EXPECT_EQ(Held(), held);
}

TEST_F(BlockCacheTest, EmptyBlocksAreBlocks) {
  MakeCache(100);
  EXPECT_TRUE(cache_->Insert({1, 1}, BlockBuffer(0), MemoryPart::kGuards));
  const CachePin pin = cache_->Lookup({1, 1});
  ASSERT_TRUE(pin);
  EXPECT_EQ(pin.bytes(), "");
}

TEST_F(BlockCacheTest, HeldBytesStayWithinTheCapacity) {
  MakeCache(50);
  for (uint64_t i = 0; i < 2000; ++i) {
    Insert({1, i * 4096});
    ASSERT_LE(Held(), budget_->CacheCapacity());
  }
  size_t present = 0;
  for (uint64_t i = 0; i < 2000; ++i) present += Has({1, i * 4096}) ? 1 : 0;
  EXPECT_GE(present, 40u);
  EXPECT_LE(present, 60u);
  EXPECT_EQ(budget_->used(MemoryPart::kPins), 0u);
}

TEST_F(BlockCacheTest, BlocksSmallerThanExpectedFillTheTableAndStillGoInAndOut) {
  budget_ = std::make_unique<MemoryBudget>(1 << 20);
  cache_ = std::make_unique<BlockCache>(budget_.get(), 64 << 10);
  for (uint64_t i = 0; i < 5000; ++i) {
    const CachePin pin = cache_->Insert({1, i}, CacheBuffer("small"), MemoryPart::kDataBlocks);
    ASSERT_NE(pin.hint().word, 0u);
    ASSERT_TRUE(cache_->Lookup({1, i}));
  }
  EXPECT_LT(Held(), 100000u);
}

TEST_F(BlockCacheTest, WhatGoesWhereMemoryIsFreeEvictsNothingAndLeavesAQuarterFree) {
  MakeCache(100);
  for (uint64_t i = 0; i < 10; ++i) Insert({1, i});
  size_t taken = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    const CacheKey key{2, i};
    const bool put = cache_->InsertWhereFree(key, CachedBytesOf(key), MemoryPart::kDataBlocks);
    EXPECT_EQ(Has(key), put) << i;
    taken += put ? 1 : 0;
  }
  EXPECT_GE(taken, 40u);
  EXPECT_LE(Held(), budget_->CacheCapacity() / 4 * 3);
  for (uint64_t i = 0; i < 10; ++i) EXPECT_TRUE(Has({1, i})) << i;
  budget_->Charge(MemoryPart::kMemtables, budget_->limit_bytes());
  EXPECT_FALSE(cache_->InsertWhereFree({3, 1}, "block", MemoryPart::kDataBlocks));
  budget_->Release(MemoryPart::kMemtables, budget_->limit_bytes());
}

TEST_F(BlockCacheTest, WhenAllIsPinnedAnInsertBelongsToItsPinAlone) {
  MakeCache(20);
  std::vector<CachePin> pins;
  for (uint64_t i = 0; budget_->used(MemoryPart::kPins) == 0; ++i) pins.push_back(Insert({1, i}));
  ASSERT_GE(pins.size(), 15u);
  ASSERT_LE(pins.size(), 25u);
  const uint64_t last = pins.size() - 1;
  EXPECT_EQ(pins.back().bytes(), CachedBytesOf({1, last}));
  EXPECT_EQ(pins.back().hint().word, 0u);
  EXPECT_FALSE(Has({1, last}));
  for (uint64_t i = 0; i < last; ++i) EXPECT_EQ(pins[i].bytes(), CachedBytesOf({1, i}));
  pins.pop_back();
  EXPECT_EQ(budget_->used(MemoryPart::kPins), 0u);
  pins.clear();
  EXPECT_NE(Insert({2, 0}).hint().word, 0u);
}

TEST_F(BlockCacheTest, ABlockPinnedAloneIsChargedUntilItsPinGoes) {
  MakeCache(20);
  CachePin pin = cache_->PinUncached(CacheBuffer("alone"));
  EXPECT_EQ(pin.bytes(), "alone");
  EXPECT_GE(budget_->used(MemoryPart::kPins), 5u);
  EXPECT_EQ(Held(), 0u);
  CachePin moved = std::move(pin);
  EXPECT_EQ(moved.bytes(), "alone");
  EXPECT_GE(budget_->used(MemoryPart::kPins), 5u);
  moved.Reset();
  EXPECT_EQ(budget_->total(), 0u);
}

TEST_F(BlockCacheTest, ADetachedPinIsReleasedByHand) {
  MakeCache(20);
  auto [cache, frame] = cache_->PinUncached(CacheBuffer("alone")).Detach();
  EXPECT_GT(budget_->used(MemoryPart::kPins), 0u);
  cache->Unpin(frame);
  EXPECT_EQ(budget_->total(), 0u);
}

TEST_F(BlockCacheTest, AssigningToAPinReleasesWhatItHeld) {
  MakeCache(20);
  CachePin pin = cache_->PinUncached(CacheBuffer("one"));
  const size_t one = budget_->total();
  pin = cache_->PinUncached(CacheBuffer("two"));
  EXPECT_EQ(pin.bytes(), "two");
  EXPECT_EQ(budget_->total(), one);
}

TEST_F(BlockCacheTest, ShrinkFollowsTheCapacityDown) {
  MakeCache(100);
  for (uint64_t i = 0; i < 90; ++i) Insert({1, i});
  const size_t before = Held();
  budget_->Charge(MemoryPart::kMemtables, budget_->limit_bytes() / 2);
  EXPECT_EQ(Held(), before);
  cache_->Shrink();
  EXPECT_LE(Held(), budget_->CacheCapacity());
  EXPECT_GT(Held(), budget_->CacheCapacity() / 2);
  budget_->Charge(MemoryPart::kMemtables, budget_->limit_bytes());
  const CachePin pinned = Insert({2, 0});
  cache_->Shrink();
  EXPECT_EQ(Held(), 0u);
  EXPECT_EQ(pinned.bytes(), CachedBytesOf({2, 0}));
  budget_->Release(MemoryPart::kMemtables, budget_->limit_bytes() + budget_->limit_bytes() / 2);
}

TEST_F(BlockCacheTest, ShrinkLeavesPinnedBlocksAndEndsWhenOnlyTheyAreLeft) {
  MakeCache(100);
  std::vector<CachePin> pins;
  for (uint64_t i = 0; i < 50; ++i) {
    CachePin pin = Insert({1, i});
    if (i % 2 == 0) pins.push_back(std::move(pin));
  }
  budget_->Charge(MemoryPart::kLog, budget_->limit_bytes());
  cache_->Shrink();
  for (uint64_t i = 0; i < 50; ++i) EXPECT_EQ(Has({1, i}), i % 2 == 0);
  budget_->Release(MemoryPart::kLog, budget_->limit_bytes());
}

TEST_F(BlockCacheTest, AHintPinsItsBlockUntilThatIsEvicted) {
  MakeCache(50);
  const CacheKey key = {1, 7};
  const FrameHint hint = Insert(key).hint();
  ASSERT_NE(hint.word, 0u);
  {
    const CachePin pin = cache_->Lookup(hint, key);
    ASSERT_TRUE(pin);
    EXPECT_EQ(pin.bytes(), CachedBytesOf(key));
    EXPECT_EQ(pin.hint().word, hint.word);
  }
  EXPECT_FALSE(cache_->Lookup(hint, {1, 8}));
  EvictAll();
  EXPECT_FALSE(cache_->Lookup(hint, key));
  const FrameHint again = Insert(key).hint();
  EXPECT_NE(again.word, hint.word);
  EXPECT_FALSE(cache_->Lookup(hint, key));
  EXPECT_TRUE(cache_->Lookup(again, key));
}

TEST_F(BlockCacheTest, AHintFailsWhenTheSameKeyIsBackInTheSameFrame) {
  MakeCache(50);
  const CacheKey key = {1, 7};
  const FrameHint hint = Insert(key).hint();
  Erase(1);
  const FrameHint again = Insert(key).hint();
  ASSERT_EQ(again.word & 0xffffffff, hint.word & 0xffffffff) << "not the frame that it had";
  EXPECT_FALSE(cache_->Lookup(hint, key));
  EXPECT_TRUE(cache_->Lookup(again, key));
}

TEST_F(BlockCacheTest, AnyWordMayBeTriedAsAHint) {
  MakeCache(50);
  Insert({1, 7});
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(cache_->Lookup(FrameHint{random()}, {1, 8}));
  EXPECT_FALSE(cache_->Lookup(FrameHint{UINT64_MAX}, {1, 7}));
}

TEST_F(BlockCacheTest, ASightingSaysWhereABlockLiesAndHoldsNothing) {
  MakeCache(50);
  const CacheKey key = {1, 7};
  EXPECT_EQ(cache_->Sight(key).frame.word, 0u);
  EXPECT_EQ(cache_->Sight(key).end, nullptr);
  const FrameHint hint = Insert(key).hint();
  const CacheSighting seen = cache_->Sight(key);
  EXPECT_EQ(seen.frame.word, hint.word);
  {
    const CachePin pin = cache_->Lookup(seen.frame, key);
    ASSERT_TRUE(pin);
    EXPECT_EQ(seen.end, pin.bytes().data() + pin.bytes().size());
  }
  EXPECT_EQ(cache_->Sight({1, 8}).frame.word, 0u);
  EvictAll();
  EXPECT_EQ(cache_->Sight(key).frame.word, 0u);
  EXPECT_FALSE(cache_->Lookup(seen.frame, key));
}

TEST_F(BlockCacheTest, AnUnusedLookupPinsAndDoesNotKeepABlock) {
  MakeCache(50);
  const CacheKey used = {1, 7}, passed = {1, 8};
  const FrameHint used_hint = Insert(used).hint(), passed_hint = Insert(passed).hint();
  EXPECT_TRUE(cache_->Lookup(used_hint, used));
  {
    const CachePin pin = cache_->LookupUnused(passed_hint, passed);
    ASSERT_TRUE(pin);
    EXPECT_EQ(pin.bytes(), CachedBytesOf(passed));
    EXPECT_FALSE(cache_->LookupUnused(passed_hint, used));
    Flood(2);
    EXPECT_EQ(pin.bytes(), CachedBytesOf(passed));
  }
  Flood(3);
  EXPECT_TRUE(Has(used));
  EXPECT_FALSE(Has(passed));
  EXPECT_FALSE(cache_->LookupUnused(passed_hint, passed));
}

TEST_F(BlockCacheTest, EachPartIsChargedItsOwnBlocks) {
  MakeCache(100);
  Insert({1, 1}, MemoryPart::kGuards);
  const size_t guard = budget_->used(MemoryPart::kGuards);
  EXPECT_GE(guard, CachedBytesOf({1, 1}).size());
  EXPECT_EQ(budget_->total(), guard);
  Insert({1, 2}, MemoryPart::kLeafPages);
  EXPECT_GE(budget_->used(MemoryPart::kLeafPages), CachedBytesOf({1, 2}).size());
  EXPECT_EQ(budget_->used(MemoryPart::kDataBlocks), 0u);
  Insert({1, 3});
  EXPECT_GE(budget_->used(MemoryPart::kDataBlocks), CachedBytesOf({1, 3}).size());
}

TEST_F(BlockCacheTest, FileNumbersAreNeverGivenTwice) {
  MakeCache(10);
  const uint64_t first = cache_->NewFileId();
  const uint64_t second = cache_->NewFileId();
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, second);
}

TEST(BlockBufferTest, BytesAreAlignedAndReadableSixtyFourPastTheEnd) {
  for (size_t size : {0, 1, 63, 64, 65, 4096}) {
    BlockBuffer buffer(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
    EXPECT_EQ(buffer.size(), size);
    std::memset(buffer.data(), 1, size);
    for (size_t i = 0; i < 64; ++i) EXPECT_EQ(buffer.data()[size + i], 0);
    EXPECT_GE(buffer.charge(), size + 64);
  }
  EXPECT_EQ(BlockBuffer().charge(), 0u);
}

TEST(BlockBufferTest, MovingHandsTheBytesOn) {
  BlockBuffer buffer = CacheBuffer("bytes");
  BlockBuffer other = std::move(buffer);
  EXPECT_EQ(other.view(), "bytes");
  EXPECT_EQ(buffer.size(), 0u);
  EXPECT_EQ(buffer.charge(), 0u);
  other = CacheBuffer("more");
  EXPECT_EQ(other.view(), "more");
  char* data = other.Release();
  EXPECT_EQ(std::string_view(data, 4), "more");
  BlockBuffer::Free(data, 4);
}

TEST_F(BlockCacheTest, APeekFindsWhatIsThereByKeyAndByHint) {
  MakeCache(50, &epochs_);
  HintWord hint = Insert({1, 7}).hint().word;
  const uint64_t word = hint.load();
  const EpochDomain::Guard guard(&epochs_);
  EXPECT_EQ(cache_->Peek({1, 7}).bytes, CachedBytesOf({1, 7}));
  EXPECT_EQ(cache_->Peek({1, 7}, &hint).bytes, CachedBytesOf({1, 7}));
  EXPECT_FALSE(cache_->Peek({1, 8}));
  EXPECT_FALSE(cache_->Peek({1, 8}, &hint));
  EXPECT_EQ(hint.load(), word);
  EXPECT_EQ(budget_->used(MemoryPart::kPins), 0u);
}

TEST_F(BlockCacheTest, APeekRemembersWhereTheBlockWasFound) {
  MakeCache(50, &epochs_);
  const uint64_t word = Insert({1, 7}).hint().word;
  const EpochDomain::Guard guard(&epochs_);
  for (const uint64_t wrong : {uint64_t{0}, Insert({1, 8}).hint().word, UINT64_MAX}) {
    HintWord hint = wrong;
    EXPECT_EQ(cache_->Peek({1, 7}, &hint).bytes, CachedBytesOf({1, 7}));
    EXPECT_EQ(hint.load(), word);
  }
}

TEST_F(BlockCacheTest, WhatWasPeekedAtStaysReadableUntilTheGuardEndsThoughItIsEvicted) {
  MakeCache(50, &epochs_);
  HintWord hint = Insert({1, 7}).hint().word;
  const EpochDomain::Guard guard(&epochs_);
  const CachePeek peek = cache_->Peek({1, 7});
  Erase(1);
  Flood(2);
  EXPECT_FALSE(cache_->Peek({1, 7}));
  EXPECT_FALSE(cache_->Peek({1, 7}, &hint));
  EXPECT_FALSE(cache_->Pin(peek));
  EXPECT_EQ(peek.bytes, CachedBytesOf({1, 7}));
}

TEST_F(BlockCacheTest, APeekCanBecomeAPin) {
  MakeCache(50, &epochs_);
  Insert({1, 7});
  CachePin pin;
  {
    const EpochDomain::Guard guard(&epochs_);
    pin = cache_->Pin(cache_->Peek({1, 7}));
  }
  ASSERT_TRUE(pin);
  Flood(2);
  EXPECT_EQ(pin.bytes(), CachedBytesOf({1, 7}));
}

TEST_F(BlockCacheTest, WithoutAnEpochDomainNothingIsPeekedAt) {
  MakeCache(50);
  HintWord hint = Insert({1, 7}).hint().word;
  EXPECT_FALSE(cache_->Peek({1, 7}));
  EXPECT_FALSE(cache_->Peek({1, 7}, &hint));
}

}  // namespace
}  // namespace sepal
