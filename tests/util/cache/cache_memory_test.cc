// What a cache gives back to the system when it shrinks. Under AddressSanitizer blocks come from malloc, and there is
// nothing to see.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sepal/simulation/simulated_world.h"
#include "util/base/hash.h"
#include "util/base/random.h"
#include "util/cache/block_cache.h"
#include "util/thread/sync.h"

// Under AddressSanitizer blocks come from malloc: there are no chunks to empty.
#if !defined(SEPAL_ADDRESS_SANITIZER)

namespace sepal {
namespace {

constexpr size_t kBlockSize = 4000;
constexpr size_t kLimit = size_t{64} << 20;
constexpr uint64_t kKeys = 40'000;  // more than there is room for

std::string BytesOfBlock(uint64_t offset) {
  const uint64_t h = Mix64(offset + 1);
  std::string bytes(kBlockSize + h % 200, static_cast<char>(h));
  std::memcpy(bytes.data(), &h, sizeof h);
  return bytes;
}

class CacheMemoryTest : public testing::Test {
 protected:
  CachePin Insert(CacheKey key, std::string_view bytes, MemoryPart part) {
    BlockBuffer buffer(bytes.size());
    std::memcpy(buffer.data(), bytes.data(), bytes.size());
    return cache.Insert(key, std::move(buffer), part);
  }
  CachePin Insert(uint64_t offset) { return Insert({1, offset}, BytesOfBlock(offset), MemoryPart::kDataBlocks); }
  void Fill() {
    for (uint64_t i = 0; i < kKeys; ++i) (void)Insert(i);
  }
  // Others take and give back.
  void SetOthers(size_t bytes) {
    budget.Charge(MemoryPart::kMemtables, bytes);
    budget.Release(MemoryPart::kMemtables, others);
    others = bytes;
    cache.Shrink();
  }
  size_t Blocks() {
    size_t found = 0;
    for (uint64_t i = 0; i < kKeys; ++i) {
      const CachePin pin = cache.Lookup({1, i});
      if (!pin) continue;
      ++found;
      EXPECT_EQ(pin.bytes(), BytesOfBlock(i));
    }
    return found;
  }
  static size_t Mapped() { return BlockHeap::OfProcess().MappedBytes(); }

