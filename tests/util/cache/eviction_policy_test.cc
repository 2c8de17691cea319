#include "util/cache/eviction_policy.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "util/base/hash.h"
#include "util/base/random.h"
#include "util/cache/block_cache.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

constexpr size_t kCachedBytes = 256;

class EvictionPolicyTest : public testing::Test {
 protected:
  void MakeCache(size_t blocks) {
    cache_ = nullptr;  // before its budget
    budget_ = std::make_unique<MemoryBudget>(1 << 20);
    cache_ = std::make_unique<BlockCache>(budget_.get(), kCachedBytes);
    cache_->Insert({1, 0}, BlockBuffer(kCachedBytes), MemoryPart::kDataBlocks);
    const size_t charge = budget_->total();
    cache_ = nullptr;
    budget_ = std::make_unique<MemoryBudget>(blocks * charge);
    cache_ = std::make_unique<BlockCache>(budget_.get(), kCachedBytes);
  }
  // Whether the block was there. If not, it is put in, and the caller has it whatever the cache does with it later.
  bool Access(const CacheKey& key, MemoryPart part = MemoryPart::kDataBlocks) {
    if (cache_->Lookup(key)) return true;
    BlockBuffer buffer(kCachedBytes);
    buffer.data()[0] = static_cast<char>(key.offset);
    const CachePin pin = cache_->Insert(key, std::move(buffer), part);
    EXPECT_TRUE(pin);
    EXPECT_EQ(pin.bytes()[0], static_cast<char>(key.offset));
    return false;
  }
  // Asks for blocks [0, count) of `file`, in order; how many were there.
  size_t AccessAll(uint64_t file, size_t count, MemoryPart part = MemoryPart::kDataBlocks) {
    size_t hits = 0;
    for (uint64_t i = 0; i < count; ++i) hits += Access({file, i}, part) ? 1 : 0;
    return hits;
  }

  std::unique_ptr<MemoryBudget> budget_;
  std::unique_ptr<BlockCache> cache_;
};

