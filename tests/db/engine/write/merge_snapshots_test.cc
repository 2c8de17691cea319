// Merges of a few hot keys beside snapshots that come and go: what each snapshot and the present show stays the same
// when memtables let go of updates, when they are flushed, and when tables are compacted.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sepal/merge_operator.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

class MergeSnapshotsTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  struct Seen {
    std::shared_ptr<const Snapshot> snapshot;
    std::map<std::string, std::string> values;
  };

  void OpenWith(std::shared_ptr<const MergeOperator> merge) {
    database.options.family.merge_operator = std::move(merge);
    database.tuning.memtable_bytes = size_t{256} << 10;
    database.tuning.memtable_limit_bytes = size_t{512} << 10;
    database.tuning.log_limit_bytes = uint64_t{64} << 20;
    ASSERT_OK(database.Open());
  }
  DB* db() { return database.db.get(); }
  void TakeSnapshot() { seen_.push_back({db()->GetSnapshot(), values_}); }
  void CheckAll(const std::string& when) {
    for (const auto& [key, value] : values_) ASSERT_EQ(Value(db(), key), value) << when << ", now";
    for (const Seen& seen : seen_) {
      for (const auto& [key, value] : seen.values) {
        const absl::StatusOr<std::string> got = db()->Get(key, {.snapshot = seen.snapshot.get()});
        ASSERT_EQ(got.value_or("?"), value) << when << ", at a snapshot";
      }
    }
  }

  TestDatabase database;
  std::map<std::string, std::string> values_;
  std::vector<Seen> seen_;
};

TEST_P(MergeSnapshotsTest, CountersKeepEveryIncrement) {
  OpenWith(MergeOperators::Add64());
  Random random(GetParam());
  std::map<std::string, int64_t> sums;
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < 2000; ++i) {
      const std::string key = NumberedKey(random.Uniform(3));
      const auto more = static_cast<int64_t>(random.Uniform(100));
      ASSERT_OK(db()->Merge(key, MergeOperators::EncodeInt64(more)));
      values_[key] = MergeOperators::EncodeInt64(sums[key] += more);
      if (random.OneIn(300)) TakeSnapshot();
      if (random.OneIn(400) && !seen_.empty()) {
        seen_.erase(seen_.begin() + static_cast<std::ptrdiff_t>(random.Uniform(seen_.size())));
      }
    }
    CheckAll("after merges");
    if (random.OneIn(2)) ASSERT_OK(db()->Flush());
    CheckAll("after a flush");
    if (random.OneIn(4)) ASSERT_OK(db()->CompactRange());
    CheckAll("after a compaction");
    if (random.OneIn(3)) seen_.clear();
  }
  seen_.clear();
  ASSERT_OK(database.CrashAndReopen(CrashMode::kKillProcess));
  CheckAll("after a crash");
}

INSTANTIATE_TEST_SUITE_P(Seeds, MergeSnapshotsTest, ::testing::Range<uint64_t>(1, 9));

// One snapshot at the beginning, then more merges than memory keeps.
TEST(MergeBesideASnapshotTest, AFlushTakesAllOperands) {
  TestDatabase database;
  database.options.family.merge_operator = MergeOperators::Add64();
  database.tuning.memtable_bytes = size_t{1} << 20;
  database.tuning.memtable_limit_bytes = size_t{2} << 20;
  database.tuning.log_limit_bytes = uint64_t{64} << 20;
  ASSERT_OK(database.Open());
  DB* const db = database.db.get();
  ASSERT_OK(db->Merge("counter", MergeOperators::EncodeInt64(1)));
  const std::shared_ptr<const Snapshot> snapshot = db->GetSnapshot();
  for (int i = 1; i < 5000; ++i) ASSERT_OK(db->Merge("counter", MergeOperators::EncodeInt64(1)));
  ASSERT_OK(db->Flush());
  EXPECT_EQ(Value(db, "counter"), MergeOperators::EncodeInt64(5000));
  EXPECT_EQ(db->Get("counter", {.snapshot = snapshot.get()}).value_or("?"), MergeOperators::EncodeInt64(1));
}

// A family that keeps its history is read as of a moment of which the memtable of another has let go long since.
class MergeBesidePastReadsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    database.options.family.merge_operator = MergeOperators::Add64();
    database.tuning.memtable_bytes = size_t{1} << 20;
    database.tuning.memtable_limit_bytes = size_t{2} << 20;
    database.tuning.log_limit_bytes = uint64_t{64} << 20;
    ColumnFamilyOptions remembers = database.options.family;
    remembers.history = std::chrono::hours(100);
    database.options.column_families.push_back({"remembers", remembers});
    ASSERT_OK(database.Open());
    remembers_ = database.db->FindColumnFamily("remembers").value();
    ASSERT_OK(database.db->Put(*remembers_, "k", "then"));
    Increment(10);
    moment_ = database.db->GetSnapshot()->sequence();
    ASSERT_OK(database.db->Put(*remembers_, "k", "now"));
    Increment(20'000);
  }
  void Increment(int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_OK(database.db->Merge("counter", MergeOperators::EncodeInt64(1)));
    }
  }

  TestDatabase database;
  std::shared_ptr<ColumnFamily> remembers_;
  uint64_t moment_ = 0;
};

TEST_F(MergeBesidePastReadsTest, AFlushTakesAllOperands) {
  DB* const db = database.db.get();
  const std::unique_ptr<Iterator> it = db->NewIterator(*remembers_, {.as_of_sequence = moment_});
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid()) << it->status();
  EXPECT_EQ(it->value(), "then");
  ASSERT_OK(db->Flush());
  EXPECT_EQ(Value(db, "counter"), MergeOperators::EncodeInt64(20'010));
  Increment(20'000);
  ASSERT_OK(db->Flush());
  ASSERT_OK(db->CompactRange());
  EXPECT_EQ(Value(db, "counter"), MergeOperators::EncodeInt64(40'010));
  // What the iterator sees stays, in its own family.
  ASSERT_OK(db->CompactRange(*remembers_, {}));
  it->SeekToLast();
  ASSERT_TRUE(it->Valid()) << it->status();
  EXPECT_EQ(it->value(), "then");
}

TEST_F(MergeBesidePastReadsTest, AMomentThatIsRefusedHoldsNothing) {
  DB* const db = database.db.get();
  std::shared_ptr<const Snapshot> now = db->GetSnapshot();
  const absl::StatusOr<std::string> refused = db->Get("counter", {.as_of_sequence = moment_});
  EXPECT_FALSE(refused.ok()) << "a family without history";
  now.reset();
  EXPECT_EQ(db->GetProperty("sepal.snapshots").value_or("?"), "");
  ASSERT_OK(db->Flush());
  EXPECT_EQ(Value(db, "counter"), MergeOperators::EncodeInt64(20'010));
}

}  // namespace
}  // namespace sepal