  const size_t mapped_before = Mapped();
  EpochDomain epochs;
  MemoryBudget budget{kLimit};
  BlockCache cache{&budget, kBlockSize, &epochs};
  size_t others = 0;
};

TEST_F(CacheMemoryTest, WhatOthersTakeIsGivenBackToTheSystemThoughBlocksAreEvictedAnywhere) {
  Fill();
  for (const size_t mib : {4, 8, 16, 24, 32, 48}) {
    SetOthers(mib << 20);
    // A thirty-second of the limit may be free, and a chunk and the one that is just being emptied.
    EXPECT_LE(Mapped() - mapped_before, kLimit - others + kLimit / 32 + 2 * BlockHeap::kChunkBytes) << mib;
  }
}

TEST_F(CacheMemoryTest, BlocksAreMovedRatherThanEvicted) {
  Fill();
  const size_t blocks = Blocks();
  SetOthers(size_t{16} << 20);
  // A quarter is evicted, whatever lies beside it.
  EXPECT_GE(Blocks(), blocks * 72 / 100);
}

TEST_F(CacheMemoryTest, LeafPagesOfOddSizesAreMovedToo) {
  constexpr uint64_t kPages = 150;
  const auto page = [](uint64_t i) { return std::string(5000 + 97 * i, static_cast<char>(i)); };
  for (uint64_t i = 0; i < kKeys; ++i) {
    (void)Insert(i);
    if (i % 100 == 0 && i / 100 < kPages) (void)Insert({2, i / 100}, page(i / 100), MemoryPart::kLeafPages);
  }
  const auto found = [&] {
    uint64_t pages = 0;
    for (uint64_t i = 0; i < kPages; ++i) {
      const CachePin pin = cache.Lookup({2, i});
      if (!pin) continue;
      ++pages;
      EXPECT_EQ(pin.bytes(), page(i));
    }
    return pages;
  };
  ASSERT_EQ(found(), kPages);
  SetOthers(size_t{12} << 20);
  EXPECT_EQ(found(), kPages);
  EXPECT_LE(Mapped() - mapped_before, kLimit - others + kLimit / 32 + 2 * BlockHeap::kChunkBytes);
}

TEST_F(CacheMemoryTest, PinnedBlocksStayWhereTheyAre) {
  Fill();
  std::vector<CachePin> pins;
  std::vector<const char*> places;
  for (uint64_t i = 0; i < kKeys; i += 50) {
    if (CachePin pin = cache.Lookup({1, i})) {
      places.push_back(pin.bytes().data());
      pins.push_back(std::move(pin));
    }
  }
  ASSERT_GT(pins.size(), 100u);
  SetOthers(size_t{32} << 20);
  for (size_t i = 0; i < pins.size(); ++i) EXPECT_EQ(pins[i].bytes().data(), places[i]);
  Blocks();
}

TEST_F(CacheMemoryTest, AWalkThatGaveNothingIsNotRepeatedBeforeThereIsMoreToGainOrManyShrinksHavePassed) {
  Fill();
  const auto pin_some = [&] {
    std::vector<CachePin> pins;
    for (uint64_t i = 0; i < kKeys; i += 20) {
      if (CachePin pin = cache.Lookup({1, i})) pins.push_back(std::move(pin));
    }
    return pins;
  };
  // So many that each chunk has one.
  std::vector<CachePin> pins = pin_some();
  SetOthers(size_t{24} << 20);
  const size_t mapped = Mapped();
  ASSERT_GT(mapped - mapped_before, kLimit - others + kLimit / 32 + 2 * BlockHeap::kChunkBytes);
  // Many in vain.
  for (int i = 0; i < 100; ++i) cache.Shrink();
  pins.clear();
  cache.Shrink();
  EXPECT_EQ(Mapped(), mapped) << "nobody looked";
  for (int i = 0; i < 64; ++i) cache.Shrink();
  EXPECT_LE(Mapped() - mapped_before, kLimit - others + kLimit / 32 + 2 * BlockHeap::kChunkBytes) << "they did";

  pins = pin_some();
  SetOthers(size_t{32} << 20);
  for (int i = 0; i < 100; ++i) cache.Shrink();
  pins.clear();
  SetOthers(size_t{40} << 20);
  EXPECT_LE(Mapped() - mapped_before, kLimit - others + kLimit / 32 + 2 * BlockHeap::kChunkBytes) << "there was more";
}

TEST_F(CacheMemoryTest, WhatAPeekSawStaysUntilItsGuardEndsAndIsFreedWithTheNextShrink) {
  Fill();
  // An insert evicts what is too much, and leaves the holes.
  others = kLimit / 2;
  budget.Charge(MemoryPart::kMemtables, others);
  (void)Insert(0);
  std::vector<std::pair<uint64_t, CachePeek>> peeks;
  {
    const EpochDomain::Guard guard(&epochs);
    for (uint64_t i = 0; i < kKeys; ++i) {
      if (const CachePeek peek = cache.Peek({1, i})) peeks.emplace_back(i, peek);
    }
    cache.Shrink();
    size_t pinned = 0;
    for (const auto& [i, peek] : peeks) {
      ASSERT_EQ(peek.bytes, BytesOfBlock(i));
      // A block that went elsewhere is another one for whoever saw it before.
      if (const CachePin pin = cache.Pin(peek)) {
        ++pinned;
        ASSERT_EQ(pin.bytes().data(), peek.bytes.data());
      }
    }
    EXPECT_LT(pinned, peeks.size());
  }
  cache.Shrink();
  EXPECT_LE(Mapped() - mapped_before, kLimit - others + kLimit / 32 + 2 * BlockHeap::kChunkBytes);
  Blocks();
}

TEST_F(CacheMemoryTest, AReaderThatStaysInsideHoldsBackASixteenthOfTheLimitAndNoMore) {
  const auto insert_and_check = [&](uint64_t i) {
    const CachePin pin = Insert(i);
    ASSERT_EQ(pin.bytes(), BytesOfBlock(i));
  };
  Fill();
  {
    const EpochDomain::Guard guard(&epochs);
    const CachePeek peek = cache.Peek({1, kKeys - 1});
    ASSERT_TRUE(peek);
    for (uint64_t i = kKeys; i < 2 * kKeys; ++i) ASSERT_NO_FATAL_FAILURE(insert_and_check(i));
    EXPECT_EQ(peek.bytes, BytesOfBlock(kKeys - 1));
    EXPECT_FALSE(cache.Lookup({1, 2 * kKeys - 1}));
    (void)Insert({2, 0}, BytesOfBlock(0), MemoryPart::kLeafPages);
    EXPECT_TRUE(cache.Lookup({2, 0})) << "data blocks leave room for what many reads want";
    EXPECT_LE(Mapped() - mapped_before, kLimit + kLimit / 16 + 2 * BlockHeap::kChunkBytes);
    EXPECT_EQ(budget.used(MemoryPart::kPins), 0u);
  }
  // Blocks are kept again, but for the first few.
  for (uint64_t i = 0; i < 100; ++i) ASSERT_NO_FATAL_FAILURE(insert_and_check(2 * kKeys + i));
  EXPECT_TRUE(cache.Lookup({1, 2 * kKeys + 99}));
  EXPECT_LE(Mapped() - mapped_before, kLimit + kLimit / 16 + 2 * BlockHeap::kChunkBytes);
}

TEST_F(CacheMemoryTest, AFileThatIsErasedBesideAReaderIsFreedWithTheNextShrink) {
  Fill();
  {
    const EpochDomain::Guard guard(&epochs);
    cache.NoteGone(1);
    cache.EraseGone();
  }
  EXPECT_GT(Mapped() - mapped_before, kLimit / 2);
  cache.Shrink();
  EXPECT_LE(Mapped() - mapped_before, 2 * BlockHeap::kChunkBytes);
}

// The heap is the process's: what it holds must not change what a simulation does.
TEST_F(CacheMemoryTest, BlocksAreMovedInASimulationOnlyWhereThatIsAskedFor) {
  for (const bool drains : {false, true}) {
    const size_t before = Mapped();
    SimulatedWorld world(1);
    MemoryBudget own(kLimit);
    EpochDomain domain;
    BlockCache simulated(&own, kBlockSize, &domain, drains);
    for (uint64_t i = 0; i < kKeys; ++i)
      (void)simulated.Insert({1, i}, BlockBuffer(kBlockSize), MemoryPart::kDataBlocks);
    const size_t filled = Mapped();
    own.Charge(MemoryPart::kMemtables, kLimit / 4);
    simulated.Shrink();
    EXPECT_EQ(Mapped() < filled - kLimit / 8, drains) << filled - before;
  }
}

TEST_F(CacheMemoryTest, AHintFindsItsBlockWhereItWasMovedTo) {
  Fill();
  std::vector<HintWord> hints(kKeys);
  {
    const EpochDomain::Guard guard(&epochs);
    for (uint64_t i = 0; i < kKeys; ++i) (void)cache.Peek({1, i}, &hints[i]);
  }
  SetOthers(size_t{16} << 20);
  const EpochDomain::Guard guard(&epochs);
  for (uint64_t i = 0; i < kKeys; ++i) {
    if (const CachePeek peek = cache.Peek({1, i}, &hints[i])) {
      ASSERT_EQ(peek.bytes, BytesOfBlock(i));
    }
  }
}

TEST_F(CacheMemoryTest, ReadersMeetRightBytesWhileBlocksAreMoved) {
  Fill();
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0};
  const auto is_right = [](uint64_t i, std::string_view bytes) {
    const uint64_t h = Mix64(i + 1);
    return bytes.size() == kBlockSize + h % 200 && std::memcmp(bytes.data(), &h, sizeof h) == 0 &&
           bytes.back() == static_cast<char>(h);
  };
  {
    std::vector<Thread> readers;
    for (uint64_t seed = 0; seed < 2; ++seed) {
      readers.emplace_back([&, seed] {
        Random random(seed);
        while (!stop.load(std::memory_order_relaxed)) {
          const uint64_t i = random.Uniform(kKeys);
          {
            const EpochDomain::Guard guard(&epochs);
            if (const CachePeek peek = cache.Peek({1, i})) {
              wrong += is_right(i, peek.bytes) ? 0 : 1;
              if (const CachePin pin = cache.Pin(peek)) wrong += is_right(i, pin.bytes()) ? 0 : 1;
              continue;
            }
          }
          if (random.OneIn(4)) wrong += is_right(i, Insert(i).bytes()) ? 0 : 1;
        }
      });
    }
    for (int round = 0; round < 30; ++round) SetOthers((round % 2 == 0 ? size_t{24} : size_t{2}) << 20);
    stop = true;
  }
  EXPECT_EQ(wrong, 0u);
  SetOthers(size_t{32} << 20);
  SetOthers(size_t{32} << 20);  // once more: what the readers looked at last is free by now
  EXPECT_LE(Mapped() - mapped_before, kLimit - others + kLimit / 32 + 2 * BlockHeap::kChunkBytes);
}

}  // namespace
}  // namespace sepal

#endif
