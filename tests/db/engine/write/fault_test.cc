// File calls that fail: what is acknowledged stays, nothing wrong is returned, and nothing hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "table/file/table_format.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

using FaultTest = EngineTest;

TEST_F(FaultTest, AFailedMarkInTheManifestEndsWritingWithAReason) {
  for (const Fault fault : {Fault::kIoError, Fault::kNoSpace, Fault::kShortWrite}) {
    ASSERT_OK(db()->Put("k", "1"));
    // The append after the edit's own.
    database.files.Inject({.fault = fault, .op = FileOp::kAppend, .name_contains = "MANIFEST", .skip = 1});
    db()->Flush().IgnoreError();
    // The next edit, of this flush or of a compaction before it, meets the failure.
    db()->Put("k", "2").IgnoreError();
    EXPECT_TRUE(absl::IsInternal(db()->Flush()));
    EXPECT_TRUE(absl::IsInternal(db()->Put("k", "3")));
    EXPECT_THAT(db()->GetProperty("sepal.background-error").value(), HasSubstr("MANIFEST"));
    const std::string value = Value(db(), "k");
    database.files.Clear();
    ASSERT_OK(database.CrashAndReopen(CrashMode::kKillProcess));
    EXPECT_EQ(Value(db(), "k"), value);
  }
}

TEST_F(FaultTest, AFailedDirectorySyncEndsWritingWhateverItsReason) {
  for (const Fault fault : {Fault::kIoError, Fault::kNoSpace, Fault::kTooManyFiles}) {
    ASSERT_OK(db()->Put("k", "1", {.sync = true}));
    database.files.Inject({.fault = fault, .op = FileOp::kDirectorySync});
    EXPECT_TRUE(absl::IsInternal(db()->Flush()));
    EXPECT_TRUE(absl::IsInternal(db()->Put("refused", "v")));
    database.files.Clear();
    ASSERT_OK(database.CrashAndReopen(CrashMode::kAnySubset, 5));
    EXPECT_EQ(Value(db(), "k"), "1");
    EXPECT_EQ(Value(db(), "refused"), "NOT_FOUND");
  }
}

// Frees the disk once background work was heard to wait for it `tries` times.
class FreesTheDisk : public EventListener {
 public:
  FreesTheDisk(FaultFileSystem* files, int tries) : files_(files), left_(tries) {}
  void OnError(std::string_view, const absl::Status& status) override {
    if (absl::IsResourceExhausted(status) && --left_ == 0) files_->Clear();
  }
  int left() const { return left_; }

 private:
  FaultFileSystem* const files_;
  int left_;
};

TEST(QuotaTest, AFlushWaitsAsLongAsItsQuotaIsFullThoughTheDiskHasSpace) {
  TestDatabase database;
  const auto listener = std::make_shared<FreesTheDisk>(&database.files, 100);
  database.options.listeners = {listener};
  ASSERT_OK(database.Open());
  ASSERT_OK(database.db->Put("k", "v"));
  database.files.Inject({.fault = Fault::kNoSpace, .op = FileOp::kAppend, .name_contains = ".sst", .sticky = true});
  ASSERT_OK(database.db->Flush());
  EXPECT_EQ(listener->left(), 0);
  ASSERT_OK(database.db->Put("k", "w"));
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Value(database.db.get(), "k"), "w");
}

TEST(ManifestSpaceTest, ADiskThatIsFullWhenTheManifestNeedsSpaceDelaysAFlushAndEndsNothing) {
  TestDatabase database;
  database.tuning.manifest_limit_bytes = uint64_t{1} << 30;
  ASSERT_OK(database.Open());
  DB* const db = database.db.get();
  database.files.Inject({.fault = Fault::kNoSpace, .op = FileOp::kAllocate, .name_contains = "MANIFEST"});
  const uint64_t before = database.files.FaultCount();
  for (int i = 0; i < 3000 && database.files.FaultCount() == before; ++i) {
    ASSERT_OK(db->Put("key" + std::to_string(i % 10), std::to_string(i)));
    ASSERT_OK(db->Flush());
  }
  ASSERT_GT(database.files.FaultCount(), before);
  EXPECT_EQ(db->GetProperty("sepal.background-error"), "OK");
  ASSERT_OK(db->Put("after", "1"));
  ASSERT_OK(db->Flush());
  ASSERT_OK(db->CheckConsistency());
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Value(database.db.get(), "after"), "1");
}

