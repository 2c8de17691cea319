// The anomalies that isolation levels are about (Berenson and others, "A Critique of ANSI SQL Isolation Levels", 1995;
// Fekete, O'Neil and O'Neil, "A Read-Only Transaction Anomaly Under Snapshot Isolation", 2004): each is provoked, and
// is there or not as docs/guide/transactions.md says.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

class AnomaliesTest : public EngineTest, public ::testing::WithParamInterface<TransactionOptions> {
 protected:
  bool serializable() const { return GetParam().isolation == Isolation::kSerializable; }
  bool pessimistic() const { return GetParam().locking == Locking::kPessimistic; }
  std::unique_ptr<Transaction> Begin() { return db()->BeginTransaction(GetParam()).value(); }
  static std::string Read(Transaction* transaction, std::string_view key) {
    return transaction->Get(key).value_or("absent");
  }
  // Whether the write, or then the commit, was refused for a conflict.
  static bool Aborts(Transaction* transaction, const absl::Status& written) {
    if (absl::IsAborted(written) || absl::IsDeadlineExceeded(written)) return true;
    EXPECT_OK(written);
    const absl::Status committed = transaction->Commit();
    EXPECT_TRUE(committed.ok() || absl::IsAborted(committed)) << committed;
    return !committed.ok();
  }
};

TEST_P(AnomaliesTest, ADirtyReadDoesNotHappen) {
  ASSERT_OK(db()->Put("x", "0"));
  const std::unique_ptr<Transaction> writer = Begin();
  ASSERT_OK(writer->Put("x", "1"));
  EXPECT_EQ(Read(Begin().get(), "x"), "0");
  ASSERT_OK(writer->Rollback());
  EXPECT_EQ(Read(Begin().get(), "x"), "0");
}

TEST_P(AnomaliesTest, ADirtyWriteDoesNotHappen) {
  const std::unique_ptr<Transaction> first = Begin();
  const std::unique_ptr<Transaction> second = Begin();
  ASSERT_OK(first->Put("x", "1"));
  ASSERT_OK(first->Put("y", "1"));
  const absl::Status written = second->Put("x", "2");
  ASSERT_OK(first->Commit());
  EXPECT_TRUE(Aborts(second.get(), written));
  EXPECT_EQ(Value(db(), "x"), "1");
  EXPECT_EQ(Value(db(), "y"), "1");
}

TEST_P(AnomaliesTest, AReadIsRepeatable) {
  ASSERT_OK(db()->Put("x", "0"));
  const std::unique_ptr<Transaction> reader = Begin();
  EXPECT_EQ(Read(reader.get(), "x"), "0");
  ASSERT_OK(db()->Put("x", "1"));
  EXPECT_EQ(Read(reader.get(), "x"), "0");
  EXPECT_OK(reader->Commit());  // what only reads commits always
}

TEST_P(AnomaliesTest, NoUpdateIsLost) {
  ASSERT_OK(db()->Put("x", "10"));
  const std::unique_ptr<Transaction> a = Begin();
  const std::unique_ptr<Transaction> b = Begin();
  const int from_a = std::stoi(Read(a.get(), "x"));
  const int from_b = std::stoi(Read(b.get(), "x"));
  ASSERT_OK(a->Put("x", std::to_string(from_a + 1)));
  ASSERT_OK(a->Commit());
  EXPECT_TRUE(Aborts(b.get(), b->Put("x", std::to_string(from_b + 1))));
  EXPECT_EQ(Value(db(), "x"), "11");
}

// Two doctors on call, each of whom leaves if the other stays.
TEST_P(AnomaliesTest, WriteSkewHappensUnderSnapshotsAlone) {
  ASSERT_OK(db()->Put("alice", "on call"));
  ASSERT_OK(db()->Put("bob", "on call"));
  const std::unique_ptr<Transaction> a = Begin();
  const std::unique_ptr<Transaction> b = Begin();
  EXPECT_EQ(Read(a.get(), "bob"), "on call");
  EXPECT_EQ(Read(b.get(), "alice"), "on call");
  ASSERT_OK(a->Put("alice", "off"));
  ASSERT_OK(b->Put("bob", "off"));
  ASSERT_OK(a->Commit());
  const absl::Status second = b->Commit();
  EXPECT_EQ(absl::IsAborted(second), serializable()) << second;
}

