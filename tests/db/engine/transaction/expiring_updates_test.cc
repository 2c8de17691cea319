// Puts that expire, in transactions and indexed batches: their own reads go by the database's law (an expiring put is a
// value before its time and an absence from then on), and so does what they write.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "db/format/version_edit.h"
#include "sepal/indexed_batch.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using std::chrono::milliseconds;

class ExpiringUpdatesTest : public EngineTest {
 protected:
  void SetUp() override {
    database.options.family.merge_operator = MergeOperators::Append();
    EngineTest::SetUp();
  }
  void Pass(int64_t millis) { database.world->SleepMicros(static_cast<uint64_t>(millis) * 1000); }
  std::chrono::system_clock::time_point In(int64_t millis) {
    return std::chrono::system_clock::time_point(std::chrono::microseconds(database.clock->UnixMicros())) +
           milliseconds(millis);
  }
  template <class Target>
  static std::string Read(const Target& target, std::string_view key) {
    const absl::StatusOr<std::string> value = target->Get(key);
    EXPECT_TRUE(value.ok() || absl::IsNotFound(value.status())) << value.status();
    return value.value_or("-");
  }
  template <class Target>
  static std::string Keys(const Target& target) {
    std::string keys, backward;
    const std::unique_ptr<Iterator> iterator = target->NewIterator();
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      keys.append(iterator->key()).append("=").append(iterator->value()).append(" ");
    }
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
      backward = std::string(iterator->key()).append("=").append(iterator->value()).append(" ") + backward;
    }
    EXPECT_OK(iterator->status());
    EXPECT_EQ(keys, backward);
    return keys;
  }
  // The same updates and reads of a transaction, or of a batch, over a database that has a=old and m=old.
  template <class Target>
  void ExpireInside(const Target& target) {
    ASSERT_OK(target->Put("a", "1", {.ttl = milliseconds(1000)}));
    ASSERT_OK(target->Put("b", "2", {.expires_at = In(3000)}));
    ASSERT_OK(target->Put("m", "x", {.ttl = milliseconds(1000)}));
    ASSERT_OK(target->Merge("m", "y"));
    ASSERT_OK(target->Put("z", "26"));
    Pass(999);
    EXPECT_EQ(Read(target, "a"), "1");
    EXPECT_EQ(Read(target, "m"), "x,y");
    EXPECT_EQ(Keys(target), "a=1 b=2 m=x,y z=26 ");
    Pass(1);
    EXPECT_EQ(Read(target, "a"), "-") << "what it hides stays hidden";
    EXPECT_EQ(Read(target, "m"), "y") << "and operands begin from nothing";
    EXPECT_EQ(Keys(target), "b=2 m=y z=26 ");
    const std::vector<std::string_view> keys = {"a", "b"};
    EXPECT_TRUE(absl::IsNotFound(target->MultiGet(keys)[0].status()));
    EXPECT_EQ(target->MultiGet(keys)[1].value_or("-"), "2");
  }
  // After it was written, with a second of b's time to go.
  void ExpectWritten() {
    EXPECT_EQ(Keys(db()), "b=2 m=y z=26 ");
    ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
    EXPECT_EQ(Keys(db()), "b=2 m=y z=26 ");
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->CompactRange());
    EXPECT_EQ(Keys(db()), "b=2 m=y z=26 ");
    Pass(2000);
    EXPECT_EQ(Keys(db()), "m=y z=26 ");
  }
};

class AnyExpiringTransactionTest : public ExpiringUpdatesTest,
                                   public ::testing::WithParamInterface<TransactionOptions> {};

TEST_P(AnyExpiringTransactionTest, ItsReadsSeeItsPutsExpireAndSoDoesWhatItWrites) {
  ASSERT_OK(db()->Put("a", "old"));
  ASSERT_OK(db()->Put("m", "old"));
  const std::unique_ptr<Transaction> txn = db()->BeginTransaction(GetParam()).value();
  ExpireInside(txn);
  EXPECT_EQ(Keys(db()), "a=old m=old ");
  ASSERT_OK(txn->Commit({.sync = true}));
  ExpectWritten();
}

