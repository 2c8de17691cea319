// Openings of databases whose manifest has good checksums and impossible contents, of directories with files that are
// left over or no files of ours, and with options that contradict each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "db/act/manifest/manifest_recovery.h"
#include "db/act/manifest/manifest_writer.h"
#include "db/format/batch_format.h"
#include "db/format/file_names.h"
#include "db/format/log_format.h"
#include "db/format/manifest_format.h"
#include "sepal/repair.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// Bytewise, but under another name, or with another answer.
class RenamedComparator final : public Comparator {
 public:
  explicit RenamedComparator(std::string name, bool equal_means_identical = true)
      : name_(std::move(name)), equal_means_identical_(equal_means_identical) {}
  int Compare(std::string_view a, std::string_view b) const override { return a.compare(b); }
  std::string_view Name() const override { return name_; }
  bool EqualMeansIdentical() const override { return equal_means_identical_; }

 private:
  const std::string name_;
  const bool equal_means_identical_;
};

// The beginning of a manifest, less families and tables.
VersionEdit Head(uint64_t next_file_number) {
  VersionEdit head;
  head.database_id = 7;
  head.hash_seed = 8;
  head.next_file_number = FileNumber(next_file_number);
  head.last_sequence = SequenceNumber(100);
  return head;
}

class OpeningHostileTest : public ::testing::Test {
 protected:
  // What opening a database says whose manifest consists of a whole beginning and `edit`.
  absl::Status OpenWith(const VersionEdit& edit, bool default_family = true) {
    TestDatabase database;
    const std::unique_ptr<Directory> directory = database.files.OpenDirectory("/db", true).value();
    VersionEdit head = Head(20);
    head.created_families.push_back({ColumnFamilyId(default_family ? 0 : 3), default_family ? "default" : "other",
                                     std::string(database.options.family.comparator->Name()), true});
    const std::vector<VersionEdit> snapshot = {head, edit};
    EXPECT_OK(ManifestWriter::Create(directory.get(), FileNumber(1), 7, snapshot, nullptr).status());
    for (const AddedTable& added : edit.added_tables) {
      EXPECT_OK(database.memory.WriteFileContents("/db/" + TableFileName(added.table.number),
                                                  std::string(added.table.size_bytes, 't')));
    }
    return database.Open();
  }
  static AddedTable Table(uint64_t number, int level, const char* smallest, const char* largest) {
    AddedTable added;
    added.level = level;
    added.table.number = FileNumber(number);
    added.table.run = RunNumber(5);
    added.table.size_bytes = 300;
    added.table.entries = 2;
    added.table.lowest_sequence = SequenceNumber(1);
    added.table.highest_sequence = SequenceNumber(9);
    added.table.smallest = InternalKey(smallest, PackTrailer(SequenceNumber(9), ValueKind::kPut));
    added.table.largest = InternalKey(largest, PackTrailer(SequenceNumber(1), ValueKind::kPut));
    return added;
  }
};

TEST_F(OpeningHostileTest, AWriteThatNoSequenceNumbersAreLeftForIsRefused) {
  TestDatabase database;
  const std::unique_ptr<Directory> directory = database.files.OpenDirectory("/db", true).value();
  VersionEdit head = Head(20);
  head.created_families.push_back({ColumnFamilyId(0), "default", "sepal.BytewiseComparator", true});
  head.last_sequence = SequenceNumber(kMaxSequenceNumber.value() - 3);
  EXPECT_OK(ManifestWriter::Create(directory.get(), FileNumber(1), 7, {&head, 1}, nullptr).status());
  ASSERT_OK(database.Open());
  ASSERT_OK(database.db->Put("k", "first"));
  WriteBatch batch;
  for (int i = 0; i < 3; ++i) batch.Put("k", "too many");
  const absl::Status refused = database.db->Write(batch);
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("sequence number"));
  ASSERT_OK(database.db->Put("k", "second"));
  ASSERT_OK(database.db->Put("k", "third"));
  for (int opening = 0; opening < 2; ++opening) {
    EXPECT_EQ(database.db->GetProperty("sepal.last-sequence"), ToString(kMaxSequenceNumber));
    EXPECT_TRUE(absl::IsResourceExhausted(database.db->Put("k", "too late")));
    EXPECT_TRUE(absl::IsResourceExhausted(database.db->Delete("k", {.disable_wal = true})));
    EXPECT_EQ(Value(database.db.get(), "k"), "third");
    ASSERT_OK(database.db->CompactRange());
    ASSERT_OK(database.Reopen());
  }
}

