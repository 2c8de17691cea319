#include "util/memory/block_heap.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/util/memory/residency.h"
#include "util/base/random.h"
#include "util/cache/block_cache.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

struct Piece {
  char* data;
  size_t size;
  uint8_t mark;
};

// Pieces of one heap, each filled with a mark of its own while it is held.
class Pieces {
 public:
  Pieces(BlockHeap* heap, uint64_t seed) : heap_(heap), random_(seed) {}
  ~Pieces() {
    while (!held_.empty()) Drop(held_.size() - 1);
  }

  void Take(size_t size) {
    const Piece piece{heap_->Allocate(size), size, static_cast<uint8_t>(random_.Uniform(256))};
    misaligned_ += reinterpret_cast<uintptr_t>(piece.data) % BlockHeap::kAlignment == 0 ? 0 : 1;
    std::memset(piece.data, piece.mark, size);
    held_.push_back(piece);
  }
  void Drop(size_t index) {
    std::swap(held_[index], held_.back());
    const Piece piece = held_.back();
    held_.pop_back();
    overwritten_ +=
        std::all_of(piece.data, piece.data + piece.size, [&](char c) { return static_cast<uint8_t>(c) == piece.mark; })
            ? 0
            : 1;
    heap_->Free(piece.data, piece.size);
  }
  void DropLast() { Drop(held_.size() - 1); }
  void DropAny() {
    if (!held_.empty()) Drop(random_.Uniform(held_.size()));
  }
  Random& random() { return random_; }
  // Moves what lies in one of `chunks`. Whether the heap had room elsewhere for all of it.
  bool MoveOutOf(const BlockHeap::ChunkSet& chunks, bool from_drained = false) {
    for (Piece& piece : held_) {
      if (!chunks.Holds(piece.data)) continue;
      char* const copy = heap_->AllocateElsewhere(piece.data, piece.size, from_drained);
      if (copy == piece.data) continue;
      if (copy == nullptr || (!from_drained && chunks.Holds(copy))) return false;
      std::memcpy(copy, piece.data, piece.size);
      heap_->Free(std::exchange(piece.data, copy), piece.size);
    }
    return true;
  }
  size_t CountIn(const BlockHeap::ChunkSet& chunks) const {
    return static_cast<size_t>(
        std::count_if(held_.begin(), held_.end(), [&](const Piece& piece) { return chunks.Holds(piece.data); }));
  }
  size_t bytes() const {
    size_t sum = 0;
    for (const Piece& piece : held_) sum += BlockHeap::SizeFor(piece.size);
    return sum;
  }
  // Chunks whose first page, which the heap writes, is in memory, as the system says.
  size_t ChunksOfSystem(const std::set<uintptr_t>& chunks) const {
    size_t mapped = 0;
    for (const uintptr_t chunk : chunks) {
      mapped += IsResident(reinterpret_cast<void*>(chunk)) ? 1 : 0;
    }
    return mapped;
  }
  std::set<uintptr_t> Chunks() const {
    std::set<uintptr_t> chunks;
    for (const Piece& piece : held_) {
      chunks.insert(reinterpret_cast<uintptr_t>(piece.data) / BlockHeap::kChunkBytes * BlockHeap::kChunkBytes);
    }
    return chunks;
  }
  size_t count() const { return held_.size(); }
  int misaligned() const { return misaligned_; }
  int overwritten() const { return overwritten_; }

 private:
  BlockHeap* const heap_;
  Random random_;
  std::vector<Piece> held_;
  int misaligned_ = 0;
  int overwritten_ = 0;
};

size_t AnySize(Random& random) { return 1 + random.Uniform(BlockHeap::kLargestPiece >> random.Uniform(16)); }

TEST(BlockHeapTest, APieceTakesWhatWasAskedForAndLittleMore) {
  for (size_t bytes = 1; bytes <= BlockHeap::kLargestPiece; ++bytes) {
    const size_t size = BlockHeap::SizeFor(bytes);
    ASSERT_GE(size, bytes);
    ASSERT_EQ(size % BlockHeap::kAlignment, 0u);
    if (bytes >= 512 && bytes <= 4096) {
      ASSERT_LE(size, bytes + bytes / 24 + 64) << bytes;
    }
    if (bytes > 4096) {
      ASSERT_LE(size, bytes + bytes / 3) << bytes;
    }
    ASSERT_LE(BlockHeap::SizeFor(bytes), BlockHeap::SizeFor(std::min(bytes + 1, BlockHeap::kLargestPiece)));
  }
}