TEST_P(AnyExpiringTransactionTest, APreparedOneCarriesTheTimesThatItWasGiven) {
  ASSERT_OK(db()->Put("a", "old"));
  {
    const std::unique_ptr<Transaction> txn = db()->BeginTransaction(GetParam()).value();
    ASSERT_OK(txn->Put("a", "1", {.ttl = milliseconds(1000)}));
    ASSERT_OK(txn->Put("b", "2", {.ttl = milliseconds(5000)}));
    ASSERT_OK(txn->Prepare("p"));
  }
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  const std::unique_ptr<Transaction> txn = db()->FindPrepared("p").value();
  EXPECT_EQ(Keys(txn), "a=1 b=2 ");
  Pass(2000);
  EXPECT_EQ(Keys(txn), "b=2 ");
  EXPECT_EQ(Keys(db()), "a=old ");
  ASSERT_OK(txn->Commit());  // a time that has passed is no reason to refuse what was promised
  EXPECT_EQ(Keys(db()), "b=2 ");
  Pass(3000);
  EXPECT_EQ(Keys(db()), "");
}

TEST_P(AnyExpiringTransactionTest, TheTimeToLiveOfAFamilyBeginsWithTheCommitAndOneOfItsOwnGoesBeforeIt) {
  const std::shared_ptr<ColumnFamily> family = db()->CreateColumnFamily("f", {.ttl = milliseconds(10'000)}).value();
  const std::unique_ptr<Transaction> txn = db()->BeginTransaction(GetParam()).value();
  ASSERT_OK(txn->Put(*family, "own", "1", {.ttl = milliseconds(1000)}));
  ASSERT_OK(txn->Put(*family, "longer", "1", {.ttl = milliseconds(60'000)}));
  ASSERT_OK(txn->Put(*family, "default", "1"));
  Pass(20'000);
  EXPECT_EQ(txn->Get(*family, "own").value_or("-"), "-");
  EXPECT_EQ(txn->Get(*family, "default").value_or("-"), "1");
  ASSERT_OK(txn->Commit());
  EXPECT_EQ(db()->Get(*family, "own").value_or("-"), "-");
  Pass(9'999);
  EXPECT_EQ(db()->Get(*family, "default").value_or("-"), "1");
  Pass(1);
  EXPECT_EQ(db()->Get(*family, "default").value_or("-"), "-");
  EXPECT_EQ(db()->Get(*family, "longer").value_or("-"), "1");
  Pass(30'000);
  EXPECT_EQ(db()->Get(*family, "longer").value_or("-"), "-");
}

INSTANTIATE_TEST_SUITE_P(All, AnyExpiringTransactionTest,
                         ::testing::Values(TransactionOptions{},
                                           TransactionOptions{.isolation = Isolation::kSerializable},
                                           TransactionOptions{.locking = Locking::kPessimistic}));

TEST_F(ExpiringUpdatesTest, ABatchReadsItsPutsExpireAndWritesThemSo) {
  ASSERT_OK(db()->Put("a", "old"));
  ASSERT_OK(db()->Put("m", "old"));
  IndexedBatch batch(*db());
  ExpireInside(&batch);
  ASSERT_OK(db()->Write(batch.updates(), {.sync = true}));  // its times were checked as they were put
  ExpectWritten();
}

TEST_F(ExpiringUpdatesTest, AWriteIfTakesABatchWhoseTimeHasPassedToo) {
  IndexedBatch batch(*db());
  ASSERT_OK(batch.Put("a", "1", {.ttl = milliseconds(10)}));
  Pass(20);
  WriteConditions conditions;
  conditions.Absent("a");
  EXPECT_TRUE(db()->WriteIf(conditions, batch.updates()).value());
  EXPECT_EQ(Keys(db()), "");
  // What a user gives a WriteBatch is looked at when it is written, alone or joined to another.
  WriteBatch plain;
  plain.Append(batch.updates());
  ASSERT_OK(db()->Write(plain));
  plain.Put("b", "2", In(10));
  Pass(20);
  EXPECT_TRUE(absl::IsInvalidArgument(db()->WriteIf({}, plain).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(db()->Write(plain)));
  EXPECT_TRUE(absl::IsInvalidArgument(db()->Write(WriteBatch::FromBytes(plain.bytes()).value())));
}

TEST_F(ExpiringUpdatesTest, TimesThatArePastNotPositiveTooLateOrTwoAreRefusedAndNothingIsAdded) {
  const std::unique_ptr<Transaction> txn = db()->BeginTransaction().value();
  IndexedBatch batch(*db());
  for (const PutOptions& options :
       {PutOptions{.ttl = milliseconds(0)}, PutOptions{.ttl = milliseconds(-1)},
        PutOptions{.ttl = milliseconds(INT64_MAX)}, PutOptions{.expires_at = In(0)}, PutOptions{.expires_at = In(-5)},
        PutOptions{.ttl = milliseconds(5), .expires_at = In(5)}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(txn->Put("a", "1", options)));
    EXPECT_TRUE(absl::IsInvalidArgument(batch.Put("a", "1", options)));
  }
  EXPECT_EQ(txn->Count(), 0u);
  EXPECT_EQ(batch.Count(), 0u);
  EXPECT_TRUE(absl::IsInvalidArgument(txn->Put(std::string(kMaxKeyBytes + 1, 'k'), "1", {.ttl = milliseconds(5)})));
}

// The manifest says that puts may expire from the first commit, or preparation, of one that does, and not before.
TEST_F(ExpiringUpdatesTest, OnlyWhatIsWrittenMakesTheDatabaseOneWhosePutsExpire) {
  const auto expires = [&] { return db()->GetProperty("sepal.expires").value(); };
  const std::string never = expires();
  {
    const std::unique_ptr<Transaction> txn = db()->BeginTransaction().value();
    ASSERT_OK(txn->SetSavepoint());
    ASSERT_OK(txn->Put("a", "1", {.ttl = milliseconds(10'000)}));
    EXPECT_EQ(Read(txn, "a"), "1");
    ASSERT_OK(txn->RollbackToSavepoint());
    ASSERT_OK(txn->Put("b", "2"));
    ASSERT_OK(txn->Commit());
  }
  IndexedBatch batch(*db());
  batch.SetSavepoint();
  ASSERT_OK(batch.Put("a", "1", {.ttl = milliseconds(10'000)}));
  ASSERT_OK(batch.RollbackToSavepoint());
  ASSERT_OK(db()->Write(batch.updates()));
  EXPECT_EQ(expires(), never);
  const std::unique_ptr<Transaction> txn = db()->BeginTransaction().value();
  ASSERT_OK(txn->Put("a", "1", {.ttl = milliseconds(10'000)}));
  ASSERT_OK(txn->Prepare("p"));
  EXPECT_NE(expires(), never);
}

// What a transaction read as expired is absent ever after, though the wall clock is set back.
TEST_F(ExpiringUpdatesTest, TheClockDoesNotGoBackForItsOwnReads) {
  const std::unique_ptr<Transaction> txn = db()->BeginTransaction().value();
  ASSERT_OK(txn->Put("a", "1", {.ttl = milliseconds(1000)}));
  database.clock->Jump(5000);
  EXPECT_EQ(Read(txn, "a"), "-");
  database.clock->Jump(-5000);
  EXPECT_EQ(Read(txn, "a"), "-");
  ASSERT_OK(txn->Commit());
  EXPECT_EQ(Read(db(), "a"), "-");
}

// A plain write of a family with a short time to live may wait for locks for longer than that.
TEST_F(ExpiringUpdatesTest, AWriteThatWaitsForALockLongerThanItsTimeToLiveIsNoError) {
  const std::shared_ptr<ColumnFamily> family = db()->CreateColumnFamily("f", {.ttl = milliseconds(5)}).value();
  std::unique_ptr<Transaction> holder =
      db()->BeginTransaction({.locking = Locking::kPessimistic, .lock_timeout = milliseconds(0)}).value();
  ASSERT_OK(holder->Put(*family, "k", "held"));
  const std::unique_ptr<Transaction> txn = db()->BeginTransaction().value();
  ASSERT_OK(txn->Put(*family, "k", "1"));
  database.world->Schedule(Executor::Priority::kFlush, [&] {
    database.world->SleepMicros(100'000);
    holder.reset();
  });
  ASSERT_OK(txn->Commit());
  EXPECT_EQ(db()->Get(*family, "k").value_or("-"), "-");
}

}  // namespace
}  // namespace sepal
