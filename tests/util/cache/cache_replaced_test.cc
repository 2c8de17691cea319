// Blocks that are read in order to be replaced: LookupUnused and ReleaseReplaced.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "util/base/random.h"
#include "util/cache/block_cache.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

constexpr size_t kPlainBytes = 1000;

class CacheReplacedTest : public testing::Test {
 protected:
  // A block full of its offset.
  CachePin Insert(CacheKey key) {
    BlockBuffer buffer(kPlainBytes);
    std::memset(buffer.data(), static_cast<int>(key.offset), kPlainBytes);
    return cache.Insert(key, std::move(buffer), MemoryPart::kDataBlocks);
  }
  static void ExpectBytes(const CachePin& pin, uint64_t offset) {
    ASSERT_EQ(pin.bytes().size(), kPlainBytes);
    for (const size_t i : {size_t{0}, kPlainBytes / 2, kPlainBytes - 1}) {
      ASSERT_EQ(static_cast<uint8_t>(pin.bytes()[i]), static_cast<uint8_t>(offset));
    }
  }
  size_t Held() const { return budget.used(MemoryPart::kDataBlocks); }

  EpochDomain epochs;
  MemoryBudget budget{size_t{1} << 20};
  BlockCache cache{&budget, kPlainBytes, &epochs};
};

TEST_F(CacheReplacedTest, AReplacedBlockGoesUnlessItWasFoundOrIsHeld) {
  const CacheKey unused = {1, 7}, found = {1, 8}, held = {1, 9};
  const std::array hints = {Insert(unused).hint(), Insert(found).hint(), Insert(held).hint()};
  EXPECT_TRUE(cache.Lookup(found));
  CachePin holder = cache.LookupUnused(hints[2], held);
  const size_t before = Held();
  cache.ReleaseReplaced(cache.LookupUnused(hints[0], unused));
  EXPECT_LT(Held(), before);
  cache.ReleaseReplaced(cache.LookupUnused(hints[1], found));
  cache.ReleaseReplaced(cache.LookupUnused(hints[2], held));
  ExpectBytes(holder, held.offset);
  EXPECT_FALSE(cache.LookupUnused(hints[0], unused));
  EXPECT_TRUE(cache.LookupUnused(hints[1], found));
  EXPECT_TRUE(cache.LookupUnused(hints[2], held));
  cache.ReleaseReplaced(std::move(holder));
  EXPECT_FALSE(cache.LookupUnused(hints[2], held));
}

// Whatever goes meanwhile, a pin shows the block that was asked for.
TEST_F(CacheReplacedTest, BlocksAreReplacedWhileOthersReadAndInsertThem) {
  constexpr uint64_t kReplacedKeys = 200;
  const auto work = [&](uint64_t seed) {
    Random random(seed);
    for (int i = 0; i < 20'000; ++i) {
      const CacheKey key = {1, random.Uniform(kReplacedKeys)};
      const FrameHint seen = cache.Sight(key).frame;
      if (CachePin pin = cache.LookupUnused(seen, key); pin) {
        ExpectBytes(pin, key.offset);
        if (random.Uniform(2) == 0) cache.ReleaseReplaced(std::move(pin));
      } else if (const CachePin present = cache.Lookup(key); present) {
        ExpectBytes(present, key.offset);
      } else {
        ExpectBytes(Insert(key), key.offset);
      }
    }
  };
  {
    std::vector<Thread> threads;
    for (uint64_t seed = 1; seed <= 3; ++seed) threads.emplace_back([&work, seed] { work(seed); });
  }
  cache.NoteGone(1);
  cache.EraseGone();
  EXPECT_EQ(Held(), 0u);
}

}  // namespace
}  // namespace sepal
