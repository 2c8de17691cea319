// Two databases of one process, one of which is written from within a write to the other: what a file system that keeps
// its files in a database does, and a listener may do.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

class TwoDatabasesTest : public testing::Test {
 protected:
  void SetUp() override {
    outer.tuning.log_ring_bytes = 0;  // records are written by who puts
    ASSERT_OK(outer.Open());
    ASSERT_OK(inner.Open());
  }
  // Each record of the outer log comes with a put to the inner database.
  void PutInTheMidstOfPuts(const std::string& key, const std::string& value) {
    outer.files.SetDecider([&, key, value](const FileCall& call) {
      const bool writes = call.op == FileOp::kAppend || call.op == FileOp::kWriteAt;
      if (writes && call.name.ends_with(".log")) {
        EXPECT_OK(inner.db->Put(key, value));
        ++puts;
      }
      return Fault::kNone;
    });
  }

  TestDatabase inner{Threads::kReal};
  TestDatabase outer{Threads::kReal};
  int puts = 0;
};

TEST_F(TwoDatabasesTest, AWriteIsNotReplacedByOneOfTheSameLengthToTheOther) {
  PutInTheMidstOfPuts("inner-key-of-a-length", "inner-value-of-a-length");
  ASSERT_OK(outer.db->Put("outer-key-of-a-length", "outer-value-of-a-length"));
  EXPECT_GT(puts, 0);
  EXPECT_EQ(Value(outer.db.get(), "outer-key-of-a-length"), "outer-value-of-a-length");
  EXPECT_EQ(Value(outer.db.get(), "inner-key-of-a-length"), "NOT_FOUND");
  EXPECT_EQ(Value(inner.db.get(), "inner-key-of-a-length"), "inner-value-of-a-length");
  outer.files.Clear();
  ASSERT_OK(outer.Reopen());
  EXPECT_EQ(Value(outer.db.get(), "outer-key-of-a-length"), "outer-value-of-a-length");
}

TEST_F(TwoDatabasesTest, AWriteOutlivesALongOneToTheOther) {
  PutInTheMidstOfPuts("inner", std::string(size_t{3} << 19, 'i'));
  const std::string value(100, 'o');
  ASSERT_OK(outer.db->Put("outer", value));
  EXPECT_GT(puts, 0);
  EXPECT_EQ(Value(outer.db.get(), "outer"), value);
}

}  // namespace
}  // namespace sepal
