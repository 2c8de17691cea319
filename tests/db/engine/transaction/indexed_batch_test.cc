// A batch that is read over the database before it is written: what its reads show, what it refuses, and what ends its
// iterators. Random batches against a model are in indexed_batch_model_test.cc.
#include "sepal/indexed_batch.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/caseless_comparator.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

std::string Shown(const absl::StatusOr<std::string>& value) {
  return value.ok() ? *value : std::string(absl::StatusCodeToString(value.status().code()));
}

class IndexedBatchTest : public EngineTest {
 protected:
  void SetUp() override {
    database.options.family.merge_operator = MergeOperators::Append();
    EngineTest::SetUp();
    ASSERT_OK(db()->Put("a", "1"));
    ASSERT_OK(db()->Put("b", "2"));
    ASSERT_OK(db()->Put("c", "3"));
  }
  // "key=value key=value ", forward; backward must show the same.
  static std::string All(Iterator* iterator) {
    std::string all, backward;
    for (const auto& [key, value] : ReadAll(iterator)) all.append(key).append("=").append(value).append(" ");
    EXPECT_OK(iterator->status());
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
      std::string entry(iterator->key());
      backward = entry.append("=").append(iterator->value()).append(" ") + backward;
    }
    EXPECT_EQ(backward, all);
    return all;
  }
  static std::string All(const IndexedBatch& batch, const ReadOptions& options = {}) {
    return All(batch.NewIterator(options).get());
  }
  std::string AllOfDatabase() { return All(db()->NewIterator().get()); }
};

TEST_F(IndexedBatchTest, ItReadsItsOwnUpdatesOverWhatTheDatabaseHas) {
  IndexedBatch batch(*db());
  EXPECT_EQ(All(batch), "a=1 b=2 c=3 ");
  ASSERT_OK(batch.Put("b", "20"));
  ASSERT_OK(batch.Put("d", "40"));
  ASSERT_OK(batch.Delete("a"));
  ASSERT_OK(batch.Merge("c", "30"));
  ASSERT_OK(batch.Merge("e", "50"));
  EXPECT_EQ(Shown(batch.Get("a")), "NOT_FOUND");
  EXPECT_EQ(Shown(batch.Get("b")), "20");
  EXPECT_EQ(Shown(batch.Get("c")), "3,30");
  EXPECT_EQ(Shown(batch.Get("d")), "40");
  EXPECT_EQ(Shown(batch.Get("z")), "NOT_FOUND");
  EXPECT_EQ(All(batch), "b=20 c=3,30 d=40 e=50 ");
  ASSERT_OK(batch.DeleteRange("b", "d"));
  ASSERT_OK(batch.Put("bb", "22"));
  EXPECT_EQ(All(batch), "bb=22 d=40 e=50 ");
  EXPECT_EQ(AllOfDatabase(), "a=1 b=2 c=3 ") << "nothing was written";
  EXPECT_EQ(batch.Count(), 7u);
  ASSERT_OK(db()->Write(batch.updates()));
  EXPECT_EQ(AllOfDatabase(), "bb=22 d=40 e=50 ");
}

TEST_F(IndexedBatchTest, MultiGetReadsWhatItDecidesAndWhatItDoesNot) {
  IndexedBatch batch(*db());
  ASSERT_OK(batch.Put("a", "10"));
  ASSERT_OK(batch.Merge("b", "20"));
  ASSERT_OK(batch.Delete("c"));
  const std::vector<std::string_view> keys = {"c", "b", "x", "a", "b"};
  std::string all;
  for (const absl::StatusOr<std::string>& value : batch.MultiGet(keys)) all += Shown(value) + " ";
  EXPECT_EQ(all, "NOT_FOUND 2,20 NOT_FOUND 10 2,20 ");
  EXPECT_TRUE(batch.MultiGet({}).empty());
}

TEST_F(IndexedBatchTest, ItsReadsAreOfNowOrOfASnapshot) {
  IndexedBatch batch(*db());
  ASSERT_OK(batch.Merge("a", "x"));
  const std::shared_ptr<const Snapshot> before = db()->GetSnapshot();
  ASSERT_OK(db()->Put("a", "new"));
  ASSERT_OK(db()->Delete("b"));
  EXPECT_EQ(Shown(batch.Get("a")), "new,x");
  EXPECT_EQ(All(batch), "a=new,x c=3 ");
  const ReadOptions then{.snapshot = before.get()};
  EXPECT_EQ(Shown(batch.Get("a", then)), "1,x");
  EXPECT_EQ(All(batch, then), "a=1,x b=2 c=3 ");
  const std::vector<std::string_view> keys = {"a", "b"};
  EXPECT_EQ(Shown(batch.MultiGet(keys, then)[0]), "1,x");
  EXPECT_EQ(Shown(batch.MultiGet(keys, then)[1]), "2");
}