TEST_F(FaultTest, AFailedReadIsAnErrorNeverAMissingKey) {
  Fill(0, 1000);
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->WaitForBackgroundWork());
  database.files.Inject({.fault = Fault::kIoError, .op = FileOp::kRead, .name_contains = ".sst", .sticky = true});
  uint64_t failed = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    const absl::StatusOr<std::string> value = db()->Get(NumberedKey(i));
    EXPECT_FALSE(absl::IsNotFound(value.status()));
    failed += value.ok() ? 0 : 1;
  }
  EXPECT_GT(failed, 0u);
  const std::unique_ptr<Iterator> it = db()->NewIterator();
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
  }
  EXPECT_FALSE(it->status().ok());
  for (it->SeekToLast(); it->Valid(); it->Prev()) {
  }
  EXPECT_FALSE(it->status().ok());
  EXPECT_FALSE(db()->VerifyChecksums().ok());
  database.files.Clear();
  EXPECT_EQ(ReadAll(db()->NewIterator().get()).size(), 1000u);
  ASSERT_OK(db()->VerifyChecksums());
}

TEST_F(FaultTest, AFailedReadInACompactionDropsNothing) {
  for (uint64_t skip = 0; skip < 40; ++skip) {
    Fill(0, 100, 20 + skip);
    ASSERT_OK(db()->Flush());
    ASSERT_OK(database.Reopen());
    database.files.Inject({.fault = Fault::kIoError, .op = FileOp::kRead, .name_contains = ".sst", .skip = skip});
    const absl::Status compacted = db()->CompactRange();
    const bool failed = database.files.FaultCount() > 0;
    database.files.Clear();
    ASSERT_TRUE(compacted.ok() || failed) << compacted;
    ASSERT_EQ(ReadAll(db()->NewIterator().get()).size(), 100u) << "read " << skip;
    database.db.reset();
    ASSERT_OK(database.Open());
    ASSERT_EQ(ReadAll(db()->NewIterator().get()).size(), 100u) << "read " << skip;
    EXPECT_EQ(Value(db(), NumberedKey(7)).size(), 20 + skip);
  }
}

// Of an open table these are in memory.
TEST_F(FaultTest, AVerificationReadsTheLastUnitsOfATableThatIsOpenToo) {
  Fill(0, 60);
  ASSERT_OK(db()->Flush());
  std::string table;
  for (const std::string& name : FilesIn(&database.memory, "/db")) {
    if (name.ends_with(".sst")) table = "/db/" + name;
  }
  ASSERT_OK(db()->Get(NumberedKey(7)).status());
  const std::string bytes = database.memory.ReadFileContents(table).value();
  const Footer footer = Footer::Decode(bytes, table, bytes.size()).value();
  for (const uint64_t offset :
       {footer.root.offset, footer.guard.offset, footer.properties.offset, bytes.size() - kFooterBytes}) {
    ASSERT_OK(database.memory.FlipBit(table, offset, 2));
    EXPECT_TRUE(absl::IsDataLoss(db()->VerifyChecksums())) << "offset " << offset;
    ASSERT_OK(database.memory.FlipBit(table, offset, 2));
  }
  EXPECT_OK(db()->VerifyChecksums());
}