TEST(BlockHeapTest, PiecesAreAlignedAndDoNotOverlap) {
  BlockHeap heap;
  Pieces pieces(&heap, 1);
  for (int i = 0; i < 30'000; ++i) {
    pieces.random().Uniform(1000) < 520 ? pieces.Take(AnySize(pieces.random())) : pieces.DropAny();
  }
  while (pieces.count() > 0) pieces.DropAny();
  EXPECT_EQ(pieces.misaligned(), 0);
  EXPECT_EQ(pieces.overwritten(), 0);
}

TEST(BlockHeapTest, AWholeSpanOfEverySizeIsUsedBeforeMoreIsMapped) {
  BlockHeap heap;
  for (const size_t size : {size_t{64}, size_t{512}, size_t{4160}, BlockHeap::kLargestPiece}) {
    Pieces pieces(&heap, size);
    const size_t fits = (size_t{2} << 20) * 15 / 16 / BlockHeap::SizeFor(size);
    for (size_t i = 0; i < fits - fits / 8; ++i) pieces.Take(size);
    EXPECT_LE(heap.MappedBytes(), size_t{2} << 20) << size;
    while (pieces.count() > 0) pieces.DropAny();
    EXPECT_EQ(pieces.overwritten(), 0);
  }
}

TEST(BlockHeapTest, WhatIsFreedIsUsedAgainForPiecesOfAnotherSize) {
  BlockHeap heap;
  for (const size_t size : {700, 4160, 9000, 600, 30000, 5000}) {
    Pieces pieces(&heap, size);
    for (size_t bytes = 0; bytes < size_t{8} << 20; bytes += BlockHeap::SizeFor(size)) pieces.Take(size);
    EXPECT_LE(heap.MappedBytes(), size_t{11} << 20) << size;
  }
}

TEST(BlockHeapTest, ChunksGoBackToTheSystemWhenTheyAreEmpty) {
  BlockHeap heap;
  Pieces pieces(&heap, 1);
  for (int i = 0; i < 8000; ++i) pieces.Take(4160);
  EXPECT_GE(heap.MappedBytes(), size_t{8000} * 4160);
  while (pieces.count() > 0) pieces.DropAny();
  EXPECT_LE(heap.MappedBytes(), size_t{4} << 20);
}

constexpr size_t kPiece = 4160;

// 32 MiB of pieces, of which one in `one_in` is freed, wherever it lies.
void FillWithHoles(Pieces* pieces, uint32_t one_in) {
  while (pieces->bytes() < size_t{32} << 20) pieces->Take(kPiece);
  for (size_t left = pieces->count() / one_in; left > 0; --left) pieces->DropAny();
}

TEST(BlockHeapTest, FreeBytesAreWhatIsMappedAndInNoPiece) {
  BlockHeap heap;
  EXPECT_EQ(heap.FreeBytes(), 0u);
  Pieces pieces(&heap, 1);
  FillWithHoles(&pieces, 3);
  EXPECT_EQ(heap.FreeBytes(), heap.MappedBytes() - pieces.bytes());
}

TEST(BlockHeapTest, ChunksThatWereDrainedGoBackToTheSystem) {
  BlockHeap heap;
  Pieces pieces(&heap, 1);
  FillWithHoles(&pieces, 4);
  const std::set<uintptr_t> chunks = pieces.Chunks();
  // Free pieces lie everywhere, and nothing went back.
  EXPECT_GE(heap.FreeBytes(), size_t{8} << 20);
  EXPECT_EQ(pieces.ChunksOfSystem(chunks), chunks.size());
  const BlockHeap::ChunkSet drained = heap.Drain(size_t{1} << 20);
  EXPECT_GT(pieces.CountIn(drained), 0u);
  ASSERT_TRUE(pieces.MoveOutOf(drained));
  EXPECT_EQ(pieces.CountIn(drained), 0u);
  EXPECT_LT(heap.FreeBytes(), (size_t{1} << 20) + BlockHeap::kChunkBytes);
  EXPECT_EQ(heap.FreeBytes(), heap.MappedBytes() - pieces.bytes());
  EXPECT_LE(pieces.ChunksOfSystem(chunks), chunks.size() - 3);
  while (pieces.count() > 0) pieces.DropAny();
  EXPECT_EQ(pieces.overwritten(), 0);
}

