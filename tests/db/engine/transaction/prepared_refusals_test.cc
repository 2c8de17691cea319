// Prepared transactions where something is refused, missing, damaged or fails; and the family that keeps their rows.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/db/engine/transaction/prepared_fixture.h"

namespace sepal {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Text(const absl::Status& status) { return status.ToString(); }

// --- errors ---

TEST_F(PreparedTest, NothingCanBeAddedToWhatIsPrepared) {
  const std::unique_ptr<Transaction> txn = Begin();
  ASSERT_OK(txn->Put("a", "1"));
  ASSERT_OK(txn->SetSavepoint());
  ASSERT_OK(txn->Prepare("p"));
  const auto refused = [](const absl::Status& status) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(Text(status), HasSubstr("is prepared as \"p\""));
  };
  refused(txn->Put("k", "v"));
  refused(txn->Delete("k"));
  refused(txn->SingleDelete("k"));
  refused(txn->Merge("k", "v"));
  refused(txn->DeleteRange("a", "b"));
  refused(txn->GetForUpdate("k").status());
  refused(txn->GetForShare("k").status());
  refused(txn->SetSavepoint());
  refused(txn->RollbackToSavepoint());
  refused(txn->Prepare("q"));
  EXPECT_TRUE(absl::IsInvalidArgument(txn->Commit({.disable_wal = true})));
  EXPECT_THAT(Names(), ElementsAre("p"));
  ASSERT_OK(txn->Commit());
  EXPECT_TRUE(absl::IsFailedPrecondition(txn->Rollback()));
  EXPECT_TRUE(absl::IsFailedPrecondition(txn->Prepare("p")));
}

TEST_F(PreparedTest, ANameIsNeitherEmptyNorLongNorTaken) {
  const std::unique_ptr<Transaction> txn = Begin();
  ASSERT_OK(txn->Put("a", "1"));
  EXPECT_TRUE(absl::IsInvalidArgument(txn->Prepare("")));
  EXPECT_TRUE(absl::IsInvalidArgument(txn->Prepare(std::string(kMaxTransactionNameBytes + 1, 'n'))));
  EXPECT_TRUE(absl::IsInvalidArgument(db()->FindPrepared("").status()));
  EXPECT_TRUE(absl::IsNotFound(db()->FindPrepared("p").status()));
  const std::string longest(kMaxTransactionNameBytes, 'n');
  ASSERT_OK(txn->Prepare(longest));
  const std::unique_ptr<Transaction> other = Begin();
  ASSERT_OK(other->Put("b", "1"));
  const absl::Status taken = other->Prepare(longest);
  EXPECT_TRUE(absl::IsAlreadyExists(taken)) << taken;
  EXPECT_FALSE(IsLocked("b"));
  ASSERT_OK(other->Put("c", "1"));
  ASSERT_OK(other->Prepare("p"));
  ASSERT_OK(database.Reopen());
  const std::unique_ptr<Transaction> third = Begin();
  EXPECT_TRUE(absl::IsAlreadyExists(third->Prepare("p")));
  ASSERT_OK(Find("p")->Rollback());
  ASSERT_OK(third->Prepare("p"));
}

TEST_F(PreparedTest, AConflictAbortsItAndLeavesNothing) {
  for (const Isolation isolation : {Isolation::kSnapshot, Isolation::kSerializable}) {
    const std::unique_ptr<Transaction> txn = Begin({.isolation = isolation});
    EXPECT_TRUE(absl::IsNotFound(txn->GetForUpdate("a").status()));
    ASSERT_OK(txn->Put("b", "1"));
    ASSERT_OK(db()->Put("a", "2"));
    const absl::Status aborted = txn->Prepare("p");
    EXPECT_TRUE(absl::IsAborted(aborted)) << aborted;
    EXPECT_THAT(Text(aborted), HasSubstr("\"a\""));
    EXPECT_TRUE(absl::IsAborted(txn->Commit()));
    EXPECT_THAT(Names(), IsEmpty());
    EXPECT_FALSE(IsLocked("b"));
    EXPECT_EQ(Charged(), 0u);
    ASSERT_OK(db()->Delete("a"));
  }
  PrepareOne("p");
  EXPECT_THAT(Names(), ElementsAre("p"));
}