TEST_F(FaultTest, EveryFlippedBitOfATableIsFoundAndNeverBecomesAWrongValue) {
  Fill(0, 60);
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->Close());
  database.db.reset();
  std::string table;
  for (const std::string& name : FilesIn(&database.memory, "/db")) {
    if (name.ends_with(".sst")) table = "/db/" + name;
  }
  const uint64_t size = database.memory.ReadFileContents(table).value().size();
  // The footer whole: its format version, too, is covered by what the manifest knows.
  for (uint64_t offset = 0; offset < size; offset += offset + kFooterBytes + 37 < size ? 37 : 1) {
    ASSERT_OK(database.memory.FlipBit(table, offset, static_cast<int>(offset % 8)));
    const absl::StatusOr<std::unique_ptr<DB>> reader = database.OpenReadOnly();
    ASSERT_OK(reader.status());
    EXPECT_TRUE(absl::IsDataLoss((*reader)->VerifyChecksums())) << "offset " << offset;
    for (uint64_t i = 0; i < 60; ++i) {
      const absl::StatusOr<std::string> value = (*reader)->Get(NumberedKey(i));
      if (value.ok()) {
        EXPECT_TRUE(value->starts_with(std::to_string(i) + ":")) << "offset " << offset;
      } else {
        EXPECT_TRUE(absl::IsDataLoss(value.status())) << value.status() << " offset " << offset;
      }
    }
    ASSERT_OK(database.memory.FlipBit(table, offset, static_cast<int>(offset % 8)));
  }
}

// A script of about a hundred operations, of every kind that touches files. Each write's outcome is noted.
class Script {
 public:
  struct Write {
    std::string key, value;
    bool acknowledged, synced;
  };

  // Runs until its end, whatever fails.
  void Run(TestDatabase* database) {
    if (!database->Open().ok()) return;
    DB* const db = database->db.get();
    std::shared_ptr<ColumnFamily> family;
    if (auto made = db->CreateColumnFamily("f", database->options.family); made.ok()) family = *made;
    for (int i = 0; i < 60; ++i) {
      Put(db, i % 7 == 3);
      if (i % 16 == 15 && db->Flush().ok()) AllDurable();
      if (i == 40 && db->CompactRange().ok()) AllDurable();
      if (i % 10 == 9) CheckReads(db);
      if (i == 30 && family != nullptr) {
        db->Put(*family, "k", "v").IgnoreError();
        db->Flush(*family).IgnoreError();
      }
      if (i == 50 && family != nullptr) db->DropColumnFamily(*family).IgnoreError();
    }
    if (db->Sync().ok()) AllDurable();
    db->WaitForBackgroundWork().IgnoreError();
    const bool closed = db->Close().ok();
    database->db.reset();
    if (closed) AllDurable();
  }

  // What survived is a prefix of the writes, whole up to the last that was synced (or, without a loss of power, the
  // last that was acknowledged).
  void Verify(DB* db, bool power_lost) const {
    ASSERT_OK(db->CheckConsistency());
    const std::unique_ptr<Iterator> it = db->NewIterator();
    const Entries found = ReadAll(it.get());
    ASSERT_OK(it->status());
    size_t must = 0;
    for (size_t i = 0; i < writes_.size(); ++i) {
      if (power_lost ? writes_[i].synced : writes_[i].acknowledged) must = i + 1;
    }
    std::map<std::string, std::string> acknowledged;
    bool matches = must == 0 && found.empty();
    for (size_t i = 0; i < writes_.size() && !matches; ++i) {
      // A write that failed left no trace, but for the one after which the database refused all others: its fate is
      // unknown, and it is the last.
      std::map<std::string, std::string> expected = acknowledged;
      expected[writes_[i].key] = writes_[i].value;
      if (writes_[i].acknowledged) acknowledged = expected;
      matches = i + 1 >= must && (Entries(expected.begin(), expected.end()) == found ||
                                  Entries(acknowledged.begin(), acknowledged.end()) == found);
    }
    EXPECT_TRUE(matches) << "of " << writes_.size() << " writes, " << must << " must be there; found " << found.size()
                         << " entries";
  }

