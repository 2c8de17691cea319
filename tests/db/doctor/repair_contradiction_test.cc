// Manifests whose edits have good checksums and contradict one another, or what the logs hold: opening refuses them,
// and a repair must not call them sound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/act/manifest/manifest_recovery.h"
#include "db/act/manifest/manifest_writer.h"
#include "db/state/version/manifest_state.h"
#include "tests/db/doctor/repair_fixture.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr uint64_t kLastKey = 400;

class RepairContradictionTest : public RepairSalvageTest {
 protected:
  // A run in the last level and two in level 0, which overlap; the logs go back to before them, for another family.
  void SetUp() override {
    RepairSalvageTest::SetUp();
    database.tuning.memtable_bytes = size_t{64} << 10;
    ASSERT_OK(database.Open());
    Fill(0, 300);
    ASSERT_OK(db()->CompactRange());
    const std::shared_ptr<ColumnFamily> other = db()->CreateColumnFamily("other", {}).value();
    other_ = ColumnFamilyId(other->id());
    ASSERT_OK(db()->Put(*other, "only", "logged"));
    Fill(280, 350, 30);
    ASSERT_OK(db()->Flush());
    Fill(320, kLastKey, 20);
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->Put("late", "value"));
    expected_ = All();
    Kill();
    ReadTables();
  }
  void ReadTables() {
    ManifestState state;
    const std::unique_ptr<Directory> directory = database.memory.OpenDirectory("/db", false).value();
    const auto manifest = RecoverManifest(directory.get(), {}, false, [&](VersionEdit&& edit) {
      edits_.push_back(edit);
      return state.Take(std::move(edit));
    });
    ASSERT_OK(manifest.status());
    database_id_ = manifest->database_id;
    tables_ = state.families.at(ColumnFamilyId(0)).tables.Build().value()->Contents(ColumnFamilyId(0));
    ASSERT_GE(tables_.size(), 3u);
    ASSERT_EQ(tables_[1].level, 0);
  }
  // The newest and the older table of level 0, and one of the last level.
  const AddedTable& Newest() const { return tables_[0]; }
  const AddedTable& Older() const { return tables_[1]; }
  const AddedTable& Deep() const { return tables_.back(); }
  static RemovedTable Removal(const AddedTable& table) {
    return {.family = table.family, .level = table.level, .number = table.table.number};
  }
  static VersionEdit Move(const AddedTable& table, int level, RunNumber run) {
    VersionEdit edit;
    edit.removed_tables = {Removal(table)};
    edit.added_tables = {table};
    edit.added_tables[0].level = level;
    edit.added_tables[0].table.run = run;
    return edit;
  }

  // A copy of the database with `edits` in its manifest is refused, repaired and whole.
  void ExpectHealed(const std::vector<VersionEdit>& edits, std::string_view why, const Contents& expected) {
    SCOPED_TRACE(std::string(why));
    TestDatabase copy(Threads::kSimulated, {.seed = 1}, database.memory.Clone());
    const std::unique_ptr<Directory> directory = copy.memory.OpenDirectory("/db", false).value();
    ASSERT_OK(directory->Remove(Last("MANIFEST")));
    ASSERT_OK(ManifestWriter::Create(directory.get(), FileNumber(900), database_id_, edits, nullptr).status());
    const absl::Status refused = copy.Open();
    EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
    EXPECT_THAT(refused.ToString(), HasSubstr(std::string(why)));
    ASSERT_OK(Repairing(copy.options, copy.tuning, "/db", &report, {.dry_run = true}).Run());
    EXPECT_TRUE(report.changed);
    report = {};
    ASSERT_OK(Repairing(copy.options, copy.tuning, "/db", &report).Run());
    EXPECT_TRUE(report.changed);
    ASSERT_FALSE(report.dropped.empty());
    EXPECT_EQ(report.dropped[0].file, "MANIFEST-000900");
    EXPECT_THAT(report.dropped[0].reason, HasSubstr(std::string(why)));
    ASSERT_OK(copy.Open());
    const Entries entries = ReadAll(copy.db->NewIterator().get());
    EXPECT_EQ(Contents(entries.begin(), entries.end()), expected);
    EXPECT_OK(copy.db->CheckConsistency());
    EXPECT_OK(copy.db->VerifyChecksums());
    report = {};
    ASSERT_OK(copy.db->Close());
    copy.db.reset();
    ASSERT_OK(Repairing(copy.options, copy.tuning, "/db", &report).Run());
    EXPECT_FALSE(report.changed);
  }
  // The same for one more edit.
  void ExpectHealed(const VersionEdit& edit, std::string_view why) {
    std::vector<VersionEdit> edits = edits_;
    edits.push_back(edit);
    ExpectHealed(edits, why, expected_);
  }

  std::vector<VersionEdit> edits_;
  uint64_t database_id_ = 0;
  ColumnFamilyId other_;
  std::vector<AddedTable> tables_;
  Contents expected_;
};

