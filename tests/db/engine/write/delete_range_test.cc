// Deletes of ranges: what they cost, when their space comes back, and what the manifest says. What they mean is in
// tests/scripts/range_deletes.txt.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db/act/manifest/manifest_recovery.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

class DeleteRangeTest : public EngineTest {
 protected:
  uint64_t Tables() {
    uint64_t tables = 0;
    const Properties properties = db()->GetProperties().value();
    for (const LevelProperties& level : properties.levels) tables += level.tables;
    return tables;
  }
  // Files of tables, those of range tombstones included.
  size_t TableFiles() {
    size_t files = 0;
    const std::vector<DirectoryEntry> listing =
        database.files.OpenDirectory(database.path, false).value()->List().value();
    for (const DirectoryEntry& entry : listing) {
      files += entry.name.ends_with(".sst") ? 1 : 0;
    }
    return files;
  }
  // All in the last level.
  void FillAndCompact(uint64_t keys) {
    Fill(0, keys);
    ASSERT_OK(db()->CompactRange());
  }
  size_t Visible(const ReadOptions& options = {}) {
    size_t count = 0;
    const std::unique_ptr<Iterator> it = db()->NewIterator(options);
    for (it->SeekToFirst(); it->Valid(); it->Next()) ++count;
    EXPECT_OK(it->status());
    size_t backward = 0;
    for (it->SeekToLast(); it->Valid(); it->Prev()) ++backward;
    EXPECT_EQ(count, backward);
    return count;
  }
  bool SaysThatItHasRangeDeletes() {
    bool says = false;
    const auto directory = database.files.OpenDirectory(database.path, false).value();
    const auto recovered = RecoverManifest(directory.get(), {}, false, [&](const VersionEdit& edit) {
      says |= edit.features.Has(Feature::kRangeDeletes);
      return absl::OkStatus();
    });
    EXPECT_OK(recovered.status());
    return says;
  }
};

TEST_F(DeleteRangeTest, TheManifestSaysSoBeforeTheFirstOneAndKeepsSayingIt) {
  Fill(0, 10);
  ASSERT_OK(db()->Flush());
  EXPECT_FALSE(SaysThatItHasRangeDeletes());
  ASSERT_OK(db()->DeleteRange(NumberedKey(2), NumberedKey(4)));
  EXPECT_TRUE(SaysThatItHasRangeDeletes());
  ASSERT_OK(database.Reopen());
  EXPECT_TRUE(SaysThatItHasRangeDeletes());
  EXPECT_EQ(Visible(), 8u);
}

TEST_F(DeleteRangeTest, ARangeThatEndsBeforeItBeginsIsRefusedWithAllOfItsBatch) {
  Fill(0, 4);
  const absl::Status refused = db()->DeleteRange(NumberedKey(3), NumberedKey(1));
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  WriteBatch batch;
  batch.Delete(NumberedKey(0));
  batch.DeleteRange(NumberedKey(3), NumberedKey(1));
  EXPECT_TRUE(absl::IsInvalidArgument(db()->Write(batch)));
  EXPECT_EQ(Visible(), 4u);
  EXPECT_FALSE(SaysThatItHasRangeDeletes());
}

TEST_F(DeleteRangeTest, TablesThatAreCoveredGoWithoutBeingReadAndTheRangeTombstonesWithThem) {
  FillAndCompact(2000);
  ASSERT_GT(Tables(), 3u);
  ASSERT_OK(db()->WaitForBackgroundWork());
  const TestMetrics before = database.Metrics();
  ASSERT_OK(db()->DeleteRange("", std::nullopt));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(Tables(), 0u);
  const TestMetrics after = database.Metrics();
  EXPECT_EQ(after.Sample("sepal_compaction_read_bytes_total"), before.Sample("sepal_compaction_read_bytes_total"));
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(TableFiles(), 0u);
  EXPECT_EQ(Visible(), 0u);
  ASSERT_OK(db()->CheckConsistency());
}

