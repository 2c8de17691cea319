#include "db/state/ranges/fence_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "util/base/random.h"

namespace sepal {
namespace {

void ExpectCountsAsBinarySearch(const std::vector<uint64_t>& fences, const FenceTree& tree, uint64_t fence) {
  const auto less = std::lower_bound(fences.begin(), fences.end(), fence) - fences.begin();
  ASSERT_EQ(tree.CountLess(fence), static_cast<size_t>(less)) << fences.size() << " fences, " << fence;
}

TEST(FenceTreeTest, CountsAsABinarySearchAtEverySizeAroundPowersOfEight) {
  Random random(1);
  for (const size_t power : {size_t{1}, size_t{8}, size_t{64}, size_t{512}, size_t{4096}}) {
    for (size_t size = power < 2 ? 0 : power - 2; size <= power + 2; ++size) {
      // Few different values, so that many are alike, and both ends of what there is.
      for (const uint64_t range : {uint64_t{5}, uint64_t{1000}, UINT64_MAX}) {
        std::vector<uint64_t> fences(size);
        for (uint64_t& fence : fences) fence = range == UINT64_MAX ? random.Next() : random.Uniform(range);
        if (size > 2 && size % 2 == 0) fences[0] = UINT64_MAX;
        if (size > 3) fences[1] = 0;
        std::sort(fences.begin(), fences.end());
        const FenceTree tree(fences);
        ASSERT_EQ(tree.size(), size);
        for (size_t i = 0; i < size; ++i) ASSERT_EQ(tree[i], fences[i]);
        ExpectCountsAsBinarySearch(fences, tree, 0);
        ExpectCountsAsBinarySearch(fences, tree, UINT64_MAX);
        for (int i = 0; i < 200; ++i) {
          const uint64_t of_tree = size == 0 ? 0 : fences[random.Uniform(size)];
          const uint64_t fence = i % 2 == 0 ? of_tree + random.Uniform(3) - 1 : random.Next();
          ExpectCountsAsBinarySearch(fences, tree, fence);
        }
      }
    }
  }
}

TEST(FenceTreeTest, TakesLittleMoreThanItsFences) {
  const FenceTree tree(std::vector<uint64_t>(100'000, 1));
  EXPECT_LE(tree.MemoryBytes(), size_t{100'000} * 8 * 8 / 7 + 1024);
}

}  // namespace
}  // namespace sepal