TEST_F(PreparedTest, ALockThatIsNotFreeLeavesItAsItWas) {
  const std::unique_ptr<Transaction> holder = Begin({.locking = Locking::kPessimistic});
  ASSERT_OK(holder->Put("b", "1"));
  const std::unique_ptr<Transaction> txn = Begin({.lock_timeout = std::chrono::milliseconds(10)});
  ASSERT_OK(txn->Put("a", "1"));
  ASSERT_OK(txn->Put("b", "2"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(txn->Prepare("p")));
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_FALSE(IsLocked("x"));
  ASSERT_OK(holder->Rollback());
  ASSERT_OK(txn->Put("c", "1"));
  ASSERT_OK(txn->Prepare("p"));
  ASSERT_OK(txn->Commit());
  EXPECT_EQ(Value(db(), "b"), "2");
  EXPECT_EQ(Value(db(), "c"), "1");
}

TEST_F(PreparedTest, AFamilyThatItHasLocksInIsNotDropped) {
  const std::shared_ptr<ColumnFamily> family = db()->CreateColumnFamily("f").value();
  const std::shared_ptr<ColumnFamily> other = db()->CreateColumnFamily("g").value();
  {
    const std::unique_ptr<Transaction> txn = Begin();
    ASSERT_OK(txn->Put(*family, "a", "1"));
    ASSERT_OK(txn->Prepare("p"));
  }
  ASSERT_OK(db()->DropColumnFamily(*other));
  const absl::Status refused = db()->DropColumnFamily(*family);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(Text(refused), AllOf(HasSubstr("\"p\""), HasSubstr("\"f\"")));
  ASSERT_OK(database.Reopen());
  const std::shared_ptr<ColumnFamily> again = db()->FindColumnFamily("f").value();
  EXPECT_TRUE(absl::IsFailedPrecondition(db()->DropColumnFamily(*again)));
  ASSERT_OK(Find("p")->Commit());
  EXPECT_EQ(db()->Get(*again, "a").value_or("-"), "1");
  ASSERT_OK(db()->DropColumnFamily(*again));
}

TEST_F(PreparedTest, ATransactionOfADroppedFamilyIsNotPrepared) {
  for (const Locking locking : {Locking::kOptimistic, Locking::kPessimistic}) {
    const std::shared_ptr<ColumnFamily> family = db()->CreateColumnFamily("f").value();
    const std::unique_ptr<Transaction> txn = Begin({.locking = locking});
    ASSERT_OK(txn->Put(*family, "a", "1"));
    ASSERT_OK(db()->DropColumnFamily(*family));
    const absl::Status refused = txn->Prepare("p");
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(Text(refused), HasSubstr("column family \"f\" was dropped"));
    EXPECT_THAT(Names(), IsEmpty());
  }
  PrepareOne("p");
}

TEST_F(PreparedTest, WhatNoCommitMayWriteIsNotPrepared) {
  const std::unique_ptr<Transaction> txn = Begin();
  for (int i = 0; i < 3; ++i) ASSERT_OK(txn->Put(NumberedKey(static_cast<uint64_t>(i)), std::string(900'000, 'v')));
  const absl::Status refused = txn->Prepare("p");
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_FALSE(IsLocked(NumberedKey(0)));
}

TEST_F(PreparedTest, AfterItsDatabaseWasClosedItIsRefusedAndStays) {
  std::unique_ptr<Transaction> txn = Begin();
  ASSERT_OK(txn->Put("a", "1"));
  ASSERT_OK(txn->Prepare("p"));
  ASSERT_OK(db()->Close());
  EXPECT_TRUE(absl::IsFailedPrecondition(txn->Commit()));
  EXPECT_TRUE(absl::IsFailedPrecondition(db()->PreparedTransactions().status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(db()->FindPrepared("p").status()));
  ASSERT_OK(database.Open());
  EXPECT_TRUE(absl::IsFailedPrecondition(txn->Rollback()));
  txn.reset();
  EXPECT_THAT(Names(), ElementsAre("p"));
}

// --- copies, readers, repairs ---

TEST_F(PreparedTest, ACheckpointHasItAndEndsItByItself) {
  PrepareOne("p");
  ASSERT_OK(db()->Checkpoint("/copy"));
  ASSERT_OK(Find("p")->Rollback());
  ASSERT_OK(db()->Checkpoint("/later"));
  const auto open = [&](std::string_view path) {
    Options options = database.options;
    options.create_if_missing = false;
    return Engine::Open(options, database.tuning, path).value();
  };
  EXPECT_THAT(NamesIn(database.OpenReadOnly("/copy")->get()), ElementsAre("p"));
  {
    const std::unique_ptr<DB> copy = open("/copy");
    EXPECT_TRUE(IsLockedIn(copy.get(), "a"));
    ASSERT_OK(copy->FindPrepared("p").value()->Commit());
    EXPECT_EQ(Value(copy.get(), "a"), "1");
  }
  EXPECT_THAT(NamesIn(open("/copy").get()), IsEmpty());
  EXPECT_THAT(NamesIn(open("/later").get()), IsEmpty());
  EXPECT_EQ(Value(db(), "a"), "NOT_FOUND");
}

TEST_F(PreparedTest, AReaderBesideTheWriterFollows) {
  const std::unique_ptr<DB> reader = database.OpenReadOnly().value();
  EXPECT_THAT(NamesIn(reader.get()), IsEmpty());
  PrepareOne("p");
  PrepareOne("q", "b");
  EXPECT_THAT(NamesIn(reader.get()), IsEmpty());
  ASSERT_OK(reader->CatchUp());
  EXPECT_THAT(NamesIn(reader.get()), ElementsAre("p", "q"));
  EXPECT_EQ(reader->ColumnFamilyNames(), std::vector<std::string>{"default"});
  ASSERT_OK(Find("p")->Commit({.sync = true}));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(reader->CatchUp());
  EXPECT_THAT(NamesIn(reader.get()), ElementsAre("q"));
  EXPECT_EQ(Value(reader.get(), "a"), "1");
}

TEST_F(PreparedTest, ARepairKeepsItWithItsManifestOrWithout) {
  ASSERT_OK(db()->Put("k", "v"));
  PrepareOne("p");
  PrepareOne("gone", "b");
  ASSERT_OK(Find("gone")->Commit());
  ASSERT_OK(db()->Checkpoint("/copy"));  // all of it in tables
  ASSERT_OK(db()->Close());
  for (const bool manifest : {false, true}) {
    TestDatabase damaged(Threads::kSimulated, {.seed = 1}, database.memory.Clone());
    damaged.options.family.merge_operator = MergeOperators::Append();
    for (const std::string& name : FilesIn(&damaged.memory, "/copy")) {
      const std::string file = "/copy/" + name;
      const bool users = damaged.memory.ReadFileContents(file)->find("default") != std::string::npos;
      if (manifest && name.ends_with(".sst") && users) ASSERT_OK(damaged.memory.FlipBit(file, 10, 3));
      if (!manifest && name.starts_with("MANIFEST")) ASSERT_OK(damaged.memory.FlipBit(file, 60, 3));
    }
    RepairReport report;
    ASSERT_OK(RepairTo(&report, damaged.options, "/copy", {.logs_lost = true}));
    EXPECT_TRUE(report.changed);
    EXPECT_EQ(report.ToString().find("prepared transactions that only logs had") == std::string::npos, manifest);
    const std::unique_ptr<DB> repaired = Engine::Open(damaged.options, damaged.tuning, "/copy").value();
    EXPECT_THAT(NamesIn(repaired.get()), ElementsAre("p"));
    EXPECT_TRUE(IsLockedIn(repaired.get(), "a"));
    EXPECT_EQ(Value(repaired.get(), "b"), manifest ? "NOT_FOUND" : "1");
    ASSERT_OK(repaired->FindPrepared("p").value()->Commit());
    EXPECT_EQ(Value(repaired.get(), "a"), "1");
    ASSERT_OK(repaired->CreateColumnFamily("new").status());
    EXPECT_OK(repaired->VerifyChecksums());
  }
}

// --- failures ---

// At each file call of a prepare, a commit or a rollback the power fails: the transaction is prepared or not, committed
// or still prepared, whole.
TEST(PreparedCrashTest, APowerLossAnywhereLeavesItPreparedOrEnded) {
  enum class Step { kPrepare, kCommit, kRollback };
  for (const Step step : {Step::kPrepare, Step::kCommit, Step::kRollback}) {
    int prepared = 0, ended = 0;
    bool whole = false;
    for (int64_t calls = 1; !whole; ++calls) {
      TestDatabase crashing;
      ASSERT_OK(crashing.Open());
      ASSERT_OK(crashing.db->Put("a", "0", {.sync = true}));
      std::unique_ptr<Transaction> txn = crashing.db->BeginTransaction().value();
      ASSERT_OK(txn->Put("a", "1"));
      ASSERT_OK(txn->Put("b", "1"));
      if (step != Step::kPrepare) ASSERT_OK(txn->Prepare("p"));
      int64_t left = calls;
      crashing.files.SetDecider([&](const FileCall&) {
        if (--left == 0) crashing.memory.Crash(CrashMode::kAnySubset, static_cast<uint64_t>(calls));
        return Fault::kNone;
      });
      const absl::Status status = step == Step::kPrepare  ? txn->Prepare("p")
                                  : step == Step::kCommit ? txn->Commit({.sync = true})
                                                          : txn->Rollback();
      const bool acknowledged = status.ok() && left > 0;
      whole = left > 0;
      crashing.files.Clear();
      if (whole) break;
      txn.reset();
      ASSERT_OK(crashing.Open());
      const bool is_prepared = !crashing.db->PreparedTransactions().value().empty();
      ++(is_prepared ? prepared : ended);
      EXPECT_FALSE(acknowledged);
      const bool has = Value(crashing.db.get(), "b") == "1";
      EXPECT_EQ(Value(crashing.db.get(), "a"), has ? "1" : "0") << calls;
      EXPECT_EQ(has, step == Step::kCommit && !is_prepared) << calls;
      EXPECT_EQ(IsLockedIn(crashing.db.get(), "a"), is_prepared);
      if (is_prepared) ASSERT_OK(crashing.db->FindPrepared("p").value()->Commit());
    }
    EXPECT_GT(prepared, 0) << static_cast<int>(step);
    EXPECT_GT(ended, 0) << static_cast<int>(step);
  }
}

TEST_F(PreparedTest, AFailedSyncOfAPrepareEndsWritingAsAnyDoes) {
  const std::unique_ptr<Transaction> txn = Begin();
  ASSERT_OK(txn->Put("a", "1"));
  PrepareOne("first", "b");
  database.files.Inject({.op = FileOp::kSync, .name_contains = ".log"});
  const absl::Status failed = txn->Prepare("p");
  EXPECT_FALSE(failed.ok());
  EXPECT_THAT(Names(), ElementsAre("first"));
  EXPECT_FALSE(db()->Put("c", "1").ok());
  EXPECT_FALSE(Find("first")->Commit().ok());
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_THAT(Names(), ElementsAre("first"));
}

// --- the system family ---

TEST_F(PreparedTest, NobodyFindsTheFamilyOfItsRows) {
  PrepareOne("p");
  for (const bool reopened : {false, true}) {
    EXPECT_EQ(db()->ColumnFamilyNames(), std::vector<std::string>{"default"});
    EXPECT_EQ(DB::ListColumnFamilies(database.options, "/db").value(), std::vector<std::string>{"default"});
    EXPECT_TRUE(absl::IsNotFound(db()->FindColumnFamily("").status()));
    EXPECT_TRUE(absl::IsInvalidArgument(db()->CreateColumnFamily("").status()));
    EXPECT_THAT(*db()->GetProperty("sepal.prometheus"), Not(HasSubstr("family=\"\"")));
    if (!reopened) ASSERT_OK(database.Reopen());
  }
  database.options.column_families = {{.name = "", .options = {}}};
  EXPECT_TRUE(absl::IsInvalidArgument(database.Open()));
}

TEST_F(PreparedTest, ADatabaseThatHasPreparedNothingIsAsBefore) {
  const auto says = [&] {
    std::string all;
    for (const std::string& name : FilesIn(&database.memory, "/db")) {
      if (name.starts_with("MANIFEST")) all += database.memory.ReadFileContents("/db/" + name).value();
    }
    return all.find("\x18\x02\x80\x02") != std::string::npos;  // feature 256
  };
  EXPECT_THAT(Names(), IsEmpty());
  const std::unique_ptr<Transaction> txn = Begin();
  ASSERT_OK(txn->Put("a", "1"));
  ASSERT_OK(txn->Commit());
  ASSERT_OK(database.Reopen());
  EXPECT_FALSE(says());
  PrepareOne("p");
  EXPECT_TRUE(says());
  ASSERT_OK(Find("p")->Rollback());
  ASSERT_OK(database.Reopen());
  EXPECT_TRUE(says()) << "the family stays";
}

}  // namespace
}  // namespace sepal