TEST_F(DeleteRangeTest, ASnapshotKeepsWhatItSeesUntilItIsReleased) {
  FillAndCompact(500);
  std::shared_ptr<const Snapshot> snapshot = db()->GetSnapshot();
  ASSERT_OK(db()->DeleteRange(NumberedKey(100), NumberedKey(400)));
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Visible(), 200u);
  EXPECT_EQ(Visible({.snapshot = snapshot.get()}), 500u);
  ASSERT_OK(database.db->VerifyChecksums());
  snapshot.reset();
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(Visible(), 200u);
  uint64_t entries = 0;
  const Properties properties = db()->GetProperties().value();
  for (const LevelProperties& level : properties.levels) entries += level.entries;
  EXPECT_EQ(entries, 200u);
}

TEST_F(DeleteRangeTest, ACompactionOfWhatIsCoveredAloneTouchesNothingElse) {
  FillAndCompact(2000);
  ASSERT_OK(db()->DeleteRange(NumberedKey(505), NumberedKey(900)));
  const TestMetrics before = database.Metrics();
  uint64_t told = 0;
  CompactRangeOptions options{.covered_only = true};
  options.progress = [&](const CompactionProgress& progress) {
    told = std::max(told, progress.bytes_total);
    return true;
  };
  ASSERT_OK(db()->CompactRange(options));
  const TestMetrics after = database.Metrics();
  const auto added = [&](const char* name) { return after.Sample(name) - before.Sample(name); };
  EXPECT_LT(added("sepal_compaction_read_bytes_total"), db()->GetProperties()->table_bytes / 2);
  EXPECT_LE(told, db()->GetProperties()->table_bytes / 2);
  EXPECT_EQ(Visible(), 2000u - 395u);
  uint64_t entries = 0;
  const Properties properties = db()->GetProperties().value();
  for (const LevelProperties& level : properties.levels) entries += level.entries;
  EXPECT_EQ(entries, 2000u - 395u);
  ASSERT_OK(db()->CheckConsistency());
  // Nothing is left to be done.
  const double read = after.Sample("sepal_compaction_read_bytes_total");
  ASSERT_OK(db()->CompactRange({.covered_only = true}));
  EXPECT_EQ(database.Metrics().Sample("sepal_compaction_read_bytes_total"), read);
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(TableFiles(), Tables()) << "no range tombstones are left";
  EXPECT_EQ(Visible(), 2000u - 395u);
}

// The newer of two runs of level 0, which share no key: nothing older lies below it, and yet its sequence numbers must
// stay above those of the older one.
TEST_F(DeleteRangeTest, ACompactionOfWhatIsCoveredInANewerRunOfLevel0KeepsTheirOrder) {
  database.options.family.compaction_style = CompactionStyle::kUniversal;
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->Put("z", "older"));
  ASSERT_OK(db()->Flush());
  for (int i = 0; i < 20; ++i) ASSERT_OK(db()->Put(NumberedKey(static_cast<uint64_t>(i)), "newer"));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->DeleteRange(NumberedKey(5), NumberedKey(10)));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->CompactRange({.covered_only = true}));
  EXPECT_EQ(Visible(), 16u);
  ASSERT_OK(db()->CheckConsistency());
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Visible(), 16u);
}

TEST_F(DeleteRangeTest, ACompactionOfWhatIsCoveredKeepsToItsRangeAndToSnapshots) {
  FillAndCompact(1000);
  ASSERT_OK(db()->DeleteRange(NumberedKey(100), NumberedKey(200)));
  ASSERT_OK(db()->DeleteRange(NumberedKey(700), NumberedKey(800)));
  const auto entries = [&] {
    uint64_t sum = 0;
    const Properties properties = db()->GetProperties().value();
    for (const LevelProperties& level : properties.levels) sum += level.entries;
    return sum;
  };
  ASSERT_OK(db()->CompactRange({.begin = NumberedKey(0), .end = NumberedKey(300), .covered_only = true}));
  EXPECT_EQ(entries(), 900u);
  std::shared_ptr<const Snapshot> snapshot = db()->GetSnapshot();
  ASSERT_OK(db()->DeleteRange(NumberedKey(400), NumberedKey(500)));
  ASSERT_OK(db()->CompactRange({.covered_only = true}));
  EXPECT_EQ(entries(), 800u);
  EXPECT_EQ(Visible({.snapshot = snapshot.get()}), 800u);
  EXPECT_EQ(Visible(), 700u);
  snapshot.reset();
  ASSERT_OK(db()->CompactRange({.covered_only = true}));
  EXPECT_EQ(entries(), 700u);
  EXPECT_EQ(Visible(), 700u);
  ASSERT_OK(db()->CheckConsistency());
}

