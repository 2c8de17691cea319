// Recovery and salvage on a disk whose calls fail, and on files of good checksums that no writer of ours would make.
#include <gtest/gtest.h>

#include <vector>

#include "db/act/log/log_salvage.h"
#include "db/act/manifest/manifest_recovery.h"
#include "db/act/manifest/manifest_salvage.h"
#include "db/act/manifest/manifest_writer.h"
#include "db/format/file_names.h"
#include "tests/db/act/log/recovery_fixture.h"
#include "util/base/status.h"

namespace sepal {
namespace {

using RecoveryIoTest = RecoveryFixture;

TEST_F(RecoveryIoTest, RecordsOutOfOrderAreDataLossThoughTheirChecksumsAreGood) {
  const std::string batch = Batch("a");
  EXPECT_TRUE(absl::IsDataLoss(RecoverOne({{1, LogRecordKind::kMiddle, batch}}).status()));
  EXPECT_TRUE(absl::IsDataLoss(RecoverOne({{1, LogRecordKind::kLast, batch}}).status()));
  EXPECT_TRUE(
      absl::IsDataLoss(RecoverOne({{1, LogRecordKind::kFirst, batch}, {2, LogRecordKind::kFull, batch}}).status()));
  EXPECT_TRUE(
      absl::IsDataLoss(RecoverOne({{1, LogRecordKind::kFirst, batch}, {2, LogRecordKind::kLast, batch}}).status()));
  EXPECT_TRUE(
      absl::IsDataLoss(RecoverOne({{1, LogRecordKind::kFull, batch}, {1, LogRecordKind::kFull, batch}}).status()));
  EXPECT_TRUE(absl::IsDataLoss(RecoverOne({{1, LogRecordKind::kFull, "abc"}}).status())) << "no batch";
  EXPECT_TRUE(
      absl::IsDataLoss(RecoverOne({{kMaxSequenceNumber.value(), LogRecordKind::kFull, Batch("a", 2)}}).status()));
  EXPECT_TRUE(RecoverOne({{1, LogRecordKind::kFull, WriteBatch().bytes()}}).ok()) << "an empty batch harms nothing";
}

TEST_F(RecoveryIoTest, ADamagedLogBelowTheMinimumIsNotNeeded) {
  WriteFile("000001.log", std::string(600, 'x'));
  WriteFile("000002.log", LogOf(Header(2), {{1, LogRecordKind::kFull, Batch("a")}}));
  EXPECT_TRUE(absl::IsDataLoss(Recover().status()));
  const absl::StatusOr<LogRecovery> recovered = Recover({.minimum = FileNumber(2)});
  EXPECT_TRUE(recovered.ok()) << recovered.status();
}

TEST_F(RecoveryIoTest, SalvageTakesWhatIsWholeAndTellsOfEachGap) {
  const std::string batch = Batch("a");
  WriteFile("000001.log", LogOf(Header(1), {{1, LogRecordKind::kFull, batch},
                                            {2, LogRecordKind::kFirst, batch.substr(0, 5)},
                                            {2, LogRecordKind::kMiddle, batch.substr(5, 1)},
                                            {2, LogRecordKind::kLast, batch.substr(6)},
                                            {3, LogRecordKind::kMiddle, batch},
                                            {4, LogRecordKind::kFirst, batch},
                                            {5, LogRecordKind::kLast, batch},
                                            {6, LogRecordKind::kFull, "no batch"},
                                            {2, LogRecordKind::kFull, batch},
                                            {kMaxSequenceNumber.value(), LogRecordKind::kFull, Batch("a", 2)},
                                            {7, LogRecordKind::kFull, batch},
                                            {8, LogRecordKind::kFirst, batch}}) +
                              "tail");
  std::vector<LogGap> gaps;
  ASSERT_TRUE(Salvage(&gaps).ok());
  EXPECT_EQ(delivered_, (std::vector<std::string>{Delivered(1, "a"), Delivered(2, "a"), Delivered(7, "a")}));
  EXPECT_GE(gaps.size(), 6u);
  for (const LogGap& gap : gaps) {
    EXPECT_EQ(gap.name, "000001.log");
    EXPECT_FALSE(gap.reason.empty());
  }
}

TEST_F(RecoveryIoTest, SalvageMissesNothingInALogThatWasMadeAndNeverUsed) {
  WriteFile("000001.log", LogOf(Header(1), {{1, LogRecordKind::kFull, Batch("a")}}));
  WriteFile("000002.log", std::string(10'000, '\0'));
  WriteFile("000003.log", "");
  std::vector<LogGap> gaps;
  ASSERT_TRUE(Salvage(&gaps).ok());
  EXPECT_EQ(delivered_, (std::vector<std::string>{Delivered(1, "a")}));
  EXPECT_TRUE(gaps.empty());
  WriteFile("000002.log", std::string(10'000, '\0') + "x");
  ASSERT_TRUE(Salvage(&gaps).ok());
  EXPECT_EQ(gaps.size(), 1u);
}

// The manifest says how long it was, whether what is left looks whole, or as if it had never been used.
TEST_F(RecoveryIoTest, ASalvageTellsOfAClosedLogThatWasCutShort) {
  const std::string batch = Batch("a");
  WriteFile("000001.log", LogOf(Header(1), {{1, LogRecordKind::kFull, batch}}));
  const std::string whole = LogOf(Header(2), {{2, LogRecordKind::kFull, batch}, {3, LogRecordKind::kFull, batch}});
  const LogRecoveryOptions closed{.database_id = kDatabase, .closed = LogEnd{FileNumber(2), whole.size()}};
  std::vector<LogGap> gaps;
  for (size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    WriteFile("000002.log", whole.substr(0, bytes));
    ASSERT_TRUE(SalvageFrom(directory_.get(), &gaps, closed).ok());
    ASSERT_EQ(gaps.empty(), bytes == whole.size()) << bytes;
  }
  ASSERT_TRUE(directory_->Remove("000002.log").ok());
  ASSERT_TRUE(SalvageFrom(directory_.get(), &gaps, closed).ok());
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps.front().reason, "the log is missing");
}

TEST_F(RecoveryIoTest, AnErrorOfTheSinkEndsTheSalvage) {
  const std::string batch = Batch("a");
  WriteFile("000001.log", LogOf(Header(1), {{1, LogRecordKind::kFull, batch}, {2, LogRecordKind::kFull, batch}}));
  std::vector<LogGap> gaps;
  int calls = 0;
  const absl::Status status = SalvageLogs(
      directory_.get(), ListLogs(directory_.get()).value(), {.database_id = kDatabase},
      [&](SequenceNumber, std::string_view) {
        ++calls;
        return absl::CancelledError("enough");
      },
      &gaps);
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_EQ(calls, 1);
}

TEST_F(RecoveryIoTest, SalvageLeavesLogsBelowTheMinimumAndThoseOfOtherDatabasesAlone) {
  LogHeader foreign = Header(6);
  foreign.database_id = 99;
  WriteFile("000001.log", std::string(600, 'x'));
  WriteFile("000002.log", LogOf(Header(2), {{1, LogRecordKind::kFull, Batch("below")}}));
  WriteFile("000005.log", LogOf(Header(5), {{2, LogRecordKind::kFull, Batch("own")}}));
  WriteFile("000006.log", LogOf(foreign, {{3, LogRecordKind::kFull, Batch("foreign")}}));
  std::vector<LogGap> gaps;
  ASSERT_TRUE(Salvage(&gaps, FileNumber(5)).ok());
  EXPECT_EQ(delivered_, std::vector<std::string>{Delivered(2, "own")});
  EXPECT_TRUE(gaps.empty());
  ASSERT_TRUE(Salvage(&gaps, FileNumber(5), /*database_id=*/0).ok());
  EXPECT_EQ(delivered_, (std::vector<std::string>{Delivered(2, "own"), Delivered(3, "foreign")}));
}

TEST_F(RecoveryIoTest, SalvageTellsOfALogThatIsMissing) {
  std::vector<LogGap> gaps;
  ASSERT_TRUE(Salvage(&gaps).ok());
  EXPECT_TRUE(gaps.empty()) << "a database without a minimum need have no log";
  ASSERT_TRUE(Salvage(&gaps, FileNumber(3)).ok());
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].name, "000003.log");
  EXPECT_EQ(gaps[0].reason, "the log is missing");
  // A log that another names, but not where that says that nothing was in it.
  LogHeader header = Header(5);
  for (const uint64_t length : {uint64_t{600}, uint64_t{kLogHeaderBytes}}) {
    header.predecessor = {FileNumber(4), 5, length};
    WriteFile("000005.log", LogOf(header, {{1, LogRecordKind::kFull, Batch("a")}}));
    ASSERT_TRUE(Salvage(&gaps, FileNumber(3)).ok());
    EXPECT_EQ(gaps.size(), length > kLogHeaderBytes ? 1u : 0u);
    EXPECT_EQ(delivered_.size(), 1u);
  }
  RemoveAll();
  // One whose header cannot be read is told of once.
  WriteFile("000003.log", std::string(600, 'x'));
  ASSERT_TRUE(Salvage(&gaps, FileNumber(3)).ok());
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].end_offset, 600u);
}

// The header of the first one is damaged.
TEST_F(RecoveryIoTest, SalvageReadsALogByWhatTheNextOneSaysOfItUnlessThatIsImpossible) {
  std::string damaged = LogOf(Header(1), {{1, LogRecordKind::kFull, Batch("a")}});
  const uint64_t length = damaged.size();
  damaged[20] ^= 1;
  WriteFile("000001.log", damaged);
  LogHeader next = Header(2);
  next.start = LogPosition(length - kLogHeaderBytes);
  next.predecessor = {FileNumber(1), Header(1).salt, length};
  std::vector<LogGap> gaps;
  const auto delivered_beside = [&](const LogHeader& header) {
    WriteFile("000002.log", LogOf(header, {}));
    EXPECT_TRUE(Salvage(&gaps).ok());
    return !delivered_.empty();
  };
  EXPECT_TRUE(delivered_beside(next));
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].end_offset, kLogHeaderBytes) << "the header alone";
  LogHeader after_an_opening = next;
  after_an_opening.ring = {FileNumber(2), 4096};
  EXPECT_TRUE(delivered_beside(after_an_opening)) << "the ring is not that of the damaged one";
  LogHeader foreign = next;
  foreign.database_id = 99;
  EXPECT_FALSE(delivered_beside(foreign));
  ASSERT_TRUE(Salvage(&gaps, {}, /*database_id=*/0).ok());
  EXPECT_EQ(delivered_.size(), 1u) << "nobody knows which one it was";
  LogHeader empty = next;
  empty.predecessor.length_bytes = kLogHeaderBytes;
  EXPECT_FALSE(delivered_beside(empty)) << "no record before it";
  LogHeader long_one = next;
  long_one.start = LogPosition(length - kLogHeaderBytes - 1);
  EXPECT_FALSE(delivered_beside(long_one)) << "longer than all logs before it";
  ASSERT_FALSE(gaps.empty());
  EXPECT_EQ(gaps[0].end_offset, length) << "the whole file";
}

