// Repairs of databases whose manifest is lost or contradicts the logs, with tables that are not their own, several
// comparators, large tables, and files of good checksums that no writer of ours makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "db/act/manifest/manifest_writer.h"
#include "db/doctor/repair.h"
#include "db/format/file_names.h"
#include "db/format/log_format.h"
#include "tests/db/doctor/repair_fixture.h"

namespace sepal {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// From the last letter to the first, or the other way round by name only.
class SalvageComparator final : public Comparator {
 public:
  SalvageComparator(std::string name, bool equal_means_identical)
      : name_(std::move(name)), equal_means_identical_(equal_means_identical) {}
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  std::string_view Name() const override { return name_; }
  bool EqualMeansIdentical() const override { return equal_means_identical_; }

 private:
  const std::string name_;
  const bool equal_means_identical_;
};

TEST_F(RepairSalvageTest, AComparatorThatIsNullIsRefused) {
  ASSERT_OK(database.Open());
  Fill(0, 20);
  Kill();
  Remove("MANIFEST");
  const Comparator* const comparator = std::exchange(database.options.family.comparator, nullptr);
  EXPECT_TRUE(absl::IsInvalidArgument(Repair()));
  database.options.family.comparator = comparator;
  database.options.column_families = {{.name = "f", .options = {.comparator = nullptr}}};
  EXPECT_TRUE(absl::IsInvalidArgument(Repair()));
  EXPECT_THAT(report.dropped, IsEmpty());
}

// --- manifests ---

TEST_F(RepairSalvageTest, FamiliesWithAnotherComparatorThanTheyHadAreRefusedByName) {
  const SalvageComparator own("test.own", true), other("test.other", true);
  database.options.family.comparator = &own;
  ASSERT_OK(database.Open());
  Fill(0, 30);
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->Put("late", "value"));
  Kill();
  const auto expect_refused = [&] {
    database.options.family.comparator = &other;
    const absl::Status status = Repair();
    database.options.family.comparator = &own;
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.ToString(), HasSubstr("test.own"));
  };
  expect_refused();
  DamageLastEdit();
  expect_refused();
  Remove("MANIFEST");
  expect_refused();
  // The family's own options differ from those of the database.
  database.options.column_families = {{.name = "default", .options = {.comparator = &other}}};
  EXPECT_TRUE(absl::IsInvalidArgument(Repair()));
  database.options.column_families.clear();
  ASSERT_OK(Repair());
  ASSERT_OK(database.Open());
  EXPECT_THAT(All(), SizeIs(31));
}

TEST_F(RepairSalvageTest, AManifestThatNamesAFamilyTwiceDroppedOrAnImpossibleNextNumberIsTakenForWhatItIs) {
  const std::unique_ptr<Directory> directory = database.memory.OpenDirectory("/db", true).value();
  VersionEdit edit;
  edit.database_id = 7;
  edit.hash_seed = 8;
  edit.next_file_number = FileNumber(kFileNumbersEnd + 100);
  edit.last_sequence = SequenceNumber(5);
  edit.created_families.push_back(
      {ColumnFamilyId(0), "default", std::string(database.options.family.comparator->Name()), true});
  VersionEdit drop;
  drop.dropped_families = {ColumnFamilyId(44), ColumnFamilyId(44)};
  drop.flushed_through = {{.family = ColumnFamilyId(44), .sequence = SequenceNumber(3)}};
  AddedTable missing;
  missing.table.number = FileNumber(3);
  missing.table.size_bytes = 100;
  missing.table.entries = 1;
  missing.table.smallest = missing.table.largest = InternalKey("k", PackTrailer(SequenceNumber(1), ValueKind::kPut));
  missing.table.lowest_sequence = missing.table.highest_sequence = SequenceNumber(1);
  drop.added_tables.push_back(missing);
  missing.family = ColumnFamilyId(44);
  missing.table.number = FileNumber(4);
  drop.added_tables.push_back(missing);
  const std::vector<VersionEdit> snapshot = {edit, drop};
  ASSERT_OK(ManifestWriter::Create(directory.get(), FileNumber(1), 7, snapshot, nullptr).status());
  ASSERT_OK(Repair());
  ASSERT_THAT(report.dropped, SizeIs(1)) << "the table of the family that is there";
  EXPECT_EQ(report.dropped[0].file, "000003.sst");
  EXPECT_EQ(report.dropped[0].first_key, "k");
  ASSERT_OK(database.Open());
  EXPECT_THAT(All(), IsEmpty());
  ASSERT_OK(db()->Put("new", "value"));
  ASSERT_OK(db()->Flush());
  for (const std::string& name : Files()) EXPECT_LT(name.size(), 20u) << name;
}

// --- tables without a manifest ---