TEST_F(DeleteRangeTest, KeysThatComeBackUnderARangeTombstoneStayThroughCompactionsAndOpenings) {
  FillAndCompact(300);
  ASSERT_OK(db()->DeleteRange(NumberedKey(50), NumberedKey(250)));
  ASSERT_OK(db()->Flush());
  Fill(100, 120);
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Visible(), 120u);
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->DeleteRange(NumberedKey(110), NumberedKey(115)));
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Visible(), 115u);
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(Visible(), 115u);
  ASSERT_OK(db()->CheckConsistency());
}

TEST_F(DeleteRangeTest, AnIteratorFromBeforeSeesWhatItSaw) {
  Fill(0, 100);
  const std::unique_ptr<Iterator> before = db()->NewIterator();
  ASSERT_OK(db()->DeleteRange("", std::nullopt));
  ASSERT_OK(db()->CompactRange());
  size_t count = 0;
  for (before->SeekToFirst(); before->Valid(); before->Next()) ++count;
  EXPECT_EQ(count, 100u);
  EXPECT_EQ(Visible(), 0u);
}

TEST_F(DeleteRangeTest, ManyDeletesOfOneRangeTakeTheMemoryOfFew) {
  Fill(0, 10);
  ASSERT_OK(db()->DeleteRange(NumberedKey(0), NumberedKey(5)));
  for (int i = 0; i < 300; ++i) {
    ASSERT_OK(db()->DeleteRange(NumberedKey(0), NumberedKey(5 + i % 3)));
    ASSERT_OK(db()->Put(NumberedKey(2), std::to_string(i)));
    ASSERT_EQ(*db()->Get(NumberedKey(2)), std::to_string(i));
  }
  EXPECT_EQ(Visible(), 4u);
}

TEST_F(DeleteRangeTest, ExplainSaysThatARangeWithTheKeyWasDeleted) {
  Fill(0, 5);
  ASSERT_OK(db()->DeleteRange(NumberedKey(1), NumberedKey(3)));
  const GetExplanation hidden = db()->ExplainGet(NumberedKey(2)).value();
  EXPECT_FALSE(hidden.found);
  EXPECT_EQ(hidden.range_deleted_at, 6u);
  EXPECT_NE(hidden.ToString().find("deleted at 6"), std::string::npos) << hidden.ToString();
  const GetExplanation there = db()->ExplainGet(NumberedKey(3)).value();
  EXPECT_TRUE(there.found);
  EXPECT_EQ(there.range_deleted_at, 0u);
}

TEST_F(DeleteRangeTest, AReaderOfTheFilesAndACheckpointHaveThem) {
  FillAndCompact(200);
  ASSERT_OK(db()->DeleteRange(NumberedKey(10), NumberedKey(20)));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->DeleteRange(NumberedKey(30), NumberedKey(50)));
  ASSERT_OK(db()->Sync());
  ASSERT_OK(db()->Checkpoint("/copy"));
  for (const char* directory : {"/db", "/copy"}) {
    const auto reader = database.OpenReadOnly(directory);
    ASSERT_OK(reader.status());
    EXPECT_TRUE(absl::IsNotFound((*reader)->Get(NumberedKey(15)).status())) << directory;
    EXPECT_TRUE(absl::IsNotFound((*reader)->Get(NumberedKey(40)).status())) << directory;
    EXPECT_OK((*reader)->Get(NumberedKey(20)).status());
  }
}

