#include "util/memory/huge_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "tests/util/memory/residency.h"
#include "util/base/random.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

constexpr size_t kBytes = HugePages::kPageBytes;

bool IsZero(const char* page) {
  return std::all_of(page, page + kBytes, [](char c) { return c == 0; });
}

TEST(HugePagesTest, PagesAreZeroAlignedAndApart) {
  HugePages pages;
  std::set<char*> taken;
  for (int i = 0; i < 2 * HugePages::kPagesOfRegion + 1; ++i) {
    char* const page = pages.Take();
    ASSERT_NE(page, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(page) % kBytes, 0u);
    EXPECT_TRUE(IsZero(page));
    page[0] = page[kBytes - 1] = 'x';
    EXPECT_TRUE(taken.insert(page).second);
  }
  EXPECT_EQ(pages.regions(), 3u);
  for (char* const page : taken) pages.Give(page);
}

TEST(HugePagesTest, WhatIsGivenBackLeavesMemoryAndComesBackZero) {
  HugePages pages;
  char* const kept = pages.Take();
  char* const page = pages.Take();
  std::memset(page, 1, kBytes);
  EXPECT_TRUE(IsResident(page));
  pages.Give(page);
  EXPECT_FALSE(IsResident(page));
  EXPECT_TRUE(IsMapped(page));
  EXPECT_EQ(pages.Take(), page);
  EXPECT_TRUE(IsZero(page));
  pages.Give(page);
  pages.Give(kept);
}

TEST(HugePagesTest, ARegionThatIsFreeIsUnmapped) {
  HugePages pages;
  std::vector<char*> taken;
  for (int i = 0; i < 2 * HugePages::kPagesOfRegion; ++i) taken.push_back(pages.Take());
  std::sort(taken.begin(), taken.end());
  const auto middle = taken.begin() + HugePages::kPagesOfRegion;
  std::for_each(middle, taken.end(), [&](char* page) { pages.Give(page); });
  EXPECT_EQ(pages.regions(), 1u);
  EXPECT_FALSE(IsMapped(taken.back()));
  EXPECT_TRUE(IsMapped(taken.front()));
  std::for_each(taken.begin(), middle, [&](char* page) { pages.Give(page); });
  EXPECT_EQ(pages.regions(), 0u);
}

// The system does not take back what is locked.
TEST(HugePagesTest, LockedMemoryComesBackZero) {
  HugePages pages;
  char* const kept = pages.Take();
  char* const page = pages.Take();
  std::memset(page, 1, kBytes);
  ASSERT_EQ(mlock(page, 4096), 0);
  pages.Give(page);
  EXPECT_EQ(pages.Take(), page);
  EXPECT_TRUE(IsZero(page));
  pages.Give(page);
  pages.Give(kept);
}

TEST(HugePagesTest, APageGivenTwiceStopsTheProcess) {
  HugePages pages;
  char* const kept = pages.Take();
  char* const page = pages.Take();
  pages.Give(page);
  EXPECT_DEATH(pages.Give(page), "");
  pages.Give(kept);
}

TEST(HugePagesTest, ThreadsNeverShareAPage) {
  HugePages pages;
  const auto work = [&pages](uint64_t seed) {
    Random random(seed);
    std::vector<char*> held;
    for (int i = 0; i < 2000; ++i) {
      if (held.size() < 24 && random.Uniform(2) == 0) {
        char* const page = pages.Take();
        ASSERT_EQ(page[random.Uniform(kBytes)], 0);
        page[0] = static_cast<char>(seed);
        held.push_back(page);
      } else if (!held.empty()) {
        std::swap(held[random.Uniform(held.size())], held.back());
        ASSERT_EQ(held.back()[0], static_cast<char>(seed));
        pages.Give(held.back());
        held.pop_back();
      }
    }
    for (char* const page : held) pages.Give(page);
  };
  std::vector<Thread> threads;
  for (uint64_t seed = 1; seed <= 4; ++seed) threads.emplace_back([&work, seed] { work(seed); });
  for (Thread& thread : threads) thread.Join();
  EXPECT_EQ(pages.regions(), 0u);
}

// A child must not wait for a lock that a thread had which is not in it.
TEST(HugePagesTest, AChildOfForkTakesAndGives) {
  HugePages& pages = HugePages::OfProcess();
  std::vector<Thread> threads;
  std::atomic<bool> stop = false;
  threads.emplace_back([&] {
    while (!stop) pages.Give(pages.Take());
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      pages.Give(pages.Take());
      _exit(0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  stop = true;
  for (Thread& thread : threads) thread.Join();
}

}  // namespace
}  // namespace sepal
