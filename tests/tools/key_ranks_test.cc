#include "tools/sepal/pictures/key_ranks.h"

#include <gtest/gtest.h>

namespace sepal::tools {
namespace {

TEST(KeyRanksTest, KeysAreEvenlyApartHoweverTheyBegin) {
  const KeyRanks ranks({"user:9", "a", "user:10", "user:11", "a"});
  EXPECT_EQ(ranks.keys(), (std::vector<std::string>{"a", "user:10", "user:11", "user:9"}));
  EXPECT_EQ(ranks.Of("a"), 0u);
  EXPECT_EQ(ranks.Of("user:11"), 2u);
  EXPECT_EQ(ranks.Of("user:9"), 3u);
  EXPECT_EQ(KeyRanks({}).Of("any"), 0u);
}

}  // namespace
}  // namespace sepal::tools
