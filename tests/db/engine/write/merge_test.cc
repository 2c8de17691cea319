// Merges: how few operands a reader meets, and what happens where the operator is missing or fails. What they mean is
// in tests/scripts/merges.txt.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sepal/merge_operator.h"
#include "tests/caseless_comparator.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

class MergeTest : public ::testing::Test {
 protected:
  void OpenWith(std::shared_ptr<const MergeOperator> merge) {
    database.options.family.merge_operator = std::move(merge);
    // All of a test in one memtable, where it does not flush.
    database.tuning.memtable_bytes = size_t{1} << 20;
    database.tuning.memtable_limit_bytes = size_t{2} << 20;
    database.tuning.log_limit_bytes = uint64_t{8} << 20;
    ASSERT_OK(database.Open());
  }
  DB* db() { return database.db.get(); }
  int64_t CounterAt(std::string_view key, const ReadOptions& options = {}) {
    const absl::StatusOr<std::string> value = db()->Get(key, options);
    EXPECT_OK(value.status());
    return value.ok() ? *MergeOperators::DecodeInt64(*value) : 0;
  }
  uint64_t OperandsOf(std::string_view key) { return db()->ExplainGet(key).value().merge_operands; }
  static std::string One() { return MergeOperators::EncodeInt64(1); }

  TestDatabase database;
};

TEST_F(MergeTest, AHotCounterHasOneOperandHoweverManyWereWritten) {
  OpenWith(MergeOperators::Add64());
  for (int i = 1; i <= 3000; ++i) {
    ASSERT_OK(db()->Merge("hot", One()));
    ASSERT_EQ(CounterAt("hot"), i);
  }
  EXPECT_EQ(OperandsOf("hot"), 1);
  ASSERT_OK(db()->Put("hot", MergeOperators::EncodeInt64(100)));
  for (int i = 0; i < 1000; ++i) ASSERT_OK(db()->Merge("hot", One()));
  EXPECT_EQ(CounterAt("hot"), 1100);
  EXPECT_EQ(OperandsOf("hot"), 0) << "over a small value a merge is a put";
}

TEST_F(MergeTest, APropertyTellsTheLongestChainThatReadsMetAndTheOperandsOfMemtables) {
  OpenWith(MergeOperators::Append("+"));
  using Chains = std::pair<uint64_t, uint64_t>;
  const auto told = [&](const ColumnFamily& family) {
    const Properties properties = db()->GetProperties(family).value();
    const std::string text = "longest chain that a read combined: " + std::to_string(properties.longest_merge_chain) +
                             " operands\noperands in memtables: " + std::to_string(properties.memtable_operands) + "\n";
    EXPECT_EQ(db()->GetProperty(family, "sepal.merge-chains"), text);
    return Chains{properties.longest_merge_chain, properties.memtable_operands};
  };
  const auto of_default = [&] { return told(db()->DefaultColumnFamily()); };
  EXPECT_EQ(of_default(), (Chains{0, 0}));
  ASSERT_OK(db()->Put("other", "v"));
  for (int run = 0; run < 3; ++run) {
    ASSERT_OK(db()->Merge("k", "x"));
    ASSERT_OK(db()->Merge("l", "y"));
    if (run < 2) ASSERT_OK(db()->Flush());
  }
  EXPECT_EQ(of_default(), (Chains{0, 2})) << "nothing was read, and tables do not tell";
  EXPECT_EQ(*db()->Get("other"), "v");
  EXPECT_EQ(of_default(), (Chains{0, 2}));
  EXPECT_EQ(*db()->Get("k"), "x+x+x");
  EXPECT_EQ(of_default(), (Chains{3, 2}));
  EXPECT_EQ(OperandsOf("k"), 3);
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(*db()->Get("k"), "x+x+x");
  EXPECT_EQ(of_default(), (Chains{3, 0})) << "since the opening";
  // Iterators, and families apart.
  database.options.family.merge_operator = MergeOperators::Append("+");
  const auto family = db()->CreateColumnFamily("f", database.options.family).value();
  ASSERT_OK(db()->Merge(*family, "k", "x"));
  ASSERT_OK(db()->Flush(*family));
  ASSERT_OK(db()->Merge(*family, "k", "x"));
  const std::unique_ptr<Iterator> it = db()->NewIterator(*family);
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->value(), "x+x");
  EXPECT_EQ(told(*family), (Chains{2, 1}));
  EXPECT_EQ(of_default(), (Chains{3, 0}));
}

