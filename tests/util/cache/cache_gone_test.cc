// Blocks of files that are gone: NoteGone and EraseGone.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "util/base/random.h"
#include "util/cache/block_cache.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

constexpr size_t kGoneBlockBytes = 1000;

std::string BytesOfGone(CacheKey key) {
  return std::string(kGoneBlockBytes, static_cast<char>(key.file * 31 + key.offset));
}

class CacheGoneTest : public testing::Test {
 protected:
  // Memory for about `blocks` blocks.
  void MakeCache(size_t blocks) {
    budget = std::make_unique<MemoryBudget>(blocks * (kGoneBlockBytes + 300));
    cache = std::make_unique<BlockCache>(budget.get(), kGoneBlockBytes, &epochs);
  }
  CachePin Insert(CacheKey key, MemoryPart part = MemoryPart::kDataBlocks) {
    BlockBuffer buffer(kGoneBlockBytes);
    std::memcpy(buffer.data(), BytesOfGone(key).data(), kGoneBlockBytes);
    return cache->Insert(key, std::move(buffer), part);
  }
  bool Has(CacheKey key) {
    const CachePin pin = cache->Lookup(key);
    if (pin) {
      EXPECT_EQ(pin.bytes(), BytesOfGone(key));
    }
    return static_cast<bool>(pin);
  }
  size_t Held() const {
    return budget->used(MemoryPart::kDataBlocks) + budget->used(MemoryPart::kLeafPages) +
           budget->used(MemoryPart::kGuards);
  }
  void Erase(uint64_t file) {
    cache->NoteGone(file);
    cache->EraseGone();
  }

  EpochDomain epochs;
  std::unique_ptr<MemoryBudget> budget;
  std::unique_ptr<BlockCache> cache;
};

TEST_F(CacheGoneTest, ErasingDropsTheUnpinnedBlocksOfTheGoneFileAlone) {
  MakeCache(1000);
  CachePin pinned = Insert({2, 1000});
  for (uint64_t i = 0; i < 300; ++i) Insert({1 + i % 3, i});
  Erase(2);
  for (uint64_t i = 0; i < 300; ++i) EXPECT_EQ(Has({1 + i % 3, i}), i % 3 != 1);
  EXPECT_EQ(pinned.bytes(), BytesOfGone({2, 1000}));
  pinned.Reset();
  Erase(2);
  EXPECT_FALSE(Has({2, 1000}));
}

TEST_F(CacheGoneTest, FilesThatAreGoneAreErasedTogetherAndThenForgotten) {
  MakeCache(1000);
  for (uint64_t i = 0; i < 300; ++i) Insert({1 + i % 5, i}, i % 2 == 0 ? MemoryPart::kDataBlocks : MemoryPart::kGuards);
  const size_t before = Held();
  for (const uint64_t file : {1, 3, 4, 7}) cache->NoteGone(file);
  EXPECT_EQ(Held(), before);
  cache->EraseGone();
  EXPECT_LT(Held(), before / 2);
  for (uint64_t i = 0; i < 300; ++i) EXPECT_EQ(Has({1 + i % 5, i}), i % 5 == 1 || i % 5 == 4);
  // A file that is opened again.
  Insert({1, 0});
  cache->EraseGone();
  cache->Shrink();
  EXPECT_TRUE(Has({1, 0}));
  for (const uint64_t file : {1, 2, 5}) cache->NoteGone(file);
  cache->EraseGone();
  EXPECT_EQ(Held(), 0u);
}

TEST_F(CacheGoneTest, WhereNobodyErasesGoneFilesOneNoteInSoManyDoes) {
  MakeCache(1000);
  for (uint64_t i = 0; i < 100; ++i) Insert({1, i});
  uint64_t notes = 0;
  for (; Held() > 0 && notes < 1000; ++notes) cache->NoteGone(1 + notes);
  EXPECT_GE(notes, 2 * 1000 / 64u);
  EXPECT_LE(notes, 4 * 1100 / 64u) << "more notes than groups of frames";
}

TEST_F(CacheGoneTest, ShrinkTakesGoneFilesBeforeItEvictsOthers) {
  MakeCache(100);
  for (uint64_t i = 0; i < 40; ++i) {
    Insert({1, i}, MemoryPart::kGuards);
    Insert({2, i});
    EXPECT_TRUE(Has({1, i}));
  }
  cache->NoteGone(1);
  budget->Charge(MemoryPart::kMemtables, budget->limit_bytes() / 2);
  cache->Shrink();
  for (uint64_t i = 0; i < 40; ++i) {
    EXPECT_FALSE(Has({1, i})) << i;
    EXPECT_TRUE(Has({2, i})) << i;
  }
  budget->Release(MemoryPart::kMemtables, budget->limit_bytes() / 2);
}

TEST_F(CacheGoneTest, APinnedBlockOfAGoneFileGoesFirstOnceItIsUnpinned) {
  MakeCache(100);
  CachePin pinned = Insert({1, 0}, MemoryPart::kGuards);
  EXPECT_TRUE(Has({1, 0}));
  for (uint64_t i = 0; i < 40; ++i) Insert({2, i});
  for (uint64_t i = 0; i < 40; ++i) EXPECT_TRUE(Has({2, i}));
  Erase(1);
  EXPECT_EQ(pinned.bytes(), BytesOfGone({1, 0}));
  pinned.Reset();
  const size_t others = budget->limit_bytes() - Held() + 1;
  budget->Charge(MemoryPart::kMemtables, others);
  cache->Shrink();
  EXPECT_EQ(cache->Sight({1, 0}).frame.word, 0u);
  for (uint64_t i = 0; i < 40; ++i) EXPECT_TRUE(Has({2, i})) << i;
  budget->Release(MemoryPart::kMemtables, others);
}

// Each thread has files of its own, one after another, and notes each; whoever erases does it for all.
TEST_F(CacheGoneTest, ThreadsThatNoteAndEraseBesideReadersLeaveWhatIsNotGone) {
  MakeCache(2000);
  for (uint64_t i = 0; i < 100; ++i) Insert({1, i});
  const auto work = [&](uint64_t first_file) {
    Random random(first_file);
    for (uint64_t file = first_file; file < first_file + 300; ++file) {
      CachePin held;
      for (uint64_t i = 0; i < 10; ++i) {
        CachePin pin = Insert({file, i});
        ASSERT_EQ(pin.bytes(), BytesOfGone({file, i}));
        if (random.OneIn(10)) held = std::move(pin);
        const CacheKey other = {1, random.Uniform(100)};
        const EpochDomain::Guard guard(&epochs);
        const CachePeek peek = cache->Peek(other);
        ASSERT_TRUE(peek);
        ASSERT_EQ(peek.bytes, BytesOfGone(other));
      }
      held.Reset();
      cache->NoteGone(file);
      if (random.OneIn(3)) cache->EraseGone();
    }
  };
  {
    std::vector<Thread> threads;
    for (const uint64_t first : {1000, 2000, 3000}) threads.emplace_back([&work, first] { work(first); });
  }
  cache->EraseGone();
  for (uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(Has({1, i})) << i;
  Erase(1);
  EXPECT_EQ(budget->total(), 0u);
}

}  // namespace
}  // namespace sepal
