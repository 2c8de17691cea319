// Checkpoints: what they hold, and that a failure or a crash leaves a whole one or none, and the source unharmed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/db/engine/engine_fixture.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTarget[] = "/target";

absl::StatusOr<std::unique_ptr<DB>> OpenTarget(const TestDatabase& database, bool create = false) {
  Options options = database.options;
  options.create_if_missing = create;
  return Engine::Open(options, database.tuning, kTarget);
}

class CheckpointTest : public EngineTest {};

// As after a client's timeout, which tries again.
TEST(CheckpointTwiceTest, ACheckpointThatWasAcknowledgedOpensWhateverAnotherToTheSamePlaceDoes) {
  int refused = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    TestDatabase database(Threads::kSimulated, {.seed = seed, .switch_one_in = 2}, MemoryFileSystem());
    ASSERT_OK(database.Open());
    for (uint64_t i = 0; i < 300; ++i) ASSERT_OK(database.db->Put(NumberedKey(i), "v"));
    ASSERT_OK(database.db->Flush());
    std::vector<absl::Status> written;
    for (int i = 0; i < 2; ++i) {
      database.world->Spawn([&] { written.push_back(database.db->Checkpoint(kTarget)); });
    }
    database.world->RunUntilIdle();
    ASSERT_EQ(written.size(), 2u);
    const auto failed = std::count_if(written.begin(), written.end(), [](const absl::Status& s) { return !s.ok(); });
    refused += static_cast<int>(failed);
    if (failed == 2) continue;
    absl::StatusOr<std::unique_ptr<DB>> copy = OpenTarget(database);
    ASSERT_OK(copy.status());
    EXPECT_EQ(ReadAll((*copy)->NewIterator().get()).size(), 300u);
  }
  EXPECT_GT(refused, 0) << "none met another";
}

TEST_F(CheckpointTest, ADatabaseAndItsCheckpointGoTheirOwnWays) {
  Fill(0, 1000);
  ASSERT_OK(db()->Checkpoint(kTarget));
  absl::StatusOr<std::unique_ptr<DB>> copy = OpenTarget(database);
  ASSERT_OK(copy.status());
  for (int i = 0; i < 1000; ++i) {
    ASSERT_OK((*copy)->Put(NumberedKey(i), "copy"));
    ASSERT_OK(db()->Put(NumberedKey(i), "source"));
  }
  ASSERT_OK((*copy)->CompactRange());
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Value(copy->get(), NumberedKey(500)), "copy");
  EXPECT_EQ(Value(db(), NumberedKey(500)), "source");
  ASSERT_OK((*copy)->VerifyChecksums());
  ASSERT_OK(db()->VerifyChecksums());
}

TEST_F(CheckpointTest, ACheckpointLinksTablesAndHasNoLog) {
  Fill(0, 1000);
  ASSERT_OK(db()->WaitForBackgroundWork());
  database.files.SetTracing(true);
  ASSERT_OK(db()->Checkpoint(kTarget));
  EXPECT_THAT(database.files.TakeTrace(), HasSubstr("link 0"));
  EXPECT_THAT(FilesIn(&database.memory, kTarget), Not(Contains(EndsWith(".log"))));
}

// A manifest that outlives a loss of power must find its tables.
TEST_F(CheckpointTest, TheTablesAreInTheDirectoryForGoodBeforeThereIsAManifest) {
  Fill(0, 1000);
  ASSERT_OK(db()->WaitForBackgroundWork());
  ASSERT_OK(db()->Put("k", "in a memtable"));
  // Beside which nothing else makes files.
  const std::unique_ptr<DB> reader = database.OpenReadOnly().value();
  for (const bool link : {true, false}) {
    const std::string target = link ? "/linked" : "/copied";
    int tables = 0;
    int manifests = 0;
    bool synced = true;
    database.files.SetDecider([&](const FileCall& call) {
      if (call.op == FileOp::kDirectorySync && call.name == target) synced = true;
      if (call.op != FileOp::kLink && call.op != FileOp::kOpenWrite) return Fault::kNone;
      const std::string& made = call.op == FileOp::kLink ? call.new_name : call.name;
      if (made == "CURRENT") return Fault::kNone;
      const bool table = made.ends_with(".sst");
      EXPECT_TRUE(table ? manifests == 0 : synced) << made;
      ++(table ? tables : manifests);
      synced = false;
      return Fault::kNone;
    });
    ASSERT_OK(reader->Checkpoint(target, {.link_tables = link}));
    database.files.SetDecider(nullptr);
    EXPECT_GT(tables, 2);
    EXPECT_EQ(manifests, 1);
  }
}

