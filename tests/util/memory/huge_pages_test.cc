#include "util/memory/huge_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
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

constexpr auto kCheap = HugePages::Wish::kCheap;
constexpr int kPages = HugePages::kPagesOfRegion;

bool Dear(uint64_t) { return true; }
bool Cheap(uint64_t) { return false; }

std::vector<char*> TakeCheap(HugePages* pages, int count) {
  std::vector<char*> taken;
  for (int i = 0; i < count; ++i) taken.push_back(pages->Take(kCheap));
  return taken;
}

int CountSmall(const HugePages& pages, const std::vector<char*>& taken) {
  return static_cast<int>(std::count_if(taken.begin(), taken.end(), [&](char* page) { return pages.IsSmall(page); }));
}

void GiveAll(HugePages* pages, const std::vector<char*>& taken) {
  for (char* const page : taken) pages->Give(page);
}

// Of the mapping in which `address` lies, in huge pages, by /proc/self/smaps.
size_t HugeKilobytesAround(const char* address) {
  std::ifstream smaps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    uintptr_t begin = 0, end = 0;
    size_t kilobytes = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx ", &begin, &end) == 2) {
      inside = begin <= reinterpret_cast<uintptr_t>(address) && reinterpret_cast<uintptr_t>(address) < end;
    } else if (inside && std::sscanf(line.c_str(), "AnonHugePages: %zu kB", &kilobytes) == 1) {
      return kilobytes;
    }
  }
  return 0;
}

TEST(HugePagesTest, ARegionHasSmallPagesOnceAHugeOneWasDear) {
  HugePages pages(Dear);
  const std::vector<char*> taken = TakeCheap(&pages, kPages);
  EXPECT_EQ(CountSmall(pages, taken), kPages - 1);
  EXPECT_FALSE(pages.IsSmall(taken[0]));
  EXPECT_EQ(HugeKilobytesAround(taken[1]), HugeKilobytesAround(taken[0])) << "one mapping, of one huge page";
  EXPECT_LE(HugeKilobytesAround(taken[1]), kBytes / 1024);
  for (char* const page : taken) {
    EXPECT_TRUE(IsResident(page) && IsResident(page + kBytes - 1));
    EXPECT_TRUE(IsZero(page));
  }
  char* const huge = pages.Take();
  EXPECT_FALSE(pages.IsSmall(huge));
  EXPECT_EQ(pages.regions(), 2u);
  pages.Give(huge);
  GiveAll(&pages, taken);
  EXPECT_EQ(pages.regions(), 0u);
}

TEST(HugePagesTest, WhereTheyAreCheapAllPagesAreHuge) {
  HugePages pages(Cheap);
  const std::vector<char*> taken = TakeCheap(&pages, kPages + 1);
  EXPECT_EQ(CountSmall(pages, taken), 0);
  GiveAll(&pages, taken);
}

// Regions without a small first page are those that were tried.
TEST(HugePagesTest, AfterDearRegionsFewerAreTriedUntilOneIsCheap) {
  HugePages pages(Dear);
  std::vector<char*> taken;
  std::vector<bool> tried;
  for (int region = 0; region < 8; ++region) {
    if (region == 6) pages.JudgeBy(Cheap);
    const std::vector<char*> of_region = TakeCheap(&pages, kPages);
    tried.push_back(!pages.IsSmall(of_region[0]));
    taken.insert(taken.end(), of_region.begin(), of_region.end());
  }
  EXPECT_EQ(tried, (std::vector<bool>{true, false, true, false, false, false, true, true}));
  GiveAll(&pages, taken);
}

TEST(HugePagesTest, ASmallPageThatIsGivenBackLeavesMemoryAndComesBackZero) {
  HugePages pages(Dear);
  const std::vector<char*> taken = TakeCheap(&pages, 3);
  std::memset(taken[2], 1, kBytes);
  pages.Give(taken[2]);
  EXPECT_FALSE(IsResident(taken[2]));
  EXPECT_EQ(pages.Take(kCheap), taken[2]);
  EXPECT_TRUE(pages.IsSmall(taken[2]) && IsZero(taken[2]));
  GiveAll(&pages, taken);
}

TEST(HugePagesTest, ACollapsedPageKeepsItsBytesOnAHugeOne) {
  HugePages pages(Dear);
  const std::vector<char*> taken = TakeCheap(&pages, 3);
  Random random(1);
  std::string bytes(kBytes, 0);
  for (char& byte : bytes) byte = static_cast<char>(random.Next());
  std::memcpy(taken[1], bytes.data(), kBytes);
  // The system may have none at the moment.
  const auto is_huge = [&] { return !pages.IsSmall(taken[1]) && HugeKilobytesAround(taken[1]) == kBytes / 1024; };
  for (int tries = 0; tries < 100 && !is_huge(); ++tries) pages.Collapse(taken[1]);
  EXPECT_TRUE(is_huge());
  EXPECT_FALSE(pages.IsSmall(taken[1]));
  EXPECT_TRUE(pages.IsSmall(taken[2]));
  EXPECT_TRUE(bytes == std::string_view(taken[1], kBytes));
  GiveAll(&pages, taken);
  EXPECT_EQ(pages.regions(), 0u);
}

TEST(HugePagesTest, ThreadsNeverShareAPage) {
  HugePages pages([](uint64_t nanos) { return nanos % 4 == 0; });
  const auto work = [&pages](uint64_t seed) {
    Random random(seed);
    std::vector<char*> held;
    for (int i = 0; i < 2000; ++i) {
      if (held.size() < 24 && random.Uniform(2) == 0) {
        char* const page = pages.Take(random.OneIn(2) ? kCheap : HugePages::Wish::kHuge);
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
