// How often reading allocates. Every allocation of this test binary is counted by the thread that makes it.
#include <gtest/gtest.h>

#include "tests/count_allocations.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using AllocationTest = EngineTest;

TEST_F(AllocationTest, GettingAnAbsentKeyAllocatesNothing) {
  Fill(0, 2000);
  ASSERT_OK(db()->CompactRange());
  Fill(0, 20);
  const std::string missing_within = NumberedKey(77) + "x";
  PinnedValue value;
  for (const std::string_view key : {std::string_view(missing_within), std::string_view("zzz"), std::string_view("")}) {
    // The first times open tables and fetch index pages.
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(absl::IsNotFound(db()->Get(key, value)));
    const uint64_t before = allocations;
    const absl::Status status = db()->Get(key, value);
    const uint64_t after = allocations;
    EXPECT_TRUE(absl::IsNotFound(status));
    EXPECT_EQ(after - before, 0u) << "key \"" << key << "\"";
  }
}

TEST_F(AllocationTest, GettingAPresentKeyIntoAPinAllocatesNothing) {
  Fill(0, 2000);
  ASSERT_OK(db()->CompactRange());
  PinnedValue value;
  for (int i = 0; i < 3; ++i) ASSERT_OK(db()->Get(NumberedKey(77), value));
  const std::string key = NumberedKey(77);
  value.Reset();
  const uint64_t before = allocations;
  const absl::Status status = db()->Get(key, value);
  const uint64_t after = allocations;
  ASSERT_OK(status);
  EXPECT_EQ(after - before, 0u);
}

// As databases are set by default, where short values are copied: 20 bytes into the PinnedValue, 300 into memory that
// it keeps for the next.
TEST_F(AllocationTest, GettingAShortValueAllocatesNothing) {
  database.tuning.copy_value_bytes = Tuning().copy_value_bytes;
  ASSERT_OK(database.Reopen());
  const auto allocated_by = [&](std::string_view key, PinnedValue& value) {
    const uint64_t before = allocations;
    const absl::Status status = db()->Get(key, value);
    const uint64_t after = allocations;
    EXPECT_OK(status);
    return after - before;
  };
  for (const bool in_memtable : {true, false}) {
    ASSERT_OK(db()->Put("short", std::string(20, 's')));
    ASSERT_OK(db()->Put("longer", std::string(300, 'l')));
    if (!in_memtable) ASSERT_OK(db()->CompactRange());
    PinnedValue warm;
    for (const char* key : {"short", "longer"}) ASSERT_OK(db()->Get(key, warm));
    PinnedValue fresh;
    EXPECT_EQ(allocated_by("short", fresh), 0u);
    EXPECT_EQ(allocated_by("longer", warm), 0u);
    EXPECT_EQ(warm.value(), std::string(300, 'l'));
  }
}

TEST_F(AllocationTest, MultiGetOfShortValuesAllocatesNothing) {
  Fill(0, 200);
  ASSERT_OK(db()->CompactRange());
  std::vector<std::string> names;
  for (uint64_t i = 0; i < 64; ++i) names.push_back(NumberedKey(i * 3));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  std::vector<PinnedValue> values(keys.size());
  std::vector<absl::Status> statuses(keys.size());
  for (int i = 0; i < 3; ++i) db()->MultiGet(keys, std::span(values), std::span(statuses)).IgnoreError();
  const uint64_t before = allocations;
  db()->MultiGet(keys, std::span(values), std::span(statuses)).IgnoreError();
  const uint64_t after = allocations;
  for (const absl::Status& status : statuses) EXPECT_OK(status);
  EXPECT_EQ(after - before, 0u);
}

}  // namespace
}  // namespace sepal
