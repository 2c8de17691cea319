// Transactions beside writes without one, a database that closes, a store that is another's, and memory that is scarce.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

const TransactionOptions kLocking{.locking = Locking::kPessimistic, .lock_timeout = std::chrono::seconds(60)};

class TransactionBadDaysTest : public EngineTest {};

TEST_F(TransactionBadDaysTest, WritesGoOnBesideATransactionThatFillsItsShareOfMemory) {
  const std::unique_ptr<Transaction> large = db()->BeginTransaction(kLocking).value();
  absl::Status status;
  for (int i = 0; status.ok(); ++i) status = large->Put(NumberedKey(i), std::string(4000, 'v'));
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_OK(db()->Put("other", "1"));
  EXPECT_OK(db()->Put(std::string(1000, 'k'), "1"));
  WriteBatch batch;
  for (int i = 0; i < 100; ++i) batch.Put("batch" + std::to_string(i), "1");
  EXPECT_OK(db()->Write(batch));
  EXPECT_TRUE(db()->PutIfAbsent("new", "1").value());
  EXPECT_EQ(Value(db(), "other"), "1");
}

TEST_F(TransactionBadDaysTest, ClosingEndsWhatWaitsForLocks) {
  const std::unique_ptr<Transaction> holder = db()->BeginTransaction(kLocking).value();
  ASSERT_OK(holder->Put("k", "1"));
  const std::unique_ptr<Transaction> waiter = db()->BeginTransaction(kLocking).value();
  absl::Status locked, put;
  SimulatedWorld& world = *database.world;
  world.Spawn([&] { locked = waiter->Put("k", "2"); });
  world.Spawn([&] { put = db()->Put("k", "3"); });
  uint64_t began = 0;
  world.Spawn([&] {
    world.SleepMicros(1000);
    began = world.MonotonicMicros();
    ASSERT_OK(db()->Close());
  });
  world.RunUntilIdle();
  EXPECT_LT(world.MonotonicMicros() - began, 500'000u);
  EXPECT_TRUE(absl::IsFailedPrecondition(locked)) << locked;
  EXPECT_TRUE(absl::IsFailedPrecondition(put)) << put;
  EXPECT_TRUE(absl::IsFailedPrecondition(holder->Commit()));
}

TEST_F(TransactionBadDaysTest, AnIteratorOfATransactionEndsWithItsDatabase) {
  ASSERT_OK(db()->Put("a", "1"));
  const std::unique_ptr<Transaction> transaction = db()->BeginTransaction().value();
  ASSERT_OK(transaction->Put("b", "2"));
  const std::unique_ptr<Iterator> it = transaction->NewIterator();
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  ASSERT_OK(db()->Close());
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(absl::IsFailedPrecondition(it->status())) << it->status();
  it->Seek("b");
  EXPECT_FALSE(it->Valid());
  it->SeekToLast();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(absl::IsFailedPrecondition(it->status())) << it->status();
}

TEST_F(TransactionBadDaysTest, AReadThatIsRefusedForItsOptionsLocksNothing) {
  const std::unique_ptr<Transaction> transaction = db()->BeginTransaction(kLocking).value();
  EXPECT_TRUE(absl::IsInvalidArgument(transaction->GetForUpdate("k", {.as_of_sequence = 1}).status()));
  EXPECT_OK(db()->Put("k", "1", {.no_slowdown = true}));
}

// Each is more than half of what the other leaves.
TEST_F(TransactionBadDaysTest, PreparedTransactionsAreListedAndEndedOneByOneInScarceMemory) {
  constexpr int kTransactions = 3;
  for (int i = 0; i < kTransactions; ++i) {
    const std::unique_ptr<Transaction> transaction = db()->BeginTransaction().value();
    ASSERT_OK(transaction->Put(NumberedKey(i), std::string(1'500'000, 'v')));
    ASSERT_OK(transaction->Prepare("p" + std::to_string(i)));
  }
  ASSERT_OK(db()->Flush());
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(db()->PreparedTransactions().value().size(), size_t{kTransactions});
  for (int i = 0; i < kTransactions; ++i) {
    const auto found = db()->FindPrepared("p" + std::to_string(i));
    ASSERT_OK(found.status());
    ASSERT_OK((*found)->Commit());
    EXPECT_EQ(Value(db(), NumberedKey(i)).size(), 1'500'000u);
  }
}

TEST_F(TransactionBadDaysTest, IteratorsThatAreGoneTakeLittleMemory) {
  ASSERT_OK(db()->Put("k", "v"));
  const std::unique_ptr<Transaction> transaction =
      db()->BeginTransaction({.isolation = Isolation::kSerializable}).value();
  for (int i = 0; i < 100'000; ++i) {
    const std::unique_ptr<Iterator> it = transaction->NewIterator(db()->DefaultColumnFamily());
    it->Seek("k");
    ASSERT_TRUE(it->Valid());
    if (i % 2 == 0) it->Next();
    ASSERT_OK(it->status());
  }
  EXPECT_LT(database.Metrics().MemoryBytes(MemoryPart::kTransactions), 64u << 10);
  ASSERT_OK(transaction->Put("other", "v"));
  ASSERT_OK(db()->Put("k", "new"));
  EXPECT_TRUE(absl::IsAborted(transaction->Commit()));
}

// However many others write meanwhile, and however much: it needs one look at the database.
TEST(LargeCommitTest, IsNotHeldUpByWritersOfOtherKeys) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    TestDatabase database(Threads::kSimulated, seed, /*switch_one_in=*/1);
    ASSERT_OK(database.Open());
    DB* const db = database.db.get();
    bool committed = false;
    int writes_before = 0;
    database.world->Spawn([&] {
      const std::unique_ptr<Transaction> transaction = db->BeginTransaction().value();
      for (uint64_t i = 0; i < 300; ++i) ASSERT_OK(transaction->Put(NumberedKey(i), "v"));
      EXPECT_OK(transaction->Commit());
      committed = true;
    });
    database.world->Spawn([&] {
      for (; writes_before < 200 && !committed; ++writes_before) EXPECT_OK(db->Put("other", std::string(40'000, 'o')));
    });
    database.world->RunUntilIdle();
    EXPECT_TRUE(committed);
    EXPECT_LT(writes_before, 200) << "seed " << seed;
  }
}

// What a fenced writer is told is no conflict: the body is not run again, and a prepared transaction stays.
TEST(FencedTransactionTest, IsNotTakenForAConflict) {
  constexpr Capabilities kShared = {.remote = true, .outlives_process = false, .fences = true};
  TestDatabase first(Threads::kReal, {.seed = 1, .switch_one_in = 8}, MemoryFileSystem(kShared));
  ASSERT_OK(first.Open());
  const std::unique_ptr<Transaction> prepared = first.db->BeginTransaction().value();
  ASSERT_OK(prepared->Put("k", "1"));
  ASSERT_OK(prepared->Prepare("p"));
  TestDatabase second(Threads::kReal, {.seed = 2, .switch_one_in = 8}, first.memory.AnotherClient());
  second.options.take_over = true;
  ASSERT_OK(second.Open());
  EXPECT_TRUE(absl::IsAborted(first.db->Put("late", "1", {.sync = true})));
  int runs = 0;
  const absl::Status status = first.db->RunTransaction({}, [&](Transaction& transaction) {
    ++runs;
    return transaction.Put("other", "2");
  });
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_LE(runs, 1);
  EXPECT_TRUE(absl::IsAborted(prepared->Commit()));
  EXPECT_TRUE(absl::IsAborted(prepared->Commit()));  // it has not been rolled back
  EXPECT_EQ(second.db->PreparedTransactions().value().size(), 1u);
  ASSERT_OK((*second.db->FindPrepared("p"))->Commit());
  EXPECT_EQ(Value(second.db.get(), "k"), "1");
  EXPECT_FALSE(first.db->Close().ok());
}

}  // namespace
}  // namespace sepal
