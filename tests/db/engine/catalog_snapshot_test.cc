// What a new manifest begins with: the edits, one after another, against the versions that they describe.
#include "db/engine/catalog_snapshot.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/state/version_builder.h"
#include "tests/db/version_text.h"

namespace sepal {
namespace {

constexpr size_t kFull = 4096;

// In two runs of level 1 and one of level 2, as far as there are as many.
VersionRef VersionOf(ColumnFamilyId family, size_t tables, uint64_t first_number) {
  VersionEdit edit;
  for (size_t i = 0; i < tables; ++i) {
    const int level = i < 2 ? 1 : 2;
    const uint64_t run = i < 2 ? 9 - i : 1;
    const std::string key = absl::StrFormat("a key longer than fits into a string itself %08d", i);
    edit.added_tables.push_back({family, level, TableOf(first_number + i, run, key, key + "z")});
  }
  VersionBuilder builder(MakeTable);
  EXPECT_TRUE(builder.Apply(family, edit).ok());
  return builder.Build().value();
}

VersionEdit DescriptionOf(ColumnFamilyId family) {
  VersionEdit description;
  description.created_families.push_back({.id = family,
                                          .name = absl::StrFormat("family %d", family.value()),
                                          .comparator_name = "c",
                                          .equal_means_identical = true});
  description.flushed_through.push_back({.family = family, .sequence = SequenceNumber(family.value())});
  return description;
}

VersionEdit Head() {
  VersionEdit head;
  head.database_id = 7;
  head.next_file_number = FileNumber(1'000'000);
  return head;
}

// As they would be if they were made at once.
std::vector<VersionEdit> Expected(const std::vector<CatalogSnapshot::Family>& families) {
  std::vector<VersionEdit> edits = {Head()};
  for (const CatalogSnapshot::Family& family : families) {
    edits.push_back(family.description);
    for (const AddedTable& added : family.version->Contents(family.id)) {
      if (edits.back().added_tables.size() == kFull) edits.emplace_back();
      edits.back().added_tables.push_back(added);
    }
  }
  return edits;
}

TEST(CatalogSnapshotTest, GivesTheHeadAndOfEachFamilyItsDescriptionAndAllOfItsTables) {
  const std::vector<std::vector<size_t>> cases = {
      {},
      {0},
      {1},
      {2},
      {3},
      {kFull - 1},
      {kFull},
      {kFull + 1},
      {2 * kFull},
      {0, 0},
      {0, 5, 0},
      {kFull, 0, 1},
      {2 * kFull + 3, 4, kFull + 1},
  };
  for (const std::vector<size_t>& sizes : cases) {
    std::vector<CatalogSnapshot::Family> families;
    uint64_t number = 1;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const auto id = ColumnFamilyId(static_cast<uint32_t>(i));
      families.push_back({.id = id, .description = DescriptionOf(id), .version = VersionOf(id, sizes[i], number)});
      number += sizes[i];
    }
    const std::vector<VersionEdit> expected = Expected(families);
    CatalogSnapshot snapshot(Head(), families);
    for (size_t i = 0; i < expected.size(); ++i) {
      const VersionEdit* const edit = snapshot.Next();
      ASSERT_NE(edit, nullptr) << "edit " << i << " of " << expected.size();
      ASSERT_EQ(*edit, expected[i]) << "edit " << i << " of " << expected.size();
    }
    EXPECT_EQ(snapshot.Next(), nullptr);
    EXPECT_EQ(snapshot.Next(), nullptr);
  }
}

// What an edit has depends on the moved table's run, not on the one where it was first added.
TEST(CatalogSnapshotTest, ATableIsInTheRunThatListsIt) {
  const ColumnFamilyId id(0);
  VersionBuilder moving(VersionOf(id, 1, 1), MakeTable);
  VersionEdit edit;
  edit.removed_tables.push_back({id, 1, FileNumber(1)});
  edit.added_tables = VersionOf(id, 1, 1)->Contents(id);
  edit.added_tables.front().level = 2;
  edit.added_tables.front().table.run = RunNumber(42);
  ASSERT_TRUE(moving.Apply(id, edit).ok());
  CatalogSnapshot snapshot(Head(), {{.id = id, .description = DescriptionOf(id), .version = moving.Build().value()}});
  snapshot.Next();
  const VersionEdit* const given = snapshot.Next();
  ASSERT_NE(given, nullptr);
  EXPECT_EQ(given->added_tables, edit.added_tables);
}

}  // namespace
}  // namespace sepal
