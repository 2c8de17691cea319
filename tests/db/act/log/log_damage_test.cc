// What recovery makes of logs that were damaged or cut off: what was acknowledged as durable, or DataLoss.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/act/log/log_recovery.h"
#include "db/act/log/write_ahead_log.h"
#include "db/format/file_names.h"
#include "sepal/simulation/fault_file_system.h"
#include "sepal/simulation/memory_file_system.h"
#include "sepal/write_batch.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

constexpr uint64_t kDatabase = 0xdb;

using Files = std::map<std::string, std::string>;

std::string Batch(std::string_view text) {
  WriteBatch batch;
  batch.Put(text, "");
  return batch.bytes();
}

LogOptions Options() {
  LogOptions options;
  options.database_id = kDatabase;
  options.random_seed = 7;
  options.allocation_step_bytes = 256;
  options.max_fragment_bytes = 64;
  return options;
}

struct Outcome {
  absl::Status status;
  LogRecovery recovery;
  std::vector<uint64_t> sequences;
  bool contents_right = true;
};

// Record i of every history here has the sequence number i and the text that it stands for.
std::string TextOf(uint64_t sequence) { return absl::StrFormat("text of %u", sequence); }

Outcome RecoverFrom(Directory* directory, LogRecoveryOptions options) {
  options.database_id = kDatabase;
  Outcome outcome;
  const auto logs = ListLogs(directory);
  outcome.status = logs.status();
  if (!logs.ok()) return outcome;
  auto recovery = RecoverLogs(directory, *logs, options, [&](SequenceNumber first, std::string_view batch) {
    outcome.sequences.push_back(first.value());
    outcome.contents_right &= batch == Batch(TextOf(first.value()));
    return absl::OkStatus();
  });
  outcome.status = recovery.status();
  if (recovery.ok()) outcome.recovery = *std::move(recovery);
  return outcome;
}

Outcome RecoverFrom(const Files& files, const LogRecoveryOptions& options = {}) {
  MemoryFileSystem memory;
  auto directory = memory.OpenDirectory("db", true);
  EXPECT_TRUE(directory.ok());
  for (const auto& [name, bytes] : files) EXPECT_TRUE(memory.WriteFileContents("db/" + name, bytes).ok());
  return RecoverFrom(directory->get(), options);
}

std::vector<uint64_t> UpTo(uint64_t last) {
  std::vector<uint64_t> sequences;
  for (uint64_t i = 1; i <= last; ++i) sequences.push_back(i);
  return sequences;
}

// Log 1 holds 1 to 4, synced up to 2 before 3 was written; log 2 holds 5 to 7, synced up to 5 before 6 was written.
class LogDamageTest : public testing::Test {
 protected:
  struct Place {
    std::string file;
    uint64_t begin = 0;
    uint64_t end = 0;
    LogPosition position;
    LogPosition durable;  // what the record says
  };

  LogDamageTest() {
    auto directory = memory_.OpenDirectory("db", true);
    auto log = *WriteAheadLog::Create(directory->get(), Options(), LogStart{.number = FileNumber(1)});
    places_.resize(8);
    for (uint64_t i = 1; i <= 4; ++i) Append(log.get(), i, 1);
    EXPECT_TRUE(log->Rotate(FileNumber(2), {}).ok());
    header_durable_ = log->Durable();
    for (uint64_t i = 5; i <= 7; ++i) Append(log.get(), i, 2);
    for (const char* name : {"000001.log", "000002.log"})
      files_[name] = *memory_.ReadFileContents(std::string("db/") + name);
    closed_ = *log->Close();
  }

  void Append(WriteAheadLog* log, uint64_t sequence, uint64_t number) {
    const LogPosition begin = log->End();
    const LogPosition durable = log->Durable();
    const LogPosition end = *log->Append(SequenceNumber(sequence), Batch(TextOf(sequence)));
    const uint64_t shift = kLogHeaderBytes - log->Live().back().start.value();
    places_[sequence] = {LogFileName(FileNumber(number)), begin.value() + shift, end.value() + shift, begin, durable};
    if (sequence == 2 || sequence == 5) {
      EXPECT_TRUE(log->Sync(end).ok());
    }
  }

  // The record that holds this byte; 0: a header.
  uint64_t RecordAt(const std::string& file, uint64_t offset) const {
    for (uint64_t i = 1; i < places_.size(); ++i) {
      if (places_[i].file == file && offset >= places_[i].begin && offset < places_[i].end) return i;
    }
    return 0;
  }

  // Whether a record or header behind record `bad` says that it was durable.
  bool IsProven(uint64_t bad) const {
    if (bad <= 4 && header_durable_ > places_[bad].position) return true;
    for (uint64_t i = bad + 1; i < places_.size(); ++i) {
      if (places_[i].durable > places_[bad].position) return true;
    }
    return false;
  }

