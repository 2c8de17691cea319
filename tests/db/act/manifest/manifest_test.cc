#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db/act/manifest/manifest_recovery.h"
#include "db/act/manifest/manifest_writer.h"
#include "db/format/file_names.h"
#include "sepal/simulation/fault_file_system.h"
#include "sepal/simulation/memory_file_system.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

constexpr uint64_t kManifestDatabase = 0xdb;

using Files = std::map<std::string, std::string>;

// The state of these tests' database is one number: the last sequence of the last edit.
VersionEdit State(uint64_t n) {
  VersionEdit edit;
  edit.database_id = kManifestDatabase;
  edit.last_sequence = SequenceNumber(n);
  return edit;
}

struct ManifestOutcome {
  absl::Status status;
  ManifestRecovery recovery;
  uint64_t state = 0;
};

ManifestOutcome RecoverManifestFrom(Directory* directory, ManifestReference floor = {}, bool other_files = false) {
  ManifestOutcome outcome;
  auto recovery = RecoverManifest(directory, floor, other_files, [&](const VersionEdit& edit) {
    outcome.state = edit.last_sequence->value();
    return absl::OkStatus();
  });
  outcome.status = recovery.status();
  if (recovery.ok()) outcome.recovery = *std::move(recovery);
  return outcome;
}

ManifestOutcome RecoverManifestFrom(const Files& files, ManifestReference floor = {}, bool other_files = true) {
  MemoryFileSystem memory;
  auto directory = memory.OpenDirectory("db", true);
  EXPECT_TRUE(directory.ok());
  for (const auto& [name, bytes] : files) EXPECT_TRUE(memory.WriteFileContents("db/" + name, bytes).ok());
  return RecoverManifestFrom(directory->get(), floor, other_files);
}

class ManifestTest : public testing::Test {
 protected:
  ManifestTest() : faults_(&memory_), directory_(faults_.OpenDirectory("db", true).value()) {}

  std::unique_ptr<ManifestWriter> Create(uint64_t number, uint64_t state, ManifestWriter* old = nullptr) {
    const std::vector<VersionEdit> snapshot = {State(state)};
    auto manifest = ManifestWriter::Create(directory_.get(), FileNumber(number), kManifestDatabase, snapshot, old);
    EXPECT_TRUE(manifest.ok()) << manifest.status();
    return manifest.ok() ? *std::move(manifest) : nullptr;
  }

  Files Contents() {
    Files files;
    const std::vector<DirectoryEntry> entries = directory_->List().value();
    for (const DirectoryEntry& entry : entries)
      files[entry.name] = memory_.ReadFileContents("db/" + entry.name).value();
    return files;
  }

  MemoryFileSystem memory_;
  FaultFileSystem faults_;
  std::unique_ptr<Directory> directory_;
};

TEST_F(ManifestTest, EditsComeBackInOrder) {
  auto manifest = Create(1, 10);
  ASSERT_TRUE(manifest->AddEdit(State(11)).ok());
  ASSERT_TRUE(manifest->AddEdit(State(12)).ok());
  std::vector<uint64_t> states;
  const auto recovery = RecoverManifest(directory_.get(), {}, false, [&](const VersionEdit& edit) {
    states.push_back(edit.last_sequence->value());
    return absl::OkStatus();
  });
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_EQ(states, (std::vector<uint64_t>{10, 11, 12}));
  EXPECT_TRUE(recovery->found);
  EXPECT_EQ(recovery->number, FileNumber(1));
  EXPECT_EQ(recovery->database_id, kManifestDatabase);
  EXPECT_EQ(recovery->edits, 3u);
  EXPECT_EQ(recovery->length_bytes, manifest->size_bytes());
  EXPECT_EQ(recovery->torn, "");
  EXPECT_TRUE(recovery->leftovers.empty());
  EXPECT_LT(manifest->Reference().durable_bytes, manifest->size_bytes()) << "the last mark is not synced";
}

