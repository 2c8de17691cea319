// Snapshots with names: what they show, over compactions, openings, crashes, checkpoints, repairs and time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "db/act/manifest/manifest_recovery.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NamedSnapshotTest : public EngineTest {
 protected:
  static std::vector<std::string> Names(DB* db) {
    std::vector<std::string> names;
    const absl::StatusOr<std::vector<NamedSnapshot>> all = db->ListSnapshots();
    EXPECT_OK(all.status());
    for (const NamedSnapshot& snapshot : all.value_or(std::vector<NamedSnapshot>())) names.push_back(snapshot.name);
    return names;
  }
  std::vector<std::string> Names() { return Names(db()); }
  // The value of a key as of a named snapshot, or what the snapshot's or the key's absence is called.
  static std::string ValueAt(DB* db, std::string_view name, std::string_view key) {
    const absl::StatusOr<std::shared_ptr<const Snapshot>> snapshot = db->FindSnapshot(name);
    if (!snapshot.ok()) return "no snapshot";
    const std::string value = Value(db, key, {.snapshot = snapshot->get()});
    // By an iterator, too.
    const std::unique_ptr<Iterator> it = db->NewIterator({.snapshot = snapshot->get()});
    it->Seek(key);
    const std::string seen = it->Valid() && it->key() == key ? std::string(it->value()) : "NOT_FOUND";
    EXPECT_OK(it->status());
    EXPECT_EQ(seen, value);
    return value;
  }
  std::string ValueAt(std::string_view name, std::string_view key) { return ValueAt(db(), name, key); }
  absl::Status Create(std::string_view name, const NamedSnapshotOptions& options = {}) {
    return db()->CreateSnapshot(name, options).status();
  }
  // Overwrites all, in the last level.
  void Churn(std::string_view value) {
    for (uint64_t i = 0; i < 100; ++i) ASSERT_OK(db()->Put(NumberedKey(i), value));
    ASSERT_OK(db()->CompactRange());
    ASSERT_OK(db()->WaitForBackgroundWork());
  }
  uint64_t EntriesInTables() {
    uint64_t entries = 0;
    const Properties properties = db()->GetProperties().value();
    for (const LevelProperties& level : properties.levels) entries += level.entries;
    return entries;
  }
};

TEST_F(NamedSnapshotTest, ShowsWhatWasThereOverCompactionsAndOpenings) {
  Churn("first");
  ASSERT_OK(Create("one"));
  Churn("second");
  ASSERT_OK(Create("two"));
  ASSERT_OK(db()->DeleteRange(NumberedKey(10), NumberedKey(90)));
  ASSERT_OK(db()->Delete(NumberedKey(5)));
  for (int opening = 0; opening < 3; ++opening) {
    EXPECT_EQ(ValueAt("one", NumberedKey(5)), "first");
    EXPECT_EQ(ValueAt("one", NumberedKey(50)), "first");
    EXPECT_EQ(ValueAt("two", NumberedKey(5)), "second");
    EXPECT_EQ(ValueAt("two", NumberedKey(50)), "second");
    EXPECT_EQ(Value(db(), NumberedKey(50)), "NOT_FOUND");
    ASSERT_OK(database.Reopen());
    ASSERT_OK(db()->CompactRange());
    ASSERT_OK(db()->CheckConsistency());
  }
  EXPECT_THAT(Names(), ElementsAre("one", "two"));
  ASSERT_OK(db()->DropSnapshot("one"));
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(ValueAt("one", NumberedKey(5)), "no snapshot");
  EXPECT_EQ(ValueAt("two", NumberedKey(5)), "second");
  ASSERT_OK(db()->DropSnapshot("two"));
  ASSERT_OK(database.Reopen());
  EXPECT_THAT(Names(), IsEmpty());
}