// One edit of a manifest's beginning holds 4,096 tables at most.
TEST_F(OpeningHostileTest, AManifestOfManyTablesIsWrittenInPiecesAndReadAgain) {
  constexpr uint64_t kTables = 9'000;
  TestDatabase database;
  const std::unique_ptr<Directory> directory = database.files.OpenDirectory("/db", true).value();
  VersionEdit head = Head(kTables + 20);
  head.created_families.push_back({ColumnFamilyId(0), "default", "sepal.BytewiseComparator", true});
  for (uint64_t i = 0; i < kTables; ++i) {
    const std::string key = absl::StrFormat("%06d", i);
    head.added_tables.push_back(Table(i + 10, 1, key.c_str(), key.c_str()));
    EXPECT_OK(database.memory.WriteFileContents("/db/" + TableFileName(FileNumber(i + 10)), std::string(300, 't')));
  }
  EXPECT_OK(ManifestWriter::Create(directory.get(), FileNumber(1), 7, {&head, 1}, nullptr).status());
  for (int opening = 0; opening < 2; ++opening) {
    EXPECT_OK(database.Open());
    EXPECT_EQ(database.db->GetProperty("sepal.total-table-bytes").value_or(""), absl::StrFormat("%d", 300 * kTables));
    EXPECT_OK(database.db->Close());
    database.db.reset();
    uint64_t tables = 0, edits = 0;
    EXPECT_OK(RecoverManifest(directory.get(), {}, /*other_files=*/false, [&](const VersionEdit& edit) {
                if (!edit.removed_tables.empty()) return absl::OkStatus();  // the run has moved to another level
                EXPECT_LE(edit.added_tables.size(), 4'096u);
                tables += edit.added_tables.size();
                ++edits;
                return absl::OkStatus();
              }).status());
    EXPECT_EQ(tables, kTables);
    EXPECT_GE(edits, 4u);
  }
}

TEST_F(OpeningHostileTest, AManifestOfImpossibleEditsIsDataLossThatSaysWhy) {
  VersionEdit edit;
  EXPECT_OK(OpenWith(edit));
  edit.removed_tables.push_back({.family = ColumnFamilyId(0), .level = 1, .number = FileNumber(9)});
  absl::Status status = OpenWith(edit);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("removes a table that is not there"));

  edit = {};
  edit.added_tables = {Table(10, 1, "a", "f"), Table(11, 1, "c", "k")};
  status = OpenWith(edit);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("does not lie after table 10"));

  edit = {};
  edit.created_families.push_back({ColumnFamilyId(0), "second", "sepal.BytewiseComparator", true});
  status = OpenWith(edit);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("creates column family 0 twice, as \"default\" and as \"second\""));

  edit = {};
  edit.flushed_through.push_back({.family = ColumnFamilyId(77), .sequence = SequenceNumber(5)});
  EXPECT_OK(OpenWith(edit));  // of a family that was dropped

  status = OpenWith({}, /*default_family=*/false);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("no default column family"));
}

