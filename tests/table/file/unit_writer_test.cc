// How the units of a table come into its file.
#include "table/file/unit_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/table/file/string_file.h"
#include "util/base/coding.h"
#include "util/base/compression.h"
#include "util/base/random.h"
#include "util/memory/mapped_memory.h"

namespace sepal {
namespace {

using ::testing::Each;

constexpr uint64_t kTableId = 7;
constexpr size_t kPieceBytes = 1000;

// Does not compress.
std::string Noise(Random* random, size_t bytes) {
  std::string noise;
  for (size_t i = 0; i < bytes; ++i) noise.push_back(static_cast<char>(random->Uniform(256)));
  return noise;
}

struct Unit {
  std::string bytes;
  BlockHandle handle;
};

class UnitWriterTest : public ::testing::Test {
 protected:
  void Write(std::string bytes) {
    Unit unit{std::move(bytes), {}};
    ASSERT_TRUE(writer.Write(unit.bytes, &unit.handle).ok());
    units.push_back(std::move(unit));
  }
  void WriteCompressed(std::string bytes) {
    Unit unit{std::move(bytes), {}};
    ASSERT_TRUE(writer.WriteCompressed(unit.bytes, CompressionKind::kSnappy, &unit.handle).ok());
    units.push_back(std::move(unit));
  }
  // Every unit is where its handle says, whole.
  void ExpectUnits() {
    for (const Unit& unit : units) {
      ASSERT_LE(EndOf(unit.handle), file.contents.size());
      const std::string_view stored = std::string_view(file.contents).substr(unit.handle.offset, unit.handle.size);
      const char* const trailer = stored.data() + stored.size();
      const auto kind = static_cast<CompressionKind>(*trailer);
      EXPECT_EQ(DecodeFixed32(trailer + 1), UnitChecksum(stored, kind, kTableId, unit.handle.offset));
      std::string bytes(stored);
      if (kind != CompressionKind::kNone) {
        bytes.resize(unit.bytes.size());
        ASSERT_TRUE(Decompress(kind, stored, bytes.data(), bytes.size()).ok());
      }
      EXPECT_EQ(bytes, unit.bytes);
    }
  }
  // But for the last, which has what is left.
  void ExpectWholePieces() {
    ASSERT_FALSE(file.append_sizes.empty());
    EXPECT_LE(file.append_sizes.back(), kPieceBytes);
    for (size_t i = 0; i + 1 < file.append_sizes.size(); ++i) EXPECT_EQ(file.append_sizes[i] % kPieceBytes, 0u) << i;
  }