// What a log holds is replayed into tables, or into memtables: neither may lose what a snapshot sees.
TEST_F(NamedSnapshotTest, ReplaysKeepWhatItSees) {
  for (const bool in_tables : {false, true}) {
    database.tuning.carried_log_divisor = in_tables ? database.tuning.memtable_bytes : 1;
    ASSERT_OK(database.Reopen());
    const std::string name = in_tables ? "into tables" : "into memtables";
    ASSERT_OK(db()->Put("k", "old"));
    ASSERT_OK(db()->Put("gone", "there"));
    ASSERT_OK(db()->Put("m", "covered"));
    ASSERT_OK(Create(name));
    ASSERT_OK(db()->Put("k", "new"));
    ASSERT_OK(db()->Put("k", "newest"));
    ASSERT_OK(db()->Delete("gone"));
    ASSERT_OK(db()->DeleteRange("l", "n", {.sync = true}));
    {
      const std::unique_ptr<DB> beside = database.OpenReadOnly().value();
      EXPECT_EQ(ValueAt(beside.get(), name, "k"), "old");
      EXPECT_EQ(ValueAt(beside.get(), name, "m"), "covered");
      EXPECT_TRUE(absl::IsFailedPrecondition(beside->CreateSnapshot("other").status()));
      EXPECT_TRUE(absl::IsFailedPrecondition(beside->DropSnapshot(name)));
    }
    ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
    for (int compacted = 0; compacted < 2; ++compacted) {
      EXPECT_EQ(ValueAt(name, "k"), "old");
      EXPECT_EQ(ValueAt(name, "gone"), "there");
      EXPECT_EQ(ValueAt(name, "m"), "covered");
      EXPECT_EQ(Value(db(), "k"), "newest");
      EXPECT_EQ(Value(db(), "m"), "NOT_FOUND");
      ASSERT_OK(db()->CompactRange());
    }
  }
}

TEST_F(NamedSnapshotTest, RefusesNamesThatAreTakenUnknownOrNone) {
  const auto refused = [](const absl::Status& status, absl::StatusCode code, std::string_view text) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(status.ToString(), HasSubstr(std::string(text)));
  };
  ASSERT_OK(Create("taken"));
  refused(Create("taken"), absl::StatusCode::kAlreadyExists, "\"taken\" in /db: drop it");
  refused(Create(""), absl::StatusCode::kInvalidArgument, "at least one byte");
  refused(Create(std::string(kMaxSnapshotNameBytes + 1, 'x')), absl::StatusCode::kInvalidArgument, "at most 255");
  ASSERT_OK(Create(std::string(kMaxSnapshotNameBytes, '\0')));
  refused(Create("t", {.expires_after = milliseconds(0)}), absl::StatusCode::kInvalidArgument, "positive");
  refused(Create("t", {.expires_after = milliseconds(-5)}), absl::StatusCode::kInvalidArgument, "-5 ms");
  refused(Create("t", {.expires_after = milliseconds::max()}), absl::StatusCode::kInvalidArgument, "shorter");
  refused(db()->FindSnapshot("none").status(), absl::StatusCode::kNotFound, "\"none\" in /db");
  refused(db()->FindSnapshot("").status(), absl::StatusCode::kInvalidArgument, "at least one byte");
  refused(db()->DropSnapshot("none"), absl::StatusCode::kNotFound, "\"none\" in /db");
  EXPECT_EQ(Names().size(), 2u);
  ASSERT_OK(db()->Close());
  refused(Create("late"), absl::StatusCode::kFailedPrecondition, "closed");
  refused(db()->FindSnapshot("taken").status(), absl::StatusCode::kFailedPrecondition, "closed");
  refused(db()->DropSnapshot("taken"), absl::StatusCode::kFailedPrecondition, "closed");
  refused(db()->ListSnapshots().status(), absl::StatusCode::kFailedPrecondition, "closed");
}

TEST_F(NamedSnapshotTest, AHandleStaysReadableAfterTheDropAndSpaceComesBackAfterIt) {
  Churn("first");
  ASSERT_OK(Create("s"));
  Churn("second");
  std::shared_ptr<const Snapshot> held = db()->FindSnapshot("s").value();
  ASSERT_OK(db()->DropSnapshot("s"));
  ASSERT_OK(Create("s"));
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Value(db(), NumberedKey(7), {.snapshot = held.get()}), "first");
  EXPECT_EQ(ValueAt("s", NumberedKey(7)), "second") << "the name is another snapshot's by now";
  EXPECT_EQ(EntriesInTables(), 200u);
  held.reset();
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(EntriesInTables(), 100u);
}

// Also where the jobs that kept it ran before the database was opened.
TEST_F(NamedSnapshotTest, ADropAfterAnOpeningMakesCompactionsDue) {
  constexpr uint64_t kKeys = 1500;  // of which a table has enough deletions to be compacted for their sake
  database.tuning.table_bytes = size_t{256} << 10;
  database.tuning.memtable_bytes = size_t{256} << 10;
  database.tuning.memtable_limit_bytes = size_t{1} << 20;
  database.tuning.part_bytes = uint64_t{1} << 20;
  ASSERT_OK(database.Reopen());
  Fill(0, kKeys, 1);
  ASSERT_OK(Create("s"));
  for (uint64_t i = 0; i < kKeys; ++i) ASSERT_OK(db()->Delete(NumberedKey(i)));
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(EntriesInTables(), 2 * kKeys);
  ASSERT_OK(db()->DropSnapshot("s"));
  for (int i = 0; i < 1000 && EntriesInTables() > 0; ++i) database.world->SleepMicros(1000);
  EXPECT_EQ(EntriesInTables(), 0u);
}