// What a newer library has written is no damage: a repair leaves it alone too.
TEST_F(OpeningHostileTest, AManifestWithAFeatureThatIsNotKnownIsRefusedAndNotRepaired) {
  for (const bool damaged : {false, true}) {
    TestDatabase database;
    const std::unique_ptr<Directory> directory = database.files.OpenDirectory("/db", true).value();
    VersionEdit head = Head(20);
    head.created_families.push_back({ColumnFamilyId(0), "default", "sepal.BytewiseComparator", true});
    std::string bytes = ManifestHeader{.number = FileNumber(1), .database_id = 7}.Encode();
    uint64_t checksum = ManifestHeaderChecksum(bytes);
    checksum = AppendManifestRecord(&bytes, ManifestRecordKind::kEdit, head.Encode(), checksum);
    checksum = AppendManifestRecord(&bytes, ManifestRecordKind::kEdit, "\x18\x03\x80\x80\x40", checksum);
    checksum = AppendManifestRecord(&bytes, ManifestRecordKind::kSeal, EncodeManifestSeal(2, checksum), checksum);
    if (damaged) {
      bytes[kManifestHeaderBytes + kManifestRecordHeaderBytes + 3] ^= 1;
      ASSERT_OK(database.memory.WriteFileContents("/db/000010.sst", "t"));
    }
    ASSERT_OK(database.memory.WriteFileContents("/db/MANIFEST-000001", bytes));
    const absl::Status repaired = RepairTo(nullptr, database.options, "/db", {.logs_lost = true});
    EXPECT_TRUE(absl::IsFailedPrecondition(repaired)) << repaired;
    EXPECT_THAT(repaired.ToString(), HasSubstr("feature 20, which this version of the library does not know"));
    EXPECT_EQ(database.memory.ReadFileContents("/db/MANIFEST-000001").value(), bytes);
    if (damaged) continue;
    const absl::Status refused = database.Open();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(refused.ToString(), AllOf(HasSubstr("MANIFEST-000001"), HasSubstr("newer version")));
    EXPECT_TRUE(absl::IsFailedPrecondition(database.OpenReadOnly().status()));
  }
}

TEST_F(OpeningHostileTest, FilesWithNumbersThatNoneOfOursHasDoNotDriveTheNumbersUp) {
  for (const std::string stray :
       {"281474976710656.sst", "281474976710656.log", "18446744073709551614.log", "18446744073709551615.log"}) {
    SCOPED_TRACE(stray);
    ASSERT_GE(std::stoull(stray), kFileNumbersEnd);
    TestDatabase database;
    ASSERT_OK(database.Open());
    ASSERT_OK(database.db->Put("k", "v"));
    ASSERT_OK(database.memory.WriteFileContents("/db/" + stray, "stray"));
    ASSERT_OK(database.Reopen());
    ASSERT_OK(database.db->Flush());
    EXPECT_OK(database.db->CreateColumnFamily("f").status());
    EXPECT_EQ(Value(database.db.get(), "k"), "v");
    for (const std::string& name : FilesIn(&database.memory, "/db")) EXPECT_LT(name.size(), 20u) << name;
  }
}

// Ids are file numbers of 32 bits.
TEST(FamilyIdTest, AFamilyWhoseIdWouldBeAnothersIsRefused) {
  TestDatabase database;
  ASSERT_OK(database.Open());
  ASSERT_OK(database.db->Put("k", "v"));
  ASSERT_OK(database.memory.WriteFileContents("/db/4294967280.sst", "stray"));
  ASSERT_OK(database.Reopen());
  absl::Status made;
  size_t families = 1;
  for (; made.ok() && families < 30; ++families) {
    made = database.db->CreateColumnFamily("f" + std::to_string(families)).status();
  }
  EXPECT_LT(families, 20u);
  EXPECT_TRUE(absl::IsFailedPrecondition(made)) << made;
  EXPECT_THAT(made.ToString(), AllOf(HasSubstr("no column family can be created in /db"), HasSubstr("2^32")));
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(database.db->ColumnFamilyNames().size(), families - 1);
  EXPECT_EQ(database.db->DefaultColumnFamily().id(), 0u);
  EXPECT_EQ(Value(database.db.get(), "k"), "v");

  database.options.column_families = {{.name = "wanted", .options = database.options.family}};
  EXPECT_TRUE(absl::IsFailedPrecondition(database.Reopen()));
  database.options.column_families.clear();
  ASSERT_OK(database.Open());
  EXPECT_EQ(Value(database.db.get(), "k"), "v");
}