// --- lines of logs ---

TEST_F(RecoveryIoTest, ACloseOfALogBelowTheMinimumNoLongerCounts) {
  WriteFile("000004.log", LogOf(Header(4), {{1, LogRecordKind::kFull, Batch("a")}}));
  const absl::StatusOr<LogRecovery> recovered =
      Recover({.minimum = FileNumber(4), .closed = LogEnd{FileNumber(3), 9999}});
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  EXPECT_EQ(delivered_.size(), 1u);
  EXPECT_TRUE(absl::IsDataLoss(Recover({.minimum = FileNumber(4), .closed = LogEnd{FileNumber(5), 9999}}).status()));
}

TEST_F(RecoveryIoTest, ALogThatEndsBeforeWhereItsSuccessorSaysIsTornThere) {
  const std::string bytes = LogOf(Header(1), {{1, LogRecordKind::kFull, Batch("a")}});
  // Bytes that are no record: fewer than a record's header has, or that many.
  for (const size_t more : {size_t{10}, size_t{100}}) {
    LogHeader next = Header(2);
    next.predecessor = {FileNumber(1), 5, bytes.size() + more};
    next.start = Header(1).PositionAt(bytes.size() + more);
    WriteFile("000001.log", bytes + std::string(200, '\0'));
    WriteFile("000002.log", LogOf(next, {{2, LogRecordKind::kFull, Batch("b")}}));
    const absl::StatusOr<LogRecovery> recovered = Recover();
    ASSERT_TRUE(recovered.ok()) << recovered.status();
    EXPECT_NE(recovered->torn, "");
    EXPECT_EQ(delivered_.size(), 1u);
    EXPECT_GT(recovered->dropped_bytes, 0u) << "what the later log holds";
    // Once the later log says that the earlier one was synced, it is damage.
    next.durable = next.start;
    WriteFile("000002.log", LogOf(next, {{2, LogRecordKind::kFull, Batch("b")}}));
    EXPECT_TRUE(absl::IsDataLoss(Recover().status()));
  }
}

