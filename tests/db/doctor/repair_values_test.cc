// Repairs of databases with value files: whatever becomes of these, no entry is lost but those whose values are, and
// each of them is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/format/file_names.h"
#include "db/format/value_file.h"
#include "tests/db/doctor/repair_fixture.h"
#include "tests/db/engine/write/separated_values_fixture.h"

namespace sepal {
namespace {

using ::testing::ContainerEq;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class RepairValuesTest : public RepairSalvageTest {
 protected:
  void SetUp() override {
    RepairSalvageTest::SetUp();
    database.options.family.separate_from = kSeparatedFrom;
    database.options.family.compression = CompressionKind::kNone;
  }
  void Clear() {
    if (database.memory.OpenDirectory("/db", false).ok()) {
      for (const std::string& name : Files()) Remove(name);
    }
  }
  // Three values of 300 bytes in one file and a small one, in a table.
  void MakeTable() {
    ASSERT_OK(database.Open());
    for (const char* key : {"a", "b", "c"}) ASSERT_OK(db()->Put(key, Large(key)));
    ASSERT_OK(db()->Put("small", "s"));
    ASSERT_OK(db()->Flush());
  }
  void Close() {
    ASSERT_OK(db()->Close());
    database.db.reset();
  }
  std::string ValueFile() { return Last(".val"); }
  void Flip(const std::string& name, uint64_t offset) { ASSERT_OK(database.memory.FlipBit("/db/" + name, offset, 3)); }
  // Each key with the first letter of its value.
  std::string Found() {
    std::string all;
    for (const auto& [key, value] : All()) all += key + "=" + value.substr(0, 1) + " ";
    return all;
  }
  std::string LostKeys() const {
    std::string keys;
    for (const DroppedData& dropped : report.dropped) {
      if (dropped.first_key.has_value()) keys += *dropped.first_key + " ";
    }
    return keys;
  }
  // Opens and verifies; a second repair has nothing to do.
  void ExpectWhole() {
    const RepairReport told = report;
    ASSERT_OK(Repair());
    EXPECT_FALSE(report.changed) << report.ToString();
    report = told;
    ASSERT_OK(database.Open());
    EXPECT_OK(db()->VerifyChecksums({}));
    EXPECT_OK(db()->CheckConsistency());
  }
  static std::string WithHeader(const std::string& file, const std::function<void(ValueFileHeader*)>& change) {
    ValueFileHeader header = ValueFileHeader::Decode(file, "").value();
    change(&header);
    return header.Encode() + file.substr(kValueFileHeaderBytes);
  }
};

TEST_F(RepairValuesTest, AWholeDatabaseIsLeftAlone) {
  MakeTable();
  ASSERT_OK(db()->Put("d", Large("d")));
  for (const bool closed : {false, true}) {
    closed ? Close() : Kill();
    const uint64_t before = database.memory.Fingerprint();
    ASSERT_OK(Repair());
    EXPECT_FALSE(report.changed) << report.ToString();
    EXPECT_TRUE(!closed || database.memory.Fingerprint() == before);
    ASSERT_OK(database.Open());
    EXPECT_EQ(Found(), "a=a b=b c=c d=d small=s ");
  }
}

TEST_F(RepairValuesTest, AFlippedBitCostsItsKeyAlone) {
  MakeTable();
  Close();
  const std::string values = ValueFile(), table = Last(".sst"), manifest = Last("MANIFEST");
  Flip(values, kValueFileHeaderBytes + 300 + 7);
  const std::string bytes = Read(values);
  ASSERT_OK(Repair());
  ASSERT_THAT(report.dropped, SizeIs(1));
  const DroppedData& lost = report.dropped[0];
  EXPECT_EQ(lost.file, values);
  EXPECT_EQ(lost.column_family, "default");
  EXPECT_EQ(lost.first_key, "b");
  EXPECT_EQ(lost.last_key, "b");
  EXPECT_EQ(lost.begin_offset, 364u);
  EXPECT_EQ(lost.end_offset, 664u);
  EXPECT_THAT(lost.reason, HasSubstr("/db/" + values + ": offset 364: checksum of a separated value: expected 0x"));
  EXPECT_THAT(lost.reason, HasSubstr("; " + table + " refers to it"));
  EXPECT_THAT(report.ToString(), HasSubstr("dropped: " + values +
                                           ", bytes 364 to 664, column family \"default\", key \"b\": /db/" + values));
  EXPECT_THAT(report.put_aside, ElementsAre(manifest, table));
  EXPECT_EQ(report.tables_rewritten, 1u);
  EXPECT_EQ(Read(values), bytes) << "what is whole stays as it is";
  ExpectWhole();
  EXPECT_EQ(Found(), "a=a c=c small=s ");
  ASSERT_OK(db()->Put("b", Large("B")));
  EXPECT_EQ(Found(), "a=a b=B c=c small=s ");
}

TEST_F(RepairValuesTest, AnOlderValueComesBackOnlyWhereItsKeyIsTold) {
  ASSERT_OK(database.Open());
  for (const char* key : {"a", "b"}) ASSERT_OK(db()->Put(key, "old"));
  ASSERT_OK(db()->Flush());
  for (const char* key : {"a", "b"}) ASSERT_OK(db()->Put(key, Large("new")));
  ASSERT_OK(db()->Flush());
  Close();
  Flip(ValueFile(), kValueFileHeaderBytes + 300 + 7);
  ASSERT_OK(Repair());
  EXPECT_EQ(LostKeys(), "b ");
  EXPECT_EQ(report.tables_kept, 1u);
  ExpectWhole();
  EXPECT_EQ(Found(), "a=n b=o ");
}

TEST_F(RepairValuesTest, AFileThatIsMissingOrCutCostsTheKeysWhoseValuesItHad) {
  for (const bool cut : {false, true}) {
    Clear();
    MakeTable();
    ASSERT_OK(db()->Put("d", Large("d", 9000)));
    ASSERT_OK(db()->Put("e", Large("e")));  // in another file
    ASSERT_OK(db()->Flush());
    Close();
    std::string first;
    for (const std::string& name : Files()) {
      if (name.ends_with(".val") && first.empty()) first = name;
    }
    ASSERT_NE(first, ValueFile());
    cut ? Write(first, Read(first).substr(0, kValueFileHeaderBytes + 450)) : Remove(first);
    EXPECT_EQ(database.Open().ok(), cut);
    database.db.reset();
    ASSERT_OK(Repair());
    EXPECT_EQ(LostKeys(), cut ? "b c d " : "a b c d ");
    const std::string got = cut ? "offset 364: separated value: expected 300 bytes, got 150"
                                : "offset 0: a value file of the database: expected a file, got none";
    EXPECT_THAT(report.dropped[0].reason, HasSubstr("/db/" + first + ": " + got));
    ExpectWhole();
    EXPECT_EQ(Found(), cut ? "a=a e=e small=s " : "e=e small=s ");
    Close();
  }
}

TEST_F(RepairValuesTest, NothingIsLostUnderADamagedHeader) {
  const std::vector<std::function<std::string(const std::string&)>> changes = {
      [](const std::string& file) { return std::string(kValueFileHeaderBytes, 'x') + file.substr(64); },
      [](const std::string& file) { return WithHeader(file, [](ValueFileHeader* h) { h->database_id ^= 1; }); },
      [](const std::string& file) { return WithHeader(file, [](ValueFileHeader* h) { h->number = FileNumber(99); }); }};
  for (const auto& change : changes) {
    Clear();
    MakeTable();
    Close();
    const std::string values = ValueFile();
    const std::string damaged = change(Read(values));
    Write(values, damaged);
    ASSERT_OK(Repair());
    EXPECT_THAT(report.dropped, IsEmpty()) << report.ToString();
    EXPECT_EQ(report.tables_rewritten, 1u);
    EXPECT_THAT(report.put_aside, Contains(HasSubstr(values)));
    EXPECT_EQ(database.memory.ReadFileContents("/db/lost/" + report.put_aside.back()).value(), damaged);
    EXPECT_THAT(Files(), Not(Contains(values)));
    ExpectWhole();
    EXPECT_EQ(Found(), "a=a b=b c=c small=s ");
    EXPECT_EQ(All()["b"], Large("b"));
    Close();
  }
}

TEST_F(RepairValuesTest, FilesThatWereExchangedAreToldApartByTheirHeaders) {
  ASSERT_OK(database.Open());
  for (const char* key : {"a", "b"}) ASSERT_OK(db()->Put(key, Large(key, 9000)));
  ASSERT_OK(db()->Flush());
  Close();
  std::vector<std::string> names;
  for (const std::string& name : Files()) {
    if (name.ends_with(".val")) names.push_back(name);
  }
  ASSERT_THAT(names, SizeIs(2));
  const std::string first = Read(names[0]), second = Read(names[1]);
  Write(names[0], second);
  Write(names[1], first);
  ASSERT_OK(Repair());
  EXPECT_THAT(report.dropped, IsEmpty()) << report.ToString();
  for (const std::string& name : names) EXPECT_THAT(report.put_aside, Contains(name));
  ExpectWhole();
  EXPECT_EQ(All()["a"], Large("a", 9000));
  EXPECT_EQ(All()["b"], Large("b", 9000));
  // The other's bytes at a place are never taken for a value.
  Close();
  names.clear();
  for (const std::string& name : Files()) {
    if (name.ends_with(".val")) names.push_back(name);
  }
  ASSERT_THAT(names, SizeIs(2));
  Write(names[0], Read(names[1]));
  ASSERT_OK(Repair());
  EXPECT_EQ(LostKeys(), "a ");
  ExpectWhole();
  EXPECT_EQ(Found(), "b=b ");
}

TEST_F(RepairValuesTest, AFileOfAnotherDatabaseGivesNothing) {
  MakeTable();
  Close();
  std::string theirs = WithHeader(Read(ValueFile()), [](ValueFileHeader* h) { h->database_id ^= 1; });
  theirs.replace(kValueFileHeaderBytes, 900, Large("x") + Large("y") + Large("z"));
  Write(ValueFile(), theirs);
  ASSERT_OK(Repair());
  EXPECT_EQ(LostKeys(), "a b c ");
  EXPECT_THAT(report.dropped[0].reason, HasSubstr("offset 16: database id of the value file: expected 0x"));
  ExpectWhole();
  EXPECT_EQ(Found(), "small=s ");
}

// --- logs ---

TEST_F(RepairValuesTest, AnUpdateOfTheLogsIsLostAloneAndTheRestOfItsBatchIsKept) {
  MakeTable();
  WriteBatch batch;
  batch.Put("d", Large("d"));
  batch.Put("e", Large("e"));
  batch.Put("f", "small");
  ASSERT_OK(db()->Write(batch, {.sync = true}));
  ASSERT_OK(db()->Put("g", Large("g"), {.sync = true}));
  Kill();
  Flip(ValueFile(), kValueFileHeaderBytes + 3 * 300 + 5);
  EXPECT_TRUE(absl::IsDataLoss(database.Open()));
  ASSERT_OK(Repair());
  EXPECT_EQ(LostKeys(), "d ");
  EXPECT_THAT(report.dropped[0].reason, HasSubstr("the logs refers to it"));
  EXPECT_EQ(report.updates_from_logs, 3u);
  EXPECT_THAT(report.put_aside, Contains(HasSubstr(".log")));
  ExpectWhole();
  EXPECT_EQ(Found(), "a=a b=b c=c e=e f=s g=g small=s ");
}

TEST_F(RepairValuesTest, WhatOnlyTheLogsReferToIsWrittenAnewAndSurvivesALossOfPower) {
  MakeTable();
  ASSERT_OK(db()->Put("d", Large("d"), {.sync = true}));
  ASSERT_OK(db()->Put("e", Large("e")));
  ASSERT_OK(db()->Put("f", Large("f")));
  Kill();
  Flip(Last(".sst"), 5);
  ASSERT_OK(Repair());
  ASSERT_THAT(report.dropped, Not(IsEmpty()));
  database.memory.Crash(CrashMode::kLoseUnsynced);
  ExpectWhole();
  EXPECT_THAT(Found(), HasSubstr("d=d e=e f=f"));
}

TEST_F(RepairValuesTest, ATornEndIsNoLossToTell) {
  MakeTable();
  ASSERT_OK(db()->Put("d", Large("d"), {.sync = true}));
  ASSERT_OK(db()->Put("e", Large("e")));
  database.memory.Crash(CrashMode::kLoseUnsynced);
  database.db.reset();
  ASSERT_OK(Repair());
  EXPECT_FALSE(report.changed) << report.ToString();
  ASSERT_OK(database.Open());
  EXPECT_EQ(Found(), "a=a b=b c=c d=d small=s ");
}

// --- manifests ---

TEST_F(RepairValuesTest, WithoutAManifestAllValuesAreFoundAndTheFeatureIsKept) {
  for (const bool lost : {false, true}) {
    Clear();
    MakeTable();
    ASSERT_OK(db()->Put("b", Large("B")));
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->Put("d", Large("d"), {.sync = true}));
    Kill();
    lost ? Remove("MANIFEST") : DamageLastEdit();
    database.db.reset();
    ASSERT_OK(Repair());
    EXPECT_EQ(LostKeys(), "");
    ExpectWhole();
    EXPECT_EQ(Found(), "a=a b=B c=c d=d small=s ");
    const std::string manifest = Read(Last("MANIFEST"));
    EXPECT_NE(manifest.find(std::string("\x18\x01\x20", 3)), std::string::npos) << "the feature";
    ASSERT_OK(db()->CompactRange());
    EXPECT_EQ(Found(), "a=a b=B c=c d=d small=s ");
    Close();
  }
}

TEST_F(RepairValuesTest, WithoutAManifestAMissingFileCostsItsKeysAlone) {
  MakeTable();
  ASSERT_OK(db()->WaitForBackgroundWork());  // the log that has them too is removed
  ASSERT_OK(db()->Put("d", Large("d", 9000), {.sync = true}));
  ASSERT_OK(db()->Put("e", Large("e"), {.sync = true}));
  Kill();
  std::string first;
  for (const std::string& name : Files()) {
    if (name.ends_with(".val") && first.empty()) first = name;
  }
  Remove("MANIFEST");
  Remove(first);
  ASSERT_OK(Repair());
  EXPECT_EQ(LostKeys(), "a b c d ");
  ExpectWhole();
  EXPECT_EQ(Found(), "e=e small=s ");
}

// --- the rest ---

TEST_F(RepairValuesTest, ADryRunTellsWhatARepairWillTell) {
  ASSERT_OK(database.Open());
  for (const char* key : {"a", "b", "c"}) ASSERT_OK(db()->Put(key, Large(key, 3000)));
  ASSERT_OK(db()->Flush());
  for (const char* key : {"d", "e"}) ASSERT_OK(db()->Put(key, Large(key, 3000), {.sync = true}));
  Kill();
  ASSERT_OK(database.memory.WriteFileContents("/db/000777.val", "a stray"));
  std::vector<std::string> names;
  for (const std::string& name : Files()) {
    if (name.ends_with(".val")) names.push_back(name);
  }
  Flip(names.front(), 3);
  Flip(names.front(), kValueFileHeaderBytes + 9);
  const uint64_t before = database.memory.Fingerprint();
  ASSERT_OK(Repair(/*dry_run=*/true));
  EXPECT_EQ(database.memory.Fingerprint(), before);
  const RepairReport foreseen = report;
  ASSERT_OK(Repair());
  EXPECT_EQ(LostKeys(), "a ");
  ASSERT_EQ(foreseen.dropped.size(), report.dropped.size());
  for (size_t i = 0; i < report.dropped.size(); ++i) EXPECT_EQ(foreseen.dropped[i].reason, report.dropped[i].reason);
  EXPECT_THAT(foreseen.put_aside, ContainerEq(report.put_aside));
  EXPECT_EQ(foreseen.updates_from_logs, report.updates_from_logs);
  EXPECT_THAT(report.put_aside, Contains("000777.val"));
  EXPECT_THAT(Files(), Not(Contains("000777.val")));
  ExpectWhole();
  EXPECT_EQ(Found(), "b=b c=c d=d e=e ");
}

TEST_F(RepairValuesTest, ManyLostValuesOfATableAreToldTogether) {
  database.tuning.value_file_bytes = uint64_t{1} << 20;
  database.tuning.memtable_bytes = size_t{1} << 20;
  database.tuning.memtable_limit_bytes = size_t{4} << 20;
  database.tuning.table_bytes = size_t{1} << 20;
  database.tuning.log_limit_bytes = uint64_t{1} << 20;
  ASSERT_OK(database.Open());
  constexpr uint64_t kKeys = 6000;
  Fill(0, kKeys, 100);
  ASSERT_OK(db()->Put("z", "small"));
  ASSERT_OK(db()->Flush());
  const size_t tables = std::stoul(FilesPerLevel(db()));
  Close();
  Remove(".val");
  ASSERT_OK(Repair());
  ASSERT_LT(tables * 1000, kKeys);
  EXPECT_EQ(report.dropped.size(), tables * 1000);
  for (uint64_t i = 0; i < kKeys; ++i) {
    const std::string key = NumberedKey(i);
    const bool told = std::any_of(report.dropped.begin(), report.dropped.end(), [&](const DroppedData& dropped) {
      return *dropped.first_key <= key && key <= *dropped.last_key;
    });
    EXPECT_TRUE(told) << key;
  }
  EXPECT_EQ(report.dropped.back().last_key, NumberedKey(kKeys - 1));
  ExpectWhole();
  EXPECT_EQ(Found(), "z=s ");
}

TEST_F(RepairValuesTest, AnyCallMayFailOnceOrForGood) {
  ASSERT_OK(database.Open());
  for (const char* key : {"a", "b", "c"}) ASSERT_OK(db()->Put(key, Large(key, 3000)));
  ASSERT_OK(db()->Flush());
  for (const char* key : {"d", "e"}) ASSERT_OK(db()->Put(key, Large(key, 3000), {.sync = true}));
  Kill();
  std::vector<std::string> names;
  for (const std::string& name : Files()) {
    if (name.ends_with(".val")) names.push_back(name);
  }
  Flip(names.front(), 3);
  Flip(names.front(), kValueFileHeaderBytes + 9);
  FailEachCall(Failing::kOnce);
  FailEachCall(Failing::kForGood);
  Remove("MANIFEST");
  FailEachCall(Failing::kOnce);
  FailEachCall(Failing::kForGood);
}

TEST_F(RepairValuesTest, ProgressReachesItsEndAndCountsValues) {
  MakeTable();
  Close();
  Remove("MANIFEST");
  uint64_t last = 0, total = 0;
  RepairReport told;
  ASSERT_OK(Repairing(database.options, database.tuning, "/db", &told,
                      {.progress =
                           [&](uint64_t done, uint64_t of) {
                             EXPECT_GE(done, last);
                             last = done, total = of;
                           }})
                .Run());
  EXPECT_EQ(last, total);
  EXPECT_GT(total, 900u);
}

}  // namespace
}  // namespace sepal