TEST_F(NamedSnapshotTest, IsListedWithItsTimesAndShownAsProperty) {
  const std::chrono::system_clock::time_point now(std::chrono::microseconds(database.clock->UnixMicros()));
  ASSERT_OK(db()->Put("k", "v"));
  ASSERT_OK(Create("b", {.expires_after = milliseconds(5000)}));
  ASSERT_OK(Create("a"));
  const std::vector<NamedSnapshot> all = db()->ListSnapshots().value();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "a");
  EXPECT_FALSE(all[0].expires.has_value());
  EXPECT_EQ(all[1].name, "b");
  EXPECT_EQ(all[1].sequence, 1u);
  EXPECT_GE(all[1].created, std::chrono::floor<milliseconds>(now));
  EXPECT_EQ(all[1].expires, all[1].created + milliseconds(5000));
  EXPECT_THAT(db()->GetProperty("sepal.snapshots").value(), HasSubstr("\"b\""));
}

TEST_F(NamedSnapshotTest, OneThatExpiresGoesByItselfButNotWhileItIsHeld) {
  Churn("first");
  ASSERT_OK(Create("short", {.expires_after = milliseconds(1000)}));
  ASSERT_OK(Create("held", {.expires_after = milliseconds(1000)}));
  ASSERT_OK(Create("long", {.expires_after = milliseconds(100'000'000)}));
  std::shared_ptr<const Snapshot> held = db()->FindSnapshot("held").value();
  Churn("second");
  EXPECT_EQ(Names().size(), 3u);
  database.clock->Jump(10'000);
  EXPECT_THAT(Names(), ElementsAre("held", "long"));
  EXPECT_EQ(ValueAt("short", NumberedKey(1)), "no snapshot");
  EXPECT_EQ(ValueAt("held", NumberedKey(1)), "first");
  EXPECT_TRUE(absl::IsAlreadyExists(Create("held")));
  ASSERT_OK(Create("short"));
  EXPECT_EQ(ValueAt("short", NumberedKey(1)), "second");
  held.reset();
  database.clock->Jump(10'000);
  EXPECT_THAT(Names(), ElementsAre("long", "short"));
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(ValueAt("long", NumberedKey(1)), "first");
}

TEST_F(NamedSnapshotTest, OneThatExpiresIsDroppedBehindJobsAndByOpenings) {
  const auto kept = [&] {
    const auto directory = database.files.OpenDirectory(database.path, false).value();
    std::vector<std::string> all;
    const auto recovered = RecoverManifest(directory.get(), {}, false, [&](const VersionEdit& edit) {
      for (const std::string& name : edit.dropped_snapshots) std::erase(all, name);
      for (const KeptSnapshot& created : edit.created_snapshots) all.push_back(created.name);
      return absl::OkStatus();
    });
    EXPECT_OK(recovered.status());
    return all;
  };
  Churn("first");
  ASSERT_OK(Create("job", {.expires_after = milliseconds(1000)}));
  EXPECT_THAT(kept(), ElementsAre("job"));
  database.clock->Jump(10'000);
  Churn("second");
  EXPECT_THAT(kept(), IsEmpty());
  ASSERT_OK(Create("opening", {.expires_after = milliseconds(1000)}));
  Churn("third");
  ASSERT_OK(db()->Close());
  database.clock->Jump(10'000);
  {
    const std::unique_ptr<DB> reader = database.OpenReadOnly().value();
    EXPECT_THAT(Names(reader.get()), IsEmpty());
    EXPECT_TRUE(absl::IsNotFound(reader->FindSnapshot("opening").status()));
  }
  EXPECT_THAT(kept(), ElementsAre("opening"));
  ASSERT_OK(database.Open());
  EXPECT_THAT(kept(), IsEmpty());
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(EntriesInTables(), 100u);
}

TEST_F(NamedSnapshotTest, ADropOfAnExpiredOneThatIsRefusedIsTriedAgain) {
  ASSERT_OK(Create("s", {.expires_after = milliseconds(1000)}));
  database.clock->Jump(10'000);
  database.files.Inject(
      {.fault = Fault::kNoSpace, .op = FileOp::kAllocate, .name_contains = "MANIFEST", .sticky = true});
  database.files.Inject({.fault = Fault::kNoSpace, .op = FileOp::kAppend, .name_contains = "MANIFEST", .sticky = true});
  EXPECT_THAT(Names(), IsEmpty());
  database.files.Clear();
  if (!db()->Put("k", "v").ok()) ASSERT_OK(database.Open());
  ASSERT_OK(Create("s"));
  EXPECT_THAT(Names(), ElementsAre("s"));
  ASSERT_OK(database.Reopen());
  EXPECT_THAT(Names(), ElementsAre("s"));
}

TEST_F(NamedSnapshotTest, ManifestsThatAreBegunHaveTheNames) {
  Churn("first");
  ASSERT_OK(Create("s"));
  const auto manifest = [&] { return FilesIn(&database.files, database.path); };
  const std::vector<std::string> before = manifest();
  Churn("second");
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK(Create("t"));
    ASSERT_OK(db()->DropSnapshot("t"));
  }
  EXPECT_NE(manifest(), before) << "no new manifest was begun";
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_THAT(Names(), ElementsAre("s"));
  EXPECT_EQ(ValueAt("s", NumberedKey(3)), "first");
}

TEST_F(NamedSnapshotTest, CheckpointsHaveTheSnapshotsOfTheOriginal) {
  ASSERT_OK(db()->Put("k", "old"));
  ASSERT_OK(db()->Put("m", "there"));
  ASSERT_OK(Create("s", {.expires_after = milliseconds(100'000'000)}));
  ASSERT_OK(db()->Put("k", "new"));
  ASSERT_OK(db()->DeleteRange("m", std::nullopt));
  ASSERT_OK(db()->Checkpoint("/copy"));
  ASSERT_OK(db()->DropSnapshot("s"));
  {
    const std::unique_ptr<DB> reader = database.OpenReadOnly("/copy").value();
    ASSERT_OK(reader->Checkpoint("/copy of the copy"));
  }
  for (const char* const path : {"/copy", "/copy of the copy"}) {
    const std::unique_ptr<DB> copy = Engine::Open(database.options, database.tuning, path).value();
    for (int compacted = 0; compacted < 2; ++compacted) {
      EXPECT_EQ(ValueAt(copy.get(), "s", "k"), "old");
      EXPECT_EQ(ValueAt(copy.get(), "s", "m"), "there");
      EXPECT_EQ(Value(copy.get(), "k"), "new");
      EXPECT_EQ(Value(copy.get(), "m"), "NOT_FOUND");
      ASSERT_OK(copy->CompactRange());
    }
    EXPECT_TRUE(copy->ListSnapshots()->front().expires.has_value());
  }
}

TEST_F(NamedSnapshotTest, CoversAllFamiliesAndThoseThatAreDroppedGo) {
  const std::shared_ptr<ColumnFamily> other = db()->CreateColumnFamily("other").value();
  ASSERT_OK(db()->Put("k", "1"));
  ASSERT_OK(db()->Put(*other, "k", "2"));
  std::shared_ptr<const Snapshot> made = db()->CreateSnapshot("s").value();
  ASSERT_OK(db()->Put("k", "3"));
  ASSERT_OK(db()->Put(*other, "k", "4"));
  ASSERT_OK(db()->CompactRange(*other));
  EXPECT_EQ(db()->Get(*other, "k", {.snapshot = made.get()}).value(), "2");
  EXPECT_EQ(ValueAt("s", "k"), "1");
  ASSERT_OK(db()->DropColumnFamily(*other));
  EXPECT_EQ(ValueAt("s", "k"), "1");
  made.reset();
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(ValueAt("s", "k"), "1");
}

TEST_F(NamedSnapshotTest, ARepairKeepsNamesOrSaysWhichAreLost) {
  Churn("first");
  ASSERT_OK(Create("s"));
  ASSERT_OK(db()->Put(NumberedKey(1), "second"));
  ASSERT_OK(db()->Put(NumberedKey(1), "third"));
  ASSERT_OK(db()->Close());
  const MemoryFileSystem whole = database.memory.Clone();
  for (const bool manifest : {false, true}) {
    TestDatabase damaged(Threads::kSimulated, {.seed = 1}, whole.Clone());
    std::string victim;
    for (const std::string& name : FilesIn(&damaged.files, damaged.path)) {
      if (name.starts_with("MANIFEST") == manifest && (manifest || name.ends_with(".sst"))) victim = name;
    }
    ASSERT_FALSE(victim.empty());
    const std::string path = damaged.path + "/" + victim;
    const uint64_t size = damaged.memory.ReadFileContents(path)->size();
    ASSERT_OK(damaged.memory.FlipBit(path, manifest ? 60 : size / 2, 3));
    RepairReport report;
    ASSERT_OK(RepairTo(&report, damaged.options, damaged.path));
    ASSERT_TRUE(report.changed);
    EXPECT_EQ(report.ToString().find("named snapshots and histories are lost") != std::string::npos, manifest) << report.ToString();
    ASSERT_OK(damaged.Open());
    EXPECT_EQ(Names(damaged.db.get()).size(), manifest ? 0u : 1u);
    EXPECT_EQ(Value(damaged.db.get(), NumberedKey(1)), "third");
    if (manifest) continue;
    ASSERT_OK(damaged.db->CompactRange());
    EXPECT_THAT(ValueAt(damaged.db.get(), "s", NumberedKey(1)), ::testing::AnyOf("first", "NOT_FOUND"));
  }
}

// At each file call of a creation or a drop the power fails: the name is there or not, and what it sees with it.
TEST(NamedSnapshotCrashTest, APowerLossAnywhereLeavesAWholeSnapshotOrNone) {
  for (const bool drops : {false, true}) {
    int with = 0, without = 0;
    bool whole = false;
    for (int64_t calls = 1; !whole; ++calls) {
      TestDatabase crashing;
      ASSERT_OK(crashing.Open());
      ASSERT_OK(crashing.db->Put("a", "1"));
      ASSERT_OK(crashing.db->Flush());
      ASSERT_OK(crashing.db->Put("a", "2"));
      ASSERT_OK(crashing.db->Put("b", "2"));
      if (drops) ASSERT_OK(crashing.db->CreateSnapshot("s").status());
      int64_t left = calls;
      crashing.files.SetDecider([&](const FileCall&) {
        if (--left == 0) crashing.memory.Crash(CrashMode::kAnySubset, static_cast<uint64_t>(calls));
        return Fault::kNone;
      });
      const absl::Status status = drops ? crashing.db->DropSnapshot("s") : crashing.db->CreateSnapshot("s").status();
      const bool acknowledged = status.ok() && left > 0;
      if (acknowledged) {
        crashing.db->Put("a", "3").IgnoreError();
        crashing.db->CompactRange().IgnoreError();
      }
      whole = left > 0;
      crashing.files.Clear();
      if (whole) break;
      ASSERT_OK(crashing.Open());
      ASSERT_OK(crashing.db->Put("a", "4"));
      ASSERT_OK(crashing.db->CompactRange());
      const absl::StatusOr<std::shared_ptr<const Snapshot>> found = crashing.db->FindSnapshot("s");
      ++(found.ok() ? with : without);
      if (acknowledged) {
        EXPECT_EQ(found.ok(), !drops) << calls;
      }
      if (!found.ok()) continue;
      EXPECT_EQ(Value(crashing.db.get(), "a", {.snapshot = found->get()}), "2") << calls;
      EXPECT_EQ(Value(crashing.db.get(), "b", {.snapshot = found->get()}), "2") << calls;
      EXPECT_EQ(Value(crashing.db.get(), "a"), "4");
    }
    EXPECT_GT(with, 0) << drops;
    EXPECT_GT(without, 0) << drops;
  }
}

// A job that runs beside a creation takes away nothing that the snapshot sees.
TEST(NamedSnapshotScheduleTest, CreationsAndDropsBesideJobsByManySchedules) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    TestDatabase database(Threads::kSimulated,
                          SimulationOptions{.seed = seed, .switch_one_in = 2, .switch_inside_locks = true},
                          MemoryFileSystem());
    ASSERT_OK(database.Open());
    for (int round = 0; round < 20; ++round) {
      const std::string value = std::to_string(round);
      for (uint64_t i = 0; i < 30; ++i) ASSERT_OK(database.db->Put(NumberedKey(i), value + std::string(60, '.')));
      ASSERT_OK(database.db->CreateSnapshot(value).status());
      ASSERT_OK(database.db->Flush({.wait = false}));
      if (round % 4 == 3) ASSERT_OK(database.db->DropSnapshot(std::to_string(round - 2)));
      if (round % 7 == 6) ASSERT_OK(database.Reopen());
    }
    const std::vector<NamedSnapshot> all = database.db->ListSnapshots().value();
    EXPECT_EQ(all.size(), 15u);
    for (const NamedSnapshot& named : all) {
      const std::shared_ptr<const Snapshot> snapshot = database.db->FindSnapshot(named.name).value();
      for (uint64_t i = 0; i < 30; ++i) {
        ASSERT_EQ(Value(database.db.get(), NumberedKey(i), {.snapshot = snapshot.get()}),
                  named.name + std::string(60, '.'))
            << seed;
      }
    }
  }
}

}  // namespace
}  // namespace sepal