TEST_F(RecoveryIoTest, AHoleBeforeALogWithoutRecordsIsToldThoughItDropsNothing) {
  LogHeader first = Header(1);
  first.start = LogPosition(1000);
  const std::string bytes = LogOf(first, {{1, LogRecordKind::kFull, Batch("a")}});
  LogHeader next = Header(2);
  next.predecessor = {FileNumber(1), 5, bytes.size() + 100};
  next.start = first.PositionAt(bytes.size() + 100);
  WriteFile("000001.log", bytes + std::string(100, '\0'));
  WriteFile("000002.log", LogOf(next, {}));
  // The close, of an impossible length, keeps the second log in the line and proves nothing of the first.
  const absl::StatusOr<LogRecovery> recovered = Recover({.closed = LogEnd{FileNumber(2), 0}});
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  EXPECT_NE(recovered->torn, "");
  EXPECT_EQ(recovered->dropped_bytes, 0u);
  EXPECT_EQ(delivered_.size(), 1u);
}

// --- manifests of good checksums ---

TEST_F(RecoveryIoTest, ManifestRecordsOutOfPlaceAreDataLossThoughTheirChecksumsAreGood) {
  const auto recover = [&](const ManifestRecords& records) {
    WriteFile("MANIFEST-000001", records.bytes());
    return RecoverManifest(directory_.get(), {}, true, [](const VersionEdit&) { return absl::OkStatus(); }).status();
  };
  using Kind = ManifestRecordKind;
  EXPECT_TRUE(recover(ManifestRecords(1).Edit().Seal()).ok());
  EXPECT_TRUE(absl::IsDataLoss(recover(ManifestRecords(1).Edit().Seal().Seal()))) << "sealed twice";
  EXPECT_TRUE(absl::IsDataLoss(recover(ManifestRecords(1).Edit().Seal(1)))) << "another count";
  EXPECT_TRUE(absl::IsDataLoss(recover(ManifestRecords(1).Edit().Seal(0, 1)))) << "another checksum";
  EXPECT_TRUE(absl::IsDataLoss(recover(ManifestRecords(1).Edit().Add(Kind::kSeal, "short"))));
  EXPECT_TRUE(absl::IsDataLoss(recover(ManifestRecords(1).Edit().Control(Kind::kContinuedIn, 2)))) << "not sealed";
  EXPECT_TRUE(absl::IsDataLoss(recover(ManifestRecords(1).Edit().Seal().Control(Kind::kContinuedIn, 1)))) << "itself";
  EXPECT_TRUE(absl::IsDataLoss(recover(ManifestRecords(1).Edit().Seal().Add(Kind::kContinuedIn, "x"))));
  EXPECT_TRUE(absl::IsDataLoss(recover(ManifestRecords(1).Edit().Control(Kind::kSynced, 10)))) << "not sealed";
  EXPECT_TRUE(absl::IsDataLoss(recover(ManifestRecords(1).Edit().Seal().Control(Kind::kSynced, 9999)))) << "ahead";
  EXPECT_TRUE(absl::IsDataLoss(recover(ManifestRecords(1).Edit().Seal().Add(Kind::kSynced, "x"))));
  EXPECT_TRUE(absl::IsDataLoss(recover(ManifestRecords(1).Edit().Seal().Add(Kind::kEdit, "\xff\xff"))));
  EXPECT_TRUE(absl::IsDataLoss(recover(ManifestRecords(1).Edit().Seal().Add(static_cast<Kind>(77), ""))));
}