TEST(FamilyIdTest, OfTwoFamiliesWithOneIdARepairKeepsTheFirst) {
  TestDatabase database;
  const std::unique_ptr<Directory> directory = database.files.OpenDirectory("/db", true).value();
  VersionEdit head = Head(20);
  for (const char* name : {"default", "second"}) {
    head.created_families.push_back({ColumnFamilyId(0), name, "sepal.BytewiseComparator", true});
  }
  ASSERT_OK(ManifestWriter::Create(directory.get(), FileNumber(1), 7, {&head, 1}, nullptr).status());
  EXPECT_TRUE(absl::IsDataLoss(database.Open()));
  ASSERT_OK(RepairTo(nullptr, database.options, "/db", {.logs_lost = true}));
  ASSERT_OK(database.Open());
  EXPECT_THAT(database.db->ColumnFamilyNames(), ::testing::ElementsAre("default"));
}

TEST_F(OpeningHostileTest, AnUpdateOfAKindThatNobodyMayWriteInALogIsDataLossWithItsPlace) {
  TestDatabase database;
  ASSERT_OK(database.Open());
  ASSERT_OK(database.db->Put("k", "v"));
  ASSERT_OK(database.db->Close());
  database.db.reset();
  int logs = 0;
  for (const std::string& name : FilesIn(&database.memory, "/db")) {
    if (!absl::EndsWith(name, ".log")) continue;
    std::string bytes = database.memory.ReadFileContents("/db/" + name).value();
    const LogHeader header = LogHeader::Decode(bytes, name).value();
    char* const record = bytes.data() + kLogHeaderBytes;
    const auto written = DecodeLogRecordHeader(record, header.salt, header.start);
    if (!written.has_value()) continue;
    ++logs;
    record[kLogRecordHeaderBytes + kBatchHeaderBytes] = static_cast<char>(ValueKind::kFoldedMerge);
    EncodeLogRecordHeader(record, header.salt, header.start, written->first_sequence, written->kind, written->durable,
                          {record + kLogRecordHeaderBytes, written->payload_bytes});
    ASSERT_OK(database.memory.WriteFileContents("/db/" + name, bytes));
  }
  ASSERT_EQ(logs, 1);
  const absl::Status refused = database.Open();
  EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
  EXPECT_THAT(refused.ToString(), AllOf(HasSubstr(".log: offset 512"), HasSubstr("unknown kind of entry")));
  EXPECT_TRUE(absl::IsDataLoss(database.OpenReadOnly().status()));
}

void ExpectInvalid(const absl::Status& status, std::string_view part) {
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr(part));
}

TEST_F(OpeningHostileTest, OptionsOfOneFamilyThatContradictEachOtherAreRefused) {
  const RenamedComparator first("test.first"), changed("test.first", false);
  TestDatabase database;
  database.options.column_families = {{.name = "", .options = {}}};
  ExpectInvalid(database.Open(), "needs a name");
  database.options.column_families = {{.name = "f", .options = {.comparator = &first}}};
  ASSERT_OK(database.Open());
  database.options.column_families[0].options.comparator = &changed;
  const absl::Status status = database.Reopen();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("has changed its answer to EqualMeansIdentical"));
  database.options.column_families[0].options.comparator = &first;
}

TEST_F(OpeningHostileTest, OfAFamilyThatOptionsNameTwiceTheLastCountsAndOneIsMade) {
  const RenamedComparator first("test.first"), second("test.second");
  TestDatabase database;
  database.options.column_families = {{.name = "f", .options = {.comparator = &first}},
                                      {.name = "g"},
                                      {.name = "f", .options = {.comparator = &second}}};
  ASSERT_OK(database.Open());
  EXPECT_THAT(database.db->ColumnFamilyNames(), ::testing::ElementsAre("default", "f", "g"));
  database.options.column_families.pop_back();
  ExpectInvalid(database.Reopen(), "test.second");
}

