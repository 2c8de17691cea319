#include "util/memory/window_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

namespace sepal {
namespace {

constexpr size_t kKiB = 1024;
constexpr size_t kMost = 256 * kKiB;

class WindowPoolTest : public ::testing::Test {
 protected:
  static size_t Take(WindowPool::Window* window, size_t wanted, size_t least = 4 * kKiB) {
    window->Hold();
    const size_t taken = window->Take(least, wanted);
    if (taken > 0) std::memset(window->data(), 1, taken);
    window->LetGo();
    return taken;
  }
  size_t charged() const { return budget.used(MemoryPart::kReadAhead); }

  MemoryBudget budget{size_t{8} << 20};
  WindowPool pool{kMost, &budget};
};

TEST_F(WindowPoolTest, OneWindowMayHaveAll) {
  WindowPool::Window window(&pool);
  EXPECT_EQ(charged(), 0u);
  EXPECT_EQ(Take(&window, 100 * kKiB), 100 * kKiB);
  EXPECT_EQ(charged(), 100 * kKiB);
  EXPECT_EQ(Take(&window, 1000 * kKiB), kMost);
  EXPECT_EQ(charged(), kMost);
  EXPECT_EQ(Take(&window, 10 * kKiB), 10 * kKiB) << "of what there is";
  window.Drop();
  EXPECT_EQ(charged(), 0u);
}

TEST_F(WindowPoolTest, ManyWindowsStayWithinTheBound) {
  std::vector<std::unique_ptr<WindowPool::Window>> windows;
  for (int i = 0; i < 100; ++i) {
    windows.push_back(std::make_unique<WindowPool::Window>(&pool));
    EXPECT_GE(Take(windows.back().get(), 256 * kKiB), WindowPool::kLeastBytes);
    EXPECT_LE(charged(), kMost);
    EXPECT_EQ(charged(), pool.used_bytes());
  }
  windows.clear();
  EXPECT_EQ(charged(), 0u);
}

TEST_F(WindowPoolTest, WindowsOfAnySizeBeginAtAPageAndAreChargedWithWhatTheyTake) {
  for (const size_t kib : {4, 8, 16, 24, 28, 32, 64, 100}) {
    WindowPool::Window window(&pool);
    ASSERT_EQ(Take(&window, kib * kKiB), kib * kKiB);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(window.data()) % 4096, 0u) << kib;
    EXPECT_EQ(charged(), WindowPool::Memory::ChargeFor(kib * kKiB));
    EXPECT_GE(charged(), kib * kKiB);
  }
  EXPECT_EQ(charged(), 0u);
}

TEST_F(WindowPoolTest, TakesFromTheOneThatWasUnusedForLongest) {
  WindowPool::Window first(&pool);
  WindowPool::Window second(&pool);
  EXPECT_EQ(Take(&first, 128 * kKiB), 128 * kKiB);
  EXPECT_EQ(Take(&second, 128 * kKiB), 128 * kKiB);
  EXPECT_EQ(Take(&first, 128 * kKiB), 128 * kKiB);
  WindowPool::Window third(&pool);
  EXPECT_EQ(Take(&third, 64 * kKiB), 64 * kKiB);
  EXPECT_NE(first.data(), nullptr);
  EXPECT_EQ(second.data(), nullptr);
}

TEST_F(WindowPoolTest, WhatIsUsedIsNotTakenBack) {
  WindowPool::Window used(&pool);
  WindowPool::Window idle(&pool);
  EXPECT_GT(Take(&used, 64 * kKiB), 0u);
  EXPECT_GT(Take(&idle, 64 * kKiB), 0u);
  used.Hold();
  pool.TakeBack();
  EXPECT_NE(used.data(), nullptr);
  EXPECT_EQ(idle.data(), nullptr);
  EXPECT_EQ(charged(), 64 * kKiB);
  used.LetGo();
  pool.TakeBack();
  EXPECT_EQ(charged(), 0u);
  EXPECT_EQ(Take(&used, 64 * kKiB), 64 * kKiB);
}

TEST_F(WindowPoolTest, AUnitThatIsTooLargeGetsNone) {
  WindowPool::Window window(&pool);
  EXPECT_EQ(Take(&window, 300 * kKiB, 300 * kKiB), 0u);
  EXPECT_EQ(charged(), 0u);
  EXPECT_EQ(Take(&window, 100 * kKiB, 100 * kKiB), 100 * kKiB);
}

}  // namespace
}  // namespace sepal
