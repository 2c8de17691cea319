#include "tools/sepal/pictures/key_scale.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_format.h"
#include "util/base/random.h"

namespace sepal::tools {
namespace {

// The largest distance from the straight line between the first and the last.
double Unevenness(const std::vector<std::string>& keys) {
  const KeyScale scale(keys);
  const double low = scale.Of(keys.front()), high = scale.Of(keys.back());
  double most = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    const double even = static_cast<double>(i) / static_cast<double>(keys.size() - 1);
    most = std::max(most, std::abs((scale.Of(keys[i]) - low) / (high - low) - even));
  }
  return most;
}

TEST(KeyScaleTest, KeysThatCountAreEvenlyApart) {
  std::vector<std::string> decimal, hexadecimal, binary;
  for (int i = 0; i < 6000; i += 7) {
    decimal.push_back(absl::StrFormat("user:%010d", i));
    hexadecimal.push_back(absl::StrFormat("%08x", i));
    binary.push_back({static_cast<char>(i >> 8), static_cast<char>(i & 255)});
  }
  EXPECT_LT(Unevenness(decimal), 0.02);
  EXPECT_LT(Unevenness(hexadecimal), 0.02);
  EXPECT_LT(Unevenness(binary), 0.02);
}

TEST(KeyScaleTest, OrderIsKept) {
  Random random(7);
  std::vector<std::string> keys;
  for (int i = 0; i < 2000; ++i) {
    std::string key = "k";
    for (uint64_t length = random.Uniform(6); length > 0; --length) key += static_cast<char>(random.Uniform(256));
    keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  const KeyScale scale(keys);
  for (size_t i = 1; i < keys.size(); ++i) {
    EXPECT_LE(scale.Of(keys[i - 1]), scale.Of(keys[i]));
    EXPECT_LT(scale.Of(keys[i]), 1);
  }
}

TEST(KeyScaleTest, OneKeyOrNoneHasAPlaceOnTheScale) {
  EXPECT_EQ(KeyScale({}).Of("any"), 0);
  EXPECT_EQ(KeyScale({"same", "same"}).Of("same"), 0);
  EXPECT_EQ(KeyScale({""}).Of(""), 0);
}

TEST(KeyScaleTest, KeysThatDifferInEveryOfManyBytesAreInOrder) {
  std::vector<std::string> keys;
  for (int i = 0; i < 5; ++i) keys.emplace_back(60, static_cast<char>('a' + i));
  const KeyScale scale(keys);
  for (size_t i = 1; i < keys.size(); ++i) EXPECT_LT(scale.Of(keys[i - 1]), scale.Of(keys[i]));
}

}  // namespace
}  // namespace sepal::tools