TEST_F(MergeTest, ManyAppendsToOneKeyAreFewOperands) {
  OpenWith(MergeOperators::Append(""));
  ASSERT_OK(db()->Put("log", std::string(1000, '.')));
  std::string expected(1000, '.');
  for (int i = 0; i < 500; ++i) {
    const std::string entry = "entry " + std::to_string(i) + std::string(20, ' ');
    expected += entry;
    ASSERT_OK(db()->Merge("log", entry));
  }
  EXPECT_EQ(*db()->Get("log"), expected);
  EXPECT_LE(OperandsOf("log"), 12);
  ASSERT_OK(db()->Flush());
  EXPECT_EQ(*db()->Get("log"), expected);
  EXPECT_EQ(OperandsOf("log"), 0) << "the flush had the value below them";
}

TEST_F(MergeTest, SnapshotsAmongFoldedOperandsSeeTheirOwn) {
  OpenWith(MergeOperators::Add64());
  std::vector<std::shared_ptr<const Snapshot>> snapshots;
  for (int i = 0; i < 200; ++i) {
    snapshots.push_back(db()->GetSnapshot());
    ASSERT_OK(db()->Merge("k", One()));
  }
  const auto check = [&] {
    for (size_t i = 1; i < snapshots.size(); ++i) {
      ASSERT_EQ(CounterAt("k", {.snapshot = snapshots[i].get()}), static_cast<int64_t>(i));
    }
    EXPECT_TRUE(absl::IsNotFound(db()->Get("k", {.snapshot = snapshots[0].get()}).status()));
    EXPECT_EQ(CounterAt("k"), 200);
  };
  check();
  ASSERT_OK(db()->Flush());
  check();
  ASSERT_OK(db()->CompactRange(db()->DefaultColumnFamily()));
  check();
  snapshots.resize(2);
  ASSERT_OK(db()->CompactRange(db()->DefaultColumnFamily()));
  check();
}

// What a snapshot's operands make has the key of the newest of them.
TEST_F(MergeTest, OperandsBelowASnapshotKeepTheKeyThatTheyWereWrittenWith) {
  const CaselessComparator caseless;
  database.options.family.comparator = &caseless;
  OpenWith(MergeOperators::Append(";"));
  ASSERT_OK(db()->Merge("KEY", "1"));
  ASSERT_OK(db()->Merge("Key", "2"));
  const std::shared_ptr<const Snapshot> snapshot = db()->GetSnapshot();
  ASSERT_OK(db()->Merge("key", "3"));
  for (int compacted = 0; compacted < 2; ++compacted) {
    EXPECT_EQ(ReadAll(db()->NewIterator({.snapshot = snapshot.get()}).get()), (Entries{{"Key", "1;2"}}));
    EXPECT_EQ(ReadAll(db()->NewIterator().get()), (Entries{{"key", "1;2;3"}}));
    ASSERT_OK(db()->CompactRange());
  }
  database.db.reset();
}

TEST_F(MergeTest, CompactionsLeaveOneValue) {
  OpenWith(MergeOperators::Add64());
  for (int run = 0; run < 4; ++run) {
    for (int i = 0; i < 50; ++i) ASSERT_OK(db()->Merge("k" + std::to_string(i % 5), One()));
    ASSERT_OK(db()->Flush());
  }
  ASSERT_OK(db()->CompactRange(db()->DefaultColumnFamily()));
  EXPECT_EQ(db()->GetProperties().value().entries, 5);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(CounterAt("k" + std::to_string(i)), 40);
}