  StringWritableFile file;
  UnitWriter writer{&file, kTableId, kPieceBytes};
  std::vector<Unit> units;
  Random random{1};
};

TEST_F(UnitWriterTest, TheFileGetsWholePiecesWhereverUnitsEnd) {
  for (int i = 0; i < 300; ++i) {
    // Small ones, some that end just at a piece's end or beside it, and some of several pieces.
    const size_t left = kPieceBytes - writer.offset() % kPieceBytes;
    const size_t sizes[] = {random.Uniform(50),
                            random.Uniform(kPieceBytes),
                            left,
                            left + kPieceBytes - 5,
                            left + 1,
                            3 * kPieceBytes + random.Uniform(kPieceBytes)};
    const size_t bytes = sizes[random.Uniform(std::size(sizes))];
    ASSERT_NO_FATAL_FAILURE(Write(Noise(&random, bytes)));
    ASSERT_NO_FATAL_FAILURE(WriteCompressed(std::string(bytes, 'c')));
    ASSERT_NO_FATAL_FAILURE(WriteCompressed(Noise(&random, bytes)));
  }
  ASSERT_TRUE(writer.Append("the end").ok());
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_EQ(file.contents.size(), writer.offset());
  EXPECT_TRUE(file.contents.ends_with("the end"));
  ExpectUnits();
  ExpectWholePieces();
}

TEST_F(UnitWriterTest, PiecesGoWhereSpaceWasAllocatedAndWhatIsLeftOfItIsGivenBack) {
  uint64_t most_ahead = 0;
  while (writer.offset() < 60 * kPieceBytes) {
    ASSERT_NO_FATAL_FAILURE(Write(Noise(&random, writer.offset() % 7 == 0 ? 5 * kPieceBytes : 300)));
    if (!file.contents.empty()) most_ahead = std::max(most_ahead, file.allocated - file.contents.size());
  }
  EXPECT_THAT(file.appended_to_allocated, Each(true));
  EXPECT_GT(most_ahead, 4 * kPieceBytes) << "by larger steps for a larger file";
  EXPECT_LE(most_ahead, 16 * kPieceBytes);
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_EQ(file.allocated, file.contents.size());
  ExpectUnits();
}

TEST_F(UnitWriterTest, AFileOfLessThanAPieceIsWrittenAtOnce) {
  ASSERT_NO_FATAL_FAILURE(Write("unit"));
  EXPECT_TRUE(file.append_sizes.empty());
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_EQ(file.append_sizes.size(), 1u);
  EXPECT_EQ(file.allocated, 0u);
  ExpectUnits();
}

TEST_F(UnitWriterTest, WhereNoSpaceIsLeftAheadTheBytesMayStillFit) {
  file.allocate_status = absl::ResourceExhaustedError("no space for more than a byte");
  while (writer.offset() < 20 * kPieceBytes) ASSERT_NO_FATAL_FAILURE(Write(Noise(&random, 300)));
  EXPECT_EQ(file.allocations, 2u) << "ahead, then for a piece alone, and no more";
  ASSERT_TRUE(writer.Finish().ok());
  ExpectUnits();
  ExpectWholePieces();
}

TEST_F(UnitWriterTest, WhatAFailedCallGotIsGivenBackToo) {
  while (writer.offset() < 2 * kPieceBytes) ASSERT_NO_FATAL_FAILURE(Write(Noise(&random, 300)));
  file.allocate_status = absl::ResourceExhaustedError("no space");
  while (writer.offset() < 5 * kPieceBytes) ASSERT_NO_FATAL_FAILURE(Write(Noise(&random, 300)));
  ASSERT_GT(file.allocated, writer.offset()) << "the test is of what lies behind the end";
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_EQ(file.allocated, file.contents.size());
}

TEST_F(UnitWriterTest, ADiskTooFullToGiveSpaceBackDoesNotSpoilTheFile) {
  while (writer.offset() < 2 * kPieceBytes) ASSERT_NO_FATAL_FAILURE(Write(Noise(&random, 300)));
  file.truncate_status = absl::ResourceExhaustedError("no space for that");
  EXPECT_TRUE(writer.Finish().ok());
  ExpectUnits();
}

TEST_F(UnitWriterTest, AnyOtherFailureToGiveSpaceBackIsTold) {
  while (writer.offset() < 2 * kPieceBytes) ASSERT_NO_FATAL_FAILURE(Write(Noise(&random, 300)));
  file.truncate_status = absl::InternalError("the disk is gone");
  EXPECT_TRUE(absl::IsInternal(writer.Finish()));
}

TEST_F(UnitWriterTest, AnyOtherFailureToAllocateIsTold) {
  file.allocate_status = absl::InternalError("the disk is gone");
  BlockHandle handle;
  EXPECT_TRUE(absl::IsInternal(writer.Write(Noise(&random, 2 * kPieceBytes), &handle)));
}

TEST_F(UnitWriterTest, AFailedAppendIsToldWhoeverMeetsIt) {
  file.append_status = absl::InternalError("the disk is gone");
  BlockHandle handle;
  EXPECT_TRUE(absl::IsInternal(writer.Write(Noise(&random, 2 * kPieceBytes), &handle)));
  StringWritableFile other;
  UnitWriter waits(&other, kTableId, kPieceBytes);
  ASSERT_TRUE(waits.Write("unit", &handle).ok());
  other.append_status = absl::InternalError("the disk is gone");
  EXPECT_TRUE(absl::IsInternal(waits.Finish()));
}

TEST_F(UnitWriterTest, AUnitThatNoReaderWouldReadIsRefused) {
  const MappedMemory untouched(kMaxUnitBytes + 1);
  BlockHandle handle;
  EXPECT_TRUE(absl::IsInternal(writer.Write({untouched.data(), untouched.size()}, &handle)));
  EXPECT_EQ(writer.offset(), 0u);
  EXPECT_TRUE(file.contents.empty());
}

}  // namespace
}  // namespace sepal
