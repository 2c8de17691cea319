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
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(absl::IsNotFound(db()->Get(key, &value)));
    const uint64_t before = allocations;
    const absl::Status status = db()->Get(key, &value);
    const uint64_t after = allocations;
    EXPECT_TRUE(absl::IsNotFound(status));
    EXPECT_EQ(after - before, 0u) << "key \"" << key << "\"";
  }
}

TEST_F(AllocationTest, GettingAPresentKeyIntoAPinAllocatesNothing) {
  Fill(0, 2000);
  ASSERT_OK(db()->CompactRange());
  PinnedValue value;
  for (int i = 0; i < 3; ++i) ASSERT_OK(db()->Get(NumberedKey(77), &value));
  const std::string key = NumberedKey(77);
  value.Reset();
  const uint64_t before = allocations;
  const absl::Status status = db()->Get(key, &value);
  const uint64_t after = allocations;
  ASSERT_OK(status);
  EXPECT_EQ(after - before, 0u);
}

}  // namespace
}  // namespace sepal
