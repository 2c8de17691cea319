// ExplainGet: it takes the way of a Get, and says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;
using Answer = ExplainedSource::Answer;
using Kind = ExplainedSource::Kind;

class ExplainTest : public EngineTest {
 protected:
  GetExplanation Explain(std::string_view key, const ReadOptions& options = {}) {
    absl::StatusOr<GetExplanation> explanation = db()->ExplainGet(key, options);
    EXPECT_OK(explanation.status());
    return explanation.ok() ? *explanation : GetExplanation();
  }
};

TEST_F(ExplainTest, AKeyInATableNamesFileLeafPageAndBlock) {
  Fill(0, 200);
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->CompactRange());
  const GetExplanation e = Explain(NumberedKey(100));
  ASSERT_TRUE(e.found);
  const ExplainedSource& table = e.sources.back();
  EXPECT_EQ(table.kind, Kind::kTable);
  EXPECT_EQ(table.answer, Answer::kFound);
  EXPECT_GT(table.file_number, 0u);
  EXPECT_TRUE(table.has_guard);
  EXPECT_TRUE(table.guard_admits);
  ASSERT_EQ(table.blocks.size(), 1u);
  EXPECT_TRUE(table.blocks[0].has_lane);
  EXPECT_TRUE(table.blocks[0].lane_admits);
  EXPECT_TRUE(table.blocks[0].key_present);
  EXPECT_THAT(e.ToString(), HasSubstr("found"));
}

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

TEST_F(ExplainTest, AbsentKeysAreMostlyRuledOutByFilters) {
  Fill(0, 500);
  ASSERT_OK(db()->CompactRange());
  int by_filters = 0;
  for (int i = 0; i < 100; ++i) {
    const GetExplanation e = Explain(NumberedKey(i) + "x");
    EXPECT_FALSE(e.found);
    const Answer answer = e.sources.back().answer;
    by_filters += answer == Answer::kGuardSaysNo || answer == Answer::kLaneSaysNo ? 1 : 0;
  }
  EXPECT_GT(by_filters, 90);
}

// Under every order of updates, levels and snapshots: the explanation's answer is the Get's.
TEST_F(ExplainTest, AlwaysAgreesWithGet) {
  std::vector<std::shared_ptr<const Snapshot>> snapshots;
  for (int i = 0; i < 4000; ++i) {
    const std::string key = NumberedKey((i * 7919) % 300);
    ASSERT_OK(i % 5 == 0 ? db()->Delete(key) : db()->Put(key, std::string(20 + i % 30, 'v')));
    if (i % 500 == 0) snapshots.push_back(db()->GetSnapshot());
  }
  snapshots.push_back(nullptr);
  for (const auto& snapshot : snapshots) {
    for (int i = 0; i < 310; ++i) {
      const ReadOptions options{.snapshot = snapshot.get()};
      const absl::StatusOr<std::string> value = db()->Get(NumberedKey(i), options);
      const GetExplanation e = Explain(NumberedKey(i), options);
      ASSERT_EQ(e.found, value.ok()) << e.ToString();
      ASSERT_EQ(e.value_bytes, value.ok() ? value->size() : 0u);
    }
  }
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
