#include "tools/terminal/input_buffer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <istream>
#include <string>

namespace sepal::tools {
namespace {

TEST(InputBufferTest, GivesAllBytesAndThenItsEnd) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "one\ntwo", 7), 7);
  close(ends[1]);
  InputBuffer buffer(ends[0]);
  std::istream in(&buffer);
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  EXPECT_EQ(line, "one");
  ASSERT_TRUE(std::getline(in, line));
  EXPECT_EQ(line, "two");
  EXPECT_FALSE(std::getline(in, line));
  EXPECT_TRUE(in.eof());
  EXPECT_FALSE(in.bad());
  close(ends[0]);
}

TEST(InputBufferTest, WhatCannotBeReadIsNoEnd) {
  const int directory = open("/", O_RDONLY | O_DIRECTORY);
  ASSERT_GE(directory, 0);
  InputBuffer buffer(directory);
  std::istream in(&buffer);
  std::string line;
  EXPECT_FALSE(std::getline(in, line));
  EXPECT_TRUE(in.bad());
  EXPECT_FALSE(in.eof());
  close(directory);
}

}  // namespace
}  // namespace sepal::tools
