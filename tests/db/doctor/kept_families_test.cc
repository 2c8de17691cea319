// The options of column families that the manifest keeps: when they are written, what carries them, and what goes by
// them.
#include "db/doctor/kept_families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "db/act/manifest/manifest_recovery.h"
#include "db/engine/core/check_options.h"
#include "db/format/kept_options.h"
#include "sepal/repair.h"
#include "table/file/table_reader.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ColumnFamilyOptions Own() {
  ColumnFamilyOptions options;
  options.compression = CompressionKind::kZstd;
  options.block_bytes = 1024;
  options.filter_policy = {.lane_bits_per_key = 12, .guard_bits_per_key = 12};
  options.compaction_style = CompactionStyle::kLeveled;
  return options;
}

class KeptFamiliesTest : public ::testing::Test {
 protected:
  KeptFamiliesTest() { database.options.family = {}; }
  DB* db() { return database.db.get(); }
  // "name fields", of each family that is kept.
  std::vector<std::string> Kept(std::string_view path = "/db") {
    const auto families = KeptFamilies(&database.files, path, "");
    EXPECT_OK(families.status());
    std::vector<std::string> kept;
    for (const ColumnFamilyDescriptor& family : *families) {
      kept.push_back(family.name + (EncodeKeptOptions(family.options) == EncodeKeptOptions(Own()) ? " own" : " other"));
    }
    return kept;
  }
  uint64_t KeptFieldsInManifest() {
    const std::unique_ptr<Directory> directory = database.files.OpenDirectory("/db", false).value();
    uint64_t fields = 0;
    EXPECT_OK(RecoverManifest(directory.get(), {}, /*other_files=*/false, [&](const VersionEdit& edit) {
                fields += edit.kept_options.size();
                return absl::OkStatus();
              }).status());
    return fields;
  }
  // Of the tables there, the codec that was asked for.
  std::set<CompressionKind> Codecs(const std::string& path = "/db") {
    std::set<CompressionKind> codecs;
    const std::unique_ptr<Directory> directory = database.files.OpenDirectory(path, false).value();
    for (const std::string& name : FilesIn(&database.memory, path)) {
      if (name.find(".sst") == std::string::npos) continue;
      TableReaderOptions options;
      options.name = name;
      const auto reader = TableReader::Open(std::move(options), directory->OpenForRead(name).value());
      EXPECT_OK(reader.status());
      codecs.insert(static_cast<CompressionKind>((*reader)->properties().compression));
    }
    return codecs;
  }

  TestDatabase database;
};

TEST_F(KeptFamiliesTest, ADatabaseThatUsesTheDefaultsKeepsNothing) {
  EXPECT_THAT(Kept(), IsEmpty()) << "no database";
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->CreateColumnFamily("f", {}).status());
  ASSERT_OK(db()->Put("k", "v"));
  ASSERT_OK(database.Reopen());
  EXPECT_THAT(Kept(), IsEmpty());
  EXPECT_EQ(KeptFieldsInManifest(), 0u);
}

TEST_F(KeptFamiliesTest, AFamilyThatIsMadeWithOptionsOfItsOwnKeepsThem) {
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->CreateColumnFamily("f", Own()).status());
  EXPECT_THAT(Kept(), ElementsAre("f own"));
  ASSERT_OK(db()->DropColumnFamily(*db()->FindColumnFamily("f").value()));
  EXPECT_THAT(Kept(), IsEmpty());
}

TEST_F(KeptFamiliesTest, AnOpeningKeepsWhatItIsGiven) {
  database.options.family = Own();
  ASSERT_OK(database.Open());
  EXPECT_THAT(Kept(), ElementsAre("default own"));
  database.options.family.block_bytes = 2048;
  ASSERT_OK(database.Reopen());
  EXPECT_THAT(Kept(), ElementsAre("default other"));
  database.options.family = {};
  ASSERT_OK(database.Reopen());
  EXPECT_THAT(Kept(), IsEmpty()) << "the program's defaults are as explicit as anything";
}

TEST_F(KeptFamiliesTest, ACheckpointIsKeptAsTheDatabaseIsAlsoByAReader) {
  database.options.family = Own();
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("k", std::string(1000, 'v')));
  ASSERT_OK(db()->Checkpoint("/copy"));
  EXPECT_THAT(Kept("/copy"), ElementsAre("default own"));
  database.options.family = {};
  const absl::StatusOr<std::unique_ptr<DB>> reader = database.OpenReadOnly();
  ASSERT_OK(reader.status());
  ASSERT_OK((*reader)->Checkpoint("/of_reader"));
  EXPECT_THAT(Kept("/of_reader"), ElementsAre("default own"));
  EXPECT_THAT(Codecs("/of_reader"), ElementsAre(CompressionKind::kZstd));
}

class KeptFamiliesRepairTest : public KeptFamiliesTest, public ::testing::WithParamInterface<bool> {};

TEST_P(KeptFamiliesRepairTest, ARepairWritesAsTheDatabaseIsKeptUnlessItIsGivenOptions) {
  const bool given = GetParam();
  database.options.family = Own();
  ASSERT_OK(database.Open());
  for (uint64_t i = 0; i < 300; ++i) ASSERT_OK(db()->Put(NumberedKey(i), std::string(100, 'v')));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->Close());
  database.db.reset();
  EXPECT_THAT(Codecs(), ElementsAre(CompressionKind::kZstd));
  for (const std::string& name : FilesIn(&database.memory, "/db")) {
    if (name.find(".sst") == std::string::npos) continue;
    std::string bytes = database.memory.ReadFileContents("/db/" + name).value();
    bytes[10] ^= 1;
    ASSERT_OK(database.memory.WriteFileContents("/db/" + name, bytes));
  }
  database.options.family = {};
  if (given) database.options.family.compression = CompressionKind::kLz4;
  RepairReport report;
  ASSERT_OK(RepairTo(&report, database.options, "/db"));
  EXPECT_GE(report.tables_rewritten, 1u);
  EXPECT_THAT(Codecs(), ElementsAre(given ? CompressionKind::kLz4 : CompressionKind::kZstd));
  EXPECT_THAT(Kept(), ElementsAre(given ? "default other" : "default own"));
}

INSTANTIATE_TEST_SUITE_P(OptionsGiven, KeptFamiliesRepairTest, ::testing::Bool());

TEST_F(KeptFamiliesTest, WhatThisLibraryDoesNotTakeIsNotGoneBy) {
  ColumnFamilyOptions large;
  large.block_bytes = size_t{1} << 30;
  EXPECT_EQ(OptionsGivenOrKept({}, EncodeKeptOptions(large)).block_bytes, ColumnFamilyOptions().block_bytes);
  EXPECT_EQ(OptionsGivenOrKept({}, "\x01\x01\x09").compression, CompressionKind::kSnappy);
  EXPECT_EQ(OptionsGivenOrKept({}, "\x01").compression, CompressionKind::kSnappy);
  EXPECT_EQ(OptionsGivenOrKept({}, EncodeKeptOptions(Own())).block_bytes, 1024u);
  EXPECT_EQ(OptionsGivenOrKept(large, EncodeKeptOptions(Own())).block_bytes, large.block_bytes);
}

}  // namespace
}  // namespace sepal
