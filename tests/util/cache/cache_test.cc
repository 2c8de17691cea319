#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "util/base/hash.h"
#include "util/cache/block_cache.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

constexpr size_t kBlock = 1000;

BlockBuffer Buffer(std::string_view bytes) {
  BlockBuffer buffer(bytes.size());
  std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return buffer;
}

// The bytes that belong to a key, of a size that depends on it.
std::string BytesOf(const CacheKey& key) {
  const uint64_t h = Mix64(key.file * 1000003 + key.offset);
  std::string bytes(kBlock + h % 64, static_cast<char>(h));
  std::memcpy(bytes.data(), &h, sizeof h);
  return bytes;
}

class BlockCacheTest : public testing::Test {
 protected:
  // Memory for about `blocks` blocks.
  void MakeCache(size_t blocks, EpochDomain* epochs = nullptr) {
    budget_ = std::make_unique<MemoryBudget>(blocks * (kBlock + 300));
    cache_ = std::make_unique<BlockCache>(budget_.get(), kBlock, epochs);
  }
  CachePin Insert(const CacheKey& key, MemoryPart part = MemoryPart::kDataBlocks) {
    return cache_->Insert(key, Buffer(BytesOf(key)), part);
  }
  bool Has(const CacheKey& key) {
    const CachePin pin = cache_->Lookup(key);
    if (pin) {
      EXPECT_EQ(pin.bytes(), BytesOf(key));
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

TEST_F(BlockCacheTest, AHitReturnsTheInsertedBytes) {
  MakeCache(1000);
  for (uint64_t i = 0; i < 200; ++i) EXPECT_EQ(Insert({1 + i % 3, i}).bytes(), BytesOf({1 + i % 3, i}));
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
  const CachePin first = cache_->Insert({1, 1}, Buffer("first"), MemoryPart::kDataBlocks);
  const size_t held = Held();
  const CachePin second = cache_->Insert({1, 1}, Buffer("second"), MemoryPart::kDataBlocks);
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
    const CachePin pin = cache_->Insert({1, i}, Buffer("small"), MemoryPart::kDataBlocks);
    ASSERT_NE(pin.hint().word, 0u);
    ASSERT_TRUE(cache_->Lookup({1, i}));
  }
  EXPECT_LT(Held(), 100000u);
}

TEST_F(BlockCacheTest, PinnedBlocksAreNeverEvicted) {
  MakeCache(50);
  std::vector<CachePin> pins;
  for (uint64_t i = 0; i < 20; ++i) pins.push_back(Insert({1, i}));
  for (uint64_t i = 0; i < 1000; ++i) Insert({2, i});
  for (uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(pins[i].bytes(), BytesOf({1, i}));
    EXPECT_TRUE(Has({1, i}));
  }
}

TEST_F(BlockCacheTest, WhatGoesWhereMemoryIsFreeEvictsNothingAndLeavesAQuarterFree) {
  MakeCache(100);
  for (uint64_t i = 0; i < 10; ++i) Insert({1, i});
  size_t taken = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    const CacheKey key{2, i};
    const bool put = cache_->InsertWhereFree(key, BytesOf(key), MemoryPart::kDataBlocks);
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
  EXPECT_EQ(pins.back().bytes(), BytesOf({1, last}));
  EXPECT_EQ(pins.back().hint().word, 0u);
  EXPECT_FALSE(Has({1, last}));
  for (uint64_t i = 0; i < last; ++i) EXPECT_EQ(pins[i].bytes(), BytesOf({1, i}));
  pins.pop_back();
  EXPECT_EQ(budget_->used(MemoryPart::kPins), 0u);
  pins.clear();
  EXPECT_NE(Insert({2, 0}).hint().word, 0u);
}

TEST_F(BlockCacheTest, ABlockPinnedAloneIsChargedUntilItsPinGoes) {
  MakeCache(20);
  CachePin pin = cache_->PinAlone(Buffer("alone"));
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
  auto [cache, frame] = cache_->PinAlone(Buffer("alone")).Detach();
  EXPECT_GT(budget_->used(MemoryPart::kPins), 0u);
  cache->Unpin(frame);
  EXPECT_EQ(budget_->total(), 0u);
}

TEST_F(BlockCacheTest, AssigningToAPinReleasesWhatItHeld) {
  MakeCache(20);
  CachePin pin = cache_->PinAlone(Buffer("one"));
  const size_t one = budget_->total();
  pin = cache_->PinAlone(Buffer("two"));
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
  EXPECT_EQ(pinned.bytes(), BytesOf({2, 0}));
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
    EXPECT_EQ(pin.bytes(), BytesOf(key));
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
    EXPECT_EQ(pin.bytes(), BytesOf(passed));
    EXPECT_FALSE(cache_->LookupUnused(passed_hint, used));
    Flood(2);
    EXPECT_EQ(pin.bytes(), BytesOf(passed));
  }
  Flood(3);
  EXPECT_TRUE(Has(used));
  EXPECT_FALSE(Has(passed));
  EXPECT_FALSE(cache_->LookupUnused(passed_hint, passed));
}

TEST_F(BlockCacheTest, LeafPagesAndGuardsOutliveAScanOverDataBlocks) {
  MakeCache(100);
  for (uint64_t i = 0; i < 10; ++i) {
    Insert({1, i}, MemoryPart::kLeafPages);
    Insert({2, i}, MemoryPart::kGuards);
    Insert({3, i});
  }
  for (uint64_t i = 0; i < 170; ++i) Insert({4, i});
  int data_blocks = 0, metadata = 0;
  for (uint64_t i = 0; i < 10; ++i) {
    data_blocks += Has({3, i}) ? 1 : 0;
    metadata += (Has({1, i}) ? 1 : 0) + (Has({2, i}) ? 1 : 0);
  }
  EXPECT_LE(data_blocks, 2);
  EXPECT_GE(metadata, 18);
}

TEST_F(BlockCacheTest, BlocksThatAreUsedOutliveThoseThatAreNot) {
  MakeCache(100);
  for (uint64_t i = 0; i < 20; ++i) Insert({1, i});
  for (uint64_t i = 0; i < 2000; ++i) {
    Insert({2, i});
    EXPECT_TRUE(Has({1, i % 20})) << i;
  }
}

TEST_F(BlockCacheTest, EachPartIsChargedItsOwnBlocks) {
  MakeCache(100);
  Insert({1, 1}, MemoryPart::kGuards);
  const size_t guard = budget_->used(MemoryPart::kGuards);
  EXPECT_GE(guard, BytesOf({1, 1}).size());
  EXPECT_EQ(budget_->total(), guard);
  Insert({1, 2}, MemoryPart::kLeafPages);
  EXPECT_GE(budget_->used(MemoryPart::kLeafPages), BytesOf({1, 2}).size());
  EXPECT_EQ(budget_->used(MemoryPart::kDataBlocks), 0u);
  Insert({1, 3});
  EXPECT_GE(budget_->used(MemoryPart::kDataBlocks), BytesOf({1, 3}).size());
}

TEST_F(BlockCacheTest, NothingIsChargedOnceTheCacheIsGone) {
  MakeCache(100);
  for (uint64_t i = 0; i < 300; ++i) Insert({1, i}, i % 2 == 0 ? MemoryPart::kDataBlocks : MemoryPart::kLeafPages);
  EXPECT_GT(budget_->total(), 0u);
  cache_.reset();
  EXPECT_EQ(budget_->total(), 0u);
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
  BlockBuffer buffer = Buffer("bytes");
  BlockBuffer other = std::move(buffer);
  EXPECT_EQ(other.view(), "bytes");
  EXPECT_EQ(buffer.size(), 0u);
  EXPECT_EQ(buffer.charge(), 0u);
  other = Buffer("more");
  EXPECT_EQ(other.view(), "more");
  char* data = other.Release();
  EXPECT_EQ(std::string_view(data, 4), "more");
  BlockBuffer::Free(data, 4);
}

// What one thread of the stress test does: every operation at random over few keys in little memory, checking the bytes
// of whatever it pins, at once and when it lets go.
class Stresser {
 public:
  // `epochs`: the cache's, or null.
  Stresser(BlockCache* cache, MemoryBudget* budget, uint64_t seed, EpochDomain* epochs = nullptr)
      : cache_(cache), budget_(budget), epochs_(epochs), random_(seed) {}

