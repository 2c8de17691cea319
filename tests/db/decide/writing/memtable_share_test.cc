// What memtables of many families may take.
#include "db/decide/writing/memtable_share.h"

#include <gtest/gtest.h>

namespace sepal {
namespace {

constexpr size_t kShareMiB = size_t{1} << 20;

MemtableShare ShareWith(size_t fixed_bytes) {
  return ShareOfMemtables(16 * kShareMiB, 32 * kShareMiB, fixed_bytes, 64 * kShareMiB);
}

TEST(MemtableShareTest, FewFamiliesHaveWhatTheTuningSays) {
  EXPECT_EQ(ShareWith(1000).entry_bytes, 16 * kShareMiB - 1000);
  EXPECT_EQ(ShareWith(1000).limit_bytes, 32 * kShareMiB);
  EXPECT_EQ(ShareWith(8 * kShareMiB).entry_bytes, 8 * kShareMiB);
  EXPECT_EQ(ShareWith(8 * kShareMiB).limit_bytes, 32 * kShareMiB);
}

TEST(MemtableShareTest, EntriesOfManyFamiliesHaveHalfOfThatAsLongAsTheMemoryLimitHasRoom) {
  EXPECT_EQ(ShareWith(12 * kShareMiB).entry_bytes, 8 * kShareMiB);
  EXPECT_EQ(ShareWith(12 * kShareMiB).limit_bytes, 40 * kShareMiB);
  EXPECT_EQ(ShareWith(20 * kShareMiB).entry_bytes, 4 * kShareMiB);
  EXPECT_EQ(ShareWith(20 * kShareMiB).limit_bytes, 48 * kShareMiB);
}

TEST(MemtableShareTest, SomethingIsLeftForEntriesOfAnyNumberOfFamilies) {
  EXPECT_EQ(ShareWith(1000 * kShareMiB).entry_bytes, 2 * kShareMiB);
  EXPECT_EQ(ShareWith(1000 * kShareMiB).limit_bytes, 48 * kShareMiB);
}

}  // namespace
}  // namespace sepal