TEST_F(ManifestTest, BytesOfAWholeManifestAreAsTheFormatSays) {
  auto manifest = Create(5, 3);
  std::string expected = ManifestHeader{FileNumber(5), kManifestDatabase}.Encode();
  const uint64_t header = ManifestHeaderChecksum(expected);
  uint64_t checksum = AppendManifestRecord(&expected, ManifestRecordKind::kEdit, State(3).Encode(), header);
  checksum = AppendManifestRecord(&expected, ManifestRecordKind::kSeal, EncodeManifestSeal(1, checksum), checksum);
  const uint64_t synced = expected.size();
  AppendManifestRecord(&expected, ManifestRecordKind::kSynced,
                       EncodeManifestControl(ManifestRecordKind::kSynced, synced, synced, header), checksum);
  EXPECT_EQ(ToHex(memory_.ReadFileContents("db/MANIFEST-000005").value()), ToHex(expected));
}

TEST_F(ManifestTest, AnEditIsDurableOnceItIsAdded) {
  auto manifest = Create(1, 10);
  ASSERT_TRUE(manifest->AddEdit(State(11)).ok());
  memory_.Crash(CrashMode::kLoseUnsynced);
  directory_ = faults_.OpenDirectory("db", true).value();
  const ManifestOutcome outcome = RecoverManifestFrom(directory_.get());
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.state, 11u);
}

TEST_F(ManifestTest, AFailedAppendOrSyncIsFinal) {
  for (const FileOp op : {FileOp::kAppend, FileOp::kSync}) {
    auto manifest = Create(1 + static_cast<uint64_t>(op), 10);
    faults_.Inject({.op = op});
    const absl::Status status = manifest->AddEdit(State(11));
    EXPECT_FALSE(status.ok());
    EXPECT_NE(std::string(ToStd(status.message())).find("unknown"), std::string::npos) << status;
    faults_.Clear();
    EXPECT_EQ(manifest->AddEdit(State(12)), status);
    const std::vector<VersionEdit> snapshot = {State(12)};
    EXPECT_EQ(
        ManifestWriter::Create(directory_.get(), FileNumber(100), kManifestDatabase, snapshot, manifest.get()).status(),
        status);
  }
}

TEST_F(ManifestTest, AFullDiskFailsTheEditAndTheRollAndBothResumeWithSpace) {
  auto manifest = Create(1, 10);
  memory_.SetCapacity(memory_.UsedBytes());
  // More than what was reserved with the first edits.
  VersionEdit large = State(11);
  large.created_families.push_back({ColumnFamilyId(1), std::string(100000, 'n'), "c", true});
  EXPECT_TRUE(absl::IsResourceExhausted(manifest->AddEdit(large)));
  const std::vector<VersionEdit> snapshot = {large};
  EXPECT_TRUE(absl::IsResourceExhausted(
      ManifestWriter::Create(directory_.get(), FileNumber(2), kManifestDatabase, snapshot, manifest.get()).status()));
  EXPECT_EQ(Contents().size(), 1u) << "nothing is left behind";
  memory_.SetCapacity(10 << 20);
  EXPECT_TRUE(manifest->AddEdit(large).ok());
  auto next = Create(2, 12, manifest.get());
  ASSERT_NE(next, nullptr);
  EXPECT_TRUE(next->AddEdit(State(13)).ok());
  EXPECT_EQ(RecoverManifestFrom(directory_.get()).state, 13u);
}