TEST_P(AnomaliesTest, WriteSkewDoesNotHappenWhereReadsAreForUpdate) {
  ASSERT_OK(db()->Put("alice", "on call"));
  ASSERT_OK(db()->Put("bob", "on call"));
  const std::unique_ptr<Transaction> a = Begin();
  EXPECT_EQ(a->GetForUpdate("bob").value(), "on call");
  const std::unique_ptr<Transaction> b = Begin();
  EXPECT_EQ(b->GetForUpdate("alice").value(), "on call");
  if (pessimistic()) {
    // Each waits for what the other one has read: the younger is told that it closes a cycle, or times out.
    const absl::Status written = b->Put("bob", "off");
    EXPECT_TRUE(absl::IsDeadlineExceeded(written) || absl::IsAborted(written)) << written;
    return;
  }
  ASSERT_OK(a->Put("alice", "off"));
  ASSERT_OK(b->Put("bob", "off"));
  ASSERT_OK(a->Commit());
  EXPECT_TRUE(absl::IsAborted(b->Commit()));
}

// Each counts the rows of a range and adds one: in some order, the second would have counted the first one's.
TEST_P(AnomaliesTest, PhantomsHappenUnderSnapshotsAlone) {
  const auto count = [](Transaction* transaction) {
    return ReadAll(transaction->NewIterator({.prefix = "row"}).get()).size();
  };
  const std::unique_ptr<Transaction> a = Begin();
  const std::unique_ptr<Transaction> b = Begin();
  EXPECT_EQ(count(a.get()), 0u);
  EXPECT_EQ(count(b.get()), 0u);
  ASSERT_OK(a->Put("row a", "0"));
  ASSERT_OK(b->Put("row b", "0"));
  ASSERT_OK(a->Commit());
  const absl::Status second = b->Commit();
  EXPECT_EQ(absl::IsAborted(second), serializable()) << second;
}