TEST_F(OpeningHostileTest, ANewDatabasesDefaultFamilyHasTheComparatorThatItsOwnOptionsName) {
  const RenamedComparator own("test.own");
  TestDatabase database;
  database.options.column_families = {{.name = "default", .options = {.comparator = &own}}};
  ASSERT_OK(database.Open());
  ASSERT_OK(database.db->Put("k", "v"));
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Value(database.db.get(), "k"), "v");
  database.options.column_families.clear();
  ExpectInvalid(database.Reopen(), "test.own");
}

TEST_F(OpeningHostileTest, LogsOfAnOrderWithoutHashesAreReadReadOnlyToo) {
  const RenamedComparator loose("test.loose", false);
  TestDatabase database;
  database.options.family.comparator = &loose;
  ASSERT_OK(database.Open());
  for (uint64_t i = 0; i < 50; ++i) ASSERT_OK(database.db->Put(NumberedKey(i), "v"));
  const absl::StatusOr<std::unique_ptr<DB>> reader = database.OpenReadOnly();
  ASSERT_OK(reader.status());
  EXPECT_THAT(ReadAll((*reader)->NewIterator().get()), SizeIs(50));
  EXPECT_EQ(Value(reader->get(), NumberedKey(7)), "v");
}

TEST_F(OpeningHostileTest, WhereSpaceIsNotReservedTheLogIsNotMapped) {
  TestDatabase database(Threads::kSimulated, {.seed = 1},
                        MemoryFileSystem(Capabilities{.map = true, .hard_link = true, .allocate = false}));
  ASSERT_OK(database.Open());
  for (uint64_t i = 0; i < 50; ++i) ASSERT_OK(database.db->Put(NumberedKey(i), "v"));
  database.files.SetTracing(true);
  ASSERT_OK(database.db->Put("last", "v"));
  EXPECT_THAT(database.files.TakeTrace(), HasSubstr("append"));
  ASSERT_OK(database.CrashAndReopen(CrashMode::kKillProcess));
  EXPECT_THAT(ReadAll(database.db->NewIterator().get()), SizeIs(51));
}

// --- what is left over ---

TEST_F(OpeningHostileTest, LeftOversThatCannotBeRemovedFailTheOpeningAndNothingIsLost) {
  for (const bool exists : {false, true}) {
    MemoryFileSystem disk;
    uint64_t entries = 0;
    if (exists) {
      TestDatabase database;
      ASSERT_OK(database.Open());
      for (uint64_t i = 0; i < 50; ++i) ASSERT_OK(database.db->Put(NumberedKey(i), "v"));
      ASSERT_OK(database.db->Close());
      entries = 50;
      const MemoryFileSystem copy = database.memory.Clone();
      disk.OpenDirectory("/db", true).status().IgnoreError();
      for (const std::string& name : FilesIn(&database.memory, "/db")) {
        ASSERT_OK(disk.WriteFileContents("/db/" + name, copy.ReadFileContents("/db/" + name).value()));
      }
    } else {
      ASSERT_OK(disk.OpenDirectory("/db", true).status());
    }
    ASSERT_OK(disk.WriteFileContents("/db/MANIFEST-000900", "SPAL"));
    if (exists) ASSERT_OK(disk.WriteFileContents("/db/000901.log", std::string(600, '\0')));
    for (const std::string part : {"MANIFEST-000900", "000901.log"}) {
      if (!exists && part == "000901.log") continue;
      SCOPED_TRACE(part);
      TestDatabase database(Threads::kSimulated, {.seed = 1}, disk.Clone());
      database.files.Inject({.fault = Fault::kIoError, .op = FileOp::kRemove, .name_contains = part});
      EXPECT_TRUE(absl::IsInternal(database.Open()));
      EXPECT_EQ(database.files.FaultCount(), 1u);
      database.files.Clear();
      ASSERT_OK(database.Open());
      EXPECT_THAT(ReadAll(database.db->NewIterator().get()), SizeIs(entries));
      EXPECT_THAT(FilesIn(&database.memory, "/db"), Not(::testing::Contains(part)));
    }
  }
}

}  // namespace
}  // namespace sepal
