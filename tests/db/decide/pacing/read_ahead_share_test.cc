#include "db/decide/pacing/read_ahead_share.h"

#include <gtest/gtest.h>

namespace sepal {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;

TEST(ReadAheadShareTest, WithMemoryToSpareAllThreadsHaveTheLargestWindows) {
  const ReadAheadShare windows = ShareReadAhead(1024 * kMiB, 33, 8);
  EXPECT_EQ(windows.threads, 8);
  EXPECT_EQ(windows.window_bytes, kMiB);
}

TEST(ReadAheadShareTest, AllWindowsTogetherTakeNoMoreThanTheShare) {
  for (const uint64_t share : {2 * kMiB, 32 * kMiB, 64 * kMiB, 100 * kMiB}) {
    for (const uint64_t runs : {1, 2, 7, 32, 33}) {
      for (const int threads : {1, 2, 8, 64}) {
        const ReadAheadShare windows = ShareReadAhead(share, runs, threads);
        EXPECT_GE(windows.threads, 1);
        EXPECT_LE(windows.threads, threads);
        EXPECT_LE(windows.window_bytes * static_cast<uint64_t>(windows.threads) * runs, share);
        EXPECT_TRUE(windows.threads == 1 || windows.window_bytes >= 64 * kKiB);
      }
    }
  }
}

TEST(ReadAheadShareTest, OneThreadIsThereHoweverLittleItHas) {
  EXPECT_EQ(ShareReadAhead(kMiB, 33, 8).threads, 1);
  EXPECT_EQ(ShareReadAhead(kMiB, 33, 8).window_bytes, kMiB / 33);
  EXPECT_EQ(ShareReadAhead(0, 33, 8).threads, 1);
  EXPECT_EQ(ShareReadAhead(0, 33, 8).window_bytes, 4 * kKiB);
  EXPECT_EQ(ShareReadAhead(kMiB, 0, 0).threads, 1);
}

}  // namespace
}  // namespace sepal
