// Memory of many column families that are hardly written to.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

TEST(ManyFamiliesTest, FamiliesThatNothingWasWrittenToTakeHardlyAnyMemory) {
  constexpr size_t kFamilies = 350;
  TestDatabase database;
  database.tuning.memtable_bytes = size_t{1536} << 10;
  database.tuning.memtable_limit_bytes = size_t{3} << 20;
  database.tuning.log_limit_bytes = uint64_t{64} << 20;
  database.tuning.manifest_limit_bytes = uint64_t{4} << 20;
  ASSERT_OK(database.Open());
  DB* const db = database.db.get();
  std::vector<std::shared_ptr<ColumnFamily>> families;
  for (size_t i = 0; i < kFamilies; ++i) {
    absl::StatusOr<std::shared_ptr<ColumnFamily>> family = db->CreateColumnFamily("family" + std::to_string(i));
    ASSERT_OK(family.status());
    families.push_back(*std::move(family));
  }
  EXPECT_LT(database.Metrics().MemoryBytes(MemoryPart::kMemtables), kFamilies * 512);
  for (uint64_t round = 0; round < 4; ++round) {
    for (const auto& family : families) ASSERT_OK(db->Put(family.get(), NumberedKey(round), std::string(100, 'v')));
  }
  for (const auto& family : families) {
    ASSERT_EQ(ReadAll(db->NewIterator(family.get()).get()).size(), 4u);
  }
}

}  // namespace
}  // namespace sepal
