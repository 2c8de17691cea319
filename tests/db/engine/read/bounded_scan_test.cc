// What a scan with bounds goes over.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/db/engine/engine_fixture.h"
#include "tests/db/engine/read/counting_comparator.h"

namespace sepal {
namespace {

// Deleted keys, and keys that a snapshot does not see, behind the upper bound.
TEST(BoundedScanTest, AScanEndsAtItsBoundWhateverLiesBehind) {
  const CountingComparator comparator;
  TestDatabase database;
  database.options.family.comparator = &comparator;
  ASSERT_OK(database.Open());
  DB* const db = database.db.get();
  for (uint64_t i = 0; i < 10; ++i) ASSERT_OK(db->Put(NumberedKey(i), "v"));
  const std::shared_ptr<const Snapshot> before = db->GetSnapshot();
  for (uint64_t i = 10; i < 3000; ++i) ASSERT_OK(db->Put(NumberedKey(i), "v"));
  ASSERT_OK(db->Flush());
  for (uint64_t i = 10; i < 3000; ++i) ASSERT_OK(db->Delete(NumberedKey(i)));
  const std::string bound = NumberedKey(10);
  const auto calls_of_scan = [&](const Snapshot* snapshot) {
    const std::unique_ptr<Iterator> it = db->NewIterator({.snapshot = snapshot, .upper_bound = bound});
    const uint64_t from = comparator.calls;
    EXPECT_EQ(ReadAll(it.get()).size(), 10u);
    it->Seek(NumberedKey(20));
    EXPECT_FALSE(it->Valid());
    return comparator.calls - from;
  };
  EXPECT_LT(calls_of_scan(nullptr), 500u);
  EXPECT_LT(calls_of_scan(before.get()), 500u);
}

}  // namespace
}  // namespace sepal
