// What is brought in around reads that waited for the disk, and when that ends.
#include "table/file/warm_up.h"

#include <gtest/gtest.h>

#include <vector>

namespace sepal {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;

class AskedFile final : public ReadableFile {
 public:
  absl::StatusOr<size_t> Read(uint64_t, size_t, char*) const override { return size_t{0}; }
  absl::StatusOr<uint64_t> Size() const override { return uint64_t{0}; }
  size_t ReadCached(uint64_t, size_t, char*) const override {
    ++probes;
    return cached;
  }
  void ReadAhead(uint64_t offset, uint64_t length) const override { asked.push_back({offset, offset + length}); }
  size_t cached = 0;
  mutable int probes = 0;
  mutable std::vector<ReadWindow> asked;
};

using Windows = std::vector<ReadWindow>;

TEST(ReadAroundTest, WindowsGrowWithAQuarterOfWhatWasBroughtInFrom64KiBTo1MiB) {
  const auto size = [](uint64_t brought_in) {
    const ReadWindow window = WindowAround(0, 1, 100 * kMiB, brought_in);
    EXPECT_EQ(window.begin, 0u);
    return window.end;
  };
  EXPECT_EQ(size(0), 64 * kKiB);
  EXPECT_EQ(size(512 * kKiB - 1), 64 * kKiB);
  EXPECT_EQ(size(512 * kKiB), 128 * kKiB);
  EXPECT_EQ(size(4 * kMiB - 1), 512 * kKiB);
  EXPECT_EQ(size(4 * kMiB), 1 * kMiB);
  EXPECT_EQ(size(100 * kMiB), 1 * kMiB);
}

TEST(ReadAroundTest, AWindowIsAlignedHasAllOfTheReadAndEndsWithTheFile) {
  constexpr uint64_t kFile = 640 * kKiB + 1;
  EXPECT_EQ(WindowAround(100 * kKiB, 4 * kKiB, kFile, 0), (ReadWindow{64 * kKiB, 128 * kKiB}));
  EXPECT_EQ(WindowAround(126 * kKiB, 4 * kKiB, kFile, 0), (ReadWindow{64 * kKiB, 192 * kKiB}));
  EXPECT_EQ(WindowAround(64 * kKiB, 64 * kKiB, kFile, 0), (ReadWindow{64 * kKiB, 128 * kKiB}));
  EXPECT_EQ(WindowAround(0, 300 * kKiB, kFile, 0), (ReadWindow{0, 320 * kKiB}));
  EXPECT_EQ(WindowAround(640 * kKiB, 1, kFile, 0), (ReadWindow{640 * kKiB, kFile}));
  EXPECT_EQ(WindowAround(0, 1, kFile, 100 * kMiB), (ReadWindow{0, kFile}));
}

TEST(ReadAroundTest, AFileThatIsReadAllOverIsBroughtInWithFewWaits) {
  constexpr uint64_t kFile = 64 * kMiB;
  const AskedFile file;
  ReadAroundCredit credit(1024 * kMiB);
  const ReadAround around(&file, kFile, &credit);
  std::vector<bool> in_memory(kFile / (64 * kKiB));
  // In an order that goes through all of it.
  for (uint64_t i = 0; i < in_memory.size(); ++i) {
    const uint64_t region = i * 389 % in_memory.size();
    if (in_memory[region]) continue;
    around.After(region * 64 * kKiB, 4 * kKiB);
    const ReadWindow& window = file.asked.back();
    for (uint64_t at = window.begin; at < window.end; at += 64 * kKiB) in_memory[at / (64 * kKiB)] = true;
    EXPECT_TRUE(in_memory[region]);
  }
  EXPECT_LE(file.asked.size(), 100u);
}

TEST(ReadAroundTest, ReadingAroundEndsForAllFilesOnceAsMuchAsMemoryWasAskedFor) {
  const AskedFile first;
  const AskedFile second;
  ReadAroundCredit credit(192 * kKiB);
  const ReadAround around_first(&first, 10 * kMiB, &credit);
  const ReadAround around_second(&second, 10 * kMiB, &credit);
  around_first.After(0, 1);
  around_second.After(0, 1);
  around_second.After(kMiB, 1);
  EXPECT_EQ(first.asked.size() + second.asked.size(), 3u);
  around_first.After(kMiB, 1);
  around_second.After(2 * kMiB, 1);
  EXPECT_EQ(first.asked.size() + second.asked.size(), 3u);
}

TEST(ReadAroundTest, OnlyWhatIsCachedAsAWholeIsRead) {
  AskedFile file;
  ReadAroundCredit credit(kMiB);
  const ReadAround around(&file, 10 * kMiB, &credit);
  EXPECT_FALSE(around.ReadCached(0, 10, nullptr));
  file.cached = 9;
  EXPECT_FALSE(around.ReadCached(0, 10, nullptr));
  file.cached = 10;
  EXPECT_TRUE(around.ReadCached(0, 10, nullptr));
  EXPECT_TRUE(file.asked.empty());
}

TEST(ReadAroundTest, WithoutCreditTheSystemIsNotAsked) {
  AskedFile file;
  file.cached = 10;
  ReadAroundCredit spent(0);
  for (ReadAroundCredit* credit : {static_cast<ReadAroundCredit*>(nullptr), &spent}) {
    const ReadAround around(&file, 10 * kMiB, credit);
    EXPECT_FALSE(around.ReadCached(0, 10, nullptr));
    around.After(0, 10);
  }
  EXPECT_EQ(file.probes, 0);
  EXPECT_TRUE(file.asked.empty());
}

}  // namespace
}  // namespace sepal
