// Recovery and salvage on a disk whose calls fail, and on files of good checksums that no writer of ours would make.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

#include "db/act/log_salvage.h"
#include "db/act/manifest_recovery.h"
#include "db/act/manifest_salvage.h"
#include "db/act/manifest_writer.h"
#include "db/format/file_names.h"
#include "tests/db/act/log_fixture.h"
#include "util/coding.h"
#include "util/status.h"

namespace sepal {
namespace {

class RecoveryIoTest : public LogFixture {
 protected:
  struct Fragment {
    uint64_t sequence;
    LogRecordKind kind;
    std::string payload;
    uint64_t durable = 0;
  };

  void WriteFile(const std::string& name, std::string_view bytes) {
    ASSERT_TRUE(memory_.WriteFileContents("db/" + name, bytes).ok());
  }

  static LogHeader Header(uint64_t number) {
    LogHeader header;
    header.database_id = kDatabase;
    header.number = FileNumber(number);
    header.salt = 5;
    return header;
  }

  // A log of good checksums.
  static std::string LogOf(const LogHeader& header, const std::vector<Fragment>& fragments) {
    std::string bytes = header.Encode();
    for (const Fragment& fragment : fragments) {
      char record[kLogRecordHeaderBytes];
      EncodeLogRecordHeader(record, header.salt, header.PositionAt(bytes.size()), SequenceNumber(fragment.sequence),
                            fragment.kind, LogPosition(fragment.durable), fragment.payload);
      bytes.append(record, sizeof record);
      bytes += fragment.payload;
    }
    return bytes;
  }

  absl::StatusOr<LogRecovery> RecoverOne(const std::vector<Fragment>& fragments) {
    WriteFile(LogFileName(FileNumber(1)), LogOf(Header(1), fragments));
    return Recover();
  }

  absl::Status Salvage(std::vector<LogGap>* gaps) {
    delivered_.clear();
    ASSIGN_OR_RETURN(const std::vector<LogFile> logs, ListLogs(directory_.get()));
    return SalvageLogs(
        directory_.get(), logs, kDatabase, FileNumber(0),
        [&](SequenceNumber first, std::string_view batch) {
          delivered_.push_back(absl::StrFormat("%u %s", first.value(), batch));
          return absl::OkStatus();
        },
        gaps);
  }

  // Each file call of `work`, which goes well without faults, fails once; the error comes through.
  void FailEachCall(const std::function<absl::Status()>& work) {
    const uint64_t before = faults_.CallCount();
    ASSERT_TRUE(work().ok()) << work();
    const uint64_t calls = faults_.CallCount() - before;
    ASSERT_GT(calls, 0u);
    for (uint64_t skip = 0; skip < calls; ++skip) {
      faults_.Inject({.fault = Fault::kIoError, .skip = skip});
      const absl::Status status = work();
      faults_.Clear();
      EXPECT_TRUE(absl::IsInternal(status)) << "call " << skip << " of " << calls << ": " << status;
    }
  }
  // The same where the caller may do without what could not be read, but is not misled.
  void FailEachCallSoftly(const std::function<absl::Status()>& work) {
    const uint64_t before = faults_.CallCount();
    ASSERT_TRUE(work().ok());
    const uint64_t calls = faults_.CallCount() - before;
    for (uint64_t skip = 0; skip < calls; ++skip) {
      faults_.Inject({.fault = Fault::kIoError, .skip = skip});
      const absl::Status status = work();
      faults_.Clear();
      EXPECT_TRUE(status.ok() || absl::IsInternal(status)) << status;
    }
  }