// A flush takes over a range tombstone of a table and is held while it writes its own. Meanwhile compactions bring down
// what came after that delete: the first sweeps what it covers, so that it covers nothing any more; the second would
// zero the sequence numbers of the rest, had the range tombstone gone.
TEST_F(DeleteRangeTest, ARangeTombstoneThatAFlushTakesOverDoesNotComeBackOverWhatIsNewer) {
  // With quick flushes the background is calm, and compactions step aside while one runs.
  database.files.SetHold([&](const FileCall& call) {
    if (call.op == FileOp::kOpenWrite && call.name.ends_with(".sst")) database.world->SleepMicros(100'000);
  });
  FillAndCompact(100);  // more than would be compacted at rest
  ASSERT_OK(db()->DeleteRange(NumberedKey(1), NumberedKey(4)));
  ASSERT_OK(db()->Flush());
  for (const uint64_t key : {1, 3}) {
    ASSERT_OK(db()->Put(NumberedKey(key), "newer"));
    ASSERT_OK(db()->Flush());
  }
  enum Step { kBegun, kFlushHeld, kFirstDone, kSecondDone, kFlushDone };
  int step = kBegun;
  const auto await = [&](int wanted) {
    while (step < wanted) database.world->SleepMicros(1000);
  };
  // They wait for the flushes of before them, so they begin first.
  int begun = 0;
  const auto compact_later = [&](uint64_t key, int after) {
    database.world->Spawn([&, key, after] {
      CompactRangeOptions options{.begin = NumberedKey(key), .end = NumberedKey(key)};
      options.progress = [&, first = true](const CompactionProgress&) mutable {
        if (std::exchange(first, false)) {
          ++begun;
          await(after);
        }
        return true;
      };
      EXPECT_OK(db()->CompactRange(options));
      step = after + 1;
    });
  };
  compact_later(1, kFlushHeld);
  compact_later(3, kFirstDone);
  while (begun < 2) database.world->SleepMicros(1000);

  ASSERT_OK(db()->DeleteRange(NumberedKey(900), NumberedKey(901)));
  database.files.SetHold([&](const FileCall& call) {
    if (step != kBegun || call.op != FileOp::kOpenWrite || !call.name.ends_with(".sst")) return;
    step = kFlushHeld;
    await(kSecondDone);
  });
  database.world->Spawn([&] {
    EXPECT_OK(db()->Flush());
    step = kFlushDone;
  });
  await(kFlushDone);
  database.files.Clear();
  for (const uint64_t key : {1, 3}) EXPECT_EQ(Value(db(), NumberedKey(key)), "newer");
  EXPECT_EQ(Visible(), 99u);
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(TableFiles(), Tables()) << "no range tombstones are left";
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Visible(), 99u);
  ASSERT_OK(db()->CheckConsistency());
}

// Batches move all keys of a range from one half to the other; a reader sees one half or the other, whole.
TEST(DeleteRangeThreadsTest, ReadersSeeABatchWithARangeDeleteWholeOrNotAtAll) {
  TestDatabase database(Threads::kReal);
  ASSERT_OK(database.Open());
  DB* const db = database.db.get();
  constexpr uint64_t kKeys = 20;
  const auto move = [&](uint64_t round) {
    const bool low = round % 2 == 0;
    WriteBatch batch;
    low ? batch.DeleteRange("b", std::nullopt) : batch.DeleteRange("a", "b");
    for (uint64_t i = 0; i < kKeys; ++i) batch.Put((low ? "a" : "b") + NumberedKey(i), std::to_string(round));
    return db->Write(batch);
  };
  ASSERT_OK(move(0));
  std::atomic<bool> done{false};
  std::vector<std::unique_ptr<Thread>> readers;
  for (int i = 0; i < 2; ++i) {
    readers.push_back(std::make_unique<Thread>([&, i] {
      while (!done.load()) {
        const std::shared_ptr<const Snapshot> snapshot = i == 0 ? db->GetSnapshot() : nullptr;
        const std::unique_ptr<Iterator> it = db->NewIterator({.snapshot = snapshot.get()});
        std::map<std::string, uint64_t> rounds;
        for (it->SeekToFirst(); it->Valid(); it->Next()) ++rounds[std::string(it->value())];
        EXPECT_OK(it->status());
        EXPECT_EQ(rounds.size(), 1u);
        for (const auto& [round, keys] : rounds) EXPECT_EQ(keys, kKeys) << round;
      }
    }));
  }
  for (uint64_t round = 1; round < 600; ++round) EXPECT_OK(move(round));
  done.store(true);
  for (const std::unique_ptr<Thread>& reader : readers) reader->Join();
}

}  // namespace
}  // namespace sepal