TEST_F(RepairSalvageTest, TablesOfFamiliesWithComparatorsOfTheirOwnAreFoundAndReadWithThem) {
  const SalvageComparator backward("test.backward", true), loose("test.loose", false);
  const ColumnFamilyOptions of_backward{.comparator = &backward}, of_loose{.comparator = &loose};
  database.options.column_families = {{.name = "backward", .options = of_backward},
                                      {.name = "loose", .options = of_loose}};
  ASSERT_OK(database.Open());
  Fill(0, 20);
  ASSERT_OK(db()->Flush());
  for (const char* name : {"backward", "loose"}) {
    const std::shared_ptr<ColumnFamily> family = db()->FindColumnFamily(name).value();
    for (uint64_t i = 0; i < 20; ++i) ASSERT_OK(db()->Put(*family, NumberedKey(i), name));
    ASSERT_OK(db()->Flush(*family));
    ASSERT_OK(db()->Put(*family, "late", name));
  }
  Kill();
  Remove("MANIFEST");
  // Without their comparators they are refused, not taken for damaged.
  std::swap(database.options.column_families[0].options.comparator,
            database.options.column_families[1].options.comparator);
  EXPECT_TRUE(absl::IsInvalidArgument(Repair()));
  std::swap(database.options.column_families[0].options.comparator,
            database.options.column_families[1].options.comparator);
  FailEachCall();
  ASSERT_OK(Repair());
  ASSERT_OK(database.Open());
  EXPECT_THAT(All(), SizeIs(20));
  for (const char* name : {"backward", "loose"}) {
    const std::shared_ptr<ColumnFamily> family = db()->FindColumnFamily(name).value();
    EXPECT_THAT(All(family.get()), SizeIs(21)) << name;
    EXPECT_EQ(db()->Get(*family, "late").value(), name);
  }
}

// --- logs ---

TEST_F(RepairSalvageTest, ABatchThatIsNoneUnderAGoodChecksumIsDroppedAloneAndTold) {
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("first", "1", {.sync = true}));
  Kill();
  const std::string log = NewestLog();
  std::string bytes = Read(log);
  const LogHeader header = LogHeader::Decode(bytes, log).value();
  uint64_t offset = kLogHeaderBytes;
  while (const auto record = DecodeLogRecordHeader(bytes.data() + offset, header.salt, header.PositionAt(offset))) {
    offset += kLogRecordHeaderBytes + record->payload_bytes;
  }
  bytes.resize(offset);
  const auto append = [&](uint64_t sequence, std::string_view payload) {
    char record[kLogRecordHeaderBytes];
    EncodeLogRecordHeader(record, header.salt, header.PositionAt(bytes.size()), SequenceNumber(sequence),
                          LogRecordKind::kFull, LogPosition(0), payload);
    bytes.append(record, sizeof record);
    bytes += payload;
  };
  WriteBatch batch;
  batch.Put("last", "2");
  append(100, "\x01\x00\x00\x00 this is no entry");
  append(200, batch.bytes());
  Write(log, bytes);
  EXPECT_TRUE(absl::IsDataLoss(database.Open()));
  ASSERT_OK(Repair(/*dry_run=*/true));
  EXPECT_THAT(report.dropped, SizeIs(1));
  FailEachCall();
  ASSERT_OK(Repair());
  ASSERT_THAT(report.dropped, SizeIs(1));
  EXPECT_EQ(report.dropped[0].begin_offset, offset);
  EXPECT_EQ(report.dropped[0].reason, "not a batch, or out of order");
  EXPECT_THAT(report.put_aside, Contains(log));
  ASSERT_OK(database.Open());
  EXPECT_EQ(All(), (Contents{{"first", "1"}, {"last", "2"}}));
}

TEST_F(RepairSalvageTest, EveryFailedCallOfADryRunIsToldOrWithoutEffect) {
  ASSERT_OK(database.Open());
  Fill(0, 60);
  ASSERT_OK(db()->Flush());
  Fill(30, 90);
  Kill();
  DamageLastEdit();
  ASSERT_OK(Repair(/*dry_run=*/true));
  const std::vector<std::string> before = Files();
  const uint64_t begin = database.files.CallCount();
  ASSERT_OK(Repair(/*dry_run=*/true));
  const uint64_t calls = database.files.CallCount() - begin;
  const std::string expected = report.ToString();
  uint64_t told = 0;
  for (uint64_t skip = 0; skip < calls; ++skip) {
    database.files.Inject({.fault = Fault::kIoError, .skip = skip});
    const absl::Status status = Repair(/*dry_run=*/true);
    database.files.Clear();
    told += status.ok() ? 0 : 1;
    EXPECT_TRUE(status.ok() ? report.ToString() == expected : absl::IsInternal(status))
        << skip << " of " << calls << ": " << status;
  }
  EXPECT_EQ(Files(), before);
  // But for LOCK, where the listing says whether a file that cannot be opened is there; for the two calls that read
  // CURRENT, which the manifest stands in for; and for four reads of the table, of which less does, or its blocks one
  // by one.
  EXPECT_EQ(told, calls - 7);
}

}  // namespace
}  // namespace sepal