TEST_F(RecoveryIoTest, ASuccessorOfAnotherDatabaseIsDataLoss) {
  WriteFile("MANIFEST-000001", ManifestRecords(1).Edit().Seal().Control(ManifestRecordKind::kContinuedIn, 2).bytes());
  std::string other = ManifestHeader{FileNumber(2), 99}.Encode();
  uint64_t checksum = ManifestHeaderChecksum(other);
  checksum = AppendManifestRecord(&other, ManifestRecordKind::kSeal, EncodeManifestSeal(0, checksum), checksum);
  WriteFile("MANIFEST-000002", other);
  EXPECT_TRUE(absl::IsDataLoss(
      RecoverManifest(directory_.get(), {}, true, [](const VersionEdit&) { return absl::OkStatus(); }).status()));
}

TEST_F(RecoveryIoTest, AManifestWhoseSealIsDamagedBearsWitnessThatItWasInUse) {
  using Kind = ManifestRecordKind;
  const auto recover = [&] {
    return RecoverManifest(directory_.get(), {}, true, [](const VersionEdit&) { return absl::OkStatus(); }).status();
  };
  const auto damaged = [](uint64_t number) {
    ManifestRecords records(number);
    records.Edit();
    const size_t seal = records.bytes().size();
    records.Seal();
    std::string bytes = records.Control(Kind::kSynced, records.bytes().size()).bytes();
    bytes[seal + kManifestRecordHeaderBytes] ^= 1;
    return bytes;
  };
  const std::string whole = ManifestRecords(2).Edit().Seal().bytes();
  WriteFile("MANIFEST-000002", whole);
  ASSERT_TRUE(recover().ok());
  // Above the last of the chain.
  WriteFile("MANIFEST-000003", damaged(3));
  const absl::Status above = recover();
  EXPECT_TRUE(absl::IsDataLoss(above));
  EXPECT_NE(above.ToString().find("MANIFEST-000003"), std::string::npos) << above;
  // Where the last of the chain ends badly too, that is what is told, for it should have led there.
  WriteFile("MANIFEST-000002", whole + "torn");
  const absl::Status end = recover();
  EXPECT_TRUE(absl::IsDataLoss(end));
  EXPECT_NE(end.ToString().find("MANIFEST-000002"), std::string::npos) << end;
  // Below it.
  ASSERT_TRUE(directory_->Remove("MANIFEST-000003").ok());
  WriteFile("MANIFEST-000001", damaged(1));
  const absl::Status below = recover();
  EXPECT_TRUE(absl::IsDataLoss(below));
  EXPECT_NE(below.ToString().find("MANIFEST-000001"), std::string::npos) << below;
}

