// Tests of a whole small database (test_database.h).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/db/engine/test_database.h"

namespace sepal {

#define ASSERT_OK(expression)                                 \
  do {                                                        \
    const absl::Status assert_ok_status_ = (expression);      \
    ASSERT_TRUE(assert_ok_status_.ok()) << assert_ok_status_; \
  } while (false)
#define EXPECT_OK(expression)                                 \
  do {                                                        \
    const absl::Status expect_ok_status_ = (expression);      \
    EXPECT_TRUE(expect_ok_status_.ok()) << expect_ok_status_; \
  } while (false)

// Opened at the start of each test, with simulated threads.
class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(database.Open()); }
  DB* db() { return database.db.get(); }
  // Keys [begin, end), each with a value of `bytes` that tells its number.
  void Fill(uint64_t begin, uint64_t end, size_t bytes = 40) {
    for (uint64_t i = begin; i < end; ++i) {
      std::string value = std::to_string(i) + ":";
      value.resize(std::max(bytes, value.size()), static_cast<char>('a' + i % 26));
      ASSERT_OK(db()->Put(NumberedKey(i), value));
    }
  }

  TestDatabase database;
};

}  // namespace sepal
