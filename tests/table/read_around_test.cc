// What is brought in around the first reads of a file, and when that ends.
#include "table/read_around.h"

#include <gtest/gtest.h>

#include <vector>

namespace sepal {
namespace {

constexpr uint64_t kRegion = ReadAround::kRegionBytes;

class AskedFile final : public ReadableFile {
 public:
  absl::StatusOr<size_t> Read(uint64_t, size_t, char*) const override { return size_t{0}; }
  absl::StatusOr<uint64_t> Size() const override { return uint64_t{0}; }
  void ReadAhead(uint64_t offset, uint64_t length) const override {
    EXPECT_EQ(length, kRegion);
    EXPECT_EQ(offset % kRegion, 0u);
    asked.push_back(offset / kRegion);
  }
  mutable std::vector<uint64_t> asked;  // regions
};

using Regions = std::vector<uint64_t>;

TEST(ReadAroundTest, TheFirstReadInARegionBringsInAllOfIt) {
  const AskedFile file;
  ReadAroundCredit credit(100 * kRegion);
  const ReadAround around(&file, 10 * kRegion, &credit);
  around.Before(3 * kRegion + 5, 100);
  EXPECT_EQ(file.asked, (Regions{3}));
  around.Before(3 * kRegion, 1);
  around.Before(4 * kRegion - 1, 1);
  EXPECT_EQ(file.asked, (Regions{3}));
  around.Before(4 * kRegion - 1, 2);
  EXPECT_EQ(file.asked, (Regions{3, 4}));
  around.Before(0, 6 * kRegion);
  EXPECT_EQ(file.asked, (Regions{3, 4, 0, 1, 2, 5}));
}

TEST(ReadAroundTest, TheLastRegionOfAFileMayBeShort) {
  const AskedFile file;
  ReadAroundCredit credit(100 * kRegion);
  const ReadAround around(&file, kRegion + 1, &credit);
  around.Before(kRegion, 1);
  around.Before(kRegion, 5 * kRegion);  // a handle that lies
  EXPECT_EQ(file.asked, (Regions{1}));
}

TEST(ReadAroundTest, ItEndsForAllFilesOnceAsMuchAsMemoryWasBroughtIn) {
  const AskedFile first;
  const AskedFile second;
  ReadAroundCredit credit(3 * kRegion);
  const ReadAround around_first(&first, 10 * kRegion, &credit);
  const ReadAround around_second(&second, 10 * kRegion, &credit);
  around_first.Before(0, 1);
  around_second.Before(0, 2 * kRegion);
  EXPECT_EQ(first.asked.size() + second.asked.size(), 3u);
  around_first.Before(5 * kRegion, 1);
  around_second.Before(5 * kRegion, 1);
  EXPECT_EQ(first.asked.size() + second.asked.size(), 3u);
}

TEST(ReadAroundTest, WithoutCreditNothingIsBroughtIn) {
  const AskedFile file;
  const ReadAround around(&file, 10 * kRegion, nullptr);
  around.Before(0, kRegion);
  EXPECT_TRUE(file.asked.empty());
}

}  // namespace
}  // namespace sepal
