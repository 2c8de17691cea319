// A cache that many threads use at once.
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <utility>
#include <vector>

#include "tests/util/cache/cache_fixture.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

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
      if (!pin) pin = cache_->Insert(key, CacheBuffer(CachedBytesOf(key)), PartOf(key));
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
    if (first) bad_ += first.bytes == CachedBytesOf(key) ? 0 : 1;
    if (second) bad_ += second.bytes == CachedBytesOf(other) ? 0 : 1;
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
  void Check(const CacheKey& key, const CachePin& pin) { bad_ += pin.bytes() == CachedBytesOf(key) ? 0 : 1; }
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
