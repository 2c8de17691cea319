#include <gtest/gtest.h>

#include "sepal/options.h"

namespace sepal {
namespace {

TEST(EndOfPrefixTest, TheEndOfAPrefixIsTheNextPrefixOfThatLengthOrLess) {
  EXPECT_EQ(EndOfPrefix("user:"), "user;");
  EXPECT_EQ(EndOfPrefix("a\xff\xff"), "b");
  EXPECT_EQ(EndOfPrefix("\x7f"), "\x80");
  EXPECT_EQ(EndOfPrefix("\xfe\xff"), "\xff");
  EXPECT_EQ(EndOfPrefix(std::string(1, '\0')), "\x01");
}

TEST(EndOfPrefixTest, AllKeysAndTheHighestBytesHaveNoEndOfPrefix) {
  EXPECT_EQ(EndOfPrefix(""), std::nullopt);
  EXPECT_EQ(EndOfPrefix("\xff"), std::nullopt);
  EXPECT_EQ(EndOfPrefix("\xff\xff\xff"), std::nullopt);
}

// All prefixes and keys of at most three of these bytes.
TEST(EndOfPrefixTest, TheEndOfAPrefixPartsTheKeysThatBeginSoFromThoseBehind) {
  std::vector<std::string> all = {""};
  for (size_t i = 0; i < all.size() && all[i].size() < 3; ++i) {
    for (const char c : {'\0', '\x7f', '\x80', '\xfe', '\xff'}) all.push_back(all[i] + c);
  }
  for (const std::string& prefix : all) {
    const std::optional<std::string> end = EndOfPrefix(prefix);
    for (const std::string& key : all) {
      const bool within = BytewiseComparator()->Compare(key, prefix) >= 0 &&
                          (!end.has_value() || BytewiseComparator()->Compare(key, *end) < 0);
      EXPECT_EQ(within, key.starts_with(prefix));
    }
  }
}

}  // namespace
}  // namespace sepal