TEST_F(ManifestTest, WhereverTheDiskIsFullARollIsRefusedOrItsManifestTakesEdits) {
  bool refused = false;
  for (uint64_t left = 0;; ++left) {
    const uint64_t number = 2 * left + 1;
    auto manifest = Create(number, 10);
    ASSERT_NE(manifest, nullptr);
    memory_.SetCapacity(memory_.UsedBytes() + left);
    const std::vector<VersionEdit> snapshot = {State(11)};
    auto next =
        ManifestWriter::Create(directory_.get(), FileNumber(number + 1), kManifestDatabase, snapshot, manifest.get());
    memory_.SetCapacity(UINT64_MAX);
    ASSERT_EQ((next.ok() ? **next : *manifest).AddEdit(State(12)), absl::OkStatus()) << left << " bytes were free";
    if (next.ok() && refused) break;
    refused = refused || !next.ok();
    ASSERT_LT(left, 10'000u);
  }
}

TEST_F(ManifestTest, TheChainIsFollowedAndOldOnesAreRemovedOldestFirst) {
  auto first = Create(1, 10);
  auto second = Create(4, 11, first.get());
  auto third = Create(6, 12, second.get());
  ASSERT_TRUE(third->AddEdit(State(13)).ok());
  ManifestOutcome outcome = RecoverManifestFrom(directory_.get());
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.state, 13u);
  EXPECT_EQ(outcome.recovery.number, FileNumber(6));
  EXPECT_EQ(outcome.recovery.older, (std::vector<FileNumber>{FileNumber(1), FileNumber(4)}));
  faults_.SetTracing(true);
  ASSERT_TRUE(RemoveManifestsBefore(directory_.get(), FileNumber(6)).ok());
  const std::string trace = faults_.TakeTrace();
  const size_t a = trace.find("remove MANIFEST-000001");
  const size_t sync = trace.find("sync", a);
  const size_t b = trace.find("remove MANIFEST-000004");
  EXPECT_TRUE(a < sync && sync < b && b != std::string::npos) << trace;
  EXPECT_EQ(RecoverManifestFrom(directory_.get()).state, 13u);
}

TEST_F(ManifestTest, WithNothingThereThereIsNoDatabase) {
  ManifestOutcome outcome = RecoverManifestFrom(Files(), {}, false);
  ASSERT_TRUE(outcome.status.ok());
  EXPECT_FALSE(outcome.recovery.found);
  EXPECT_TRUE(absl::IsDataLoss(RecoverManifestFrom(Files(), {}, true).status)) << "tables or logs without a manifest";
  EXPECT_TRUE(absl::IsDataLoss(RecoverManifestFrom(Files{{"000007.sst", "x"}}, {}, false).status));
  EXPECT_TRUE(absl::IsDataLoss(RecoverManifestFrom(Files{{"000007.log", "x"}}, {}, false).status));
  outcome = RecoverManifestFrom(Files{{"MANIFEST-000003", "SPAL"}}, {}, false);
  ASSERT_TRUE(outcome.status.ok());
  EXPECT_EQ(outcome.recovery.leftovers, std::vector<std::string>{"MANIFEST-000003"});
}

TEST_F(ManifestTest, EveryFlippedBitOfASyncedManifestIsDataLoss) {
  auto manifest = Create(1, 10);
  ASSERT_TRUE(manifest->AddEdit(State(11)).ok());
  ASSERT_TRUE(manifest->AddEdit(State(12)).ok());
  const uint64_t synced = manifest->Reference().durable_bytes;
  const Files files = Contents();
  const std::string& bytes = files.at("MANIFEST-000001");
  for (const bool other_files : {false, true}) {
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      Files damaged = files;
      damaged["MANIFEST-000001"][bit / 8] ^= static_cast<char>(1 << (bit % 8));
      const ManifestOutcome outcome = RecoverManifestFrom(damaged, {}, other_files);
      if (bit / 8 < synced) {
        ASSERT_TRUE(absl::IsDataLoss(outcome.status)) << "byte " << bit / 8 << " " << outcome.status;
      } else {
        ASSERT_TRUE(outcome.status.ok()) << outcome.status;
        ASSERT_EQ(outcome.state, 12u);
        ASSERT_NE(outcome.recovery.torn, "");
      }
    }
  }
}

