#include "util/base/compression.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/util/base/compress_all.h"
#include "util/base/coding.h"
#include "util/memory/mapped_memory.h"

namespace sepal {
namespace {

constexpr CompressionKind kKinds[] = {CompressionKind::kNone, CompressionKind::kSnappy, CompressionKind::kLz4,
                                      CompressionKind::kZstd};

// A fixed sequence of bytes; `spread` 1 gives all equal, 256 incompressible ones.
std::string Bytes(size_t n, uint32_t spread, uint64_t seed = 1) {
  std::string s(n, '\0');
  for (char& c : s) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    c = static_cast<char>((seed >> 40) % spread);
  }
  return s;
}

// Decompresses into memory of just the right size, so that a sanitizer sees any byte written outside.
absl::StatusOr<std::string> RoundTrip(CompressionKind kind, std::string_view compressed, size_t limit) {
  const absl::StatusOr<size_t> size = DecompressedSize(kind, compressed, limit);
  if (!size.ok()) return size.status();
  std::vector<char> out(*size);
  const absl::Status status = Decompress(kind, compressed, out.data(), out.size());
  if (!status.ok()) return status;
  return std::string(out.data(), out.size());
}

TEST(CompressionTest, EveryCodecGivesBackWhatWasCompressed) {
  for (CompressionKind kind : kKinds) {
    std::string compressed;
    for (size_t n : {0, 1, 2, 3, 15, 64, 127, 128, 129, 4096, 5000, 70000, 300000}) {
      for (uint32_t spread : {1, 4, 20, 256}) {
        const std::string in = Bytes(n, spread);
        ASSERT_TRUE(CompressAll(kind, in, &compressed).ok()) << Name(kind) << n;
        const auto out = RoundTrip(kind, compressed, n);
        ASSERT_TRUE(out.ok()) << Name(kind) << " " << n << " " << out.status();
        EXPECT_EQ(*out, in);
      }
    }
  }
}

TEST(CompressionTest, RepetitiveBytesShrinkUnderEveryCodecButNone) {
  const std::string in = Bytes(4096, 4);
  std::string compressed;
  for (CompressionKind kind : {CompressionKind::kSnappy, CompressionKind::kLz4, CompressionKind::kZstd}) {
    ASSERT_TRUE(CompressAll(kind, std::string(4096, 'a'), &compressed).ok());
    EXPECT_LT(compressed.size(), 400u) << Name(kind);
  }
  ASSERT_TRUE(CompressAll(CompressionKind::kNone, in, &compressed).ok());
  EXPECT_EQ(compressed, in);
}

TEST(CompressionTest, NoMoreIsWrittenThanWasForetold) {
  for (CompressionKind kind : kKinds) {
    for (size_t n : {0, 1, 20, 300, 4096, 70000}) {
      std::vector<char> out(MaxCompressedSize(kind, n));  // a sanitizer sees any byte behind
      const absl::StatusOr<size_t> size = Compress(kind, Bytes(n, 256), out.data());
      ASSERT_TRUE(size.ok()) << Name(kind) << " " << n;
      EXPECT_LE(*size, out.size()) << Name(kind) << " " << n;
    }
  }
}

TEST(CompressionTest, ASizeAboveTheLimitIsDataLossBeforeAnythingIsAllocated) {
  for (CompressionKind kind : kKinds) {
    std::string compressed;
    ASSERT_TRUE(CompressAll(kind, std::string(5000, 'a'), &compressed).ok());
    EXPECT_TRUE(DecompressedSize(kind, compressed, 5000).ok());
    EXPECT_TRUE(absl::IsDataLoss(DecompressedSize(kind, compressed, 4999).status()));
  }
  std::string huge;
  PutVarint(&huge, 0xffffffffu);
  for (CompressionKind kind : {CompressionKind::kSnappy, CompressionKind::kLz4, CompressionKind::kZstd}) {
    EXPECT_TRUE(absl::IsDataLoss(DecompressedSize(kind, huge, size_t{1} << 40).status())) << Name(kind);
    EXPECT_TRUE(absl::IsDataLoss(DecompressedSize(kind, "", 100).status()));
    EXPECT_TRUE(absl::IsDataLoss(DecompressedSize(kind, "\xff\xff\xff", 100).status()));
  }
}

TEST(CompressionTest, AnotherSizeThanTheExactOneIsDataLoss) {
  std::string compressed;
  std::vector<char> out(200);
  for (CompressionKind kind : kKinds) {
    ASSERT_TRUE(CompressAll(kind, std::string(100, 'a'), &compressed).ok());
    EXPECT_TRUE(absl::IsDataLoss(Decompress(kind, compressed, out.data(), 99)));
    EXPECT_TRUE(absl::IsDataLoss(Decompress(kind, compressed, out.data(), 101)));
  }
}

TEST(CompressionTest, ALyingSizeInFrontIsDataLoss) {
  for (CompressionKind kind : {CompressionKind::kSnappy, CompressionKind::kLz4, CompressionKind::kZstd}) {
    for (char lie : {char{0}, char{1}, char{99}, char{101}, char{127}}) {
      std::string compressed;
      ASSERT_TRUE(CompressAll(kind, Bytes(100, 20), &compressed).ok());
      ASSERT_EQ(compressed[0], 100);
      compressed[0] = lie;
      EXPECT_TRUE(absl::IsDataLoss(RoundTrip(kind, compressed, 1000).status())) << Name(kind) << int{lie};
    }
  }
}

TEST(CompressionTest, TruncatedBytesAreDataLoss) {
  const std::string in = Bytes(1000, 20);
  for (CompressionKind kind : {CompressionKind::kSnappy, CompressionKind::kLz4, CompressionKind::kZstd}) {
    std::string compressed;
    ASSERT_TRUE(CompressAll(kind, in, &compressed).ok());
    for (size_t n = 0; n < compressed.size(); ++n) {
      const std::string cut(compressed.data(), n);
      EXPECT_TRUE(absl::IsDataLoss(RoundTrip(kind, cut, 1000).status())) << Name(kind) << " " << n;
    }
  }
}

TEST(CompressionTest, AnyChangedByteGivesAnErrorOrSomeBytesOfTheStatedSize) {
  const std::string in = Bytes(600, 8);
  for (CompressionKind kind : {CompressionKind::kSnappy, CompressionKind::kLz4, CompressionKind::kZstd}) {
    std::string compressed;
    ASSERT_TRUE(CompressAll(kind, in, &compressed).ok());
    for (size_t i = 0; i < compressed.size(); ++i) {
      for (int flip : {0x01, 0x80, 0xff, 0x40}) {
        std::string bad = compressed;
        bad[i] = static_cast<char>(bad[i] ^ flip);
        const auto out = RoundTrip(kind, bad, 2000);
        EXPECT_TRUE(!out.ok() || out->size() <= 2000);
      }
    }
    for (uint64_t seed = 0; seed < 2000; ++seed) {
      const auto out = RoundTrip(kind, Bytes(seed % 97, 256, seed), 5000);
      EXPECT_TRUE(!out.ok() || out->size() <= 5000);
    }
  }
}

TEST(CompressionTest, NamesAndBytesAreKnownExactlyForTheFourCodecs) {
  for (CompressionKind kind : kKinds) {
    EXPECT_EQ(CompressionFromName(Name(kind)), kind);
    EXPECT_TRUE(IsKnownCompression(static_cast<uint8_t>(kind)));
  }
  EXPECT_EQ(Name(CompressionKind::kZstd), "zstd");
  EXPECT_EQ(CompressionFromName("gzip"), std::nullopt);
  EXPECT_EQ(CompressionFromName(""), std::nullopt);
  for (int byte = 4; byte < 256; ++byte) EXPECT_FALSE(IsKnownCompression(static_cast<uint8_t>(byte)));
}

TEST(CompressionTest, CompressedBytesHaveTheDocumentedFormats) {
  std::string out;
  ASSERT_TRUE(CompressAll(CompressionKind::kSnappy, "abc", &out).ok());
  EXPECT_EQ(out, std::string("\x03\x08"
                             "abc"));
  ASSERT_TRUE(CompressAll(CompressionKind::kLz4, "abc", &out).ok());
  EXPECT_EQ(out, std::string("\x03\x30"
                             "abc"));
  ASSERT_TRUE(CompressAll(CompressionKind::kZstd, "abc", &out).ok());
  EXPECT_EQ(out.substr(0, 5), "\x03\x28\xb5\x2f\xfd");
}

TEST(CompressionTest, WhatIsTooLargeForOnePieceIsRefusedUnread) {
  const MappedMemory untouched(kMaxCompressibleBytes + (size_t{64} << 20));
  const std::string_view bytes(untouched.data(), untouched.size());
  EXPECT_TRUE(absl::IsInvalidArgument(Compress(CompressionKind::kLz4, bytes, nullptr).status()));
  char to[4];
  EXPECT_TRUE(absl::IsDataLoss(Decompress(CompressionKind::kNone, bytes, to, sizeof to)));
  EXPECT_TRUE(absl::IsDataLoss(Decompress(CompressionKind::kLz4, bytes, to, 0))) << "of no bytes that many";
}

}  // namespace
}  // namespace sepal