TEST_F(IndexedBatchTest, BoundsAndPrefixesHoldForItsUpdatesToo) {
  IndexedBatch batch(*db());
  ASSERT_OK(batch.Put("ba", "20"));
  ASSERT_OK(batch.Put("d", "40"));
  EXPECT_EQ(All(batch, {.lower_bound = "b", .upper_bound = "c"}), "b=2 ba=20 ");
  EXPECT_EQ(All(batch, {.prefix = "b"}), "b=2 ba=20 ");
  EXPECT_EQ(All(batch, {.keys_only = true}), "a= b= ba= c= d= ");
  std::string scanned;
  ScanRange range = batch.Scan({.prefix = "b"});
  for (const auto& [key, value] : range) scanned.append(key).append(" ");
  ASSERT_OK(range.status());
  EXPECT_EQ(scanned, "b ba ");
}

TEST_F(IndexedBatchTest, ItCoversSeveralFamiliesEachInItsOrder) {
  static const CaselessComparator caseless;
  const std::shared_ptr<ColumnFamily> names = db()->CreateColumnFamily("names", {.comparator = &caseless}).value();
  ASSERT_OK(db()->Put(*names, "Ada", "1"));
  IndexedBatch batch(*db());
  ASSERT_OK(batch.Put(*names, "ADA", "2"));
  ASSERT_OK(batch.Put("ada", "default's"));
  EXPECT_EQ(Shown(batch.Get(*names, "ada")), "2");
  EXPECT_EQ(Shown(batch.Get(db()->DefaultColumnFamily(), "ada")), "default's");
  EXPECT_EQ(All(batch.NewIterator(*names).get()), "ADA=2 ");
  ASSERT_OK(batch.DeleteRange(*names, "a", std::nullopt));
  EXPECT_EQ(All(batch.NewIterator(*names).get()), "");
  ASSERT_OK(db()->Write(batch.updates()));
  EXPECT_EQ(Shown(db()->Get(*names, "ada")), "NOT_FOUND");
  EXPECT_EQ(Shown(db()->Get("ada")), "default's");
}

TEST_F(IndexedBatchTest, SavepointsNestAndOneThatIsNotThereIsNotFound) {
  IndexedBatch batch(*db());
  EXPECT_TRUE(absl::IsNotFound(batch.RollbackToSavepoint()));
  ASSERT_OK(batch.Put("a", "10"));
  batch.SetSavepoint();
  ASSERT_OK(batch.Delete("a"));
  batch.SetSavepoint();
  ASSERT_OK(batch.DeleteRange("b", std::nullopt));
  ASSERT_OK(batch.Merge("a", "x"));
  EXPECT_EQ(All(batch), "a=x ");
  ASSERT_OK(batch.RollbackToSavepoint());
  EXPECT_EQ(All(batch), "b=2 c=3 ");
  ASSERT_OK(batch.RollbackToSavepoint());
  EXPECT_EQ(All(batch), "a=10 b=2 c=3 ");
  EXPECT_TRUE(absl::IsNotFound(batch.RollbackToSavepoint()));
  EXPECT_EQ(batch.Count(), 1u);
  ASSERT_OK(db()->Write(batch.updates()));
  EXPECT_EQ(AllOfDatabase(), "a=10 b=2 c=3 ");
}

TEST_F(IndexedBatchTest, ClearMakesItEmptyAndItsSizesSaySo) {
  IndexedBatch batch(*db());
  const size_t empty = batch.ByteSize(), empty_memory = batch.MemoryBytes();
  ASSERT_OK(batch.Put("a", std::string(1000, 'x')));
  batch.SetSavepoint();
  EXPECT_GT(batch.ByteSize(), empty + 1000);
  EXPECT_GT(batch.MemoryBytes(), batch.ByteSize());
  batch.Clear();
  EXPECT_EQ(batch.ByteSize(), empty);
  EXPECT_EQ(batch.MemoryBytes(), empty_memory);
  EXPECT_EQ(batch.Count(), 0u);
  EXPECT_TRUE(absl::IsNotFound(batch.RollbackToSavepoint()));
  EXPECT_EQ(All(batch), "a=1 b=2 c=3 ");
  ASSERT_OK(batch.Put("d", "4"));
  ASSERT_OK(db()->Write(batch.updates()));
  EXPECT_EQ(AllOfDatabase(), "a=1 b=2 c=3 d=4 ");
}