 private:
  void Put(DB* db, bool sync) {
    const size_t number = writes_.size();
    Write write{.key = NumberedKey(number % 25),
                .value = std::to_string(number) + std::string(number % 3 == 0 ? 300 : 20, 'v'),
                .acknowledged = false,
                .synced = false};
    write.acknowledged = db->Put(write.key, write.value, {.sync = sync}).ok();
    const bool durable = write.acknowledged && sync;
    writes_.push_back(std::move(write));
    if (durable) AllDurable();
  }
  void AllDurable() {
    for (Write& write : writes_) write.synced = write.synced || write.acknowledged;
  }
  // Reads may fail; they may not be wrong.
  void CheckReads(DB* db) const {
    std::map<std::string, std::string> newest;
    for (const Write& write : writes_) {
      if (write.acknowledged) newest[write.key] = write.value;
    }
    for (const auto& [key, value] : newest) {
      const absl::StatusOr<std::string> read = db->Get(key);
      EXPECT_FALSE(absl::IsNotFound(read.status())) << key;
      if (read.ok() && writes_.back().acknowledged) {
        EXPECT_EQ(*read, value);
      }
    }
  }

  std::vector<Write> writes_;
};

class FailEveryCallTest : public ::testing::TestWithParam<int> {
 protected:
  static constexpr uint64_t kParts = 8;
  static constexpr uint32_t kSwitchOneIn = 100;
  // The parts together meet every call with SEPAL_FAIL_EVERY_CALL set, else some of all places of the script.
  static uint64_t Step() { return std::getenv("SEPAL_FAIL_EVERY_CALL") != nullptr ? kParts : 61; }

  static uint64_t CallsWithoutFault() {
    TestDatabase database(Threads::kSimulated, 1, kSwitchOneIn);
    database.tuning.memtable_bytes = size_t{4} << 10;
    Script().Run(&database);
    return database.files.CallCount();
  }

  void FailEachCall(Fault fault, bool sticky) {
    uint64_t calls = CallsWithoutFault();
    for (uint64_t k = 1 + static_cast<uint64_t>(GetParam()); k <= calls; k += Step()) {
      TestDatabase database(Threads::kSimulated, k, kSwitchOneIn);
      database.tuning.memtable_bytes = size_t{4} << 10;
      Script script;
      database.files.SetDecider(
          [&](const FileCall& call) { return call.number == k || (sticky && call.number > k) ? fault : Fault::kNone; });
      script.Run(&database);
      calls = std::max(calls, database.files.CallCount());
      database.files.Clear();
      const bool power_lost = k % 2 == 0;
      const absl::Status opened =
          database.CrashAndReopen(power_lost ? CrashMode::kAnySubset : CrashMode::kKillProcess, k);
      ASSERT_TRUE(opened.ok()) << "call " << k << ": " << opened;
      script.Verify(database.db.get(), power_lost);
      ASSERT_FALSE(HasFailure()) << "call " << k << " of " << calls;
    }
    EXPECT_GT(calls, 300u);
  }
};

TEST_P(FailEveryCallTest, AnErrorInAnyCallLosesNothingAcknowledged) { FailEachCall(Fault::kIoError, false); }
TEST_P(FailEveryCallTest, ErrorsFromAnyCallOnLoseNothingAcknowledged) { FailEachCall(Fault::kIoError, true); }
TEST_P(FailEveryCallTest, AShortWriteInAnyCallLosesNothingAcknowledged) { FailEachCall(Fault::kShortWrite, false); }
TEST_P(FailEveryCallTest, AnErrorAfterTheEffectOfAnyCallLosesNothingAcknowledged) {
  FailEachCall(Fault::kFailAfter, false);
}
TEST_P(FailEveryCallTest, AFullDiskInAnyCallLosesNothingAcknowledged) { FailEachCall(Fault::kNoSpace, false); }

INSTANTIATE_TEST_SUITE_P(AllCalls, FailEveryCallTest, ::testing::Range(0, 8));

}  // namespace
}  // namespace sepal