TEST_F(ManifestTest, OnlyWhatEndsBeforeItsSealWasNeverFinished) {
  const std::string name = "MANIFEST-000003";
  Create(3, 10).reset();
  const std::string bytes = Contents().at(name);
  const auto may_be_finished = [&](const std::string& contents) {
    EXPECT_TRUE(memory_.WriteFileContents("db/" + name, contents).ok());
    return MayHoldFinishedManifest(directory_.get()).value_or(true);
  };
  constexpr size_t kControl = kManifestRecordHeaderBytes + kManifestControlBytes;  // a seal is as long
  const size_t sealed = bytes.size() - kControl;
  for (size_t length = 0; length <= bytes.size(); ++length) {
    EXPECT_EQ(may_be_finished(bytes.substr(0, length)), length >= sealed) << length;
  }
  // The mark behind the seal may be lost with the power: what is damaged before the seal was finished all the same.
  for (const size_t length : {bytes.size(), sealed}) {
    const size_t end = length == sealed ? sealed - kControl : length;
    for (size_t bit = 0; bit < end * 8; ++bit) {
      std::string flipped = bytes.substr(0, length);
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      EXPECT_TRUE(may_be_finished(flipped)) << length << " " << bit;
    }
  }
  ASSERT_TRUE(directory_->Remove(name).ok());
  EXPECT_FALSE(MayHoldFinishedManifest(directory_.get()).value_or(true));
}

TEST_F(ManifestTest, EveryTruncationDropsTheTornEditsUnlessALogSaysThatTheyWereSynced) {
  auto manifest = Create(1, 10);
  const uint64_t sealed = manifest->Reference().durable_bytes;
  ASSERT_TRUE(manifest->AddEdit(State(11)).ok());
  const uint64_t first = manifest->Reference().durable_bytes;
  ASSERT_TRUE(manifest->AddEdit(State(12)).ok());
  const ManifestReference reference = manifest->Reference();
  const Files files = Contents();
  for (size_t n = 0; n <= files.at("MANIFEST-000001").size(); ++n) {
    Files cut = files;
    cut["MANIFEST-000001"].resize(n);
    const ManifestOutcome outcome = RecoverManifestFrom(cut);
    if (n < sealed) {
      ASSERT_TRUE(absl::IsDataLoss(outcome.status)) << n << " " << outcome.status;
      const ManifestOutcome alone = RecoverManifestFrom(cut, {}, false);
      ASSERT_TRUE(alone.status.ok()) << n << " " << alone.status;
      ASSERT_FALSE(alone.recovery.found) << "a crash while the database was created";
    } else {
      ASSERT_TRUE(outcome.status.ok()) << n << " " << outcome.status;
      ASSERT_EQ(outcome.state, n < first ? 10u : n < reference.durable_bytes ? 11u : 12u) << n;
    }
    const ManifestOutcome with_floor = RecoverManifestFrom(cut, reference);
    ASSERT_EQ(with_floor.status.ok(), n >= reference.durable_bytes) << n << " " << with_floor.status;
    ASSERT_TRUE(with_floor.status.ok() || absl::IsDataLoss(with_floor.status));
  }
}

TEST_F(ManifestTest, DamageInASupersededManifestIsHarmlessOrDataLossNeverAnOlderState) {
  auto first = Create(1, 10);
  ASSERT_TRUE(first->AddEdit(State(11)).ok());
  auto second = Create(2, 11, first.get());
  ASSERT_TRUE(second->AddEdit(State(12)).ok());
  const Files files = Contents();
  const std::string& bytes = files.at("MANIFEST-000001");
  int right = 0;
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    Files damaged = files;
    damaged["MANIFEST-000001"][bit / 8] ^= static_cast<char>(1 << (bit % 8));
    const ManifestOutcome outcome = RecoverManifestFrom(damaged);
    ASSERT_TRUE(absl::IsDataLoss(outcome.status) || (outcome.status.ok() && outcome.state == 12)) << outcome.status;
    right += outcome.status.ok() ? 1 : 0;
  }
  EXPECT_GT(right, 0);
  for (size_t n = 0; n < bytes.size(); ++n) {
    Files cut = files;
    cut["MANIFEST-000001"].resize(n);
    const ManifestOutcome outcome = RecoverManifestFrom(cut);
    ASSERT_TRUE(absl::IsDataLoss(outcome.status) || (outcome.status.ok() && outcome.state == 12)) << n;
  }
}

