// Repairs and merges of tables that are damaged although no checksum says so, or whose reads fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/db/doctor/repair_fixture.h"
#include "tests/table/file/table_parts.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class RepairUnreadableTest : public RepairSalvageTest {
 protected:
  // A table of many blocks, and its process gone.
  void MakeTable() {
    database.options.family.compression = CompressionKind::kNone;
    ASSERT_OK(database.Open());
    Fill(0, 100);
    ASSERT_OK(db()->Flush());
    Kill();
    table = Last(".sst");
  }
  // The table with `prefix` for the beginning of each key of a block, under a right checksum.
  std::string Misplaced(size_t leaf, size_t block, std::string_view prefix) {
    TableParts parts(Read(table));
    parts.ChangeBlock(parts.Block(leaf, block), [&](std::string* bytes) {
      bytes->replace(bytes->rfind(NumberedKey(0).substr(0, prefix.size())), prefix.size(), prefix);
    });
    return parts.Bytes();
  }
  // A repair drops one block, and all else is there.
  void ExpectOneDropped(TestDatabase* damaged, std::string_view why) {
    ASSERT_OK(Repairing(damaged->options, damaged->tuning, "/db", &report).Run());
    ASSERT_THAT(report.dropped, SizeIs(1)) << report.ToString();
    EXPECT_EQ(report.dropped[0].file, table);
    EXPECT_THAT(report.dropped[0].reason, HasSubstr(why));
    damaged->files.Clear();
    ASSERT_OK(damaged->Open());
    const Entries left = ReadAll(damaged->db->NewIterator().get());
    EXPECT_GE(left.size(), 90u);
    EXPECT_LT(left.size(), 100u);
    for (const auto& [key, value] : left) EXPECT_EQ(key, NumberedKey(std::stoul(value)));
    EXPECT_OK(damaged->db->CheckConsistency());
    EXPECT_OK(damaged->db->VerifyChecksums());
  }

  std::string table;
};

TEST_F(RepairUnreadableTest, AReadThatFailsInPassingDropsNoBlockThatIsWhole) {
  MakeTable();
  ASSERT_OK(database.memory.FlipBit("/db/" + table, 600, 3));
  for (const Fault fault : {Fault::kIoError, Fault::kTooManyFiles}) {
    for (uint64_t k = 0, failed = 1; failed > 0; ++k) {
      SCOPED_TRACE("read " + std::to_string(k));
      TestDatabase copy(Threads::kSimulated, {.seed = 1}, database.memory.Clone());
      copy.files.Inject({.fault = fault, .op = FileOp::kRead, .name_contains = ".sst", .skip = k});
      RepairReport told;
      const absl::Status status = Repairing(copy.options, database.tuning, "/db", &told).Run();
      failed = copy.files.FaultCount();
      if (status.ok()) {
        ASSERT_THAT(told.dropped, SizeIs(1)) << told.ToString();
        EXPECT_EQ(told.dropped[0].file, table);
      } else {
        EXPECT_EQ(status.code(),
                  fault == Fault::kIoError ? absl::StatusCode::kInternal : absl::StatusCode::kResourceExhausted);
      }
    }
  }
}

// With 4 blocks a leaf page, and several pages.
TEST_F(RepairUnreadableTest, ABlockWhoseKeysBelongElsewhereIsDroppedAlone) {
  MakeTable();
  const std::string whole = Read(table);
  const size_t last_leaf = TableParts(whole).leaves.size() - 1;
  ASSERT_GE(last_leaf, 2u);
  const size_t last_block = TableParts(whole).leaves[last_leaf].items.size() - 1;
  for (const auto& [leaf, block] :
       std::vector<std::pair<size_t, size_t>>{{0, 0}, {0, 1}, {1, 0}, {1, 3}, {last_leaf, last_block}}) {
    for (const std::string_view prefix : {"kea", "kez"}) {
      SCOPED_TRACE(std::to_string(leaf) + ", " + std::to_string(block) + ": " + std::string(prefix));
      TestDatabase damaged(Threads::kSimulated, {.seed = 1}, database.memory.Clone());
      ASSERT_OK(damaged.memory.WriteFileContents("/db/" + table, Misplaced(leaf, block, prefix)));
      report = {};
      ExpectOneDropped(&damaged, "data block: its keys are not where the index has them");
    }
  }
}

TEST_F(RepairUnreadableTest, AMergeThatMeetsABlockWhoseKeysBelongElsewhereIsPutOffAndWritingGoesOn) {
  MakeTable();
  Write(table, Misplaced(1, 1, "kez"));
  ASSERT_OK(database.Open());
  EXPECT_TRUE(absl::IsDataLoss(db()->CompactRange()));
  EXPECT_OK(db()->Put("k", "v"));
  EXPECT_OK(db()->Flush());
}

}  // namespace
}  // namespace sepal