  MemoryFileSystem memory_;
  Files files_;
  LogEnd closed_;
  LogPosition header_durable_;
  std::vector<Place> places_;
};

TEST_F(LogDamageTest, EveryFlippedBitIsDataLossIfItWasKnownToBeDurableAndElseCutsTheEndOff) {
  int losses = 0;
  int cuts = 0;
  for (const auto& [name, bytes] : files_) {
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      Files files = files_;
      files[name][bit / 8] ^= static_cast<char>(1 << (bit % 8));
      const Outcome outcome = RecoverFrom(files);
      const uint64_t record = RecordAt(name, bit / 8);
      if (record == 0 || IsProven(record)) {
        ASSERT_TRUE(absl::IsDataLoss(outcome.status)) << name << " bit " << bit << " " << outcome.status;
        ++losses;
      } else {
        ASSERT_TRUE(outcome.status.ok()) << name << " bit " << bit << " " << outcome.status;
        ASSERT_EQ(outcome.sequences, UpTo(record - 1));
        ASSERT_NE(outcome.recovery.torn, "");
        ++cuts;
      }
      ASSERT_TRUE(outcome.contents_right);
      ASSERT_TRUE(absl::IsDataLoss(RecoverFrom(files, {.closed = closed_}).status)) << name << " bit " << bit;
    }
  }
  EXPECT_GT(losses, 0);
  EXPECT_GT(cuts, 0);
}

TEST_F(LogDamageTest, DataLossNamesFileOffsetExpectedAndGot) {
  Files files = files_;
  files["000001.log"][places_[2].end - 1] ^= 1;
  const std::string message(ToStd(RecoverFrom(files).status.message()));
  EXPECT_NE(message.find(absl::StrFormat("db/000001.log: offset %u", places_[2].begin)), std::string::npos) << message;
  EXPECT_NE(message.find("expected 0x"), std::string::npos) << message;
  EXPECT_NE(message.find("got 0x"), std::string::npos) << message;
}

TEST_F(LogDamageTest, EveryTruncationOfAnEarlierLogIsDataLoss) {
  for (size_t n = 0; n < files_["000001.log"].size(); ++n) {
    Files files = files_;
    files["000001.log"].resize(n);
    ASSERT_TRUE(absl::IsDataLoss(RecoverFrom(files).status)) << n;
  }
}

TEST_F(LogDamageTest, EveryTruncationOfTheLastLogCutsTheEndOffUnlessItWasClosed) {
  for (size_t n = 0; n < files_["000002.log"].size(); ++n) {
    Files files = files_;
    files["000002.log"].resize(n);
    const Outcome outcome = RecoverFrom(files);
    ASSERT_TRUE(outcome.status.ok()) << n << " " << outcome.status;
    uint64_t last = 4;
    while (last < 7 && places_[last + 1].end <= n) ++last;
    ASSERT_EQ(outcome.sequences, UpTo(last)) << n;
    ASSERT_TRUE(absl::IsDataLoss(RecoverFrom(files, {.closed = closed_}).status)) << n;
  }
}

TEST_F(LogDamageTest, AMissingLogThatIsNeededIsDataLoss) {
  Files files = files_;
  files.erase("000001.log");
  EXPECT_TRUE(absl::IsDataLoss(RecoverFrom(files).status)) << "its successor names it";
  EXPECT_TRUE(RecoverFrom(files, {.minimum = FileNumber(2)}).status.ok());
  files = files_;
  files.erase("000002.log");
  EXPECT_TRUE(absl::IsDataLoss(RecoverFrom(files, {.minimum = FileNumber(2)}).status));
  EXPECT_TRUE(absl::IsDataLoss(RecoverFrom(files, {.closed = closed_}).status));
  EXPECT_TRUE(absl::IsDataLoss(RecoverFrom(Files(), {.minimum = FileNumber(1)}).status));
  EXPECT_TRUE(RecoverFrom(Files()).status.ok());
}

TEST_F(LogDamageTest, ALogWithoutRecordsIsALeftoverThatStillBearsWitness) {
  Files files = files_;
  files["000002.log"].resize(kLogHeaderBytes);
  Outcome outcome = RecoverFrom(files);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.sequences, UpTo(4));
  EXPECT_EQ(outcome.recovery.leftovers, std::vector<std::string>{"000002.log"});
  EXPECT_EQ(outcome.recovery.Next(FileNumber(3), SequenceNumber(0), {}).predecessor.number, FileNumber(1));
  EXPECT_EQ(RecoverFrom(files, {.minimum = FileNumber(2)}).recovery.logs.size(), 1u) << "the manifest stands on it";
  files["000001.log"].resize(places_[2].begin);
  EXPECT_TRUE(absl::IsDataLoss(RecoverFrom(files).status)) << "its header says that 2 was synced";
  files.erase("000001.log");
  EXPECT_TRUE(absl::IsDataLoss(RecoverFrom(files).status)) << "its header says that log 1 held records";
}

