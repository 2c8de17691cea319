#include "util/base/coding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "util/base/random.h"

namespace sepal {
namespace {

TEST(CodingTest, APrefixIsTheFirstEightBytesZeroPadded) {
  Random random(1);
  for (size_t size = 0; size < 20; ++size) {
    for (int round = 0; round < 100; ++round) {
      std::string bytes(size, '\0');
      for (char& c : bytes) c = static_cast<char>(random.Next());
      uint64_t expected = 0;
      for (size_t i = 0; i < 8; ++i) expected = expected << 8 | (i < size ? static_cast<uint8_t>(bytes[i]) : 0);
      const std::unique_ptr<char[]> exact(new char[size]);  // no byte beyond may be read
      std::copy(bytes.begin(), bytes.end(), exact.get());
      EXPECT_EQ(BigEndianPrefix(exact.get(), size), expected);
    }
  }
}

TEST(CodingTest, VarintsComeBackAndTakeTheLengthForetold) {
  Random random(2);
  for (int round = 0; round < 10000; ++round) {
    const uint64_t v = random.Next() >> random.Uniform(64);
    std::string bytes;
    PutVarint(&bytes, v);
    EXPECT_EQ(bytes.size(), static_cast<size_t>(VarintLength(v)));
    Decoder decoder(bytes);
    EXPECT_EQ(decoder.Varint(), v);
    EXPECT_TRUE(decoder.Done());
    for (size_t cut = 0; cut < bytes.size(); ++cut) {
      Decoder truncated(std::string_view(bytes).substr(0, cut));
      truncated.Varint();
      EXPECT_FALSE(truncated.ok());
    }
  }
}

TEST(CodingTest, AVarintThatIsTooWideIsRefused) {
  uint64_t v = 0;
  const std::string five_bytes("\xff\xff\xff\xff\x0f", 5), too_wide("\xff\xff\xff\xff\x1f", 5);
  EXPECT_NE(DecodeVarint(five_bytes.data(), five_bytes.data() + 5, 32, &v), nullptr);
  EXPECT_EQ(v, 0xffffffffu);
  EXPECT_EQ(DecodeVarint(too_wide.data(), too_wide.data() + 5, 32, &v), nullptr);
  const std::string endless(20, '\x80');
  EXPECT_EQ(DecodeVarint(endless.data(), endless.data() + 20, 64, &v), nullptr);
}

TEST(CodingTest, ADecoderThatFailedStaysFailedAndGivesNothing) {
  const std::string bytes(
      "\x05"
      "abcdefghij",
      11);
  Decoder decoder(bytes);
  EXPECT_EQ(decoder.LengthPrefixed(), "abcde");
  EXPECT_EQ(decoder.Fixed64(), 0u);
  EXPECT_FALSE(decoder.ok());
  EXPECT_EQ(decoder.Byte(), 0);
  EXPECT_EQ(decoder.Bytes(1), "");
  EXPECT_FALSE(decoder.Done());
}

TEST(CodingTest, AVarintOfFewBitsIsHeldToThem) {
  EXPECT_EQ(Decoder("\x07").Varint(3), 7u);
  Decoder decoder("\x08");
  EXPECT_EQ(decoder.Varint(3), 0u);
  EXPECT_FALSE(decoder.ok());
  Decoder cut("x");
  EXPECT_EQ(cut.Fixed16(), 0u);
  EXPECT_EQ(cut.Fixed32(), 0u);
  EXPECT_FALSE(cut.ok());
}

}  // namespace
}  // namespace sepal
