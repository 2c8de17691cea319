// The manifests that repairs and checkpoints write where there are very many tables: of many edits, since their readers
// hold a whole one.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db/act/manifest/manifest_recovery.h"
#include "db/act/manifest/manifest_writer.h"
#include "db/format/file_names.h"
#include "sepal/repair.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

constexpr size_t kTablesOfAnEdit = 4096;  // tables of an edit

class LargeManifestTest : public EngineTest {
 protected:
  // A database of one table more than an edit has: of the bytes of one, under many numbers and keys.
  void SetUp() override {
    EngineTest::SetUp();
    Fill(0, 10);
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->Close());
    database.db.reset();
    directory_ = database.memory.OpenDirectory("/db", false).value();
    Recover("/db", [&](VersionEdit& edit) {
      if (edit.database_id.has_value()) whole_.database_id = edit.database_id;
      if (edit.hash_seed.has_value()) whole_.hash_seed = edit.hash_seed;
      for (const ColumnFamilyCreation& made : edit.created_families) whole_.created_families.push_back(made);
      for (const AddedTable& added : edit.added_tables) whole_.added_tables.push_back(added);
    });
    ASSERT_EQ(whole_.added_tables.size(), 1u);
    AddedTable table = whole_.added_tables.front();
    const std::string bytes = database.memory.ReadFileContents("/db/" + TableFileName(table.table.number)).value();
    for (const std::string& name : FilesIn(&database.memory, "/db")) ASSERT_OK(directory_->Remove(name));
    whole_.added_tables.clear();
    for (size_t i = 0; i <= kTablesOfAnEdit; ++i) {
      AddTable(i, table);
      ASSERT_OK(database.memory.WriteFileContents("/db/" + TableFileName(FileNumber(1000 + i)), bytes));
    }
    whole_.next_file_number = FileNumber(10'000);
    whole_.last_sequence = SequenceNumber(100);
  }
  void AddTable(size_t i, AddedTable table) {
    table.level = 1;
    table.table.number = FileNumber(1000 + i);
    table.table.smallest.user_key = NumberedKey(10 * i);
    table.table.largest.user_key = NumberedKey(10 * i + 9);
    whole_.added_tables.push_back(std::move(table));
  }
  void WriteManifest() {
    ASSERT_OK(
        ManifestWriter::Create(directory_.get(), FileNumber(1), *whole_.database_id, {&whole_, 1}, nullptr).status());
  }
  template <class Take>
  void Recover(std::string_view path, const Take& take) {
    const std::unique_ptr<Directory> directory = database.memory.OpenDirectory(path, false).value();
    ASSERT_OK(RecoverManifest(directory.get(), {}, false, [&](VersionEdit&& edit) {
                take(edit);
                return absl::OkStatus();
              }).status());
  }
  void ExpectShortEdits(std::string_view path) {
    std::vector<AddedTable> tables;
    Recover(path, [&](VersionEdit& edit) {
      EXPECT_LE(edit.added_tables.size(), kTablesOfAnEdit);
      tables.insert(tables.end(), edit.added_tables.begin(), edit.added_tables.end());
    });
    whole_.added_tables.resize(kTablesOfAnEdit + 1);
    EXPECT_TRUE(tables == whole_.added_tables);
  }

  std::unique_ptr<Directory> directory_;
  VersionEdit whole_;
};

TEST_F(LargeManifestTest, ARepairWritesShortEdits) {
  // One that is missing, so that something is wrong.
  AddTable(kTablesOfAnEdit + 1, whole_.added_tables.back());
  WriteManifest();
  RepairReport report;
  ASSERT_OK(RepairTo(&report, database.options, "/db"));
  EXPECT_EQ(report.tables_kept, kTablesOfAnEdit + 1) << report.ToString().substr(0, 1000);
  ExpectShortEdits("/db");
}

TEST_F(LargeManifestTest, ACheckpointWritesShortEdits) {
  WriteManifest();
  const absl::StatusOr<std::unique_ptr<DB>> view = database.OpenReadOnly();
  ASSERT_OK(view.status());
  ASSERT_OK((*view)->Checkpoint("/checkpoint"));
  ExpectShortEdits("/checkpoint");
}

}  // namespace
}  // namespace sepal