TEST(BlockHeapTest, NothingDrainsWhereLessThanAChunkWouldBeGained) {
  BlockHeap heap;
  Pieces pieces(&heap, 1);
  FillWithHoles(&pieces, 4);
  EXPECT_TRUE(heap.Drain(heap.FreeBytes() - BlockHeap::kChunkBytes + 1).empty());
  EXPECT_FALSE(heap.Drain(heap.FreeBytes() - BlockHeap::kChunkBytes).empty());
}

TEST(BlockHeapTest, ADrainingChunkIsUsedAgainBeforeOneIsMapped) {
  BlockHeap heap;
  Pieces pieces(&heap, 1);
  FillWithHoles(&pieces, 4);
  const size_t mapped = heap.MappedBytes();
  const BlockHeap::ChunkSet drained = heap.Drain(0);
  const size_t in_drained = pieces.CountIn(drained);
  // Other sizes make spans be cut there, too.
  for (int i = 0; heap.FreeBytes() > size_t{1} << 20; ++i) pieces.Take(kPiece - (i % 64 == 0 ? 1500 : 0));
  EXPECT_LE(heap.MappedBytes(), mapped + BlockHeap::kChunkBytes);
  EXPECT_GT(pieces.CountIn(drained), in_drained);
  while (pieces.count() > 0) pieces.DropAny();
  EXPECT_EQ(pieces.overwritten(), 0);
  EXPECT_EQ(pieces.misaligned(), 0);
}

// Takes pieces of `size` until no chunk has an uncut span, nor a free piece of that size, but for one that is empty.
void FillWhatIsUncut(const BlockHeap& heap, Pieces* pieces, size_t size) {
  const size_t mapped = heap.MappedBytes();
  while (heap.MappedBytes() == mapped) pieces->Take(size);
  while (heap.MappedBytes() == mapped + BlockHeap::kChunkBytes) pieces->Take(size);
  pieces->DropLast();
}

TEST(BlockHeapTest, ChunksWithoutRoomForAPieceGoOnDraining) {
  constexpr size_t kOther = 16000;
  BlockHeap heap;
  Pieces others(&heap, 2);
  Pieces pieces(&heap, 1);
  FillWithHoles(&pieces, 4);
  FillWhatIsUncut(heap, &others, kOther);
  const BlockHeap::ChunkSet drained = heap.Drain(size_t{5} << 20);
  ASSERT_GT(pieces.CountIn(drained), 500u);
  const size_t mapped = heap.MappedBytes();
  while (heap.MappedBytes() == mapped) others.Take(kOther);
  ASSERT_GT(pieces.CountIn(drained), 500u);
  EXPECT_TRUE(pieces.MoveOutOf(drained));
  EXPECT_EQ(pieces.CountIn(drained), 0u);
}

TEST(BlockHeapTest, APieceStaysWhoseChunkDoesNotDrainAnyMore) {
  BlockHeap heap;
  Pieces pieces(&heap, 1);
  FillWithHoles(&pieces, 4);
  const BlockHeap::ChunkSet drained = heap.Drain(size_t{1} << 20);
  const size_t in_drained = pieces.CountIn(drained);
  ASSERT_GT(in_drained, 0u);
  ASSERT_TRUE(heap.Drain(heap.FreeBytes()).empty());
  EXPECT_TRUE(pieces.MoveOutOf(drained));
  EXPECT_EQ(pieces.CountIn(drained), in_drained);
}

TEST(BlockHeapTest, PiecesOfOtherSizesTakeOneDrainedChunkAndNoMore) {
  BlockHeap heap;
  Pieces others(&heap, 2);
  Pieces pieces(&heap, 1);
  for (size_t size = 8000; size < 16000; size += 1000) others.Take(size);
  FillWithHoles(&pieces, 2);
  const size_t mapped = heap.MappedBytes();
  const BlockHeap::ChunkSet drained = heap.Drain(size_t{3} << 20);
  ASSERT_TRUE(pieces.MoveOutOf(drained));
  EXPECT_TRUE(others.MoveOutOf(drained, /*from_drained=*/true));
  EXPECT_LE(heap.MappedBytes(), mapped - 5 * BlockHeap::kChunkBytes);
  EXPECT_LE(heap.FreeBytes(), (size_t{3} << 20) + 2 * BlockHeap::kChunkBytes);
}

