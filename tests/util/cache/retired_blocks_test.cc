#include "util/cache/retired_blocks.h"

#include <gtest/gtest.h>

#include "util/memory/block_buffer.h"

namespace sepal {
namespace {

constexpr size_t kRetiredBlock = size_t{64} << 10;
constexpr size_t kMost = 10 * kRetiredBlock;

class RetiredBlocksTest : public testing::Test {
 protected:
  void Add(size_t blocks) {
    for (size_t i = 0; i < blocks; ++i) retired.Add(BlockBuffer(kRetiredBlock).Release(), kRetiredBlock);
  }

  EpochDomain epochs;
  RetiredBlocks retired{epochs.group()};
};

TEST_F(RetiredBlocksTest, RetiredBlocksAreNeverTooManyWhileNobodyIsInside) {
  for (int i = 0; i < 100; ++i) {
    Add(1);
    EXPECT_FALSE(retired.MoreThan(kMost, kRetiredBlock));
  }
}

TEST_F(RetiredBlocksTest, RetiredBlocksAreTooManyWhileAReaderHoldsBackMoreThanIsAllowed) {
  {
    const EpochDomain::Guard guard(&epochs);
    Add(10);
    EXPECT_FALSE(retired.MoreThan(kMost, kRetiredBlock));
    Add(1);
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(retired.MoreThan(kMost, kRetiredBlock));
  }
  retired.Free();
  EXPECT_FALSE(retired.MoreThan(kMost, kRetiredBlock));
}

// Nothing is evicted meanwhile that would have it look.
TEST_F(RetiredBlocksTest, ACallerThatIsRefusedFindsOutThatTheReaderHasLeft) {
  {
    const EpochDomain::Guard guard(&epochs);
    Add(20);
    EXPECT_TRUE(retired.MoreThan(kMost, kRetiredBlock));
  }
  int refused = 0;
  while (retired.MoreThan(kMost, kRetiredBlock / 16) && refused < 1000) ++refused;
  EXPECT_LE(refused, 32);
}

// One that entered after a block was retired does not see it.
TEST_F(RetiredBlocksTest, AReaderHoldsBackOnlyBlocksThatRetiredAfterItCame) {
  Add(1);
  const EpochDomain::Guard guard(&epochs);
  Add(10);
  retired.Free();
  EXPECT_FALSE(retired.MoreThan(kMost, kRetiredBlock));
}

TEST(RetiredBlocksWithoutEpochsTest, AreFreedAtOnce) {
  RetiredBlocks retired(nullptr);
  retired.Add(BlockBuffer(kRetiredBlock).Release(), kRetiredBlock);
  EXPECT_FALSE(retired.MoreThan(0, kRetiredBlock));
}

}  // namespace
}  // namespace sepal