TEST_F(LogDamageTest, LogsAreOrderedByTheirHeadersNotByTheirNames) {
  Files files;
  files["000001.log"] = files_["000002.log"];
  files["000002.log"] = files_["000001.log"];
  const Outcome outcome = RecoverFrom(files);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.sequences, UpTo(7));
}

TEST_F(LogDamageTest, TheSameLogTwiceIsDataLoss) {
  Files files = files_;
  files["000003.log"] = files_["000002.log"];
  EXPECT_TRUE(absl::IsDataLoss(RecoverFrom(files).status));
}

TEST_F(LogDamageTest, ALogOfAnotherDatabaseIsDataLoss) {
  Files files = files_;
  auto header = *LogHeader::Decode(files["000002.log"].substr(0, kLogHeaderBytes), "f");
  header.database_id = 1;
  files["000002.log"].replace(0, kLogHeaderBytes, header.Encode());
  EXPECT_TRUE(absl::IsDataLoss(RecoverFrom(files).status));
}

TEST_F(LogDamageTest, ALogWhosePredecessorHasAnotherSaltLengthOrNumberIsDataLoss) {
  const auto original = *LogHeader::Decode(files_["000002.log"].substr(0, kLogHeaderBytes), "f");
  LogHeader salt = original;
  salt.predecessor.salt ^= 1;
  LogHeader length = original;
  length.predecessor.length_bytes -= 1;
  LogHeader number = original;
  number.predecessor.number = FileNumber(0);
  LogHeader start = original;
  start.start = LogPosition(original.start.value() + 1);
  for (const LogHeader& header : {salt, length, number, start}) {
    Files files = files_;
    files["000002.log"].replace(0, kLogHeaderBytes, header.Encode());
    EXPECT_TRUE(absl::IsDataLoss(RecoverFrom(files).status)) << header.Encode().substr(0, 96);
  }
}

TEST_F(LogDamageTest, ZerosAndRemainsOfAnotherLogBehindTheEndAreNotRead) {
  Files files = files_;
  files["000002.log"].append(5000, '\0');
  Outcome outcome = RecoverFrom(files);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.sequences, UpTo(7));
  EXPECT_EQ(outcome.recovery.torn, "");
  // A longer log of another database's life, of which the first part was written over.
  files = files_;
  const std::string stale = files_["000001.log"];
  files["000002.log"].append(stale.substr(kLogHeaderBytes));
  outcome = RecoverFrom(files);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.sequences, UpTo(7));
}

TEST_F(LogDamageTest, AFileWithoutAHeaderAndWithoutRecordsIsALeftover) {
  for (const std::string& bytes : {std::string(), std::string(100, 'x'), std::string(5000, '\0')}) {
    Files files = files_;
    files["000003.log"] = bytes;
    const Outcome outcome = RecoverFrom(files);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.sequences, UpTo(7));
    EXPECT_EQ(outcome.recovery.leftovers, std::vector<std::string>{"000003.log"});
  }
  Files files = files_;
  files["000003.log"] = std::string(512, '\0') + "x";
  EXPECT_TRUE(absl::IsDataLoss(RecoverFrom(files).status)) << "a record was written behind its header";
}

// Beside a live writer: the log that was made ahead is begun between the listing and the recovery.
TEST_F(LogDamageTest, ALogThatIsBegunBehindTheListingIsRead) {
  auto directory = memory_.OpenDirectory("db", false);
  ASSERT_TRUE(directory.ok());
  ASSERT_TRUE(memory_.WriteFileContents("db/000002.log", std::string(4096, '\0')).ok());
  const auto logs = ListLogs(directory->get());
  ASSERT_TRUE(memory_.WriteFileContents("db/000002.log", files_["000002.log"]).ok());
  std::vector<uint64_t> sequences;
  const auto recovery =
      RecoverLogs(directory->get(), *logs, {.database_id = kDatabase}, [&](SequenceNumber first, std::string_view) {
        sequences.push_back(first.value());
        return absl::OkStatus();
      });
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_EQ(sequences, UpTo(7));
}

TEST_F(LogDamageTest, AnErrorOfTheSinkEndsTheRecovery) {
  auto directory = memory_.OpenDirectory("db", false);
  ASSERT_TRUE(directory.ok());
  const auto logs = ListLogs(directory->get());
  int calls = 0;
  const auto recovery =
      RecoverLogs(directory->get(), *logs, {.database_id = kDatabase}, [&](SequenceNumber, std::string_view) {
        ++calls;
        return absl::CancelledError("enough");
      });
  EXPECT_TRUE(absl::IsCancelled(recovery.status()));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace sepal
