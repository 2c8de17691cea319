// Repair: what can be read is kept, what cannot is told exactly, and a crash in the middle costs nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Files = std::map<std::string, std::string>;

class RepairTest : public EngineTest {
 protected:
  Files Contents() {
    Files files;
    for (const std::string& name : FilesIn(&database.memory, "/db")) {
      if (name != "LOCK") files[name] = database.memory.ReadFileContents("/db/" + name).value();
    }
    return files;
  }
  // The last file whose name holds `part`.
  std::string Last(std::string_view part) {
    std::string last;
    for (const std::string& name : FilesIn(&database.memory, "/db")) {
      if (name.find(part) != std::string::npos) last = name;
    }
    return last;
  }
  void FlipByte(const std::string& name, uint64_t offset) {
    ASSERT_OK(database.memory.FlipBit("/db/" + name, offset, 3));
  }
  void CloseDatabase() {
    ASSERT_OK(db()->Close());
    database.db.reset();
  }
  absl::Status Repair() { return RepairTo(&report, database.options, "/db"); }
  std::map<std::string, std::string> All() {
    const std::unique_ptr<Iterator> it = db()->NewIterator();
    const Entries entries = ReadAll(it.get());
    EXPECT_OK(it->status());
    return {entries.begin(), entries.end()};
  }
  RepairReport report;
};

TEST_F(RepairTest, ADamagedFilterCostsNothing) {
  Fill(0, 100);
  ASSERT_OK(db()->Flush());
  CloseDatabase();
  const std::string table = Last(".sst");
  const std::string bytes = database.memory.ReadFileContents("/db/" + table).value();
  // The guard's place stands in the footer.
  FlipByte(table, DecodeFixed64(bytes.data() + bytes.size() - 112 + 32) + 70);
  ASSERT_OK(Repair());
  EXPECT_THAT(report.dropped, IsEmpty());
  EXPECT_EQ(report.tables_rewritten, 1u);
  ASSERT_OK(database.Open());
  EXPECT_EQ(All().size(), 100u);
  ASSERT_OK(db()->VerifyChecksums());
}

TEST_F(RepairTest, ADryRunForeseesTheReportAndWritesNothing) {
  Fill(0, 500);
  ASSERT_OK(db()->Flush());
  Fill(300, 700);
  CloseDatabase();
  for (const std::string damaged : {".sst", "MANIFEST", ".log"}) {
    FlipByte(Last(damaged), damaged == "MANIFEST" ? 60 : damaged == ".log" ? 600 : 100);
    const Files before = Contents();
    ASSERT_OK(RepairTo(&report, database.options, "/db", {.dry_run = true}));
    EXPECT_EQ(Contents(), before) << damaged;
    EXPECT_TRUE(report.dry_run);
    const RepairReport foreseen = report;
    ASSERT_OK(Repair());
    EXPECT_EQ(foreseen.changed, report.changed);
    EXPECT_EQ(foreseen.put_aside, report.put_aside) << damaged;
    EXPECT_EQ(foreseen.tables_kept, report.tables_kept) << damaged;
    EXPECT_EQ(foreseen.tables_rewritten, report.tables_rewritten) << damaged;
    EXPECT_EQ(foreseen.updates_from_logs, report.updates_from_logs) << damaged;
    ASSERT_EQ(foreseen.dropped.size(), report.dropped.size()) << damaged;
    for (size_t i = 0; i < foreseen.dropped.size(); ++i) {
      EXPECT_EQ(foreseen.dropped[i].file, report.dropped[i].file);
      EXPECT_EQ(foreseen.dropped[i].reason, report.dropped[i].reason);
    }
    ASSERT_OK(database.Open());
    Fill(1000, 1100);
    CloseDatabase();
  }
}