TEST_F(RepairContradictionTest, TablesThatCannotLieWhereTheEditsPutThemAreMerged) {
  ExpectHealed(Move(Newest(), 0, Older().table.run), "does not lie after table");
  ExpectHealed(Move(Older(), 0, RunNumber(899)), "but older run");
  VersionEdit edit = Move(Older(), kMaxLevels - 1, RunNumber(898));
  const VersionEdit other = Move(Newest(), kMaxLevels - 1, RunNumber(899));
  edit.removed_tables.push_back(other.removed_tables[0]);
  edit.added_tables.push_back(other.added_tables[0]);
  ExpectHealed(edit, "not the only run of the last level");
}

TEST_F(RepairContradictionTest, TablesThatAreAddedOrRemovedAgainstTheOtherEditsAreMerged) {
  VersionEdit edit;
  edit.added_tables = {Older()};
  edit.added_tables[0].level = 1;
  ExpectHealed(edit, "occurs twice");

  edit = {};
  edit.removed_tables = {Removal(Older())};
  edit.removed_tables[0].level = 3;
  ExpectHealed(edit, "removes a table that is not there");

  edit = Move(Older(), 1, RunNumber(20));
  ++edit.added_tables[0].table.entries;
  ExpectHealed(edit, "adds a removed table with other contents");

  edit = {};
  edit.added_tables = {Older()};
  edit.added_tables[0].table.number = FileNumber(890);
  edit.added_tables[0].table.run = RunNumber(890);
  std::swap(edit.added_tables[0].table.lowest_sequence, edit.added_tables[0].table.highest_sequence);
  ExpectHealed(edit, "lowest sequence above highest");
}

TEST_F(RepairContradictionTest, FamiliesThatCannotBeDoNotTakeTheDefaultOneAway) {
  VersionEdit edit;
  edit.created_families.push_back({ColumnFamilyId(0), "second", "sepal.BytewiseComparator", true});
  ExpectHealed(edit, "creates column family 0 twice");

  edit = {};
  edit.dropped_families = {ColumnFamilyId(0)};
  ExpectHealed(edit, "no default column family");
}

TEST_F(RepairContradictionTest, MarksAndNumbersThatTheLogsContradictAreDamageOfTheManifest) {
  VersionEdit edit;
  edit.flushed_through = {{.family = ColumnFamilyId(0), .sequence = SequenceNumber(0)}};
  ExpectHealed(edit, "which is not in tables by the manifest");

  // Without the other family and the next file number, nobody knows whose the logged updates are.
  std::vector<VersionEdit> edits = edits_;
  for (VersionEdit& kept : edits) {
    kept.next_file_number.reset();
    std::erase_if(kept.created_families, [&](const ColumnFamilyCreation& made) { return made.id == other_; });
    std::erase_if(kept.flushed_through, [&](const FlushedThrough& mark) { return mark.family == other_; });
  }
  ExpectHealed(edits, "whose creation is not in the manifest", expected_);
}

}  // namespace
}  // namespace sepal
