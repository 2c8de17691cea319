#include "util/memory/huge_page_collapser.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/util/memory/dear_huge_pages.h"
#include "tests/util/thread/held_executor.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

constexpr size_t kPieceOfChunk = size_t{16} << 10;

class ChunkCollapserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    while (heap_.MappedBytes() < 5 * BlockHeap::kChunkBytes) {
      pieces_.push_back(heap_.Allocate(kPieceOfChunk, HugePages::Wish::kCheap));
    }
    ASSERT_TRUE(heap_.HasSmallChunks());
  }
  void TearDown() override {
    for (char* const piece : pieces_) heap_.Free(piece, kPieceOfChunk);
  }

  const DearHugePages dear_;
  BlockHeap heap_;
  std::vector<char*> pieces_;
  HeldExecutor executor_;
  std::shared_ptr<TaskGroup> tasks_ = std::make_shared<TaskGroup>(&executor_, Executor::Priority::kFlush);
};

TEST_F(ChunkCollapserTest, GoesOnChunkByChunkUntilNoneIsSmall) {
  ChunkCollapser collapser(&heap_, tasks_);
  collapser.Ask();
  collapser.Ask();
  int steps = 0;
  for (; executor_.held() > 0; ++steps) {
    ASSERT_EQ(executor_.held(), 1u);
    executor_.RunOne();
  }
  EXPECT_GE(steps, 4);
  EXPECT_LE(steps, 5);
  EXPECT_FALSE(heap_.HasSmallChunks());
  collapser.Ask();
  EXPECT_EQ(executor_.held(), 1u) << "may be asked again";
  executor_.RunAll();
}

TEST_F(ChunkCollapserTest, EndsWithTheChunkInHandWhereTheGroupIsClosed) {
  ChunkCollapser collapser(&heap_, tasks_);
  collapser.Ask();
  {
    // Waits for the task, which is held.
    const Thread closing([this] { tasks_->Close(); });
    while (tasks_->Run([] {})) Thread::SleepMicros(1'000);
    executor_.RunAll();
  }
  EXPECT_TRUE(heap_.HasSmallChunks()) << "one was collapsed, of three at least";
  collapser.Ask();
  EXPECT_EQ(executor_.held(), 0u);
}

}  // namespace
}  // namespace sepal