TEST_F(RecoveryIoTest, AManifestMadeAfterTheListingIsFound) {
  WriteFile("MANIFEST-000001", ManifestRecords(1).Edit().Seal().Control(ManifestRecordKind::kContinuedIn, 2).bytes());
  const std::vector<DirectoryEntry> listing = directory_->List().value();
  WriteFile("MANIFEST-000002", ManifestRecords(2).Edit().Edit().Seal().bytes());
  uint64_t edits = 0;
  const auto recover = [&] {
    edits = 0;
    return RecoverManifest(directory_.get(), listing, {}, true, [&](const VersionEdit&) {
      ++edits;
      return absl::OkStatus();
    });
  };
  FailEachCall([&] { return recover().status(); });
  const absl::StatusOr<ManifestRecovery> recovered = recover();
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  EXPECT_EQ(recovered->number, FileNumber(2));
  EXPECT_EQ(edits, 2u);
}

TEST_F(RecoveryIoTest, SalvageFollowsAManifestBehindAMarkThoughItsHeadersChecksumIsDamaged) {
  std::string bytes;
  size_t first_edit = 0;
  {
    ManifestRecords records(1);
    first_edit = records.bytes().size();
    records.Edit().Seal();
    records.Control(ManifestRecordKind::kSynced, records.bytes().size());
    bytes = records.Edit().Edit().Add(ManifestRecordKind::kEdit, "\xff\xff").Edit().bytes();
  }
  WriteFile("notes.txt", "no file of ours");
  // The header's checksum seeds the chain: nothing before the mark can be told to be whole.
  bytes[kManifestHeaderBytes - 1] ^= 1;
  bytes[first_edit + 2] ^= 1;
  WriteFile("MANIFEST-000001", bytes);
  const absl::StatusOr<SalvagedManifest> salvaged = SalvageManifest(directory_.get());
  ASSERT_TRUE(salvaged.ok()) << salvaged.status();
  EXPECT_EQ(salvaged->edits.size(), 3u) << "an edit that is none is passed over";
  EXPECT_EQ(salvaged->database_id, 0u);
}

TEST_F(RecoveryIoTest, ALargeSnapshotIsWrittenInPiecesAndEachFailedCallOfItIsTold) {
  VersionEdit edit;
  edit.database_id = 1;
  edit.created_families.push_back({ColumnFamilyId(1), std::string(100'000, 'n'), "order", false});
  const std::vector<VersionEdit> snapshot(40, edit);
  uint64_t number = 10;
  bool whole = false;
  for (uint64_t skip = 0; !whole; ++skip) {
    const uint64_t faults = faults_.FaultCount();
    faults_.Inject({.fault = Fault::kIoError, .skip = skip});
    const auto made = ManifestWriter::Create(directory_.get(), FileNumber(++number), 1, snapshot, nullptr);
    whole = faults_.FaultCount() == faults;
    faults_.Clear();
    EXPECT_TRUE(made.ok() || absl::IsInternal(made.status())) << made.status();
    EXPECT_TRUE(made.ok() || !whole);
    ASSERT_LT(skip, 100u);
  }
  uint64_t families = 0;
  const std::vector<DirectoryEntry> entries = directory_->List().value();
  for (const DirectoryEntry& entry : entries) {
    if (entry.name == ManifestFileName(FileNumber(number))) continue;
    ASSERT_TRUE(directory_->Remove(entry.name).ok());
  }
  ASSERT_TRUE(RecoverManifest(directory_.get(), {}, true, [&](const VersionEdit& e) {
                families += e.created_families.size();
                return absl::OkStatus();
              }).ok());
  EXPECT_EQ(families, 40u);
}

}  // namespace
}  // namespace sepal
