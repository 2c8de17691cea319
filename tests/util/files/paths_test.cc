#include "util/files/paths.h"

#include <gtest/gtest.h>

#include <string_view>

namespace sepal {
namespace {

TEST(PathsTest, AFileNameIsOneComponent) {
  EXPECT_TRUE(CheckFileName("d", "000001.log").ok());
  for (const std::string_view name : {std::string_view(""), std::string_view("."), std::string_view(".."),
                                      std::string_view("a/b"), std::string_view("a\0b", 3)}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckFileName("d", name))) << name;
  }
}

TEST(PathsTest, ACleanPathHasNoSlashesAtItsEnd) {
  EXPECT_EQ(*CleanPath("/a/b//"), "/a/b");
  EXPECT_EQ(*CleanPath("///"), "/");
  EXPECT_TRUE(absl::IsInvalidArgument(CleanPath("").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(CleanPath(std::string_view("a\0", 2)).status()));
}

TEST(PathsTest, TheParentIsWhatIsLeftOfTheLastComponent) {
  EXPECT_EQ(ParentPath("/a/b"), "/a");
  EXPECT_EQ(ParentPath("/a"), "/");
  EXPECT_EQ(ParentPath("a"), ".");
}

}  // namespace
}  // namespace sepal