TEST_F(EvictionPolicyTest, AScanOfTenTimesTheCacheDoesNotPushOutAHotSet) {
  MakeCache(1000);
  for (int round = 0; round < 3; ++round) AccessAll(1, 600);
  AccessAll(2, 10'000);
  EXPECT_GE(AccessAll(1, 600), 590u);
}

TEST_F(EvictionPolicyTest, AScanBesideReadsOfAHotSetLeavesItInTheCache) {
  MakeCache(1000);
  for (int round = 0; round < 3; ++round) AccessAll(1, 800);
  Random random(5);
  size_t hits = 0;
  for (uint64_t i = 0; i < 20'000; ++i) {
    Access({2, i});
    hits += Access({1, random.Uniform(800)}) ? 1 : 0;
  }
  EXPECT_GE(hits, 19'500u);
}

TEST_F(EvictionPolicyTest, ANewHotSetIsInTheCacheAfterAFewRounds) {
  MakeCache(1000);
  for (int round = 0; round < 20; ++round) AccessAll(1, 800);
  for (int round = 0; round < 5; ++round) AccessAll(2, 800);
  EXPECT_GE(AccessAll(2, 800), 760u);
  for (int round = 0; round < 5; ++round) AccessAll(3, 800);
  EXPECT_GE(AccessAll(3, 800), 760u);
}

TEST_F(EvictionPolicyTest, ALoopALittleLongerThanTheCacheIsMostlyServed) {
  MakeCache(1000);
  for (int round = 0; round < 10; ++round) AccessAll(1, 1100);
  size_t hits = 0;
  for (int round = 0; round < 10; ++round) hits += AccessAll(1, 1100);
  EXPECT_GE(hits, 5'500u);
}

TEST_F(EvictionPolicyTest, EveryInsertPinsItsBlockAndKeepsItWhilePinned) {
  MakeCache(100);
  for (int round = 0; round < 3; ++round) AccessAll(1, 100);
  for (uint64_t i = 0; i < 1000; ++i) {
    const CachePin pin = cache_->Insert({2, i}, BlockBuffer(kCachedBytes), MemoryPart::kDataBlocks);
    ASSERT_NE(pin.hint().word, 0u);
    AccessAll(3 + i, 20);
    ASSERT_TRUE(cache_->Lookup(pin.hint(), {2, i}));
  }
}

TEST_F(EvictionPolicyTest, PinnedBlocksOnProbationDoNotKeepTrustedOnesFromGoing) {
  MakeCache(100);
  std::vector<CachePin> pins;
  for (uint64_t i = 0; i < 60; ++i) {
    pins.push_back(cache_->Insert({1, i}, BlockBuffer(kCachedBytes), MemoryPart::kDataBlocks));
  }
  // The others in the cache are found, and trusted.
  for (int round = 0; round < 3; ++round) AccessAll(2, 35);
  for (uint64_t i = 0; i < 40; ++i) {
    pins.push_back(cache_->Insert({3, i}, BlockBuffer(kCachedBytes), MemoryPart::kDataBlocks));
    ASSERT_NE(pins.back().hint().word, 0u) << i;
  }
}

TEST_F(EvictionPolicyTest, LeafPagesAndGuardsInUseOutliveAnyScanOfDataBlocks) {
  MakeCache(1000);
  for (int round = 0; round < 3; ++round) {
    AccessAll(1, 100, MemoryPart::kLeafPages);
    AccessAll(2, 20, MemoryPart::kGuards);
  }
  for (int round = 0; round < 3; ++round) AccessAll(3, 700);
  AccessAll(4, 20'000);
  EXPECT_EQ(AccessAll(1, 100, MemoryPart::kLeafPages), 100u);
  EXPECT_EQ(AccessAll(2, 20, MemoryPart::kGuards), 20u);
}

TEST_F(EvictionPolicyTest, MetadataThatNobodyAsksForGivesWay) {
  MakeCache(1000);
  AccessAll(1, 900, MemoryPart::kLeafPages);
  for (int round = 0; round < 30; ++round) AccessAll(2, 500);
  EXPECT_GE(AccessAll(2, 500), 450u);
}

TEST_F(EvictionPolicyTest, TheSameAccessesGiveTheSameHits) {
  size_t hits[2] = {};
  for (size_t& run : hits) {
    MakeCache(500);
    Random random(7);
    for (int i = 0; i < 20'000; ++i) {
      const uint64_t hot = random.Uniform(300);
      run += Access({1, random.OneIn(2) ? hot : random.Uniform(5'000)}) ? 1 : 0;
    }
  }
  EXPECT_EQ(hits[0], hits[1]);
  EXPECT_GT(hits[0], 0u);
}

TEST_F(EvictionPolicyTest, WhatItTakesToRememberIsChargedWithTheBlocks) {
  constexpr size_t kBlocks = 100'000;
  EXPECT_LE(2 * GhostFilter::MemoryBytes(kBlocks), kBlocks * EvictionPolicy::kBytesPerBlock);
  MakeCache(1000);
  AccessAll(1, 1);
  EXPECT_GE(budget_->total(), BlockBuffer::ChargeFor(kCachedBytes) + EvictionPolicy::kBytesPerBlock);
}

TEST_F(EvictionPolicyTest, ThreadsThatReadAHotSetBesideScansFindIt) {
  MakeCache(1000);
  for (int round = 0; round < 3; ++round) AccessAll(1, 500);
  std::atomic<size_t> hits{0};
  {
    std::vector<Thread> threads;
    for (uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Random random(t + 1);
        for (uint64_t i = 0; i < 10'000; ++i) {
          Access({2 + t, i});
          hits += Access({1, random.Uniform(500)}) ? 1 : 0;
        }
      });
    }
  }
  EXPECT_GE(hits.load(), 38'000u) << "of 40,000";
  EXPECT_LE(budget_->total(), budget_->limit_bytes());
}

// Without a cache around it.
TEST(CacheAdmissionShareTest, BlocksThatComeBackFromProbationMakeItsShareGrowAndTrustedOnesMakeItShrink) {
  EvictionPolicy admission(1000);
  const auto hash = [](uint64_t i) { return Mix64(i + 1); };
  for (uint64_t i = 0; i < 1000; ++i) admission.Inserted(/*on_probation=*/i < 300);
  ASSERT_TRUE(admission.ProbationIsOverFull());
  for (uint64_t i = 0; i < 500; ++i) {
    admission.Evicted(hash(i), /*on_probation=*/true);
    EXPECT_TRUE(admission.Trusts(hash(i)));
  }
  EXPECT_FALSE(admission.ProbationIsOverFull()) << "300 of 1000, with a share of 50 and 250 more";
  for (uint64_t i = 1000; i < 1200; ++i) {
    admission.Evicted(hash(i), /*on_probation=*/false);
    EXPECT_TRUE(admission.Trusts(hash(i)));
  }
  EXPECT_TRUE(admission.ProbationIsOverFull());
  EXPECT_FALSE(admission.Trusts(hash(5000)));
}

}  // namespace
}  // namespace sepal
