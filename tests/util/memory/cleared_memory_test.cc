#include "util/memory/cleared_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "tests/util/thread/held_executor.h"

namespace sepal {
namespace {

constexpr size_t kBytes = size_t{64} << 10;

class ClearedMemoryTest : public testing::Test {
 protected:
  ClearedMemoryTest() { memory_.PrepareBy(&tasks_); }
  ~ClearedMemoryTest() override {
    executor_.RunAll();
    tasks_.Close();
    memory_.Clear();
    EXPECT_EQ(Charged(), 0u);
  }
  size_t Charged() const { return budget_.used(MemoryPart::kMemtables); }
  static bool IsZero(const MappedMemory& memory) {
    const std::string_view bytes(memory.data(), memory.size());
    return bytes.size() == kBytes && std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
  }
  MappedMemory TakeAndUse() {
    MappedMemory memory = memory_.Take();
    EXPECT_TRUE(IsZero(memory));
    std::memset(memory.data(), 'x', memory.size());
    return memory;
  }

  MemoryBudget budget_{1 << 20};
  HeldExecutor executor_;
  TaskGroup tasks_{&executor_, Executor::Priority::kFlush};
  ClearedMemory memory_{kBytes, &budget_, MemoryPart::kMemtables};
};

TEST_F(ClearedMemoryTest, OnePieceIsMadeReadyWhenItIsAskedFor) {
  memory_.Prepare();
  memory_.Prepare();
  EXPECT_EQ(executor_.held(), 1u);
  EXPECT_EQ(Charged(), 0u);
  executor_.RunAll();
  EXPECT_EQ(Charged(), kBytes);
  memory_.Prepare();
  EXPECT_EQ(executor_.held(), 0u) << "one is ready";
  TakeAndUse();
  EXPECT_EQ(Charged(), 0u);
  memory_.Prepare();
  EXPECT_EQ(executor_.held(), 1u);
}

TEST_F(ClearedMemoryTest, WhatWasUsedComesAgainCleared) {
  MappedMemory first = TakeAndUse();
  MappedMemory second = TakeAndUse();
  char* const bytes = first.data();
  memory_.Give(std::move(first));
  memory_.Give(std::move(second));
  EXPECT_EQ(Charged(), kBytes) << "one is kept";
  MappedMemory third = TakeAndUse();
  EXPECT_NE(third.data(), bytes) << "nothing is cleared for the one who takes";
  memory_.Prepare();
  executor_.RunAll();
  EXPECT_EQ(Charged(), kBytes);
  EXPECT_EQ(TakeAndUse().data(), bytes);
}

TEST_F(ClearedMemoryTest, ATaskThatComesLateHarmsNothing) {
  memory_.Prepare();
  MappedMemory taken = TakeAndUse();
  memory_.Give(std::move(taken));
  memory_.Clear();
  executor_.RunAll();
  EXPECT_EQ(Charged(), kBytes);
}

TEST(ClearedMemoryAloneTest, WithoutTasksNothingIsKept) {
  MemoryBudget budget(1 << 20);
  ClearedMemory memory(kBytes, &budget, MemoryPart::kMemtables);
  memory.Prepare();
  memory.Give(memory.Take());
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), 0u);
}

}  // namespace
}  // namespace sepal