TEST(BlockHeapTest, PiecesComeAndGoWhileChunksDrain) {
  BlockHeap heap;
  Pieces pieces(&heap, 7);
  for (int round = 0; round < 60; ++round) {
    for (int i = 0; i < 600; ++i) {
      pieces.random().Uniform(1000) < (round < 40 ? 560u : 400u) ? pieces.Take(AnySize(pieces.random()))
                                                                 : pieces.DropAny();
    }
    const BlockHeap::ChunkSet drained = heap.Drain(pieces.random().Uniform(size_t{2} << 20));
    if (pieces.random().OneIn(2)) (void)pieces.MoveOutOf(drained);
    ASSERT_EQ(heap.FreeBytes(), heap.MappedBytes() - pieces.bytes());
  }
  while (pieces.count() > 0) pieces.DropAny();
  EXPECT_LE(heap.MappedBytes(), BlockHeap::kChunkBytes);
  EXPECT_EQ(pieces.overwritten(), 0);
}

TEST(BlockHeapTest, AnotherThreadMayFree) {
  BlockHeap heap;
  std::vector<std::unique_ptr<Pieces>> of_threads;
  for (uint64_t seed = 0; seed < 4; ++seed) of_threads.push_back(std::make_unique<Pieces>(&heap, seed));
  {
    std::vector<Thread> threads;
    for (auto& pieces : of_threads) {
      threads.emplace_back([&pieces] {
        for (int i = 0; i < 5000; ++i) {
          pieces->random().OneIn(2) ? pieces->Take(AnySize(pieces->random())) : pieces->DropAny();
        }
      });
    }
  }
  for (auto& pieces : of_threads) {
    while (pieces->count() > 0) pieces->DropAny();
    EXPECT_EQ(pieces->overwritten(), 0);
    EXPECT_EQ(pieces->misaligned(), 0);
  }
}

TEST(BlockHeapTest, PiecesComeAndGoWhileChunksDrainBesideThem) {
  BlockHeap heap;
  std::vector<std::unique_ptr<Pieces>> of_threads;
  for (uint64_t seed = 20; seed < 22; ++seed) of_threads.push_back(std::make_unique<Pieces>(&heap, seed));
  std::atomic<int> running{2};
  {
    std::vector<Thread> threads;
    for (auto& pieces : of_threads) {
      threads.emplace_back([&] {
        for (int i = 0; i < 6000; ++i) {
          const bool grows = i / 1000 % 2 == 0;
          pieces->random().Uniform(10) < (grows ? 8u : 2u) ? pieces->Take(AnySize(pieces->random()))
                                                           : pieces->DropAny();
        }
        running.fetch_sub(1);
      });
    }
    threads.emplace_back([&] {
      while (running.load() > 0) (void)heap.Drain(0);
    });
  }
  for (auto& pieces : of_threads) {
    while (pieces->count() > 0) pieces->DropAny();
    EXPECT_EQ(pieces->overwritten(), 0);
  }
  EXPECT_LE(heap.MappedBytes(), BlockHeap::kChunkBytes);
}

TEST(BlockHeapDeathTest, FreeingAPieceTwiceStopsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  BlockHeap heap;
  char* const piece = heap.Allocate(1000);
  heap.Free(piece, 1000);
  EXPECT_DEATH(heap.Free(piece, 1000), "");
}

TEST(BlockHeapTest, BuffersOfEverySizeChargeWhatTheyTake) {
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{4000}, BlockHeap::kLargestPiece - 64, BlockHeap::kLargestPiece, size_t{1} << 20}) {
    BlockBuffer buffer(size);
    std::memset(buffer.data(), 0x5a, size);
    EXPECT_GE(BlockBuffer::ChargeFor(size), size + BlockBuffer::kPadding);
    for (size_t i = 0; i < BlockBuffer::kPadding; ++i) ASSERT_EQ(buffer.data()[size + i], 0);
  }
}

}  // namespace
}  // namespace sepal