TEST_P(AnomaliesTest, AKeyThatWasNotThereIsReadTooAsAreTheEndsOfScans) {
  ASSERT_OK(db()->Put("c", "0"));
  ASSERT_OK(db()->Put("m", "0"));
  struct Case {
    const char* name;
    std::function<void(Transaction*)> read;
    const char* written;
    bool conflict;
  };
  const auto seek = [](Transaction* txn, std::string_view target) {
    const std::unique_ptr<Iterator> iterator = txn->NewIterator();
    iterator->Seek(target);
  };
  const std::vector<Case> cases = {
      {"an absent key", [](Transaction* txn) { EXPECT_FALSE(txn->Get("gone").ok()); }, "gone", true},
      {"beside an absent key", [](Transaction* txn) { EXPECT_FALSE(txn->Get("gone").ok()); }, "gonf", false},
      {"between a target and its key", [&](Transaction* txn) { seek(txn, "d"); }, "e", true},
      {"before a target", [&](Transaction* txn) { seek(txn, "d"); }, "cc", false},
      {"behind the key that was found", [&](Transaction* txn) { seek(txn, "d"); }, "n", false},
      {"behind the first key", [](Transaction* txn) { txn->NewIterator()->SeekToFirst(); }, "d", false},
      {"before the first key", [](Transaction* txn) { txn->NewIterator()->SeekToFirst(); }, "b", true},
      {"before the last key", [](Transaction* txn) { txn->NewIterator()->SeekToLast(); }, "d", false},
      {"behind the last key", [&](Transaction* txn) { seek(txn, "x"); }, "z", true},
      {"backward: between key and target", [](Transaction* txn) { txn->NewIterator()->SeekForPrev("k"); }, "d", true},
      {"backward: before the key", [](Transaction* txn) { txn->NewIterator()->SeekForPrev("k"); }, "b", false},
      {"backward: up to the first key", [](Transaction* txn) { txn->NewIterator()->SeekForPrev("b"); }, "a", true},
      {"the last key and what would be behind it", [](Transaction* txn) { txn->NewIterator()->SeekToLast(); }, "z",
       true},
      {"outside of the bounds",
       [](Transaction* txn) { ReadAll(txn->NewIterator({.lower_bound = "c", .upper_bound = "m"}).get()); }, "m", false},
      {"within the bounds, behind all keys",
       [](Transaction* txn) { ReadAll(txn->NewIterator({.lower_bound = "c", .upper_bound = "m"}).get()); }, "lz", true},
      {"a key of MultiGet",
       [](Transaction* txn) {
         (void)txn->MultiGet(std::vector<std::string_view>{"p", "q"});
       },
       "q", true},
  };
  for (const bool flushed : {false, true}) {
    for (const Case& c : cases) {
      const std::unique_ptr<Transaction> txn = Begin();
      c.read(txn.get());
      ASSERT_OK(txn->Put("unrelated", "1"));
      ASSERT_OK(db()->Put(c.written, "other"));
      if (flushed) ASSERT_OK(db()->Flush());
      const absl::Status committed = txn->Commit();
      EXPECT_EQ(absl::IsAborted(committed), c.conflict && serializable()) << c.name << ": " << committed;
      ASSERT_OK(db()->Delete(c.written));
      if (std::string(c.written) == "m") ASSERT_OK(db()->Put("m", "0"));
    }
  }
}

// The report of a reader that commits between two writers shows a state that no order of the three has.
TEST_P(AnomaliesTest, TheReadOnlyAnomalyHappensUnderSnapshotsAlone) {
  ASSERT_OK(db()->Put("checking", "0"));
  ASSERT_OK(db()->Put("savings", "0"));
  const std::unique_ptr<Transaction> withdraw = Begin();
  const std::unique_ptr<Transaction> deposit = Begin();
  // Of 10 from checking, with a fee of 1 because the sum seems to be 0.
  EXPECT_EQ(Read(withdraw.get(), "checking"), "0");
  EXPECT_EQ(Read(withdraw.get(), "savings"), "0");
  EXPECT_EQ(Read(deposit.get(), "savings"), "0");
  ASSERT_OK(deposit->Put("savings", "20"));
  ASSERT_OK(deposit->Commit());
  const std::unique_ptr<Transaction> report = Begin();
  EXPECT_EQ(Read(report.get(), "checking"), "0");
  EXPECT_EQ(Read(report.get(), "savings"), "20");
  ASSERT_OK(report->Commit());
  const absl::Status written = withdraw->Put("checking", "-11");
  EXPECT_EQ(Aborts(withdraw.get(), written), serializable());
}

INSTANTIATE_TEST_SUITE_P(, AnomaliesTest,
                         ::testing::Values(TransactionOptions{.lock_timeout = std::chrono::milliseconds(20)},
                                           TransactionOptions{.isolation = Isolation::kSerializable,
                                                              .lock_timeout = std::chrono::milliseconds(20)},
                                           TransactionOptions{.locking = Locking::kPessimistic,
                                                              .lock_timeout = std::chrono::milliseconds(20)},
                                           TransactionOptions{.isolation = Isolation::kSerializable,
                                                              .locking = Locking::kPessimistic,
                                                              .lock_timeout = std::chrono::milliseconds(20)}),
                         [](const auto& test) {
                           return std::string(test.param.locking == Locking::kPessimistic ? "Pessimistic"
                                                                                          : "Optimistic") +
                                  (test.param.isolation == Isolation::kSerializable ? "Serializable" : "Snapshot");
                         });

}  // namespace
}  // namespace sepal
