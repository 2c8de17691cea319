// What a new manifest begins with: the edits, one after another, against the versions that they describe.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/engine/catalog/manifest_contents.h"
#include "db/state/version/version_builder.h"
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
std::vector<VersionEdit> Expected(const std::vector<ManifestContents::Family>& families) {
  std::vector<VersionEdit> edits = {Head()};
  for (const ManifestContents::Family& family : families) {
    edits.push_back(family.description);
    for (const AddedTable& added : family.version->Contents(family.id)) {
      if (edits.back().added_tables.size() == kFull) edits.emplace_back();
      edits.back().added_tables.push_back(added);
    }
  }
  return edits;
}

TEST(ManifestContentsTest, ACatalogSnapshotGivesTheHeadAndOfEachFamilyItsDescriptionAndAllOfItsTables) {
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
    std::vector<ManifestContents::Family> families;
    uint64_t number = 1;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const auto id = ColumnFamilyId(static_cast<uint32_t>(i));
      families.push_back({.id = id, .description = DescriptionOf(id), .version = VersionOf(id, sizes[i], number)});
      number += sizes[i];
    }
    const std::vector<VersionEdit> expected = Expected(families);
    ManifestContents snapshot(Head(), families);
    for (size_t i = 0; i < expected.size(); ++i) {
      const VersionEdit* const edit = snapshot.Next();
      ASSERT_NE(edit, nullptr) << "edit " << i << " of " << expected.size();
      ASSERT_EQ(*edit, expected[i]) << "edit " << i << " of " << expected.size();
    }
    EXPECT_EQ(snapshot.Next(), nullptr);
    EXPECT_EQ(snapshot.Next(), nullptr);
  }
}

// As those of a checkpoint's memtables.
TEST(ManifestContentsTest, TablesBesideTheVersionComeBehindItsOwn) {
  const ColumnFamilyId id(3);
  for (const size_t own : {size_t{0}, kFull - 1, kFull, kFull + 1}) {
    for (const size_t beside : {size_t{0}, size_t{1}, kFull + 1}) {
      const VersionRef version = VersionOf(id, own, 1);
      const std::vector<AddedTable> others = VersionOf(id, beside, 1'000'000)->Contents(id);
      ManifestContents snapshot(
          Head(), {{.id = id, .description = DescriptionOf(id), .version = version, .tables = others},
                   {.id = ColumnFamilyId(4), .description = DescriptionOf(ColumnFamilyId(4)), .version = version}});
      std::vector<AddedTable> given;
      size_t edits = 0;
      while (const VersionEdit* const edit = snapshot.Next()) {
        ++edits;
        for (const AddedTable& added : edit->added_tables) {
          if (added.family == id) given.push_back(added);
        }
      }
      std::vector<AddedTable> expected = version->Contents(id);
      expected.insert(expected.end(), others.begin(), others.end());
      EXPECT_TRUE(given == expected) << own << " and " << beside;
      const auto edits_of = [](size_t tables) { return std::max<size_t>((tables + kFull - 1) / kFull, 1); };
      EXPECT_EQ(edits, 1 + edits_of(own + beside) + edits_of(own)) << own << " and " << beside;
    }
  }
}

// A manifest's writer and its readers hold a whole edit.
TEST(ManifestContentsTest, WithLongKeysAnEditHasFewTables) {
  constexpr size_t kTables = 100;
  constexpr size_t kKeyBytes = 60'000;
  const ColumnFamilyId id(0);
  VersionEdit edit;
  for (size_t i = 0; i < kTables; ++i) {
    const std::string key = absl::StrFormat("%08d", i) + std::string(kKeyBytes, 'k');
    edit.added_tables.push_back({id, 1, TableOf(1 + i, 1, key, key + "z")});
  }
  VersionBuilder builder(MakeTable);
  ASSERT_TRUE(builder.Apply(id, edit).ok());
  ManifestContents snapshot(Head(), {{.id = id, .description = DescriptionOf(id), .version = builder.Build().value()}});
  std::vector<AddedTable> tables;
  while (const VersionEdit* const given = snapshot.Next()) {
    EXPECT_LE(given->Encode().size(), size_t{2} << 20);
    tables.insert(tables.end(), given->added_tables.begin(), given->added_tables.end());
  }
  EXPECT_EQ(tables, edit.added_tables);
}

// What an edit has depends on the moved table's run, not on the one where it was first added.
TEST(ManifestContentsTest, ATableIsInTheRunThatListsIt) {
  const ColumnFamilyId id(0);
  VersionBuilder moving(VersionOf(id, 1, 1), MakeTable);
  VersionEdit edit;
  edit.removed_tables.push_back({id, 1, FileNumber(1)});
  edit.added_tables = VersionOf(id, 1, 1)->Contents(id);
  edit.added_tables.front().level = 2;
  edit.added_tables.front().table.run = RunNumber(42);
  ASSERT_TRUE(moving.Apply(id, edit).ok());
  ManifestContents snapshot(Head(), {{.id = id, .description = DescriptionOf(id), .version = moving.Build().value()}});
  snapshot.Next();
  const VersionEdit* const given = snapshot.Next();
  ASSERT_NE(given, nullptr);
  EXPECT_EQ(given->added_tables, edit.added_tables);
}

}  // namespace
}  // namespace sepal
