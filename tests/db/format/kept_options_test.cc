#include "db/format/kept_options.h"

#include <gtest/gtest.h>

#include "db/format/fields.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

ColumnFamilyOptions SampleOptions() {
  ColumnFamilyOptions options;
  options.compression = CompressionKind::kZstd;
  options.compression_per_level = {CompressionKind::kNone, CompressionKind::kLz4};
  options.block_bytes = 32768;
  options.filter_policy.lane_bits_per_key = 8;
  options.filter_policy.guard_bits_per_key = 0.5;
  options.compaction_style = CompactionStyle::kUniversal;
  options.max_space_amplification = 1.5;
  return options;
}

TEST(KeptOptionsTest, TheDefaultsAreWrittenAsNothing) {
  EXPECT_EQ(EncodeKeptOptions({}), "");
  // What absence stands for in databases that are there.
  const ColumnFamilyOptions absent = DecodeKeptOptions("").value();
  EXPECT_EQ(absent.compression, CompressionKind::kSnappy);
  EXPECT_TRUE(absent.compression_per_level.empty());
  EXPECT_EQ(absent.block_bytes, 4096u);
  EXPECT_EQ(absent.filter_policy.lane_bits_per_key, 5.0);
  EXPECT_EQ(absent.filter_policy.guard_bits_per_key, 8.0);
  EXPECT_EQ(absent.compaction_style, CompactionStyle::kLazyLeveling);
  EXPECT_EQ(absent.max_space_amplification, 2.0);
}

TEST(KeptOptionsTest, BytesAreAsTheTableSays) {
  EXPECT_EQ(ToHex(EncodeKeptOptions(SampleOptions())),
            "010103"                                // ZSTD
            "03020002"                              // none, then LZ4
            "0503808002"                            // blocks of 32768 bytes
            "07100000000000002040000000000000e03f"  // 8 and 0.5 bits for each key
            "090102"                                // universal
            "0b08000000000000f83f");                // 1.5
  ColumnFamilyOptions one;
  one.max_space_amplification = 3;
  EXPECT_EQ(ToHex(EncodeKeptOptions(one)), "0b080000000000000840");
}

TEST(KeptOptionsTest, WhatWasEncodedIsDecoded) {
  const absl::StatusOr<ColumnFamilyOptions> decoded = DecodeKeptOptions(EncodeKeptOptions(SampleOptions()));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(EncodeKeptOptions(*decoded), EncodeKeptOptions(SampleOptions()));
  EXPECT_EQ(decoded->compression_per_level, SampleOptions().compression_per_level);
  EXPECT_EQ(decoded->comparator, BytewiseComparator());
}

TEST(KeptOptionsTest, AnUnknownEvenFieldIsRefusedAndAnOddOneSkipped) {
  std::string bytes = EncodeKeptOptions(SampleOptions());
  FieldWriter(&bytes).Field(99, [](std::string* f) { *f += "whatever"; });
  ASSERT_TRUE(DecodeKeptOptions(bytes).ok());
  EXPECT_EQ(EncodeKeptOptions(*DecodeKeptOptions(bytes)), EncodeKeptOptions(SampleOptions()));
  FieldWriter(&bytes).Field(100, [](std::string*) {});
  EXPECT_TRUE(absl::IsFailedPrecondition(DecodeKeptOptions(bytes).status()));
}

TEST(KeptOptionsTest, EveryTruncationWithinAFieldIsRefused) {
  const std::string bytes = EncodeKeptOptions(SampleOptions());
  int accepted = 0;
  for (size_t n = 0; n < bytes.size(); ++n) {
    const auto decoded = DecodeKeptOptions(bytes.substr(0, n));
    if (decoded.ok()) {
      EXPECT_EQ(EncodeKeptOptions(*decoded), bytes.substr(0, n));
      ++accepted;
    } else {
      EXPECT_TRUE(absl::IsDataLoss(decoded.status()));
    }
  }
  EXPECT_EQ(accepted, 6) << "only between fields";
}

}  // namespace
}  // namespace sepal