TEST_F(MergeTest, AnOperatorThatFailsFailsTheReadsOfItsKeyAlone) {
  OpenWith(MergeOperators::Add64());
  ASSERT_OK(db()->Put("a", One()));
  ASSERT_OK(db()->Put("b", "no number"));
  ASSERT_OK(db()->Merge("b", One()));
  ASSERT_OK(db()->Merge("c", One()));
  for (const bool flushed : {false, true}) {
    if (flushed) ASSERT_OK(db()->CompactRange(db()->DefaultColumnFamily()));
    EXPECT_TRUE(absl::IsInvalidArgument(db()->Get("b").status()));
    const std::vector<std::string_view> keys = {"a", "b", "c"};
    const auto values = db()->MultiGet(keys);
    EXPECT_OK(values[0].status());
    EXPECT_TRUE(absl::IsInvalidArgument(values[1].status())) << values[1].status();
    EXPECT_OK(values[2].status());
    const std::unique_ptr<Iterator> it = db()->NewIterator();
    it->SeekToFirst();
    ASSERT_TRUE(it->Valid());
    it->Next();
    EXPECT_FALSE(it->Valid());
    EXPECT_NE(it->status().ToString().find("'b'"), std::string::npos) << it->status();
    it->Seek("c");
    ASSERT_TRUE(it->Valid());
    EXPECT_OK(it->status());
    it->Prev();
    EXPECT_FALSE(it->Valid());
    EXPECT_TRUE(absl::IsInvalidArgument(it->status()));
    EXPECT_TRUE(db()->KeyMayExist("b"));
  }
  ASSERT_OK(db()->Put("b", One()));
  EXPECT_EQ(CounterAt("b"), 1);
}

// Adds as Add64 does, under a name that the library does not know.
class OwnAdd final : public MergeOperator {
 public:
  std::string_view Name() const override { return "test.OwnAdd"; }
  absl::Status Merge(std::string_view key, std::optional<std::string_view> base,
                     std::span<const std::string_view> operands, std::string* value) const override {
    return add_->Merge(key, base, operands, value);
  }

 private:
  const std::shared_ptr<const MergeOperator> add_ = MergeOperators::Add64();
};

TEST_F(MergeTest, WithoutItsOperatorAFamilyOpensAndKeepsItsOperands) {
  OpenWith(std::make_shared<OwnAdd>());
  ASSERT_OK(db()->Put("plain", "value"));
  for (int i = 0; i < 3; ++i) ASSERT_OK(db()->Merge("k", One()));
  database.options.family.merge_operator = nullptr;
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(*db()->Get("plain"), "value");
  const absl::Status refused = db()->Get("k").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_NE(refused.ToString().find("test.OwnAdd"), std::string::npos) << refused;
  ASSERT_OK(db()->Merge("k", One()));
  ASSERT_OK(db()->CompactRange(db()->DefaultColumnFamily()));
  EXPECT_TRUE(absl::IsFailedPrecondition(db()->Get("k").status()));
  ASSERT_OK(database.Reopen());
  EXPECT_TRUE(absl::IsFailedPrecondition(db()->Get("k").status()));
  database.options.family.merge_operator = MergeOperators::Add64();
  EXPECT_TRUE(absl::IsInvalidArgument(database.Reopen()));
  database.options.family.merge_operator = std::make_shared<OwnAdd>();
  ASSERT_OK(database.Open());
  EXPECT_EQ(CounterAt("k"), 4);
}

TEST_F(MergeTest, AFamilyMayGetAnOperatorLater) {
  OpenWith(nullptr);
  ASSERT_OK(db()->Put("k", MergeOperators::EncodeInt64(5)));
  EXPECT_TRUE(absl::IsInvalidArgument(db()->Merge("k", One())));
  database.options.family.merge_operator = MergeOperators::Add64();
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->Merge("k", One()));
  EXPECT_EQ(CounterAt("k"), 6);
}

TEST_F(MergeTest, LongValuesAreMadeAndHandedOver) {
  OpenWith(MergeOperators::Append(""));
  ASSERT_OK(db()->Put("k", std::string(300000, 'a')));
  ASSERT_OK(db()->Merge("k", std::string(200000, 'b')));
  PinnedValue value;
  ASSERT_OK(db()->Get("k", value));
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(value.value(), std::string(300000, 'a') + std::string(200000, 'b'));
}

}  // namespace
}  // namespace sepal