TEST_F(ManifestTest, AMissingOrDamagedSuccessorIsDataLoss) {
  auto first = Create(1, 10);
  auto second = Create(2, 10, first.get());
  ASSERT_TRUE(second->AddEdit(State(11)).ok());
  const Files files = Contents();
  Files missing = files;
  missing.erase("MANIFEST-000002");
  EXPECT_TRUE(absl::IsDataLoss(RecoverManifestFrom(missing).status));
  for (const size_t n : {size_t{0}, size_t{20}, kManifestHeaderBytes, kManifestHeaderBytes + 20}) {
    Files cut = files;
    cut["MANIFEST-000002"].resize(n);
    EXPECT_TRUE(absl::IsDataLoss(RecoverManifestFrom(cut).status)) << n;
  }
  Files swapped;
  swapped["MANIFEST-000001"] = files.at("MANIFEST-000002");
  swapped["MANIFEST-000002"] = files.at("MANIFEST-000001");
  EXPECT_TRUE(absl::IsDataLoss(RecoverManifestFrom(swapped).status));
}

TEST_F(ManifestTest, AManifestThatALogNamesMustBeThere) {
  auto manifest = Create(3, 10);
  EXPECT_TRUE(RecoverManifestFrom(Contents(), {FileNumber(2), 1000}).status.ok()) << "an older one is gone by now";
  EXPECT_TRUE(absl::IsDataLoss(RecoverManifestFrom(Contents(), {FileNumber(4), 1}).status));
  EXPECT_TRUE(absl::IsDataLoss(RecoverManifestFrom(Contents(), {FileNumber(3), 100000}).status));
}

TEST_F(ManifestTest, AnOldManifestThatComesBackAfterItsSuccessorIsGoneHidesNothing) {
  auto first = Create(1, 10);
  auto second = Create(4, 11, first.get());
  const Files both = Contents();
  auto third = Create(6, 12, second.get());
  ASSERT_TRUE(third->AddEdit(State(13)).ok());
  Files files = Contents();
  files.erase("MANIFEST-000004");
  const ManifestOutcome outcome = RecoverManifestFrom(files);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.recovery.number, FileNumber(6));
  EXPECT_EQ(outcome.state, 13u);
  // Without a later one, a missing successor is a loss.
  files = both;
  files.erase("MANIFEST-000004");
  EXPECT_TRUE(absl::IsDataLoss(RecoverManifestFrom(files).status));
}

// A power loss after a failed sync may bring back any of the manifests that were removed.
TEST_F(ManifestTest, WhicheverOldManifestsComeBackTheLastOneIsTheState) {
  std::unique_ptr<ManifestWriter> last;
  for (const uint64_t number : {1, 4, 6, 9}) {
    auto next = Create(number, 10 * number, last.get());
    ASSERT_TRUE(next->AddEdit(State(10 * number + 1)).ok());
    last = std::move(next);
  }
  const Files all = Contents();
  const std::vector<std::string> old = {"MANIFEST-000001", "MANIFEST-000004", "MANIFEST-000006"};
  for (size_t subset = 0; subset < 1u << old.size(); ++subset) {
    Files files = all;
    for (size_t i = 0; i < old.size(); ++i) {
      if ((subset >> i & 1) == 0) files.erase(old[i]);
    }
    const ManifestOutcome outcome = RecoverManifestFrom(files);
    ASSERT_TRUE(outcome.status.ok()) << subset << ": " << outcome.status;
    EXPECT_EQ(outcome.recovery.number, FileNumber(9)) << subset;
    EXPECT_EQ(outcome.state, 91u) << subset;
    EXPECT_EQ(outcome.recovery.older.size() + outcome.recovery.leftovers.size() + 1, files.size()) << subset;
  }
}

TEST_F(ManifestTest, AnUnsealedManifestAboveTheChainIsALeftover) {
  auto manifest = Create(3, 10);
  Files files = Contents();
  files["MANIFEST-000009"] = ManifestHeader{FileNumber(9), kManifestDatabase}.Encode();
  const ManifestOutcome outcome = RecoverManifestFrom(files);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.state, 10u);
  EXPECT_EQ(outcome.recovery.leftovers, std::vector<std::string>{"MANIFEST-000009"});
}