  void Run(int operations) {
    for (int i = 0; i < operations; ++i) Step();
    while (!held_.empty()) Drop();
  }
  uint64_t bad() const { return bad_; }
  uint64_t hits() const { return hits_; }

 private:
  struct Held {
    CacheKey key;
    CachePin pin;
  };

  void Step() {
    const CacheKey key = {1 + random_() % 4, random_() % 64};
    const uint64_t choice = random_() % 1000;
    if (epochs_ != nullptr && random_() % 2 == 0) Look(key);
    if (choice < 500) {
      CachePin pin = cache_->Lookup(key);
      if (!pin) pin = cache_->Insert(key, Buffer(BytesOf(key)), PartOf(key));
      Keep(key, std::move(pin));
    } else if (choice < 800) {
      Keep(key, cache_->Lookup(FrameHint{HintOf(key)->load()}, key));
    } else if (choice < 990) {
      if (!held_.empty()) Drop();
    } else if (choice < 995) {
      cache_->NoteGone(key.file);
      if (random_() % 2 == 0) cache_->EraseGone();
    } else {
      const size_t bytes = budget_->limit_bytes() / 8;
      budget_->Charge(MemoryPart::kMemtables, bytes);
      cache_->Shrink();
      budget_->Release(MemoryPart::kMemtables, bytes);
    }
  }
  // Peeks at a block, and at another while the first is still looked at.
  void Look(const CacheKey& key) {
    const EpochDomain::Guard guard(epochs_);
    const CachePeek first = random_() % 2 == 0 ? cache_->Peek(key) : cache_->Peek(key, HintOf(key));
    const CacheKey other = {1 + random_() % 4, random_() % 64};
    const CachePeek second = cache_->Peek(other);
    if (first) bad_ += first.bytes == BytesOf(key) ? 0 : 1;
    if (second) bad_ += second.bytes == BytesOf(other) ? 0 : 1;
    if (first) Keep(key, cache_->Pin(first));
  }
  HintWord* HintOf(const CacheKey& key) { return &hints_[key.file % 4][key.offset]; }
  void Keep(const CacheKey& key, CachePin pin) {
    if (!pin) return;
    ++hits_;
    Check(key, pin);
    HintOf(key)->store(pin.hint().word);
    held_.push_back({key, std::move(pin)});
    if (held_.size() > 8) Drop();
  }
  void Drop() {
    std::swap(held_[random_() % held_.size()], held_.back());
    Check(held_.back().key, held_.back().pin);
    held_.pop_back();
  }
  void Check(const CacheKey& key, const CachePin& pin) { bad_ += pin.bytes() == BytesOf(key) ? 0 : 1; }
  static MemoryPart PartOf(const CacheKey& key) {
    return key.offset % 8 == 0 ? MemoryPart::kLeafPages : MemoryPart::kDataBlocks;
  }

