// What a damaged manifest calls removed or dropped, or would, stays so in a repair.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db/doctor/repair.h"
#include "db/format/manifest_format.h"
#include "tests/db/doctor/repair_fixture.h"

namespace sepal {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class RepairGoneTest : public RepairSalvageTest {
 protected:
  // A family that is to be dropped, and a table that is to be merged.
  void MakeWhatGoes() {
    ASSERT_OK(database.Open());
    gone = db()->CreateColumnFamily("gone", {}).value();
    ASSERT_OK(db()->Put(gone.get(), "k", "v"));
    ASSERT_OK(db()->Flush(gone.get()));
    Fill(0, 30);
    ASSERT_OK(db()->Flush());
  }

  std::shared_ptr<ColumnFamily> gone;
};

TEST_F(RepairGoneTest, WhatWasDroppedOrRemovedDoesNotComeBackWithALostEndOfTheManifest) {
  ASSERT_NO_FATAL_FAILURE(MakeWhatGoes());
  Fill(0, 30, 60);
  ASSERT_OK(db()->Flush());
  for (uint64_t i = 0; i < 10; ++i) ASSERT_OK(db()->Delete(NumberedKey(i)));
  ASSERT_OK(db()->Flush());
  // Keeps the files that are now removed.
  const std::unique_ptr<Iterator> it = db()->NewIterator();
  const std::unique_ptr<Iterator> of_gone = db()->NewIterator(gone.get());
  it->SeekToFirst();
  of_gone->SeekToFirst();
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(db()->DropColumnFamily(gone.get()));
  Fill(30, 40);
  ASSERT_OK(db()->Flush());
  const std::vector<std::string> files = Files();
  const MemoryFileSystem disk = database.memory.Clone();
  const Contents expected = All();
  ASSERT_THAT(expected, SizeIs(30));

  TestDatabase copy(Threads::kSimulated, {.seed = 1}, disk.Clone());
  const std::string manifest = Last("MANIFEST");
  std::string bytes = Read(manifest);
  bytes[bytes.size() - kManifestRecordHeaderBytes - kManifestControlBytes - 1] ^= 1;
  ASSERT_OK(copy.memory.WriteFileContents("/db/" + manifest, bytes));
  ASSERT_GT(std::count_if(files.begin(), files.end(), [](const auto& name) { return name.ends_with(".sst"); }), 4);
  ASSERT_OK(Repairing(copy.options, database.tuning, "/db", &report).Run());
  ASSERT_OK(copy.Open());
  const Entries found = ReadAll(copy.db->NewIterator().get());
  EXPECT_EQ(Contents(found.begin(), found.end()), expected) << "the table of the lost edit was found, too";
  EXPECT_TRUE(absl::IsNotFound(copy.db->FindColumnFamily("gone").status()));
}

// The file of the table that a merge took is there for a reader. A repair that died behind its own manifest leaves that
// and the damaged one, which alone says that the table was removed, and the family dropped.
TEST_F(RepairGoneTest, WhatWasDroppedOrRemovedDoesNotComeBackWithARepairThatDied) {
  ASSERT_NO_FATAL_FAILURE(MakeWhatGoes());
  std::unique_ptr<Iterator> it = db()->NewIterator();
  std::unique_ptr<Iterator> of_gone = db()->NewIterator(gone.get());
  it->SeekToFirst();
  of_gone->SeekToFirst();
  for (uint64_t i = 0; i < 10; ++i) ASSERT_OK(db()->Delete(NumberedKey(i)));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(db()->DropColumnFamily(gone.get()));
  Fill(30, 40);
  ASSERT_OK(db()->Flush());
  const Contents expected = All();
  ASSERT_THAT(expected, SizeIs(30));
  Kill();
  it.reset();
  of_gone.reset();
  const std::vector<std::string> files = Files();
  ASSERT_GT(std::count_if(files.begin(), files.end(), [](const auto& name) { return name.ends_with(".sst"); }), 3);
  const std::string manifest = Last("MANIFEST");
  std::string bytes = Read(manifest);
  bytes[bytes.size() - kManifestRecordHeaderBytes - kManifestControlBytes - 1] ^= 1;
  Write(manifest, bytes);
  FailEachCall(Failing::kForGood);
  ASSERT_OK(Repair());
  ASSERT_OK(database.Open());
  EXPECT_EQ(All(), expected);
  EXPECT_TRUE(absl::IsNotFound(db()->FindColumnFamily("gone").status()));
}

// The later one's table may have the lower number.
class NamesakeRepairTest : public RepairSalvageTest, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(LaterFirst, NamesakeRepairTest, ::testing::Bool());

TEST_P(NamesakeRepairTest, OfTwoFamiliesOfOneNameThatTablesTellOfTheLaterIsTheDatabases) {
  ASSERT_OK(database.Open());
  std::vector<std::string> tables;
  std::vector<std::unique_ptr<Iterator>> readers;
  for (const char* value : {"earlier", "later"}) {
    const std::shared_ptr<ColumnFamily> family = db()->CreateColumnFamily("twice", {}).value();
    ASSERT_OK(db()->Put(family.get(), value, value));
    ASSERT_OK(db()->Flush(family.get()));
    tables.push_back(Last(".sst"));
    readers.push_back(db()->NewIterator(family.get()));
    readers.back()->SeekToFirst();
    if (readers.size() == 1) ASSERT_OK(db()->DropColumnFamily(family.get()));
  }
  Kill();
  readers.clear();
  Remove("MANIFEST");
  if (GetParam()) {
    const std::string earlier = Read(tables[0]);
    Write(tables[0], Read(tables[1]));
    Write(tables[1], earlier);
    std::swap(tables[0], tables[1]);
  }
  FailEachCall(Failing::kForGood);
  ASSERT_OK(Repair());
  EXPECT_THAT(report.dropped, Contains(Field(&DroppedData::reason, HasSubstr("a later one has its name"))));
  EXPECT_THAT(report.put_aside, Contains(tables[0]));
  EXPECT_EQ(report.tables_kept, 1u);
  EXPECT_THAT(*DB::ListColumnFamilies(database.options, "/db"), SizeIs(2));
  ASSERT_OK(database.Open());
  EXPECT_EQ(All(db()->FindColumnFamily("twice").value().get()), (Contents{{"later", "later"}}));
}

}  // namespace
}  // namespace sepal