TEST_F(ManifestTest, ALoneFirstManifestOfGarbageIsWhatALossOfPowerLeftOfItsMaking) {
  const Files garbage = {{"MANIFEST-000001", std::string(300, 'g')}, {"LOCK", ""}, {"LOG", "making"}};
  const ManifestOutcome outcome = RecoverManifestFrom(garbage, {}, /*other_files=*/false);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_FALSE(outcome.recovery.found);
  EXPECT_EQ(outcome.recovery.leftovers, std::vector<std::string>{"MANIFEST-000001"});
}

TEST_F(ManifestTest, AManifestOfZerosOrOfABeginningWasMadeInVainWhateverItsNumber) {
  for (const std::string& bytes : {std::string(100, '\0'), std::string("SPALMAN1"), std::string("SP")}) {
    const ManifestOutcome outcome = RecoverManifestFrom(Files{{"MANIFEST-000007", bytes}}, {}, /*other_files=*/false);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.recovery.leftovers, std::vector<std::string>{"MANIFEST-000007"});
  }
}

TEST_F(ManifestTest, ANewManifestThatFailsAndCannotBeRemovedEndsTheOldOne) {
  const std::vector<VersionEdit> snapshot = {State(11)};
  const auto create = [&](ManifestWriter* old) {
    faults_.Inject({.op = FileOp::kAppend, .name_contains = "MANIFEST-000002", .sticky = true});
    faults_.Inject({.op = FileOp::kRemove, .sticky = true});
    const absl::Status status =
        ManifestWriter::Create(directory_.get(), FileNumber(2), kManifestDatabase, snapshot, old).status();
    faults_.Clear();
    EXPECT_TRUE(absl::IsInternal(status)) << status;
    EXPECT_TRUE(directory_->Remove("MANIFEST-000002").ok());
  };
  create(nullptr);
  auto manifest = Create(1, 10);
  create(manifest.get());
  EXPECT_TRUE(absl::IsInternal(manifest->AddEdit(State(12)))) << "it may come back, and would not know of the edit";
  EXPECT_EQ(RecoverManifestFrom(directory_.get()).state, 10u);
}

TEST_F(ManifestTest, RemovingWhatIsNotThereOrNoManifestChangesNothing) {
  auto first = Create(1, 10);
  auto second = Create(2, 11, first.get());
  ASSERT_TRUE(memory_.WriteFileContents("db/notes.txt", "x").ok());
  ASSERT_TRUE(memory_.WriteFileContents("db/000001.sst", "x").ok());
  const std::string name = "MANIFEST-000009";
  EXPECT_TRUE(RemoveDurably(directory_.get(), {&name, 1}).ok());
  ASSERT_TRUE(RemoveManifestsBefore(directory_.get(), FileNumber(2)).ok());
  EXPECT_EQ(Contents().size(), 3u);
}

TEST_F(ManifestTest, AManifestOfGarbageBesideAnythingElseIsDamage) {
  const std::string bytes(300, 'g');
  const Files garbage = {{"MANIFEST-000001", bytes}};
  const auto with = [&](const std::string& name) {
    Files files = garbage;
    files[name] = bytes;
    return RecoverManifestFrom(files, {}, /*other_files=*/false).status;
  };
  for (const char* name : {"CURRENT", "000002.log", "000005.sst", "MANIFEST-000003", "000005.ldb"}) {
    EXPECT_TRUE(absl::IsDataLoss(with(name))) << name;
  }
  EXPECT_TRUE(absl::IsDataLoss(RecoverManifestFrom(garbage, {}, /*other_files=*/true).status));
  EXPECT_TRUE(absl::IsDataLoss(RecoverManifestFrom(garbage, {FileNumber(1), 0}, /*other_files=*/false).status));
  EXPECT_TRUE(absl::IsDataLoss(RecoverManifestFrom(Files{{"MANIFEST-000002", bytes}}, {}, false).status));
}

}  // namespace
}  // namespace sepal
