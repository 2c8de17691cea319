// The write-ahead log of a database stays within twice the memtables' budget, however many families there are.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

class LogBoundTest : public EngineTest {
 protected:
  void SetUp() override {
    database.tuning.memtable_bytes = size_t{64} << 10;
    database.tuning.memtable_limit_bytes = 2 * database.tuning.memtable_bytes;
    database.tuning.log_limit_bytes = 2 * database.tuning.memtable_bytes;
    database.tuning.log_allocation_bytes = size_t{4} << 10;
    EngineTest::SetUp();
  }
  void MakeFamilies(int count) {
    for (int i = 0; i < count; ++i) {
      auto made = db()->CreateColumnFamily("family" + std::to_string(i));
      ASSERT_OK(made.status());
      families.push_back(std::move(made).value());
    }
  }
  // Remembers the most bytes and files of logs that were seen.
  void LookAtLogs() {
    auto directory = database.files.OpenDirectory("/db", /*create=*/false);
    const auto listing = (*directory)->List();
    uint64_t bytes = 0;
    size_t files = 0;
    for (const DirectoryEntry& entry : *listing) {
      if (!entry.name.ends_with(".log")) continue;
      bytes += entry.size_bytes;
      ++files;
    }
    most_bytes = std::max(most_bytes, bytes);
    most_files = std::max(most_files, files);
  }
  // The bound, what each file takes beside its records, and what the current one has reserved.
  uint64_t Bound() const {
    return 2 * database.tuning.memtable_bytes + most_files * 512 + database.tuning.log_allocation_bytes;
  }

  std::vector<std::shared_ptr<ColumnFamily>> families;
  uint64_t most_bytes = 0;
  size_t most_files = 0;
};

TEST_F(LogBoundTest, OneFamilyKeepsTheLogWithinTwiceTheBudget) {
  for (uint64_t i = 0; i < 6000; ++i) {
    ASSERT_OK(db()->Put(NumberedKey(i), std::string(60, 'v')));
    if (i % 20 == 0) LookAtLogs();
  }
  EXPECT_LE(most_bytes, Bound());
  EXPECT_LE(most_files, 6u);
}

TEST_F(LogBoundTest, FamiliesThatAreHardlyWrittenToDoNotPileUpLogs) {
  MakeFamilies(100);
  for (int round = 0; round < 4; ++round) {
    for (const auto& family : families) ASSERT_OK(db()->Put(*family, "k", std::to_string(round)));
    for (uint64_t i = 0; i < 2500; ++i) {
      ASSERT_OK(db()->Put(NumberedKey(i), std::string(60, 'v')));
      if (i % 20 == 0) LookAtLogs();
    }
  }
  EXPECT_LE(most_bytes, Bound());
  EXPECT_LE(most_files, 8u);
  ASSERT_OK(db()->WaitForBackgroundWork());
  for (const auto& family : families) {
    const auto value = db()->Get(*family, "k");
    ASSERT_OK(value.status());
    EXPECT_EQ(*value, "3");
  }
}

TEST_F(LogBoundTest, FamiliesWrittenInTurnShareTheBudget) {
  MakeFamilies(30);
  for (uint64_t i = 0; i < 9000; ++i) {
    ASSERT_OK(db()->Put(*families[i % families.size()], NumberedKey(i), std::string(60, 'v')));
    if (i % 20 == 0) LookAtLogs();
  }
  EXPECT_LE(most_bytes, Bound());
  EXPECT_LE(most_files, 12u);
  ASSERT_OK(db()->WaitForBackgroundWork());
  size_t entries = 0;
  for (const auto& family : families) entries += ReadAll(db()->NewIterator(*family).get()).size();
  EXPECT_EQ(entries, 9000u);
}

TEST_F(LogBoundTest, APauseDoesNotLetTheLogGrowBeyondTheBudget) {
  MakeFamilies(10);
  ASSERT_OK(db()->PauseBackgroundWork());
  for (uint64_t i = 0; i < 100'000; ++i) {
    const ColumnFamily& family = *families[i % families.size()];
    const absl::Status put = db()->Put(family, NumberedKey(i), std::string(60, 'v'), {.no_slowdown = true});
    if (i % 20 == 0) LookAtLogs();
    if (put.ok()) continue;
    EXPECT_EQ(put.code(), absl::StatusCode::kUnavailable);
    if (NumberProperty(db(), "sepal.last-sequence") > 500) break;
  }
  LookAtLogs();
  EXPECT_LE(most_bytes, Bound());
  ASSERT_OK(db()->ContinueBackgroundWork());
  ASSERT_OK(db()->WaitForBackgroundWork());
  ASSERT_OK(db()->Put(*families.front(), "k", "v"));
}

// Each log has space of its own, whatever lies in it.
TEST_F(LogBoundTest, FlushesOfOneFamilyPileUpNoLogsThatAnotherNeeds) {
  ASSERT_NO_FATAL_FAILURE(MakeFamilies(3));
  ASSERT_OK(db()->Put(*families[0], "old", "v"));
  for (int i = 0; i < 100; ++i) {
    if (i == 50) ASSERT_OK(db()->Put(*families[1], "younger", "v"));
    ASSERT_OK(db()->Put(*families[2], std::to_string(i), "v"));
    ASSERT_OK(db()->Flush(*families[2]));
    LookAtLogs();
  }
  EXPECT_LE(most_files, 20u);
  EXPECT_EQ(db()->Get(*families[0], "old").value_or("none"), "v");
}

}  // namespace
}  // namespace sepal