  // Two logs of which the last ends torn, a log without records, one without a header, and a file that is none.
  void MakeLogs() {
    auto log = WriteAheadLog::Create(directory_.get(), Options(), FirstLog()).value();
    ASSERT_TRUE(log->Append(SequenceNumber(1), Batch("one")).ok());
    ASSERT_TRUE(log->Rotate(FileNumber(2), {}).ok());
    ASSERT_TRUE(log->Append(SequenceNumber(2), Batch("two")).ok());
    const LogPosition end = log->Append(SequenceNumber(3), Batch(std::string(3000, 'x'))).value();
    ASSERT_GT(end.value(), 3000u);
    log.reset();
    std::string bytes = memory_.ReadFileContents("db/000002.log").value();
    bytes[kLogHeaderBytes + 150] ^= 1;  // within the last record
    bytes.resize(std::max<size_t>(bytes.size(), 200'000));
    WriteFile("000002.log", bytes);
    WriteFile("000007.log", std::string(300, '\0'));
    WriteFile("000003.sst", "no log");
  }
};

TEST_F(RecoveryIoTest, EveryFailedCallEndsTheRecoveryOfTheLogs) {
  MakeLogs();
  FailEachCall([&] { return Recover().status(); });
  ASSERT_TRUE(Recover().ok());
  EXPECT_EQ(delivered_.size(), 2u);
}

TEST_F(RecoveryIoTest, EveryFailedCallEndsTheSalvageOfTheLogs) {
  MakeLogs();
  FailEachCall([&] {
    std::vector<LogGap> gaps;
    return Salvage(&gaps);
  });
  std::vector<LogGap> gaps;
  ASSERT_TRUE(Salvage(&gaps).ok());
  EXPECT_EQ(delivered_.size(), 2u);
  EXPECT_FALSE(gaps.empty());
}

TEST_F(RecoveryIoTest, EveryFailedCallEndsTheRecoveryAndTheSalvageOfTheManifest) {
  VersionEdit edit;
  edit.database_id = 1;
  edit.last_sequence = SequenceNumber(7);
  const std::vector<VersionEdit> snapshot = {edit};
  auto first = ManifestWriter::Create(directory_.get(), FileNumber(1), 1, snapshot, nullptr).value();
  ASSERT_TRUE(first->AddEdit(edit).ok());
  auto second = ManifestWriter::Create(directory_.get(), FileNumber(2), 1, snapshot, first.get()).value();
  ASSERT_TRUE(second->AddEdit(edit).ok());
  ASSERT_TRUE(second->Close().ok());
  WriteFile("MANIFEST-000002", memory_.ReadFileContents("db/MANIFEST-000002").value() + "torn");
  WriteFile("MANIFEST-000005", "SPALMANI");  // was never sealed
  const auto recover = [&] {
    return RecoverManifest(directory_.get(), {}, true, [](const VersionEdit&) { return absl::OkStatus(); }).status();
  };
  FailEachCall(recover);
  FailEachCallSoftly([&] { return SalvageManifest(directory_.get()).status(); });
}

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

TEST_F(RecoveryIoTest, ABatchWithoutItsLastFragmentIsATornEnd) {
  std::string bytes = LogOf(Header(1), {{1, LogRecordKind::kFull, Batch("a")}, {2, LogRecordKind::kFirst, "begin"}});
  WriteFile("000001.log", bytes);
  absl::StatusOr<LogRecovery> recovered = Recover();
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  EXPECT_NE(recovered->torn, "");
  EXPECT_EQ(delivered_.size(), 1u);
  WriteFile("000001.log", bytes + std::string(1000, '\0'));
  recovered = Recover();
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  EXPECT_NE(recovered->torn, "");
  WriteFile("000001.log", bytes + std::string(10, '\0'));
  EXPECT_TRUE(Recover().ok()) << "less than a record's header";
}

TEST_F(RecoveryIoTest, ALogOfANewerFormatIsRefusedAsSuch) {
  std::string bytes = LogOf(Header(1), {});
  EncodeFixed32(bytes.data() + 8, 2);
  EncodeFixed64(bytes.data() + 504, Checksum64(std::string_view(bytes).substr(0, 504), 0));
  WriteFile("000001.log", bytes);
  EXPECT_TRUE(absl::IsFailedPrecondition(Recover().status())) << Recover().status();
  EXPECT_EQ(NewestManifest(ListLogs(directory_.get()).value()).number, FileNumber(0));
}

TEST_F(RecoveryIoTest, ADamagedLogBelowTheMinimumIsNotNeeded) {
  WriteFile("000001.log", std::string(600, 'x'));
  WriteFile("000002.log", LogOf(Header(2), {{1, LogRecordKind::kFull, Batch("a")}}));
  EXPECT_TRUE(absl::IsDataLoss(Recover().status()));
  const absl::StatusOr<LogRecovery> recovered = Recover({.minimum = FileNumber(2)});
  EXPECT_TRUE(recovered.ok()) << recovered.status();
}

TEST_F(RecoveryIoTest, AMinimumOrAPredecessorThatIsMissingIsDataLoss) {
  LogHeader header = Header(4);
  WriteFile("000004.log", LogOf(header, {{1, LogRecordKind::kFull, Batch("a")}}));
  EXPECT_TRUE(absl::IsDataLoss(Recover({.minimum = FileNumber(3)}).status()));
  WriteFile("000002.log", LogOf(Header(2), {{1, LogRecordKind::kFull, Batch("a")}}));
  header.predecessor = {FileNumber(3), 5, 600};
  header.start = LogPosition(600);
  WriteFile("000004.log", LogOf(header, {{2, LogRecordKind::kFull, Batch("a")}}));
  EXPECT_TRUE(absl::IsDataLoss(Recover().status())) << "the one before it is neither there nor the one that is";
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

// --- manifests of good checksums ---

// What is made of a manifest's records.
class ManifestRecords {
 public:
  explicit ManifestRecords(uint64_t number) : bytes_(ManifestHeader{FileNumber(number), 1}.Encode()) {
    header_ = checksum_ = ManifestHeaderChecksum(bytes_);
  }
  ManifestRecords& Add(ManifestRecordKind kind, std::string_view payload) {
    checksum_ = AppendManifestRecord(&bytes_, kind, payload, checksum_);
    return *this;
  }
  ManifestRecords& Edit() {
    VersionEdit edit;
    edit.database_id = 1;
    ++edits_;
    return Add(ManifestRecordKind::kEdit, edit.Encode());
  }
  ManifestRecords& Seal(uint64_t more_records = 0, uint64_t other_checksum = 0) {
    return Add(ManifestRecordKind::kSeal, EncodeManifestSeal(edits_ + more_records, checksum_ ^ other_checksum));
  }
  ManifestRecords& Control(ManifestRecordKind kind, uint64_t value) {
    return Add(kind, EncodeManifestControl(kind, value, bytes_.size(), header_));
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  uint64_t header_ = 0;
  uint64_t checksum_ = 0;
  uint64_t edits_ = 0;
};

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

TEST_F(RecoveryIoTest, AManifestOfANewerFormatIsRefusedAsSuch) {
  std::string bytes = ManifestRecords(1).Edit().Seal().bytes();
  EncodeFixed32(bytes.data() + 8, 99);
  WriteFile("MANIFEST-000001", bytes);
  const absl::Status status =
      RecoverManifest(directory_.get(), {}, true, [](const VersionEdit&) { return absl::OkStatus(); }).status();
  EXPECT_FALSE(status.ok());
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
