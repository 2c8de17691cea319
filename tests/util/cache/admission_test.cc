#include "util/cache/admission.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "util/base/hash.h"
#include "util/base/random.h"
#include "util/cache/block_cache.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

constexpr size_t kCachedBytes = 256;

// With each kind: both keep what is read again and again.
class CacheAdmissionTest : public testing::TestWithParam<CacheAdmissionKind> {
 protected:
  void MakeCache(size_t blocks) {
    cache_ = nullptr;  // before its budget
    budget_ = std::make_unique<MemoryBudget>(1 << 20);
    cache_ = std::make_unique<BlockCache>(budget_.get(), kCachedBytes, nullptr, GetParam());
    cache_->Insert({1, 0}, BlockBuffer(kCachedBytes), MemoryPart::kDataBlocks);
    const size_t charge = budget_->total();
    cache_ = nullptr;
    budget_ = std::make_unique<MemoryBudget>(blocks * charge);
    cache_ = std::make_unique<BlockCache>(budget_.get(), kCachedBytes, nullptr, GetParam());
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

TEST_P(CacheAdmissionTest, AScanOfTenTimesTheCacheDoesNotPushOutAHotSet) {
  MakeCache(1000);
  for (int round = 0; round < 3; ++round) AccessAll(1, 600);
  AccessAll(2, 10'000);
  EXPECT_GE(AccessAll(1, 600), 590u);
}

TEST_P(CacheAdmissionTest, AScanBesideReadsOfAHotSetLeavesItInTheCache) {
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

TEST_P(CacheAdmissionTest, ANewHotSetIsInTheCacheAfterAFewRounds) {
  MakeCache(1000);
  for (int round = 0; round < 20; ++round) AccessAll(1, 800);
  for (int round = 0; round < 5; ++round) AccessAll(2, 800);
  EXPECT_GE(AccessAll(2, 800), 760u);
  for (int round = 0; round < 5; ++round) AccessAll(3, 800);
  EXPECT_GE(AccessAll(3, 800), 760u);
}

TEST_P(CacheAdmissionTest, ALoopALittleLongerThanTheCacheIsMostlyServed) {
  MakeCache(1000);
  for (int round = 0; round < 10; ++round) AccessAll(1, 1100);
  size_t hits = 0;
  for (int round = 0; round < 10; ++round) hits += AccessAll(1, 1100);
  EXPECT_GE(hits, 5'500u);
}

TEST_P(CacheAdmissionTest, EveryInsertPinsItsBlockAndKeepsItWhilePinned) {
  MakeCache(100);
  for (int round = 0; round < 3; ++round) AccessAll(1, 100);
  for (uint64_t i = 0; i < 1000; ++i) {
    const CachePin pin = cache_->Insert({2, i}, BlockBuffer(kCachedBytes), MemoryPart::kDataBlocks);
    ASSERT_NE(pin.hint().word, 0u);
    AccessAll(3 + i, 20);
    ASSERT_TRUE(cache_->Lookup(pin.hint(), {2, i}));
  }
}

TEST_P(CacheAdmissionTest, PinnedBlocksOnProbationDoNotKeepTrustedOnesFromGoing) {
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

TEST_P(CacheAdmissionTest, LeafPagesAndGuardsInUseOutliveAnyScanOfDataBlocks) {
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

TEST_P(CacheAdmissionTest, MetadataThatNobodyAsksForGivesWay) {
  MakeCache(1000);
  AccessAll(1, 900, MemoryPart::kLeafPages);
  for (int round = 0; round < 30; ++round) AccessAll(2, 500);
  EXPECT_GE(AccessAll(2, 500), 450u);
}

TEST_P(CacheAdmissionTest, TheSameAccessesGiveTheSameHits) {
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

TEST_P(CacheAdmissionTest, WhatItTakesToRememberIsChargedWithTheBlocks) {
  constexpr size_t kBlocks = 100'000;
  const bool counts = GetParam() == CacheAdmissionKind::kTinyLfu;
  EXPECT_LE(2 * RecentKeys::MemoryBytes(kBlocks) + (counts ? FrequencySketch::MemoryBytes(kBlocks) : 0),
            kBlocks * CacheAdmission::BytesPerBlock(GetParam()));
  MakeCache(1000);
  AccessAll(1, 1);
  EXPECT_GE(budget_->total(), BlockBuffer::ChargeFor(kCachedBytes) + CacheAdmission::BytesPerBlock(GetParam()));
}

TEST_P(CacheAdmissionTest, ThreadsThatReadAHotSetBesideScansFindIt) {
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

INSTANTIATE_TEST_SUITE_P(Kinds, CacheAdmissionTest,
                         testing::Values(CacheAdmissionKind::kProbation, CacheAdmissionKind::kTinyLfu),
                         [](const auto& kind) { return std::string(Name(kind.param)); });

// Of one cache of 1000 blocks, over `trace`, how many accesses of the second half were served.
size_t HitsOver(CacheAdmissionKind kind, const std::vector<CacheKey>& trace) {
  MemoryBudget budget(1000 * (BlockBuffer::ChargeFor(kCachedBytes) + 128 + CacheAdmission::BytesPerBlock(kind)));
  BlockCache cache(&budget, kCachedBytes, nullptr, kind);
  size_t hits = 0;
  for (size_t i = 0; i < trace.size(); ++i) {
    if (cache.Lookup(trace[i])) {
      hits += i >= trace.size() / 2 ? 1 : 0;
    } else {
      cache.Insert(trace[i], BlockBuffer(kCachedBytes), MemoryPart::kDataBlocks);
    }
  }
  return hits;
}

// Each block comes back after the same time, so that what comes back says nothing of which to keep.
TEST(CacheAdmissionKindsTest, TinyLfuServesMoreOfALoopALittleLongerThanTheCache) {
  std::vector<CacheKey> trace;
  for (uint64_t i = 0; i < 100'000; ++i) trace.push_back({1, i % 1100});
  const size_t probation = HitsOver(CacheAdmissionKind::kProbation, trace);
  const size_t tiny_lfu = HitsOver(CacheAdmissionKind::kTinyLfu, trace);
  EXPECT_GT(tiny_lfu, probation + 5'000) << "of 50,000";
}

// Without a cache around it.
TEST(CacheAdmissionShareTest, BlocksThatComeBackFromProbationMakeItsShareGrowAndTrustedOnesMakeItShrink) {
  CacheAdmission admission(1000);
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

// Keys by number, with TinyLFU and without a cache around it.
class TinyLfuAdmissionTest : public testing::Test {
 protected:
  static uint64_t AdmittedHash(uint64_t i) { return Mix64(i + 1); }
  // So many trusted blocks go that were used so often.
  void EvictTrusted(uint64_t first, uint64_t count, int used) {
    for (uint64_t i = first; i < first + count; ++i) {
      for (int k = 0; k < used; ++k) admission_.Used(AdmittedHash(i));
      admission_.Evicted(AdmittedHash(i), /*on_probation=*/false);
    }
  }
  CacheAdmission admission_{10'000, CacheAdmissionKind::kTinyLfu};
};

TEST_F(TinyLfuAdmissionTest, BlocksThatAreReadOnceAreNeverTrusted) {
  for (uint64_t i = 0; i < 5'000; ++i) EXPECT_FALSE(admission_.Trusts(AdmittedHash(i))) << i;
}

TEST_F(TinyLfuAdmissionTest, ABlockIsTrustedOnceItIsAskedForMoreThanTheTrustedOnesThatWentLast) {
  EvictTrusted(1000, 200, /*used=*/4);
  int asked = 1;
  while (!admission_.Trusts(AdmittedHash(1)) && asked < 20) ++asked;
  EXPECT_GE(asked, 5);
  EXPECT_LE(asked, 7);
  EvictTrusted(2000, 200, /*used=*/1);
  asked = 1;
  while (!admission_.Trusts(AdmittedHash(2)) && asked < 20) ++asked;
  EXPECT_EQ(asked, 3) << "follows those that went last";
}

TEST_F(TinyLfuAdmissionTest, WhatGoesFromProbationDoesNotLowerWhatATrustedBlockNeeds) {
  EvictTrusted(1000, 200, /*used=*/6);
  for (uint64_t i = 5'000; i < 9'000; ++i) {
    EXPECT_FALSE(admission_.Trusts(AdmittedHash(i)));
    admission_.Evicted(AdmittedHash(i), /*on_probation=*/true);
  }
  EXPECT_FALSE(admission_.Trusts(AdmittedHash(1)));
  EXPECT_FALSE(admission_.Trusts(AdmittedHash(1)));
  EXPECT_FALSE(admission_.Trusts(AdmittedHash(1)));
}

TEST_F(TinyLfuAdmissionTest, UsesThatTheHandMeetsCountAsAccessesDo) {
  for (int i = 0; i < 3; ++i) admission_.Used(AdmittedHash(1));
  EXPECT_TRUE(admission_.Trusts(AdmittedHash(1)));
}

TEST_F(TinyLfuAdmissionTest, AFindIsHeardOfOnceWhereTheBlockIsTrustedAndNeverWithoutASketch) {
  EXPECT_FALSE(admission_.HearsOfUse(/*on_probation=*/true));
  EXPECT_TRUE(admission_.HearsOfUse(/*on_probation=*/false));
  const CacheAdmission without(100);
  EXPECT_FALSE(without.HearsOfUse(/*on_probation=*/true));
  EXPECT_FALSE(without.HearsOfUse(/*on_probation=*/false));
}

}  // namespace
}  // namespace sepal