TEST_F(RepairTest, WhatIsLevelDbsIsNeitherOpenedNorRepairedNorRemoved) {
  CloseDatabase();
  absl::StatusOr<std::unique_ptr<Directory>> directory = database.memory.OpenDirectory("/ldb", /*create=*/true);
  ASSERT_OK(directory.status());
  for (const char* name : {"CURRENT", "MANIFEST-000002", "000003.log"}) {
    absl::StatusOr<std::unique_ptr<WritableFile>> file = (*directory)->OpenForWrite(name, WriteMode::kCreateNew);
    ASSERT_OK(file.status());
    ASSERT_OK((*file)->Append("MANIFEST-000002\n"));
  }
  const std::vector<std::string> before = FilesIn(&database.memory, "/ldb");
  EXPECT_TRUE(absl::IsFailedPrecondition(RepairTo(&report, database.options, "/ldb")));
  EXPECT_TRUE(absl::IsFailedPrecondition(DB::Destroy(database.options, "/ldb")));
  EXPECT_TRUE(absl::IsFailedPrecondition(DB::Open(database.options, "/ldb").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(DB::ListColumnFamilies(database.options, "/ldb").status()));
  Options read_only = database.options;
  read_only.create_if_missing = false;
  read_only.read_only = true;
  const absl::Status refused = DB::Open(read_only, "/ldb").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(refused.ToString(), HasSubstr("LevelDB or RocksDB"));
  EXPECT_EQ(FilesIn(&database.memory, "/ldb"), before);
}

TEST_F(RepairTest, ACrashAtAnyCallIsHealedByAnotherRepair) {
  Fill(0, 150);
  ASSERT_OK(db()->Flush());
  Fill(100, 200, 30);
  ASSERT_OK(db()->Flush());
  Fill(200, 230);
  CloseDatabase();
  const Files whole = Contents();
  for (const std::string part : {".sst", ".log", "MANIFEST"}) {
    std::map<std::string, std::string> expected;
    uint64_t calls = 1;
    for (uint64_t k = 0; k <= calls; ++k) {
      TestDatabase damaged;
      for (const auto& [name, bytes] : whole) {
        std::string changed = bytes;
        if (name == Last(part)) changed[part == ".sst" ? 600 : part == ".log" ? 1000 : bytes.size() / 2] ^= 4;
        ASSERT_OK(damaged.memory.WriteFileContents("/db/" + name, changed));
      }
      SCOPED_TRACE(part + " call " + std::to_string(k));
      // k = 0: no crash, for comparison.
      damaged.files.SetDecider(
          [&](const FileCall& call) { return k > 0 && call.number >= k ? Fault::kIoError : Fault::kNone; });
      const absl::Status first = RepairTo(&report, damaged.options, "/db");
      if (k == 0) {
        ASSERT_OK(first);
        ASSERT_TRUE(report.changed);
        calls = damaged.files.CallCount();
      }
      damaged.files.Clear();
      damaged.memory.Crash(CrashMode::kAnySubset, k);
      ASSERT_OK(RepairTo(&report, damaged.options, "/db"));
      ASSERT_OK(damaged.Open());
      ASSERT_OK(damaged.db->VerifyChecksums());
      const Entries entries = ReadAll(damaged.db->NewIterator().get());
      const std::map<std::string, std::string> found(entries.begin(), entries.end());
      if (k == 0) expected = found;
      ASSERT_EQ(found, expected) << part << " call " << k;
      ASSERT_OK(damaged.db->Close());
    }
    EXPECT_GT(expected.size(), 200u);
  }
}

TEST_F(RepairTest, ARepairTellsHowFarItIsTillAllIsRead) {
  uint64_t bytes = 0;
  for (uint64_t part = 0; part < 3; ++part) {
    Fill(part * 50, part * 50 + 100);
    ASSERT_OK(db()->Flush());
  }
  CloseDatabase();
  for (const std::string& name : FilesIn(&database.memory, "/db")) {
    if (name.ends_with(".sst")) bytes += database.memory.ReadFileContents("/db/" + name)->size();
  }
  std::vector<std::pair<uint64_t, uint64_t>> told;
  const auto progress = [&told](uint64_t done, uint64_t total) { told.emplace_back(done, total); };
  const auto repair = [&](bool dry_run) -> absl::Status {
    told.clear();
    RETURN_IF_ERROR(RepairTo(&report, database.options, "/db", {.dry_run = dry_run, .progress = progress}));
    EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
    EXPECT_EQ(told.back().first, told.back().second);
    return absl::OkStatus();
  };
  ASSERT_OK(repair(/*dry_run=*/false));
  EXPECT_THAT(told, SizeIs(3));
  EXPECT_EQ(told.back().second, bytes);

  // All tables are merged then.
  auto directory = database.memory.OpenDirectory("/db", false);
  ASSERT_OK((*directory)->Remove(Last("MANIFEST")));
  ASSERT_OK(repair(/*dry_run=*/true));
  EXPECT_EQ(told.back().second, bytes);
  ASSERT_OK(repair(/*dry_run=*/false));
  EXPECT_EQ(told.back().second, 2 * bytes);
}

TEST_F(RepairTest, VerificationTellsHowFarItIsAndOfEachDamagedTable) {
  for (uint64_t i = 0; i < 3; ++i) {
    Fill(i * 100, i * 100 + 50);
    ASSERT_OK(db()->Flush());
  }
  CloseDatabase();
  FlipByte(Last(".sst"), 300);
  ASSERT_OK(database.Open());
  std::vector<VerifyProgress> calls;
  std::vector<absl::Status> damage;
  const absl::Status verified =
      db()->VerifyChecksums({.progress =
                                 [&](const VerifyProgress& progress) {
                                   calls.push_back(progress);
                                   return true;
                                 },
                             .on_damage = [&](const absl::Status& status) { damage.push_back(status); }});
  EXPECT_TRUE(absl::IsDataLoss(verified));
  EXPECT_THAT(damage, SizeIs(1));
  ASSERT_GE(calls.size(), 2u);
  EXPECT_EQ(calls.front().tables_done, 0u);
  EXPECT_EQ(calls.back().tables_done, calls.back().tables);
  EXPECT_EQ(calls.back().bytes_done, calls.back().bytes);
  EXPECT_EQ(calls.back().tables_damaged, 1u);
  EXPECT_TRUE(absl::IsCancelled(db()->VerifyChecksums({.progress = [](const VerifyProgress&) { return false; }})));
}

}  // namespace
}  // namespace sepal
