#include "util/cache/ghost_filter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "util/base/hash.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

// The hash of the i-th key.
uint64_t EvictedHash(uint64_t i) { return Mix64(i + 1); }

TEST(GhostFilterTest, WhatWasAddedIsRememberedUntilHalfTheCapacityIsAddedAfterIt) {
  constexpr uint64_t kCapacity = 1000;
  GhostFilter keys(kCapacity);
  for (uint64_t i = 0; i < 10 * kCapacity; ++i) {
    keys.Add(EvictedHash(i));
    EXPECT_TRUE(keys.Remembers(EvictedHash(i)));
    if (i >= kCapacity / 2) {
      EXPECT_TRUE(keys.Remembers(EvictedHash(i - kCapacity / 2 + 1))) << i;
    }
  }
}

TEST(GhostFilterTest, WhatWasAddedLongerAgoThanTheCapacityIsForgottenButForFewErrors) {
  constexpr uint64_t kCapacity = 10'000;
  GhostFilter keys(kCapacity);
  for (uint64_t i = 0; i < 10 * kCapacity; ++i) keys.Add(EvictedHash(i));
  int remembered = 0;
  for (uint64_t i = 0; i < 8 * kCapacity; ++i) remembered += keys.Remembers(EvictedHash(i)) ? 1 : 0;
  EXPECT_LT(remembered, 8 * 100) << "more than 1 %";
}

TEST(GhostFilterTest, TheSmallestGhostFilterRemembersTheLastKey) {
  GhostFilter keys(0);
  EXPECT_FALSE(keys.Remembers(EvictedHash(1)));
  keys.Add(EvictedHash(1));
  EXPECT_TRUE(keys.Remembers(EvictedHash(1)));
}

TEST(GhostFilterTest, ThreadsThatAddAtOnceFindTheirKeysAndEndWithFewOthers) {
  constexpr uint64_t kCapacity = 4000;
  GhostFilter keys(kCapacity);
  std::atomic<int> lost{0};
  {
    std::vector<Thread> threads;
    for (uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (uint64_t i = 0; i < 20'000; ++i) {
          keys.Add(EvictedHash(t << 32 | i));
          lost += keys.Remembers(EvictedHash(t << 32 | i)) ? 0 : 1;
        }
      });
    }
  }
  // Only what is added while the generations turn may be lost.
  EXPECT_LT(lost.load(), 400);
  int remembered = 0;
  for (uint64_t i = 0; i < 10'000; ++i) remembered += keys.Remembers(EvictedHash(i)) ? 1 : 0;
  EXPECT_LT(remembered, 200);
}

}  // namespace
}  // namespace sepal