TEST_F(CheckpointTest, ACheckpointOfAReadOnlyViewWhoseTablesAreGoneIsAbortedAndLeavesNothing) {
  Fill(0, 2000);
  absl::StatusOr<std::unique_ptr<DB>> reader = database.OpenReadOnly();
  ASSERT_OK(reader.status());
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(db()->Close());
  const absl::Status status = (*reader)->Checkpoint(kTarget);
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_TRUE(FilesIn(&database.memory, kTarget).empty());
}

// The links to a directory's files, by the trace of a checkpoint.
int LinksIn(const std::string& trace) {
  int links = 0;
  for (size_t at = trace.find("link "); at != std::string::npos; at = trace.find("link ", at + 1)) ++links;
  return links;
}

class BackupTest : public EngineTest {
 protected:
  CheckpointOptions Incremental(const std::string& base = "") {
    return {.base = base, .link_tables = false, .verify = true};
  }
  absl::StatusOr<std::unique_ptr<DB>> OpenAt(const std::string& path) {
    Options options = database.options;
    options.create_if_missing = false;
    return Engine::Open(options, database.tuning, path);
  }
};

TEST_F(BackupTest, ABackupBringsOverOnlyTablesThatTheBaseLacks) {
  Fill(0, 2000);
  ASSERT_OK(db()->CompactRange());
  database.files.SetTracing(true);
  ASSERT_OK(db()->Checkpoint("/backup1", Incremental()));
  EXPECT_EQ(LinksIn(database.files.TakeTrace()), 0);
  // All but the manifest and the guard.
  const int tables = static_cast<int>(FilesIn(&database.memory, "/backup1").size()) - 2;
  ASSERT_GT(tables, 3);
  Fill(5000, 5010);
  database.files.TakeTrace();
  ASSERT_OK(db()->Checkpoint("/backup2", Incremental("/backup1")));
  EXPECT_EQ(LinksIn(database.files.TakeTrace()), tables);
  // Each is whole without the other and without the source.
  ASSERT_OK(db()->Close());
  database.db.reset();
  Options options = database.options;
  ASSERT_OK(DB::Destroy(options, "/backup1"));
  ASSERT_OK(DB::Destroy(options, database.path));
  absl::StatusOr<std::unique_ptr<DB>> second = OpenAt("/backup2");
  ASSERT_OK(second.status());
  ASSERT_OK((*second)->VerifyChecksums());
  EXPECT_EQ(ReadAll((*second)->NewIterator().get()).size(), 2010u);
}

TEST_F(BackupTest, ACheckpointOfABackupIsARestoredDatabase) {
  Fill(0, 1000);
  ASSERT_OK(db()->Checkpoint("/backup", Incremental()));
  Fill(0, 100, 60);
  absl::StatusOr<std::unique_ptr<DB>> backup = OpenAt("/backup");
  ASSERT_OK(backup.status());
  ASSERT_OK((*backup)->Checkpoint("/restored", Incremental()));
  absl::StatusOr<std::unique_ptr<DB>> restored = OpenAt("/restored");
  ASSERT_OK(restored.status());
  EXPECT_EQ(Value(restored->get(), NumberedKey(5)).size(), 40u);
  ASSERT_OK((*restored)->Put("k", "goes on"));
}