TEST_F(IndexedBatchTest, ItMayBeWrittenAgainAndGoesOnAfterThat) {
  IndexedBatch batch(*db());
  ASSERT_OK(batch.Merge("a", "x"));
  ASSERT_OK(db()->Write(batch.updates()));
  EXPECT_EQ(Shown(batch.Get("a")), "1,x,x") << "it lies over what it has written too";
  ASSERT_OK(batch.Merge("a", "y"));
  ASSERT_OK(db()->Write(batch.updates(), {.sync = true}));
  EXPECT_EQ(Value(db(), "a"), "1,x,x,y");
  WriteConditions conditions;
  conditions.Equals("a", "1");
  EXPECT_FALSE(db()->WriteIf(conditions, batch.updates()).value());
  WriteBatch copy = batch.updates();
  batch.Clear();
  copy.Put("z", "26");
  ASSERT_OK(db()->Write(copy));
  EXPECT_EQ(Value(db(), "a"), "1,x,x,y,x,y");
}

TEST_F(IndexedBatchTest, AnIteratorShowsTheUpdatesUpToItselfAndNoneThatFollow) {
  IndexedBatch batch(*db());
  ASSERT_OK(batch.Put("b", "20"));
  const std::unique_ptr<Iterator> iterator = batch.NewIterator();
  iterator->SeekToFirst();
  iterator->Next();
  ASSERT_EQ(iterator->value(), "20");
  // Its value stays in place while the batch moves in memory.
  ASSERT_OK(batch.Put("b", "200"));
  ASSERT_OK(batch.Put("bb", std::string(100'000, 'x')));
  ASSERT_OK(batch.DeleteRange("c", std::nullopt));
  ASSERT_OK(db()->Put("bc", "later"));
  EXPECT_EQ(iterator->value(), "20");
  EXPECT_EQ(All(iterator.get()), "a=1 b=20 c=3 ");
}

TEST_F(IndexedBatchTest, RollingBackClearingAndDestroyingEndItsIterators) {
  std::optional<IndexedBatch> batch(*db());
  ASSERT_OK(batch->Put("b", "20"));
  const auto ended = [](Iterator* iterator) {
    EXPECT_FALSE(iterator->Valid());
    EXPECT_TRUE(absl::IsFailedPrecondition(iterator->status())) << iterator->status();
    iterator->Next();
    iterator->Prev();
    iterator->Seek("a");
    iterator->SeekForPrev("z");
    iterator->SeekToFirst();
    iterator->SeekToLast();
    EXPECT_FALSE(iterator->Valid());
  };
  const auto standing = [&] {
    std::unique_ptr<Iterator> iterator = batch->NewIterator();
    iterator->Seek("b");
    EXPECT_TRUE(iterator->Valid());
    return iterator;
  };
  batch->SetSavepoint();
  const std::unique_ptr<Iterator> first = standing();
  ASSERT_OK(batch->RollbackToSavepoint());
  ended(first.get());
  const std::unique_ptr<Iterator> second = standing();
  batch->Clear();
  ended(second.get());
  const std::unique_ptr<Iterator> third = standing();
  IndexedBatch moved = *std::move(batch);
  batch.reset();
  EXPECT_TRUE(third->Valid()) << "an iterator goes on with a batch that is moved";
  moved = IndexedBatch(*db());
  ended(third.get());
}

TEST_F(IndexedBatchTest, BadUpdatesAreRefusedAtOnceAndLeaveItAsItWas) {
  const std::shared_ptr<ColumnFamily> plain = db()->CreateColumnFamily("plain", {}).value();
  const std::unique_ptr<DB> other = Engine::Open(database.options, database.tuning, "/other").value();
  IndexedBatch batch(*db());
  ASSERT_OK(batch.Put("a", "10"));
  const std::string before = batch.updates().bytes();
  const std::string long_key(kMaxKeyBytes + 1, 'k');
  const ColumnFamily& foreign = other->DefaultColumnFamily();
  for (const absl::Status& status :
       {batch.Put(long_key, "v"), batch.Delete(long_key), batch.Merge(*plain, "k", "v"), batch.DeleteRange("b", "a"),
        batch.Put(foreign, "k", "v"), batch.Delete(foreign, "k"), batch.Get(foreign, "k").status(),
        batch.NewIterator(foreign)->status(), batch.MultiGet(foreign, std::vector<std::string_view>{"k"})[0].status(),
        batch.NewIterator(*plain, {.as_of_sequence = 1, .as_of_time = std::chrono::system_clock::time_point()})
            ->status()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
  EXPECT_EQ(batch.updates().bytes(), before);
  EXPECT_TRUE(absl::IsInvalidArgument(other->Write(batch.updates()))) << "it is one of this database";
  ASSERT_OK(db()->DropColumnFamily(*plain));
  EXPECT_TRUE(absl::IsFailedPrecondition(batch.Put(*plain, "k", "v")));
  EXPECT_TRUE(absl::IsFailedPrecondition(batch.Get(*plain, "k").status()));
  ASSERT_OK(db()->Write(batch.updates()));
  EXPECT_EQ(Value(db(), "a"), "10");
}

TEST_F(IndexedBatchTest, AFamilyThatIsDroppedMeanwhileFailsTheWriteUntilItIsRolledBack) {
  const std::shared_ptr<ColumnFamily> family = db()->CreateColumnFamily("f", {}).value();
  IndexedBatch batch(*db());
  ASSERT_OK(batch.Put("a", "10"));
  batch.SetSavepoint();
  ASSERT_OK(batch.Put(*family, "k", "v"));
  ASSERT_OK(db()->DropColumnFamily(*family));
  EXPECT_FALSE(db()->Write(batch.updates()).ok());
  EXPECT_EQ(Value(db(), "a"), "1");
  ASSERT_OK(batch.RollbackToSavepoint());
  ASSERT_OK(db()->Write(batch.updates()));
  EXPECT_EQ(Value(db(), "a"), "10");
}

TEST_F(IndexedBatchTest, AfterCloseAndWithoutItsDatabaseItRefuses) {
  IndexedBatch batch(*db());
  ASSERT_OK(batch.Put("a", "10"));
  const std::unique_ptr<Iterator> iterator = batch.NewIterator();
  for (const bool gone : {false, true}) {
    ASSERT_OK(gone ? (database.db.reset(), absl::OkStatus()) : db()->Close());
    EXPECT_TRUE(absl::IsFailedPrecondition(batch.Put("b", "20")));
    EXPECT_TRUE(absl::IsFailedPrecondition(batch.Put("b", "20", {.ttl = std::chrono::seconds(-1)})));
    EXPECT_TRUE(absl::IsFailedPrecondition(batch.Get("a").status())) << "though it has the answer";
    EXPECT_TRUE(absl::IsFailedPrecondition(batch.NewIterator()->status()));
    iterator->SeekToFirst();
    EXPECT_TRUE(absl::IsFailedPrecondition(iterator->status()));
    EXPECT_EQ(batch.Count(), 1u);
  }
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Write(batch.updates()));  // the same database, opened again
  EXPECT_EQ(Value(db(), "a"), "10");
}

TEST_F(IndexedBatchTest, OverAReadOnlyDatabaseItIsReadAndNotWritten) {
  ASSERT_OK(db()->Flush());
  const std::unique_ptr<DB> reader = database.OpenReadOnly().value();
  IndexedBatch batch(*reader);
  ASSERT_OK(batch.Put("b", "20"));
  ASSERT_OK(batch.Merge("c", "30"));
  EXPECT_EQ(All(batch), "a=1 b=20 c=3,30 ");
  EXPECT_TRUE(absl::IsFailedPrecondition(reader->Write(batch.updates())));
}

TEST_F(IndexedBatchTest, WhatIsTooLargeForABatchIsRefusedAsAWhole) {
  IndexedBatch batch(*db());
  for (int i = 0; i < 40; ++i) ASSERT_OK(batch.Put(NumberedKey(i), std::string(100'000, 'x')));
  EXPECT_EQ(database.Metrics().MemoryBytes(MemoryPart::kTransactions), 0u) << "it counts against no limit";
  EXPECT_TRUE(absl::IsInvalidArgument(db()->Write(batch.updates())));
  EXPECT_EQ(Value(db(), NumberedKey(0)), "NOT_FOUND");
  EXPECT_EQ(Shown(batch.Get(NumberedKey(39))), std::string(100'000, 'x'));
}

class NoKeyIsWanted final : public KeyFilter {
 public:
  bool MayContain(std::string_view) const override { return false; }
};

// Of what the filter leaves out a part would be shown.
TEST_F(IndexedBatchTest, AKeyFilterHidesNothingThatAMergeLiesOver) {
  const NoKeyIsWanted none;
  const ReadOptions options{.key_filter = &none};
  const std::vector<std::string_view> keys = {"a"};
  IndexedBatch batch(*db());
  ASSERT_OK(batch.Put("d", "4"));
  EXPECT_EQ(All(batch, options), "d=4 ");
  ASSERT_OK(batch.Merge("a", "x"));
  const std::unique_ptr<Iterator> own = batch.NewIterator(options);
  own->SeekToFirst();
  EXPECT_EQ(own->value(), "1,x");
  EXPECT_EQ(Shown(batch.MultiGet(keys, options)[0]), "1,x");
  const std::unique_ptr<Transaction> txn = db()->BeginTransaction().value();
  ASSERT_OK(txn->Merge("a", "x"));
  const std::unique_ptr<Iterator> its = txn->NewIterator(options);
  its->SeekToFirst();
  EXPECT_EQ(its->value(), "1,x");
}

}  // namespace
}  // namespace sepal