  BlockCache* cache_;
  MemoryBudget* budget_;
  EpochDomain* epochs_;
  std::mt19937_64 random_;
  std::vector<Held> held_;
  HintWord hints_[4][64] = {};
  uint64_t bad_ = 0;
  uint64_t hits_ = 0;
};

class BlockCacheThreadsTest : public BlockCacheTest {
 protected:
  // Four threads see no wrong byte, and each finds a block `least_hits` times or more.
  void Stress(EpochDomain* epochs, uint64_t first_seed, int operations, uint64_t least_hits = 0) {
    std::deque<Stresser> stressers;
    for (uint64_t i = 0; i < 4; ++i) stressers.emplace_back(cache_.get(), budget_.get(), first_seed + i, epochs);
    {
      std::vector<Thread> threads;
      for (Stresser& stresser : stressers) threads.emplace_back([&stresser, operations] { stresser.Run(operations); });
    }
    for (const Stresser& stresser : stressers) {
      EXPECT_EQ(stresser.bad(), 0u);
      EXPECT_GE(stresser.hits(), least_hits);
    }
  }
  void EraseAllFiles() {
    for (uint64_t file = 1; file <= 4; ++file) cache_->NoteGone(file);
    cache_->EraseGone();
    EXPECT_EQ(budget_->total(), 0u);
  }
};

TEST_F(BlockCacheTest, APeekFindsWhatIsThereByKeyAndByHint) {
  MakeCache(50, &epochs_);
  HintWord hint = Insert({1, 7}).hint().word;
  const uint64_t word = hint.load();
  const EpochDomain::Guard guard(&epochs_);
  EXPECT_EQ(cache_->Peek({1, 7}).bytes, BytesOf({1, 7}));
  EXPECT_EQ(cache_->Peek({1, 7}, &hint).bytes, BytesOf({1, 7}));
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
    EXPECT_EQ(cache_->Peek({1, 7}, &hint).bytes, BytesOf({1, 7}));
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
  EXPECT_EQ(peek.bytes, BytesOf({1, 7}));
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
  EXPECT_EQ(pin.bytes(), BytesOf({1, 7}));
}

TEST_F(BlockCacheTest, WithoutAnEpochDomainNothingIsPeekedAt) {
  MakeCache(50);
  HintWord hint = Insert({1, 7}).hint().word;
  EXPECT_FALSE(cache_->Peek({1, 7}));
  EXPECT_FALSE(cache_->Peek({1, 7}, &hint));
}

TEST_F(BlockCacheThreadsTest, ManyThreadsThatPeekAlwaysSeeTheRightBytes) {
  MakeCache(80, &epochs_);
  Stress(&epochs_, /*first_seed=*/21, /*operations=*/30000, /*least_hits=*/1000);
  EraseAllFiles();
}

TEST_F(BlockCacheThreadsTest, ManyThreadsAlwaysSeeTheRightBytes) {
  MakeCache(80);
  Stress(nullptr, /*first_seed=*/1, /*operations=*/30000, /*least_hits=*/1000);
  EXPECT_EQ(budget_->used(MemoryPart::kPins), 0u);
  cache_->Shrink();
  EXPECT_LE(Held(), budget_->CacheCapacity());
  for (uint64_t file = 1; file <= 4; ++file) {
    for (uint64_t offset = 0; offset < 64; ++offset) Has({file, offset});
  }
  EraseAllFiles();
}

// The table is so small that searches, inserts and evictions meet in the same few frames all the time.
TEST_F(BlockCacheThreadsTest, ManyThreadsInATinyCacheLeaveNothingBehind) {
  MakeCache(4);
  Stress(nullptr, /*first_seed=*/11, /*operations=*/20000);
  EraseAllFiles();
}

}  // namespace
}  // namespace sepal