TEST_F(BackupTest, ABaseOfAnotherDatabaseIsRefused) {
  Fill(0, 100);
  Options options = database.options;
  options.env.random_seed = 77;
  absl::StatusOr<std::unique_ptr<DB>> other = Engine::Open(options, database.tuning, "/other");
  ASSERT_OK(other.status());
  ASSERT_OK((*other)->Checkpoint("/foreign"));
  EXPECT_TRUE(absl::IsInvalidArgument(db()->Checkpoint(kTarget, Incremental("/foreign"))));
  EXPECT_TRUE(absl::IsNotFound(db()->Checkpoint(kTarget, Incremental("/nowhere"))));
  EXPECT_TRUE(FilesIn(&database.memory, kTarget).empty());
}

TEST_F(BackupTest, DamageInTheSourceIsFoundWhileItIsCopied) {
  Fill(0, 1000);
  ASSERT_OK(db()->CompactRange());
  for (const std::string& name : FilesIn(&database.memory, database.path)) {
    if (!name.ends_with(".sst")) continue;
    ASSERT_OK(database.memory.FlipBit(database.path + "/" + name, 40, 3));
    break;
  }
  EXPECT_TRUE(absl::IsDataLoss(db()->Checkpoint(kTarget, Incremental())));
  EXPECT_TRUE(FilesIn(&database.memory, kTarget).empty());
}

TEST_F(BackupTest, ABackupTellsHowFarItIs) {
  Fill(0, 2000);
  ASSERT_OK(db()->CompactRange());
  std::vector<uint64_t> done;
  uint64_t all = 0;
  CheckpointOptions options = Incremental();
  options.progress = [&](uint64_t done_bytes, uint64_t total_bytes) {
    done.push_back(done_bytes);
    all = total_bytes;
  };
  ASSERT_OK(db()->Checkpoint(kTarget, options));
  ASSERT_GT(done.size(), 3u);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), all);
  EXPECT_EQ(all, NumberProperty(db(), "sepal.total-table-bytes"));
}

// A database with tables in several levels, two families and something in memtables.
void FillForFaults(TestDatabase* database) {
  ASSERT_OK(database->Open());
  DB* db = database->db.get();
  auto family = db->CreateColumnFamily("f");
  ASSERT_OK(family.status());
  for (int i = 0; i < 600; ++i) ASSERT_OK(db->Put(NumberedKey(i), std::string(40, 'v')));
  ASSERT_OK(db->Flush());
  ASSERT_OK(db->WaitForBackgroundWork());
  ASSERT_OK(db->Put("k", "memtable"));
  ASSERT_OK(db->Put(**family, "k", "family"));
  ASSERT_OK(db->Sync());
}

// Whole, or refused.
void CheckTarget(const TestDatabase& database, bool must_open) {
  absl::StatusOr<std::unique_ptr<DB>> copy = OpenTarget(database);
  if (!copy.ok()) {
    EXPECT_FALSE(must_open) << copy.status();
    EXPECT_TRUE(absl::IsDataLoss(copy.status()) || absl::IsNotFound(copy.status())) << copy.status();
    return;
  }
  EXPECT_EQ(ReadAll((*copy)->NewIterator().get()).size(), 601u);
  EXPECT_EQ(Value(copy->get(), "k"), "memtable");
  const auto family = (*copy)->FindColumnFamily("f");
  ASSERT_OK(family.status());
  EXPECT_EQ((*copy)->Get(**family, "k").value(), "family");
  EXPECT_OK((*copy)->VerifyChecksums());
}

void CheckSource(TestDatabase* database) {
  ASSERT_OK(database->CrashAndReopen(CrashMode::kKillProcess));
  EXPECT_EQ(ReadAll(database->db->NewIterator().get()).size(), 601u);
  EXPECT_EQ(Value(database->db.get(), "k"), "memtable");
  EXPECT_OK(database->db->CheckConsistency());
  EXPECT_OK(database->db->VerifyChecksums());
}

