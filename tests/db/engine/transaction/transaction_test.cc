// Transactions: what they read of themselves, what they leave behind, and what is refused. Which anomalies they prevent
// is in anomalies_test.cc.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const TransactionOptions kPessimistic{.locking = Locking::kPessimistic};

class TransactionTest : public EngineTest {
 protected:
  void SetUp() override {
    database.options.family.merge_operator = MergeOperators::Append();
    EngineTest::SetUp();
  }
  std::unique_ptr<Transaction> Begin(const TransactionOptions& options = {}) {
    return db()->BeginTransaction(options).value();
  }
  static std::string Read(Transaction* transaction, std::string_view key) {
    const absl::StatusOr<std::string> value = transaction->Get(key);
    return value.ok() ? *value : std::string(absl::StatusCodeToString(value.status().code()));
  }
  size_t Charged() { return database.Metrics().MemoryBytes(MemoryPart::kTransactions); }
};

// --- both kinds of locking ---

class AnyTransactionTest : public TransactionTest, public ::testing::WithParamInterface<TransactionOptions> {
 protected:
  std::unique_ptr<Transaction> BeginAny() { return Begin(GetParam()); }
};

TEST_P(AnyTransactionTest, NobodyElseSeesItsWritesBeforeItsCommit) {
  ASSERT_OK(db()->Put("old", "1"));
  const std::unique_ptr<Transaction> txn = BeginAny();
  ASSERT_OK(txn->Put("new", "2"));
  ASSERT_OK(txn->Delete("old"));
  EXPECT_EQ(txn->Count(), 2u);
  EXPECT_EQ(Read(txn.get(), "new"), "2");
  EXPECT_EQ(Read(txn.get(), "old"), "NOT_FOUND");
  EXPECT_EQ(Value(db(), "new"), "NOT_FOUND");
  EXPECT_EQ(Value(db(), "old"), "1");
  ASSERT_OK(txn->Commit());
  EXPECT_EQ(Value(db(), "new"), "2");
  EXPECT_EQ(Value(db(), "old"), "NOT_FOUND");
}

TEST_P(AnyTransactionTest, ACommitThatWasSyncedSurvivesAPowerLossWhole) {
  const std::unique_ptr<Transaction> txn = BeginAny();
  ASSERT_OK(txn->Put("a", "1"));
  ASSERT_OK(txn->Put("b", "2"));
  ASSERT_OK(txn->Commit({.sync = true}));
  const std::unique_ptr<Transaction> open = BeginAny();
  ASSERT_OK(open->Put("c", "3"));
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_THAT(ReadAll(db()->NewIterator().get()), ElementsAre(Pair("a", "1"), Pair("b", "2")));
}

TEST_P(AnyTransactionTest, RolledBackOrForgottenItLeavesNothing) {
  {
    const std::unique_ptr<Transaction> forgotten = BeginAny();
    ASSERT_OK(forgotten->Put("k", "v"));
  }
  const std::unique_ptr<Transaction> txn = BeginAny();
  ASSERT_OK(txn->Put("k", "v"));
  ASSERT_OK(txn->Rollback());
  EXPECT_EQ(Value(db(), "k"), "NOT_FOUND");
  EXPECT_EQ(Charged(), 0u);
  EXPECT_EQ(db()->GetProperty("sepal.transactions"), "");
}

TEST_P(AnyTransactionTest, AfterItsEndEveryCallIsRefused) {
  const std::unique_ptr<Transaction> txn = BeginAny();
  ASSERT_OK(txn->Put("k", "v"));
  const std::unique_ptr<Iterator> iterator = txn->NewIterator();
  iterator->SeekToFirst();
  EXPECT_TRUE(iterator->Valid());
  ASSERT_OK(txn->Commit());
  EXPECT_FALSE(iterator->Valid());
  EXPECT_TRUE(absl::IsFailedPrecondition(iterator->status()));
  const auto refused = [](const absl::Status& status) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("has been committed"));
  };
  refused(txn->Commit());
  refused(txn->Rollback());
  refused(txn->Put("k", "v"));
  refused(txn->Delete("k"));
  refused(txn->SingleDelete("k"));
  refused(txn->Merge("k", "v"));
  refused(txn->DeleteRange("a", "b"));
  refused(txn->Get("k").status());
  refused(txn->GetForUpdate("k").status());
  refused(txn->GetForShare("k").status());
  refused(txn->MultiGet(std::vector<std::string_view>{"k"})[0].status());
  refused(txn->NewIterator()->status());
  refused(txn->SetSavepoint());
  refused(txn->RollbackToSavepoint());
}

