// ExplainGet: it takes the way of a Get, and says so.
#include <gtest/gtest.h>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

class ExplainTest : public EngineTest {
 protected:
  GetExplanation Explain(std::string_view key) {
    absl::StatusOr<GetExplanation> explanation = db()->ExplainGet(key);
    EXPECT_OK(explanation.status());
    return explanation.ok() ? *explanation : GetExplanation();
  }
};

TEST_F(ExplainTest, WhatIsReadForAnExplanationIsNotKeptInTheCache) {
  Fill(0, 200);
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(database.Reopen());
  const GetExplanation first = Explain(NumberedKey(100));
  EXPECT_FALSE(first.sources.back().blocks[0].cached);
  EXPECT_GT(first.bytes_read, 0u);
  EXPECT_FALSE(Explain(NumberedKey(100)).sources.back().blocks[0].cached);
  EXPECT_EQ(Value(db(), NumberedKey(100)).rfind("100:", 0), 0u);
  const GetExplanation after = Explain(NumberedKey(100));
  EXPECT_TRUE(after.sources.back().blocks[0].cached);
  EXPECT_TRUE(after.sources.back().guard_cached);
  EXPECT_EQ(after.bytes_read, 0u);
}

TEST_F(ExplainTest, DamageIsReportedAndNeverTakenForAbsence) {
  Fill(0, 200);
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(database.Reopen());
  for (const std::string& name : FilesIn(&database.memory, database.path)) {
    if (!name.ends_with(".sst")) continue;
    ASSERT_OK(database.memory.FlipBit(database.path + "/" + name, 40, 3));
  }
  EXPECT_TRUE(absl::IsDataLoss(db()->ExplainGet(NumberedKey(0)).status()));
}

}  // namespace
}  // namespace sepal