// Fails the call `number` from here on, counted from 1.
void FailCall(TestDatabase* database, uint64_t number, Fault fault, bool sticky) {
  const uint64_t at = database->files.CallCount() + number;
  database->files.SetDecider([=](const FileCall& call) {
    const bool fails = sticky ? call.number >= at : call.number == at;
    return fails ? fault : Fault::kNone;
  });
}

class CheckpointFaultTest : public testing::TestWithParam<Fault> {};

TEST_P(CheckpointFaultTest, AnyCallMayFailOnceAndTheTargetIsWholeOrRefused) {
  for (const bool backup : {false, true}) {
    for (uint64_t number = 1, failed = 1; failed > 0; ++number) {
      SCOPED_TRACE(testing::Message() << "call " << number << (backup ? ", incremental" : ""));
      TestDatabase database;
      FillForFaults(&database);
      // Of a read-only view, so that every call is one of the checkpoint's.
      absl::StatusOr<std::unique_ptr<DB>> reader = database.OpenReadOnly();
      ASSERT_OK(reader.status());
      CheckpointOptions options;
      if (backup) {
        ASSERT_OK(database.db->Checkpoint("/base"));
        for (int i = 0; i < 300; ++i) ASSERT_OK(database.db->Put(NumberedKey(i), std::string(40, 'w')));
        ASSERT_OK(database.db->Flush());
        ASSERT_OK(database.db->WaitForBackgroundWork());
        reader = database.OpenReadOnly();
        ASSERT_OK(reader.status());
        options = {.base = "/base", .link_tables = false, .verify = true};
      }
      const uint64_t faults = database.files.FaultCount();
      FailCall(&database, number, GetParam(), /*sticky=*/false);
      const absl::Status status = (*reader)->Checkpoint(kTarget, options);
      failed = database.files.FaultCount() - faults;
      database.files.SetDecider(nullptr);
      database.files.Clear();
      reader->reset();
      CheckTarget(database, /*must_open=*/status.ok());
      if (!status.ok() && GetParam() != Fault::kFailAfter) {
        EXPECT_TRUE(FilesIn(&database.memory, kTarget).empty());
      }
      if (number % 8 == 1) CheckSource(&database);
      if (testing::Test::HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, CheckpointFaultTest,
                         testing::Values(Fault::kIoError, Fault::kNoSpace, Fault::kFailAfter));

// Two families always written together: a checkpoint that tears a batch would show it.
TEST(CheckpointConcurrentTest, BesideWritersEveryCheckpointHoldsWholeBatchesOnly) {
  TestDatabase database(Threads::kReal);
  ASSERT_OK(database.Open());
  DB* db = database.db.get();
  auto family = db->CreateColumnFamily("f");
  ASSERT_OK(family.status());
  std::atomic<bool> stop{false};
  Thread writer([&] {
    for (uint64_t i = 0; !stop.load(); ++i) {
      WriteBatch batch;
      batch.Put("counter", std::to_string(i));
      batch.Put(**family, "counter", std::to_string(i));
      batch.Put(NumberedKey(i), std::string(40, 'v'));
      ASSERT_OK(db->Write(batch));
    }
  });
  while (!db->Get("counter").ok()) std::this_thread::yield();
  uint64_t last = 0;
  for (int round = 0; round < 8; ++round) {
    const std::string target = "/target" + std::to_string(round);
    ASSERT_OK(db->Checkpoint(target));
    Options options = database.options;
    options.create_if_missing = false;
    absl::StatusOr<std::unique_ptr<DB>> copy = Engine::Open(options, database.tuning, target);
    ASSERT_OK(copy.status());
    const uint64_t counter = std::stoull(Value(copy->get(), "counter"));
    const auto found = (*copy)->FindColumnFamily("f");
    ASSERT_OK(found.status());
    EXPECT_EQ((*copy)->Get(**found, "counter").value(), std::to_string(counter));
    EXPECT_EQ(ReadAll((*copy)->NewIterator().get()).size(), counter + 2);
    EXPECT_GE(counter, last);
    last = counter;
  }
  stop.store(true);
  writer.Join();
}

}  // namespace
}  // namespace sepal
