// Transactions that are prepared: what they hold, what they survive, and how they end. What is refused is in
// prepared_refusals_test.cc.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/caseless_comparator.h"
#include "tests/db/engine/transaction/prepared_fixture.h"

namespace sepal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class AnyPreparedTest : public PreparedTest, public ::testing::WithParamInterface<TransactionOptions> {
 protected:
  std::unique_ptr<Transaction> BeginAny() { return Begin(GetParam()); }
};

TEST_P(AnyPreparedTest, ItHasWrittenNothingBeforeItsCommitAndEverythingAfter) {
  ASSERT_OK(db()->Put("old", "1"));
  const std::unique_ptr<Transaction> txn = BeginAny();
  ASSERT_OK(txn->Put("new", "2"));
  ASSERT_OK(txn->Delete("old"));
  ASSERT_OK(txn->Prepare("p"));
  EXPECT_EQ(txn->Count(), 2u);
  EXPECT_EQ(txn->Get("new").value_or("-"), "2");
  EXPECT_THAT(ReadAll(txn->NewIterator().get()), ElementsAre(Pair("new", "2")));
  EXPECT_EQ(Value(db(), "new"), "NOT_FOUND");
  EXPECT_EQ(Value(db(), "old"), "1");
  EXPECT_THAT(Names(), ElementsAre("p"));
  ASSERT_OK(txn->Commit());
  EXPECT_EQ(Value(db(), "new"), "2");
  EXPECT_EQ(Value(db(), "old"), "NOT_FOUND");
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_EQ(Charged(), 0u);
  ASSERT_OK(database.Reopen());
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_P(AnyPreparedTest, ItSurvivesClosingAndALossOfPowerUntilItIsCommitted) {
  {
    const std::unique_ptr<Transaction> txn = BeginAny();
    ASSERT_OK(txn->Put("a", "1"));
    ASSERT_OK(txn->Put("b", "2"));
    ASSERT_OK(txn->Prepare("p"));
  }
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_THAT(Names(), ElementsAre("p"));
  EXPECT_TRUE(IsLocked("a"));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(database.Reopen());
  EXPECT_THAT(Names(), ElementsAre("p"));
  EXPECT_TRUE(IsLocked("b"));
  EXPECT_FALSE(IsLocked("c"));
  EXPECT_GT(Charged(), 0u) << "its locks";
  const std::unique_ptr<Transaction> found = Find("p");
  EXPECT_EQ(found->Count(), 2u);
  EXPECT_EQ(found->Get("a").value_or("-"), "1");
  EXPECT_EQ(Value(db(), "a"), "NOT_FOUND");
  ASSERT_OK(found->Commit({.sync = true}));
  EXPECT_EQ(Charged(), 0u);
  EXPECT_FALSE(IsLocked("a"));
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_EQ(Value(db(), "b"), "2");
}

TEST_P(AnyPreparedTest, ARollbackIsDurable) {
  const std::unique_ptr<Transaction> txn = BeginAny();
  ASSERT_OK(txn->Put("a", "1"));
  ASSERT_OK(txn->Prepare("p"));
  ASSERT_OK(txn->Rollback());
  EXPECT_FALSE(IsLocked("a"));
  EXPECT_EQ(Charged(), 0u);
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_FALSE(IsLocked("a"));
  EXPECT_EQ(Value(db(), "a"), "NOT_FOUND");
}

TEST_P(AnyPreparedTest, ACommitThatWasNotSyncedComesBackPreparedOrWhole) {
  const std::unique_ptr<Transaction> txn = BeginAny();
  ASSERT_OK(txn->Put("a", "1"));
  ASSERT_OK(txn->Prepare("p"));
  ASSERT_OK(txn->Commit());
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_THAT(Names(), ElementsAre("p"));
  EXPECT_EQ(Value(db(), "a"), "NOT_FOUND");
  ASSERT_OK(Find("p")->Commit());
  EXPECT_EQ(Value(db(), "a"), "1");
}

TEST_P(AnyPreparedTest, NobodyElseGetsWhatItHasWritten) {
  const std::unique_ptr<Transaction> txn = BeginAny();
  ASSERT_OK(txn->Put("a", "1"));
  ASSERT_OK(txn->DeleteRange("k", "m"));
  ASSERT_OK(txn->Prepare("p"));
  for (const bool reopened : {false, true}) {
    for (const char* key : {"a", "k", "l"}) EXPECT_TRUE(IsLocked(key)) << key << reopened;
    for (const char* key : {"b", "m"}) EXPECT_FALSE(IsLocked(key)) << key << reopened;
    EXPECT_TRUE(absl::IsDeadlineExceeded(db()->Put("a", "2")));
    const std::unique_ptr<Transaction> pessimistic =
        Begin({.locking = Locking::kPessimistic, .lock_timeout = std::chrono::milliseconds(0)});
    EXPECT_TRUE(absl::IsDeadlineExceeded(pessimistic->Put("l", "2")));
    const std::unique_ptr<Transaction> optimistic = Begin();
    ASSERT_OK(optimistic->Put("a", "2"));
    EXPECT_TRUE(absl::IsDeadlineExceeded(optimistic->Commit()));
    ASSERT_OK(optimistic->Rollback());
    ASSERT_OK(pessimistic->Rollback());
    if (!reopened) ASSERT_OK(database.Reopen());
  }
  ASSERT_OK(Find("p")->Rollback());
  EXPECT_FALSE(IsLocked("l"));
}

TEST_P(AnyPreparedTest, WhatItReadForUpdateStaysAsItIs) {
  ASSERT_OK(db()->Put("a", "1"));
  {
    const std::unique_ptr<Transaction> txn = BeginAny();
    ASSERT_OK(txn->GetForUpdate("a").status());
    EXPECT_TRUE(absl::IsNotFound(txn->GetForShare("b").status()));
    ASSERT_OK(txn->Prepare("p"));
  }
  for (const bool reopened : {false, true}) {
    EXPECT_TRUE(IsLocked("a"));
    EXPECT_TRUE(IsLocked("b"));
    EXPECT_EQ(db()->PreparedTransactions()->front().locks, 2u);
    EXPECT_EQ(db()->PreparedTransactions()->front().updates, 0u);
    if (!reopened) ASSERT_OK(database.Reopen());
  }
  ASSERT_OK(Find("p")->Commit());
  EXPECT_FALSE(IsLocked("a"));
}

INSTANTIATE_TEST_SUITE_P(All, AnyPreparedTest,
                         ::testing::Values(TransactionOptions{}, TransactionOptions{.locking = Locking::kPessimistic},
                                           TransactionOptions{.isolation = Isolation::kSerializable},
                                           TransactionOptions{.isolation = Isolation::kSerializable,
                                                              .locking = Locking::kPessimistic}),
                         [](const auto& each) {
                           return std::string(each.param.locking == Locking::kPessimistic ? "Pessimistic"
                                                                                          : "Optimistic") +
                                  (each.param.isolation == Isolation::kSerializable ? "Serializable" : "Snapshot");
                         });

TEST_F(PreparedTest, ASerializableOneKeepsWhatItHasReadKeysAndRanges) {
  ASSERT_OK(db()->Put("a", "1"));
  ASSERT_OK(db()->Put("f", "1"));
  for (const Locking locking : {Locking::kOptimistic, Locking::kPessimistic}) {
    for (const bool serializable : {false, true}) {
      const std::unique_ptr<Transaction> txn =
          Begin({.isolation = serializable ? Isolation::kSerializable : Isolation::kSnapshot, .locking = locking});
      ASSERT_OK(txn->Get("a").status());
      EXPECT_TRUE(absl::IsNotFound(txn->Get("absent").status()));
      const std::unique_ptr<Iterator> it = txn->NewIterator({.lower_bound = "e", .upper_bound = "h"});
      for (it->SeekToFirst(); it->Valid(); it->Next()) {
      }
      ASSERT_OK(txn->Put("w", "1"));
      ASSERT_OK(txn->Prepare("p"));
      EXPECT_TRUE(absl::IsNotFound(txn->Get("later").status()));
      for (const char* key : {"a", "absent", "e", "f", "g"}) EXPECT_EQ(IsLocked(key), serializable) << key;
      EXPECT_FALSE(IsLocked("later"));
      EXPECT_FALSE(IsLocked("d"));
      EXPECT_TRUE(IsLocked("w"));
      ASSERT_OK(txn->Rollback());
    }
  }
}

// Others may read and share what it has only read.
TEST_F(PreparedTest, WhatItHasReadOthersMayReadToo) {
  const std::unique_ptr<Transaction> txn = Begin({.isolation = Isolation::kSerializable});
  EXPECT_TRUE(absl::IsNotFound(txn->Get("a").status()));
  ASSERT_OK(txn->Put("b", "1"));
  ASSERT_OK(txn->Prepare("p"));
  ASSERT_OK(database.Reopen());
  const std::unique_ptr<Transaction> other =
      Begin({.locking = Locking::kPessimistic, .lock_timeout = std::chrono::milliseconds(0)});
  EXPECT_TRUE(absl::IsNotFound(other->GetForShare("a").status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(other->GetForUpdate("a").status()));
}

TEST_F(PreparedTest, ItStaysPreparedWhenItsObjectGoesAndAnotherTakesItOver) {
  std::unique_ptr<Transaction> txn = Begin();
  ASSERT_OK(txn->Put("a", "1"));
  ASSERT_OK(txn->Prepare("p"));
  const uint64_t id = txn->id();
  EXPECT_TRUE(absl::IsFailedPrecondition(db()->FindPrepared("p").status())) << "the object is there";
  txn.reset();
  EXPECT_THAT(Names(), ElementsAre("p"));
  EXPECT_TRUE(IsLocked("a"));
  txn = Find("p");
  EXPECT_EQ(txn->id(), id);
  EXPECT_TRUE(absl::IsFailedPrecondition(db()->FindPrepared("p").status()));
  txn.reset();
  ASSERT_OK(Find("p")->Rollback());
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_EQ(Charged(), 0u);
}

TEST_F(PreparedTest, TheListTellsNameTimeUpdatesBytesAndLocks) {
  const uint64_t before = database.clock->UnixMicros() / 1000;
  const std::unique_ptr<Transaction> txn = Begin();
  ASSERT_OK(txn->Put("a", std::string(100, 'v')));
  ASSERT_OK(txn->Put("a", "1"));
  ASSERT_OK(txn->DeleteRange("k", "l"));
  ASSERT_OK(txn->Prepare(std::string("q\0\xff", 3)));
  const std::unique_ptr<Transaction> other = Begin();
  ASSERT_OK(other->Put("b", "1"));
  ASSERT_OK(other->Prepare("p"));
  database.clock->Jump(2500);
  const std::unique_ptr<DB> reader = database.OpenReadOnly().value();
  for (DB* const each : {db(), reader.get()}) {
    const std::vector<PreparedTransaction> list = each->PreparedTransactions().value();
    ASSERT_EQ(list.size(), 2u);
    EXPECT_EQ(list[0].name, "p");
    EXPECT_EQ(list[1].name, std::string("q\0\xff", 3));
    EXPECT_EQ(list[1].updates, 3u);
    EXPECT_GT(list[1].bytes, 100u);
    EXPECT_EQ(list[1].locks, 2u);
    const auto millis = std::chrono::floor<std::chrono::milliseconds>(list[1].prepared.time_since_epoch()).count();
    EXPECT_GE(static_cast<uint64_t>(millis), before);
    const std::string text = each->GetProperty("sepal.prepared-transactions").value();
    EXPECT_THAT(text, HasSubstr("\"p\": prepared at "));
    EXPECT_THAT(text, HasSubstr(" s ago, 3 updates of "));
    EXPECT_THAT(text, HasSubstr(" bytes, 2 locks\n"));
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(reader->FindPrepared("p").status()));
}

TEST_F(PreparedTest, MergesAndDeletesOfRangesAreInIt) {
  ASSERT_OK(db()->Put("list", "a"));
  ASSERT_OK(db()->Put("r1", "x"));
  {
    const std::unique_ptr<Transaction> txn = Begin();
    ASSERT_OK(txn->Merge("list", "b"));
    ASSERT_OK(txn->DeleteRange("r", "s"));
    ASSERT_OK(txn->Put("r2", "y"));
    ASSERT_OK(txn->Merge("list", "c"));
    ASSERT_OK(txn->Prepare("p"));
  }
  ASSERT_OK(database.Reopen());
  const std::unique_ptr<Transaction> found = Find("p");
  EXPECT_THAT(ReadAll(found->NewIterator().get()), ElementsAre(Pair("list", "a,b,c"), Pair("r2", "y")));
  ASSERT_OK(found->Commit());
  EXPECT_THAT(ReadAll(db()->NewIterator().get()), ElementsAre(Pair("list", "a,b,c"), Pair("r2", "y")));
}

// They lie in the row until then, so that no collection of value files can take them away.
TEST_F(PreparedTest, LargeValuesGoToValueFilesWhenItIsCommitted) {
  database.options.family.separate_from = 64;
  ASSERT_OK(database.Reopen());
  const auto value_files = [&] {
    const std::vector<std::string> all = FilesIn(&database.memory, "/db");
    return std::count_if(all.begin(), all.end(), [](const std::string& name) { return name.ends_with(".val"); });
  };
  {
    const std::unique_ptr<Transaction> txn = Begin();
    ASSERT_OK(txn->Put("a", std::string(5000, 'v')));
    ASSERT_OK(txn->Prepare("p"));
  }
  EXPECT_EQ(value_files(), 0);
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(Find("p")->Commit());
  EXPECT_EQ(value_files(), 1);
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Value(db(), "a"), std::string(5000, 'v'));
}

TEST_F(PreparedTest, TheTimeToLiveOfItsFamilyBeginsWithTheCommit) {
  const std::shared_ptr<ColumnFamily> family =
      db()->CreateColumnFamily("f", {.ttl = std::chrono::milliseconds(10'000)}).value();
  const std::unique_ptr<Transaction> txn = Begin();
  ASSERT_OK(txn->Put(*family, "a", "1"));
  ASSERT_OK(txn->Prepare("p"));
  database.world->SleepMicros(60'000'000);
  ASSERT_OK(txn->Commit());
  EXPECT_EQ(db()->Get(*family, "a").value_or("-"), "1");
  database.world->SleepMicros(11'000'000);
  EXPECT_TRUE(absl::IsNotFound(db()->Get(*family, "a").status()));
}

TEST_F(PreparedTest, LocksGoByTheOrderOfTheFamily) {
  static const CaselessComparator caseless;
  const std::shared_ptr<ColumnFamily> family = db()->CreateColumnFamily("f", {.comparator = &caseless}).value();
  {
    const std::unique_ptr<Transaction> txn = Begin();
    ASSERT_OK(txn->Put(*family, "Key", "1"));
    ASSERT_OK(txn->Prepare("p"));
  }
  EXPECT_EQ(db()->PreparedTransactions()->front().locks, 1u);
  EXPECT_TRUE(absl::IsUnavailable(db()->Put(*family, "kEY", "2", {.no_slowdown = true})));
  database.options.column_families = {{.name = "f", .options = {.comparator = &caseless}}};
  ASSERT_OK(database.Reopen());
  const std::shared_ptr<ColumnFamily> again = db()->FindColumnFamily("f").value();
  EXPECT_TRUE(absl::IsUnavailable(db()->Put(*again, "kEY", "2", {.no_slowdown = true})));
  EXPECT_EQ(db()->PreparedTransactions()->front().locks, 1u);
  ASSERT_OK(Find("p")->Commit());
  ASSERT_OK(db()->Put(*again, "kEY", "2", {.no_slowdown = true}));
}

TEST_F(PreparedTest, ARunOfItsBodyMayPrepareAndIsCommitted) {
  ASSERT_OK(db()->RunTransaction({}, [](Transaction& txn) {
    if (absl::Status put = txn.Put("a", "1"); !put.ok()) return put;
    return txn.Prepare("p");
  }));
  EXPECT_EQ(Value(db(), "a"), "1");
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(PreparedTest, ARunWhoseBodyPreparedAndFailedLeavesNothingPrepared) {
  const absl::Status run = db()->RunTransaction({}, [](Transaction& txn) {
    if (absl::Status put = txn.Put("a", "1"); !put.ok()) return put;
    if (absl::Status prepared = txn.Prepare("p"); !prepared.ok()) return prepared;
    return absl::UnavailableError("the other database");
  });
  EXPECT_TRUE(absl::IsUnavailable(run)) << run;
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_FALSE(IsLocked("a"));
}

TEST_F(PreparedTest, AKeyThatWasLockedBeforeARangeAroundItIsLockedOnceAfterAnOpening) {
  {
    const std::unique_ptr<Transaction> txn = Begin({.locking = Locking::kPessimistic});
    EXPECT_TRUE(absl::IsNotFound(txn->GetForUpdate("k").status()));
    ASSERT_OK(txn->DeleteRange("a", "z"));
    ASSERT_OK(txn->Prepare("p"));
  }
  for (int opening = 0; opening < 2; ++opening) {
    ASSERT_OK(database.Reopen());
    EXPECT_TRUE(IsLocked("k"));
    EXPECT_TRUE(IsLocked("b"));
  }
  ASSERT_OK(Find("p")->Rollback());
  EXPECT_FALSE(IsLocked("k"));
  ASSERT_OK(database.Reopen());
}

// It needs no log from the time on at which its row is in a table.
TEST_F(PreparedTest, NoLogIsKeptForItsSake) {
  const std::unique_ptr<Transaction> txn = Begin();
  ASSERT_OK(txn->Put("locked", "1"));
  ASSERT_OK(txn->Prepare("p"));
  Fill(0, 20'000, 40);
  ASSERT_OK(db()->WaitForBackgroundWork());
  const std::vector<std::string> all = FilesIn(&database.memory, "/db");
  EXPECT_LT(std::count_if(all.begin(), all.end(), [](const std::string& name) { return name.ends_with(".log"); }), 12);
  ASSERT_OK(database.Reopen());
  EXPECT_THAT(Names(), ElementsAre("p"));
}

}  // namespace
}  // namespace sepal