TEST_P(AnyTransactionTest, ASavepointBringsBackWhatWasThere) {
  ASSERT_OK(db()->Put("base", "0"));
  const std::unique_ptr<Transaction> txn = BeginAny();
  EXPECT_TRUE(absl::IsNotFound(txn->RollbackToSavepoint()));
  ASSERT_OK(txn->Put("a", "1"));
  ASSERT_OK(txn->SetSavepoint());
  ASSERT_OK(txn->Put("a", "2"));
  ASSERT_OK(txn->DeleteRange("a", "z"));
  ASSERT_OK(txn->SetSavepoint());
  ASSERT_OK(txn->Put("b", "3"));
  const std::unique_ptr<Iterator> stale = txn->NewIterator();
  ASSERT_OK(txn->RollbackToSavepoint());
  EXPECT_EQ(Read(txn.get(), "b"), "NOT_FOUND");
  EXPECT_EQ(Read(txn.get(), "base"), "NOT_FOUND");
  stale->SeekToFirst();
  EXPECT_TRUE(absl::IsFailedPrecondition(stale->status()));
  ASSERT_OK(txn->RollbackToSavepoint());
  EXPECT_EQ(Read(txn.get(), "a"), "1");
  EXPECT_EQ(Read(txn.get(), "base"), "0");
  EXPECT_TRUE(absl::IsNotFound(txn->RollbackToSavepoint()));
  ASSERT_OK(txn->Commit());
  EXPECT_THAT(ReadAll(db()->NewIterator().get()), ElementsAre(Pair("a", "1"), Pair("base", "0")));
}

TEST_P(AnyTransactionTest, MergesAreReadOverWhatTheDatabaseHas) {
  ASSERT_OK(db()->Put("list", "a"));
  ASSERT_OK(db()->Merge("list", "b"));
  const std::unique_ptr<Transaction> txn = BeginAny();
  ASSERT_OK(txn->Merge("list", "c"));
  ASSERT_OK(txn->Merge("fresh", "x"));
  EXPECT_EQ(Read(txn.get(), "list"), "a,b,c");
  EXPECT_EQ(Read(txn.get(), "fresh"), "x");
  ASSERT_OK(txn->Put("list", "q"));
  ASSERT_OK(txn->Merge("list", "r"));
  ASSERT_OK(txn->Delete("fresh"));
  ASSERT_OK(txn->Merge("fresh", "y"));
  EXPECT_EQ(Read(txn.get(), "list"), "q,r");
  EXPECT_THAT(ReadAll(txn->NewIterator().get()), ElementsAre(Pair("fresh", "y"), Pair("list", "q,r")));
  ASSERT_OK(txn->Commit());
  EXPECT_EQ(Value(db(), "list"), "q,r");
  EXPECT_EQ(Value(db(), "fresh"), "y");
}

TEST_P(AnyTransactionTest, ItCoversSeveralFamiliesAndMultiGetReadsItsWrites) {
  const std::shared_ptr<ColumnFamily> other = db()->CreateColumnFamily("other").value();
  ASSERT_OK(db()->Put("a", "1"));
  ASSERT_OK(db()->Put(*other, "a", "o"));
  const std::unique_ptr<Transaction> txn = BeginAny();
  ASSERT_OK(txn->Put("b", "2"));
  ASSERT_OK(txn->Put(*other, "b", "p"));
  ASSERT_OK(txn->Merge("a", "m"));
  const std::vector<std::string_view> keys = {"b", "a", "c"};
  const std::vector<absl::StatusOr<std::string>> values = txn->MultiGet(keys);
  EXPECT_EQ(values[0].value(), "2");
  EXPECT_EQ(values[1].value(), "1,m");
  EXPECT_TRUE(absl::IsNotFound(values[2].status()));
  EXPECT_EQ(txn->Get(*other, "a").value(), "o");
  EXPECT_EQ(txn->Get(*other, "b").value(), "p");
  ASSERT_OK(txn->Commit());
  EXPECT_EQ(db()->Get(*other, "b").value(), "p");
}

