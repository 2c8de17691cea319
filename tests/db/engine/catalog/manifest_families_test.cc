// What a manifest says of families that are not there any more, and of those that are: openings and repairs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "db/format/manifest_format.h"
#include "db/format/version_edit.h"
#include "sepal/repair.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/base/coding.h"

namespace sepal {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;

// Bytewise, under another name.
class NamedComparator final : public Comparator {
 public:
  explicit NamedComparator(std::string name) : name_(std::move(name)) {}
  int Compare(std::string_view a, std::string_view b) const override { return a.compare(b); }
  std::string_view Name() const override { return name_; }
  bool EqualMeansIdentical() const override { return true; }

 private:
  const std::string name_;
};

class DescribedFamiliesTest : public EngineTest {
 protected:
  // The manifest keeps its edits: none is begun anew.
  void SetUp() override {
    database.tuning.manifest_limit_bytes = uint64_t{1} << 20;
    ASSERT_OK(database.Open());
    ASSERT_OK(db()->Put("k", "default"));
  }

  std::shared_ptr<ColumnFamily> Make(const Comparator& comparator) {
    ColumnFamilyOptions options = database.options.family;
    options.comparator = &comparator;
    auto made = db()->CreateColumnFamily("f", options);
    EXPECT_OK(made.status());
    return made.value_or(nullptr);
  }
  // With a table and what only the log has.
  void MakeAndDrop(const Comparator& comparator) {
    const auto family = Make(comparator);
    ASSERT_OK(db()->Put(*family, "k", "dropped"));
    ASSERT_OK(db()->Flush(*family));
    ASSERT_OK(db()->Put(*family, "l", "dropped"));
    ASSERT_OK(db()->DropColumnFamily(*family));
  }
  void MakeAndFill(const Comparator& comparator) {
    const auto family = Make(comparator);
    ASSERT_OK(db()->Put(*family, "k", "f"));
    ASSERT_OK(db()->Flush(*family));
    ASSERT_OK(db()->Put(*family, "l", "logged"));
  }
  void Close() {
    ASSERT_OK(db()->Close());
    database.db.reset();
  }
  void Name(const Comparator& comparator) {
    ColumnFamilyOptions options = database.options.family;
    options.comparator = &comparator;
    database.options.column_families = {{.name = "f", .options = options}};
  }
  absl::Status Repair() { return RepairTo(nullptr, database.options, database.path); }
  // Damages the edit of the newest manifest that says that a family was dropped.
  void DamageDrop() {
    const std::string path = "/db/" + FilesIn(&database.memory, "/db").back();
    std::string bytes = database.memory.ReadFileContents(path).value();
    for (size_t offset = kManifestHeaderBytes; offset + kManifestRecordHeaderBytes < bytes.size();) {
      const size_t payload = offset + kManifestRecordHeaderBytes;
      offset = payload + DecodeFixed32(&bytes[offset]);
      if (static_cast<ManifestRecordKind>(bytes[payload - 1]) != ManifestRecordKind::kEdit) continue;
      const auto edit = VersionEdit::Decode(std::string_view(bytes).substr(payload, offset - payload));
      ASSERT_OK(edit.status());
      if (!edit->dropped_families.empty()) bytes[payload] ^= 1;
    }
    ASSERT_OK(database.memory.WriteFileContents(path, bytes));
  }
  void ExpectBoth() {
    EXPECT_THAT(db()->ColumnFamilyNames(), ElementsAre("default", "f"));
    EXPECT_EQ(Value(db(), "k"), "default");
    const auto family = db()->FindColumnFamily("f");
    ASSERT_OK(family.status());
    EXPECT_THAT(ReadAll(db()->NewIterator(**family).get()), ElementsAre(std::pair("k", "f"), std::pair("l", "logged")));
  }

  const NamedComparator first{"test.first"};
  const NamedComparator second{"test.second"};
};

TEST_F(DescribedFamiliesTest, ADroppedFamilyNeedsNoComparator) {
  MakeAndDrop(first);
  Close();
  EXPECT_OK(Repair());
  ASSERT_OK(database.OpenReadOnly().status());
  ASSERT_OK(database.Open());
  EXPECT_THAT(db()->ColumnFamilyNames(), ElementsAre("default"));
  EXPECT_EQ(Value(db(), "k"), "default");
}

TEST_F(DescribedFamiliesTest, OfTwoThatHadOneNameTheDroppedOneRefusesNobody) {
  MakeAndDrop(first);
  MakeAndFill(second);
  Close();
  for (const bool named : {false, true}) {
    if (named) Name(first);
    EXPECT_TRUE(absl::IsInvalidArgument(database.Open()));
    EXPECT_TRUE(absl::IsInvalidArgument(Repair()));
  }
  Name(second);
  EXPECT_OK(Repair());
  ASSERT_OK(database.Open());
  ExpectBoth();
  ASSERT_OK(database.Reopen());
  ExpectBoth();
}

// The drop is an edit that cannot be read, and its table is still there.
TEST_F(DescribedFamiliesTest, ARepairTakesTheEarlierOfTwoThatHaveOneNameForDropped) {
  const auto dropped = Make(first);
  ASSERT_OK(db()->Put(*dropped, "k", "dropped"));
  ASSERT_OK(db()->Flush(*dropped));
  std::string table;
  for (const std::string& name : FilesIn(&database.memory, "/db")) {
    if (name.ends_with(".sst")) table = name;
  }
  const std::string bytes = database.memory.ReadFileContents("/db/" + table).value();
  ASSERT_OK(db()->DropColumnFamily(*dropped));
  MakeAndFill(second);
  Close();
  ASSERT_OK(database.memory.WriteFileContents("/db/" + table, bytes));
  DamageDrop();
  Name(second);
  EXPECT_TRUE(absl::IsDataLoss(database.Open()));
  RepairReport report;
  ASSERT_OK(RepairTo(&report, database.options, database.path));
  EXPECT_THAT(report.dropped, Contains(Field(&DroppedData::file, table)));
  EXPECT_THAT(report.put_aside, Contains(table));
  ASSERT_OK(database.Open());
  ExpectBoth();
}

}  // namespace
}  // namespace sepal