TEST_P(AnyTransactionTest, OneThatDeletesARangeDoesNotSeeItAnyMore) {
  for (const char* key : {"a", "b", "c", "d"}) ASSERT_OK(db()->Put(key, key));
  const std::unique_ptr<Transaction> txn = BeginAny();
  ASSERT_OK(txn->DeleteRange("b", "d"));
  ASSERT_OK(txn->Put("c", "again"));
  EXPECT_EQ(Read(txn.get(), "b"), "NOT_FOUND");
  EXPECT_EQ(Read(txn.get(), "c"), "again");
  EXPECT_THAT(ReadAll(txn->NewIterator().get()), ElementsAre(Pair("a", "a"), Pair("c", "again"), Pair("d", "d")));
  ASSERT_OK(txn->Commit());
  EXPECT_THAT(ReadAll(db()->NewIterator().get()), ElementsAre(Pair("a", "a"), Pair("c", "again"), Pair("d", "d")));
}

TEST_P(AnyTransactionTest, BadInputIsRefusedAndLeavesTheTransactionAsItWas) {
  TestDatabase elsewhere;
  ASSERT_OK(elsewhere.Open());
  const std::shared_ptr<ColumnFamily> foreign = elsewhere.db->CreateColumnFamily("foreign").value();
  const std::shared_ptr<ColumnFamily> plain = db()->CreateColumnFamily("plain").value();
  const std::unique_ptr<Transaction> txn = BeginAny();
  ASSERT_OK(txn->Put("k", "v"));
  EXPECT_TRUE(absl::IsInvalidArgument(txn->Put(*foreign, "k", "v")));
  EXPECT_TRUE(absl::IsInvalidArgument(txn->Get(*foreign, "k").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(txn->Put(std::string(kMaxKeyBytes + 1, 'k'), "v")));
  EXPECT_TRUE(absl::IsInvalidArgument(txn->DeleteRange("b", "a")));
  EXPECT_TRUE(absl::IsInvalidArgument(txn->Merge(*plain, "k", "v")));
  const std::shared_ptr<const Snapshot> snapshot = db()->GetSnapshot();
  EXPECT_TRUE(absl::IsInvalidArgument(txn->Get("k2", {.snapshot = snapshot.get()}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(txn->NewIterator({.snapshot = snapshot.get()})->status()));
  EXPECT_EQ(txn->Count(), 1u);
  EXPECT_OK(txn->Commit());
}

TEST_P(AnyTransactionTest, AfterCloseAndWithoutItsDatabaseItRefuses) {
  std::unique_ptr<Transaction> txn = BeginAny();
  ASSERT_OK(txn->Put("k", "v"));
  ASSERT_OK(db()->Close());
  EXPECT_TRUE(absl::IsFailedPrecondition(txn->Commit()));
  database.db.reset();
  EXPECT_TRUE(absl::IsFailedPrecondition(txn->Put("k", "v")));
  EXPECT_TRUE(absl::IsFailedPrecondition(txn->Get("k").status()));
  txn.reset();
}

TEST_P(AnyTransactionTest, AFamilyThatIsDroppedMeanwhileFailsTheCommit) {
  const std::shared_ptr<ColumnFamily> family = db()->CreateColumnFamily("short").value();
  const std::unique_ptr<Transaction> txn = BeginAny();
  ASSERT_OK(txn->Put(*family, "k", "v"));
  ASSERT_OK(txn->Put("k", "v"));
  ASSERT_OK(db()->DropColumnFamily(*family));
  EXPECT_TRUE(absl::IsFailedPrecondition(txn->Commit()));
  EXPECT_EQ(Value(db(), "k"), "NOT_FOUND");
}

TEST_P(AnyTransactionTest, ItsMemoryIsChargedAndWhatDoesNotFitIsRefused) {
  const std::unique_ptr<Transaction> txn = BeginAny();
  const std::string value(10'000, 'v');
  absl::Status status;
  uint64_t written = 0;
  for (; status.ok(); ++written) status = txn->Put(NumberedKey(written), value);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_GE(Charged(), (written - 1) * value.size());
  EXPECT_LE(Charged(), database.options.memory_limit / 2);
  EXPECT_EQ(txn->Count(), written - 1);
  ASSERT_OK(txn->Rollback());
  EXPECT_EQ(Charged(), 0u);
  EXPECT_OK(db()->Put("k", "v"));
}

TEST_P(AnyTransactionTest, RunAgainUntilItSucceeds) {
  ASSERT_OK(db()->Put("counter", "0"));
  int attempts = 0;
  ASSERT_OK(db()->RunTransaction(GetParam(), [&](Transaction& txn) {
    if (++attempts < 3) return absl::AbortedError("once more");
    return txn.Put("counter", std::to_string(attempts));
  }));
  EXPECT_EQ(Value(db(), "counter"), "3");
  EXPECT_TRUE(absl::IsNotFound(
      db()->RunTransaction(GetParam(), [](Transaction& txn) { return txn.Get("not there").status(); })));
  attempts = 0;
  EXPECT_TRUE(absl::IsAborted(db()->RunTransaction(GetParam(), [&](Transaction&) {
    ++attempts;
    return absl::AbortedError("never");
  })));
  EXPECT_EQ(attempts, kMostTransactionAttempts);
}

TEST_P(AnyTransactionTest, ItsIteratorOutlivesItAndTheDatabase) {
  Fill(0, 50);
  std::unique_ptr<Transaction> txn = BeginAny();
  ASSERT_OK(txn->Put("k", "v"));
  std::unique_ptr<Iterator> iterator = txn->NewIterator();
  iterator->SeekToFirst();
  ASSERT_TRUE(iterator->Valid());
  txn.reset();
  database.db.reset();
  EXPECT_FALSE(iterator->Valid());
  iterator.reset();
}

TEST_P(AnyTransactionTest, ARollbackToASavepointEndsIteratorsEvenIfItUndoesNothing) {
  const std::unique_ptr<Transaction> txn = BeginAny();
  ASSERT_OK(txn->Put("k", "v"));
  ASSERT_OK(txn->SetSavepoint());
  const std::unique_ptr<Iterator> iterator = txn->NewIterator();
  iterator->SeekToFirst();
  ASSERT_OK(txn->RollbackToSavepoint());
  EXPECT_FALSE(iterator->Valid());
}

INSTANTIATE_TEST_SUITE_P(
    , AnyTransactionTest,
    ::testing::Values(TransactionOptions{}, TransactionOptions{.isolation = Isolation::kSerializable}, kPessimistic,
                      TransactionOptions{.isolation = Isolation::kSerializable, .locking = Locking::kPessimistic}),
    [](const auto& test) {
      return std::string(test.param.locking == Locking::kPessimistic ? "Pessimistic" : "Optimistic") +
             (test.param.isolation == Isolation::kSerializable ? "Serializable" : "Snapshot");
    });

// --- one kind ---

TEST_F(TransactionTest, OptionsOutOfTheirRangeAndReadOnlyDatabasesAreRefused) {
  EXPECT_TRUE(
      absl::IsInvalidArgument(db()->BeginTransaction({.lock_timeout = std::chrono::milliseconds(-1)}).status()));
  ASSERT_OK(db()->Put("k", "v"));
  ASSERT_OK(db()->Flush());
  const std::unique_ptr<DB> reader = database.OpenReadOnly().value();
  EXPECT_TRUE(absl::IsFailedPrecondition(reader->BeginTransaction().status()));
}

TEST_F(TransactionTest, AnOptimisticCommitFailsWhereAnotherWroteItsKeyAndSaysWhich) {
  for (const bool flushed : {false, true}) {
    const std::unique_ptr<Transaction> txn = Begin();
    ASSERT_OK(txn->Put("mine", "1"));
    ASSERT_OK(txn->Put("contested", "1"));
    ASSERT_OK(db()->Put("contested", "2"));
    if (flushed) ASSERT_OK(db()->CompactRange());
    const absl::Status status = txn->Commit();
    EXPECT_TRUE(absl::IsAborted(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("\"contested\""));
    EXPECT_EQ(Value(db(), "mine"), "NOT_FOUND");
    EXPECT_EQ(Charged(), 0u) << "an aborted transaction has ended";
  }
}

// History may be gone from memory for long: the check looks into tables, and never guesses.
TEST_F(TransactionTest, AnOldTransactionCommitsIfNobodyWroteItsKeys) {
  Fill(0, 100);
  const std::unique_ptr<Transaction> txn = Begin();
  ASSERT_OK(txn->Put(NumberedKey(1), "mine"));
  for (int round = 0; round < 5; ++round) {
    Fill(10, 1000);
    ASSERT_OK(db()->CompactRange());
  }
  ASSERT_OK(txn->Commit());
  EXPECT_EQ(Value(db(), NumberedKey(1)), "mine");
}

TEST_F(TransactionTest, ADeleteOfARangeByAnotherIsAConflict) {
  for (const bool flushed : {false, true}) {
    ASSERT_OK(db()->Put("k", "v"));
    const std::unique_ptr<Transaction> txn = Begin();
    ASSERT_OK(txn->Put("k", "1"));
    ASSERT_OK(db()->DeleteRange("a", "z"));
    if (flushed) ASSERT_OK(db()->Flush());
    EXPECT_TRUE(absl::IsAborted(txn->Commit()));
  }
}

TEST_F(TransactionTest, AWriteIntoARangeThatItDeletesIsAConflict) {
  for (const bool flushed : {false, true}) {
    const std::unique_ptr<Transaction> txn = Begin();
    ASSERT_OK(txn->DeleteRange("a", "m"));
    ASSERT_OK(db()->Put("m", "outside"));
    if (flushed) ASSERT_OK(db()->Flush());
    ASSERT_OK(txn->Commit());
    const std::unique_ptr<Transaction> second = Begin();
    ASSERT_OK(second->DeleteRange("a", "m"));
    ASSERT_OK(db()->Put("b", "inside"));
    if (flushed) ASSERT_OK(db()->Flush());
    EXPECT_TRUE(absl::IsAborted(second->Commit()));
    EXPECT_EQ(Value(db(), "b"), "inside");
  }
}

TEST_F(TransactionTest, APlainWriteWaitsForALockAndFailsInTheEnd) {
  const std::unique_ptr<Transaction> txn = Begin(kPessimistic);
  ASSERT_OK(txn->Put("k", "locked"));
  EXPECT_TRUE(absl::IsUnavailable(db()->Put("k", "plain", {.no_slowdown = true})));
  EXPECT_TRUE(absl::IsDeadlineExceeded(db()->Put("k", "plain")));
  EXPECT_TRUE(absl::IsDeadlineExceeded(db()->DeleteRange("a", "z")));
  EXPECT_OK(db()->Put("other", "plain"));
  EXPECT_THAT(*db()->GetProperty("sepal.transactions"), HasSubstr("pessimistic"));
  EXPECT_THAT(*db()->GetProperty("sepal.transactions"), HasSubstr("1 locks"));
  ASSERT_OK(txn->Commit());
  EXPECT_EQ(Value(db(), "k"), "locked");
  EXPECT_OK(db()->Put("k", "plain", {.no_slowdown = true}));
}

TEST_F(TransactionTest, ALockThatIsNotFreeInTimeLeavesTheTransactionAsItWas) {
  const std::unique_ptr<Transaction> holder = Begin(kPessimistic);
  ASSERT_OK(holder->Put("k", "1"));
  const std::unique_ptr<Transaction> txn =
      Begin({.locking = Locking::kPessimistic, .lock_timeout = std::chrono::milliseconds(20)});
  ASSERT_OK(txn->Put("own", "2"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(txn->Put("k", "2")));
  EXPECT_TRUE(absl::IsDeadlineExceeded(txn->GetForUpdate("k").status()));
  EXPECT_EQ(txn->Count(), 1u);
  ASSERT_OK(txn->Commit());
  ASSERT_OK(holder->Commit());
}

// Without a plain read it has no snapshot, and each lock's read is of what is there when it has the lock.
TEST_F(TransactionTest, APessimisticReadForUpdateIsAsOfItsLock) {
  ASSERT_OK(db()->Put("k", "1"));
  const std::unique_ptr<Transaction> txn = Begin(kPessimistic);
  EXPECT_EQ(txn->GetForUpdate("first").status().code(), absl::StatusCode::kNotFound);
  ASSERT_OK(db()->Put("k", "2"));
  EXPECT_EQ(txn->GetForUpdate("k").value(), "2");
  ASSERT_OK(txn->Put("k", "3"));
  EXPECT_OK(txn->Commit());
}

TEST_F(TransactionTest, AfterItsSnapshotAPessimisticOneAbortsWhereItWouldLoseAnUpdate) {
  ASSERT_OK(db()->Put("k", "1"));
  const std::unique_ptr<Transaction> txn = Begin(kPessimistic);
  EXPECT_EQ(Read(txn.get(), "k"), "1");
  ASSERT_OK(db()->Put("k", "2"));
  EXPECT_TRUE(absl::IsAborted(txn->Put("k", "3")));
  EXPECT_OK(db()->Put("k", "free", {.no_slowdown = true}));  // its locks are gone
}

TEST_F(TransactionTest, SharedReadersDoNotHinderEachOtherAndAWriterWaits) {
  ASSERT_OK(db()->Put("k", "1"));
  const std::unique_ptr<Transaction> a = Begin(kPessimistic);
  const std::unique_ptr<Transaction> b = Begin(kPessimistic);
  EXPECT_EQ(a->GetForShare("k").value(), "1");
  EXPECT_EQ(b->GetForShare("k").value(), "1");
  EXPECT_TRUE(absl::IsUnavailable(db()->Put("k", "2", {.no_slowdown = true})));
  ASSERT_OK(a->Commit());
  ASSERT_OK(b->Put("k", "3"));
  ASSERT_OK(b->Commit());
  EXPECT_EQ(Value(db(), "k"), "3");
}

// The function need not look at each status: the transaction keeps it.
TEST_F(TransactionTest, AnAbortedTransactionSaysSoToEveryLaterCall) {
  ASSERT_OK(db()->Put("k", "1"));
  const std::unique_ptr<Transaction> txn = Begin(kPessimistic);
  EXPECT_EQ(Read(txn.get(), "k"), "1");
  ASSERT_OK(db()->Put("k", "2"));
  EXPECT_TRUE(absl::IsAborted(txn->Put("k", "3")));
  EXPECT_TRUE(absl::IsAborted(txn->Put("other", "3")));
  EXPECT_TRUE(absl::IsAborted(txn->Get("k").status()));
  EXPECT_TRUE(absl::IsAborted(txn->Commit()));
  EXPECT_OK(txn->Rollback());
  int attempts = 0;
  ASSERT_OK(db()->RunTransaction(kPessimistic, [&](Transaction& again) {
    EXPECT_TRUE(again.Get("k").ok());
    if (++attempts == 1) {
      EXPECT_TRUE(db()->Put("k", "meanwhile").ok());
    }
    again.Put("k", "mine").IgnoreError();
    return absl::OkStatus();
  }));
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(Value(db(), "k"), "mine");
}

TEST_F(TransactionTest, AReadForUpdateIsCheckedEvenIfNothingIsWritten) {
  ASSERT_OK(db()->Put("k", "1"));
  for (const Isolation isolation : {Isolation::kSnapshot, Isolation::kSerializable}) {
    const std::unique_ptr<Transaction> txn = Begin({.isolation = isolation});
    EXPECT_OK(txn->GetForUpdate("k").status());
    ASSERT_OK(db()->Put("k", "2"));
    EXPECT_TRUE(absl::IsAborted(txn->Commit()));
    const std::unique_ptr<Transaction> undisturbed = Begin({.isolation = isolation});
    EXPECT_OK(undisturbed->GetForUpdate("k").status());
    EXPECT_OK(undisturbed->Commit());
  }
}

TEST_F(TransactionTest, ACommitThatFailedLeavesNoConflictsBehind) {
  const std::shared_ptr<ColumnFamily> other = db()->CreateColumnFamily("other").value();
  const std::unique_ptr<Transaction> txn = Begin();
  ASSERT_OK(txn->Put("kept", "1"));
  ASSERT_OK(txn->SetSavepoint());
  ASSERT_OK(txn->Put(*other, "undone", "1"));
  EXPECT_TRUE(absl::IsInvalidArgument(txn->Commit({.disable_wal = true}))) << "of two families";
  ASSERT_OK(txn->RollbackToSavepoint());
  ASSERT_OK(db()->Put(*other, "undone", "2"));
  EXPECT_OK(txn->Commit());
}

TEST_F(TransactionTest, TheLongestTimeoutWaits) {
  const std::unique_ptr<Transaction> holder = Begin(kPessimistic);
  ASSERT_OK(holder->Put("k", "1"));
  absl::Status locked;
  database.world->Spawn([&] {
    const std::unique_ptr<Transaction> txn =
        Begin({.locking = Locking::kPessimistic, .lock_timeout = std::chrono::milliseconds::max()});
    locked = txn->Put("k", "2");
  });
  database.world->Spawn([&] {
    database.world->SleepMicros(10'000'000);
    EXPECT_OK(holder->Commit());
  });
  database.world->RunUntilIdle();
  EXPECT_OK(locked);
}

// An open transaction that holds nothing: batches over the same keys in other orders do not wait for each other in a
// circle.
TEST_F(TransactionTest, PlainBatchesBesideATransactionAllSucceed) {
  const std::unique_ptr<Transaction> idle = Begin(kPessimistic);
  for (int writer = 0; writer < 4; ++writer) {
    database.world->Spawn([&, writer] {
      for (int i = 0; i < 30; ++i) {
        WriteBatch batch;
        for (int key = 0; key < 6; ++key) batch.Put(NumberedKey((writer % 2 == 0 ? key : 5 - key)), "v");
        EXPECT_OK(db()->Write(batch));
        EXPECT_OK(db()->WriteIf(WriteConditions().Present(NumberedKey(0)), batch).status());
      }
    });
  }
  database.world->RunUntilIdle();
}

// The transaction, which is older, is not ended; the write gives up its locks, and tries again until its second is
// over.
TEST_F(TransactionTest, AWriteInADeadlockGivesWay) {
  for (const bool conditional : {false, true}) {
    const std::unique_ptr<Transaction> txn = Begin(kPessimistic);
    ASSERT_OK(txn->Put("b", "1"));
    absl::Status written;
    database.world->Spawn([&] {
      WriteBatch batch;
      batch.Put("a", "2");
      batch.Put("b", "2");
      written = conditional ? db()->WriteIf({}, batch).status() : db()->Write(batch);
    });
    database.world->Spawn([&] {
      database.world->SleepMicros(1000);
      EXPECT_OK(txn->Put("a", "1"));
      EXPECT_OK(txn->Commit());
    });
    database.world->RunUntilIdle();
    EXPECT_OK(written);
    EXPECT_EQ(Value(db(), "a"), "2");
  }
}

// Each key is free after a while, but not all of them within the time that a write has.
TEST_F(TransactionTest, AWriteWaitsASecondForAllOfItsLocksTogether) {
  absl::Status written;
  std::vector<std::unique_ptr<Transaction>> holders;
  WriteBatch batch;
  for (uint64_t i = 0; i < 5; ++i) {
    holders.push_back(Begin(kPessimistic));
    ASSERT_OK(holders.back()->Put(NumberedKey(i), "1"));
    batch.Put(NumberedKey(i), "2");
    database.world->Spawn([&, i] {
      database.world->SleepMicros(800'000 * (i + 1));
      EXPECT_OK(holders[i]->Commit());
    });
  }
  database.world->Spawn([&] { written = db()->Write(batch); });
  database.world->RunUntilIdle();
  EXPECT_TRUE(absl::IsDeadlineExceeded(written)) << written;
}

// A batch that is refused because the disk is full can be committed again.
TEST_F(TransactionTest, ACommitThatFailsForSpaceCanBeTriedAgain) {
  const std::unique_ptr<Transaction> txn = Begin();
  ASSERT_OK(txn->Put("k", std::string(3 << 20, 'v')));
  const absl::Status status = txn->Commit();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << "over a quarter of the limit: " << status;
  EXPECT_EQ(txn->Count(), 1u);
  ASSERT_OK(txn->Rollback());
}

}  // namespace
}  // namespace sepal
