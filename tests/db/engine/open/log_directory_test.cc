// Logs in a directory of their own: what else may lie there, and whose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "db/act/manifest/manifest_recovery.h"
#include "db/act/manifest/manifest_writer.h"
#include "db/format/manifest_format.h"
#include "sepal/repair.h"
#include "tests/db/engine/engine_fixture.h"
#include "tests/tools/temporary_directory.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class LogDirectoryTest : public EngineTest {
 protected:
  // Of another database, whose options these are but for the logs.
  Options Elsewhere(std::string_view log_directory) {
    Options options = database.options;
    options.log_directory = std::string(log_directory);
    return options;
  }
  absl::Status OpenOther(std::string_view log_directory, std::string_view path = "/other") {
    return Engine::Open(Elsewhere(log_directory), database.tuning, path).status();
  }
  std::map<std::string, std::string> Contents(std::string_view path) {
    std::map<std::string, std::string> contents;
    for (const std::string& name : FilesIn(&database.memory, path)) {
      contents[name] = database.memory.ReadFileContents(std::string(path) + "/" + name).value();
    }
    return contents;
  }
  static void ExpectRefusal(const absl::Status& status, std::string_view directory) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(ToStd(status.message())),
                AllOf(HasSubstr("log_directory " + std::string(directory)), HasSubstr("a directory of their own")));
  }
  static void ExpectInUse(const absl::Status& status, std::string_view directory) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(ToStd(status.message())),
                AllOf(HasSubstr("log_directory " + std::string(directory)), HasSubstr("a directory of their own")));
  }
};

TEST_F(LogDirectoryTest, ALogDirectoryThatHoldsAnotherDatabaseIsRefusedBeforeAnythingIsWritten) {
  Fill(0, 300);
  ASSERT_OK(db()->Checkpoint("/backup"));
  const auto backup = Contents("/backup");
  ExpectRefusal(OpenOther("/backup"), "/backup");
  EXPECT_EQ(database.memory.OpenDirectory("/other", false).status().code(), absl::StatusCode::kNotFound);

  ASSERT_OK(OpenOther(""));
  const auto other = Contents("/other");
  ExpectRefusal(OpenOther("/backup"), "/backup");
  ExpectRefusal(RepairTo(nullptr, Elsewhere("/backup"), "/other"), "/backup");
  EXPECT_TRUE(Contents("/other") == other);
  EXPECT_TRUE(Contents("/backup") == backup);
  const auto opened = Engine::Open(database.options, database.tuning, "/backup");
  ASSERT_OK(opened.status());
  EXPECT_EQ(ReadAll((*opened)->NewIterator().get()).size(), 300u);
}

TEST_F(LogDirectoryTest, LogsOfAnotherDatabaseStay) {
  Options options = Elsewhere("/logs");
  options.env.random_seed = 2;  // else it would have the same id
  auto first = Engine::Open(options, database.tuning, "/first");
  ASSERT_OK(first.status());
  for (uint64_t i = 0; i < 50; ++i) ASSERT_OK((*first)->Put(NumberedKey(i), "v"));
  // Both are left as a process leaves them that is killed.
  database.memory.Crash(CrashMode::kKillProcess);
  first->reset();
  database.db.reset();
  const auto logs = Contents("/logs");
  EXPECT_FALSE(OpenOther("/logs", "/db").ok());
  EXPECT_FALSE(OpenOther("/logs", "/made").ok());
  ExpectRefusal(RepairTo(nullptr, Elsewhere("/logs"), "/db"), "/logs");
  ExpectRefusal(DB::Destroy(Elsewhere("/logs"), "/db"), "/logs");
  ExpectRefusal(DB::Destroy(Elsewhere("/logs"), "/made"), "/logs");
  EXPECT_TRUE(Contents("/logs") == logs);
  EXPECT_OK(database.Open());
  first = Engine::Open(options, database.tuning, "/first");
  ASSERT_OK(first.status());
  EXPECT_EQ(ReadAll((*first)->NewIterator().get()).size(), 50u);
}

TEST_F(LogDirectoryTest, TheDatabaseRemembersIt) {
  for (int opening = 0; opening < 3; ++opening) {
    const auto made = Engine::Open(Elsewhere(opening == 0 ? "/logs" : ""), database.tuning, "/other");
    ASSERT_OK(made.status());
    EXPECT_EQ((*made)->Get("k").value_or("absent"), opening == 0 ? "absent" : "in the log");
    ASSERT_OK((*made)->Put("k", "in the log", {.sync = true}));
    for (const auto& [name, bytes] : Contents("/other")) EXPECT_FALSE(name.ends_with(".log")) << name;
  }
  Options read_only = Elsewhere("");
  read_only.create_if_missing = false;
  read_only.read_only = true;
  const auto reader = Engine::Open(read_only, database.tuning, "/other");
  ASSERT_OK(reader.status());
  EXPECT_EQ((*reader)->Get("k").value_or("absent"), "in the log");
  RepairReport report;
  ASSERT_OK(RepairTo(&report, Elsewhere(""), "/other"));
  EXPECT_FALSE(report.changed);
  ASSERT_OK(DB::Destroy(Elsewhere(""), "/other"));
  EXPECT_EQ(Contents("/logs").size(), 0u);
}

TEST_F(LogDirectoryTest, AnotherOneIsRefusedWhileTheLogsLieInTheRememberedOne) {
  {
    const auto made = Engine::Open(Elsewhere("/logs"), database.tuning, "/other");
    ASSERT_OK(made.status());
    ASSERT_OK((*made)->Put("k", "in the log", {.sync = true}));
  }
  const auto logs = Contents("/logs");
  for (const std::string elsewhere : {"/empty", "/other", "/other/"}) {
    ASSERT_OK(database.memory.OpenDirectory("/empty", /*create=*/true).status());
    for (const absl::Status& refused :
         {OpenOther(elsewhere), RepairTo(nullptr, Elsewhere(elsewhere), "/other", {.dry_run = true}),
          RepairTo(nullptr, Elsewhere(elsewhere), "/other")}) {
      EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
      EXPECT_THAT(std::string(ToStd(refused.message())),
                  AllOf(HasSubstr("log_directory is " + elsewhere + ","), HasSubstr("are in /logs:")));
    }
  }
  EXPECT_TRUE(Contents("/logs") == logs);
  EXPECT_OK(OpenOther("/logs/"));
  EXPECT_OK(OpenOther(""));
}

TEST_F(LogDirectoryTest, LogsThatWereMovedAreFoundAtHomeOrWhereTheyAreSaidToBe) {
  ASSERT_OK(OpenOther("/logs"));
  const auto move = [&](const std::string& from, const std::string& to) {
    ASSERT_OK(database.memory.OpenDirectory(to, /*create=*/true).status());
    for (const auto& [name, bytes] : Contents(from)) {
      if (!name.ends_with(".log") && !name.ends_with(".ring")) continue;
      ASSERT_OK(database.memory.WriteFileContents(to + "/" + name, bytes));
      ASSERT_OK(database.memory.OpenDirectory(from, false).value()->Remove(name));
    }
  };
  move("/logs", "/fast");
  EXPECT_TRUE(absl::IsDataLoss(OpenOther("")));
  ASSERT_OK(OpenOther("/fast"));
  ASSERT_OK(OpenOther(""));
  EXPECT_EQ(Contents("/logs").size(), 1u);  // LOCK
  move("/fast", "/other");
  ASSERT_OK(OpenOther(""));
  ASSERT_OK(database.memory.OpenDirectory("/fast", false).value()->Remove("LOCK"));
  ASSERT_OK(database.memory.RemoveDirectory("/fast"));
  ASSERT_OK(OpenOther(""));
}

TEST_F(LogDirectoryTest, ACopyOfTheDatabaseDoesNotTakeTheLogsOfTheOriginal) {
  {
    const auto made = Engine::Open(Elsewhere("/logs"), database.tuning, "/other");
    ASSERT_OK(made.status());
    ASSERT_OK((*made)->Put("k", "in the log", {.sync = true}));
  }
  const auto logs = Contents("/logs");
  for (const auto& [from, to] : {std::pair("/other", "/copy"), std::pair("/logs", "/copied")}) {
    ASSERT_OK(database.memory.OpenDirectory(to, /*create=*/true).status());
    for (const auto& [name, bytes] : Contents(from)) {
      ASSERT_OK(database.memory.WriteFileContents(std::string(to) + "/" + name, bytes));
    }
  }
  const absl::Status refused = OpenOther("", "/copy");
  EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
  EXPECT_THAT(std::string(ToStd(refused.message())),
              AllOf(HasSubstr("were in /logs when the database was in /other"), HasSubstr("Options::log_directory")));
  EXPECT_TRUE(absl::IsFailedPrecondition(RepairTo(nullptr, Elsewhere(""), "/copy")));
  ASSERT_OK(DB::Destroy(Elsewhere(""), "/copy"));
  EXPECT_TRUE(Contents("/logs") == logs);
  ASSERT_OK(database.memory.OpenDirectory("/copy", /*create=*/true).status());
  for (const auto& [name, bytes] : Contents("/other")) {
    ASSERT_OK(database.memory.WriteFileContents("/copy/" + name, bytes));
  }
  ASSERT_OK(OpenOther("/copied", "/copy"));
  const auto opened = Engine::Open(Elsewhere(""), database.tuning, "/copy");
  ASSERT_OK(opened.status());
  EXPECT_EQ((*opened)->Get("k").value_or("absent"), "in the log");
  EXPECT_TRUE(Contents("/logs") == logs);
}

TEST_F(LogDirectoryTest, ARememberedDirectoryThatIsGoneIsNamedAndARepairGivesNothingUp) {
  {
    const auto made = Engine::Open(Elsewhere("/logs"), database.tuning, "/other");
    ASSERT_OK(made.status());
    ASSERT_OK((*made)->Put("k", "in the log", {.sync = true}));
  }
  for (const auto& [name, bytes] : Contents("/logs")) {
    ASSERT_OK(database.memory.OpenDirectory("/logs", false).value()->Remove(name));
  }
  ASSERT_OK(database.memory.RemoveDirectory("/logs"));
  const absl::Status opened = OpenOther("");
  EXPECT_TRUE(absl::IsDataLoss(opened)) << opened;
  EXPECT_THAT(std::string(ToStd(opened.message())),
              AllOf(HasSubstr("were in /logs, which does not exist"), HasSubstr("Options::log_directory")));
  EXPECT_EQ(database.memory.OpenDirectory("/logs", false).status().code(), absl::StatusCode::kNotFound);
  for (const bool dry_run : {true, false}) {
    const absl::Status repaired = RepairTo(nullptr, Elsewhere(""), "/other", {.dry_run = dry_run});
    EXPECT_TRUE(absl::IsFailedPrecondition(repaired)) << repaired;
    EXPECT_THAT(std::string(ToStd(repaired.message())), AllOf(HasSubstr("log_directory"), HasSubstr("logs_lost")));
  }
}

// Such a library skips the field, and must miss the logs.
TEST_F(LogDirectoryTest, ALibraryThatDoesNotKnowTheFieldMissesTheLogs) {
  ASSERT_OK(OpenOther("/logs"));
  for (const auto& [name, bytes] : Contents("/other")) {
    if (!name.starts_with("MANIFEST")) continue;
    EXPECT_TRUE(bytes.find(std::string("\x1d\x0d\x05/logs\x06/other", 15)) != std::string::npos);
  }
  // Its manifest lacks the field.
  const std::unique_ptr<Directory> directory = database.memory.OpenDirectory("/other", false).value();
  std::vector<VersionEdit> edits;
  const auto read = RecoverManifest(directory.get(), {}, /*other_files=*/false, [&](VersionEdit&& edit) {
    edit.log_directory.reset();
    edits.push_back(std::move(edit));
    return absl::OkStatus();
  });
  ASSERT_OK(read.status());
  for (const auto& [name, bytes] : Contents("/other")) {
    if (name.starts_with("MANIFEST")) ASSERT_OK(directory->Remove(name));
  }
  ASSERT_OK((*ManifestWriter::Create(directory.get(), FileNumber(90), read->database_id, edits, nullptr))->Close());
  const absl::Status opened = OpenOther("");
  EXPECT_TRUE(absl::IsDataLoss(opened)) << opened;
  EXPECT_OK(OpenOther("/logs"));
  EXPECT_OK(OpenOther(""));
}

TEST_F(LogDirectoryTest, OfADamagedManifestTheReadablePartSaysThatALogIsNeeded) {
  {
    const auto made = Engine::Open(Elsewhere("/logs"), database.tuning, "/other");
    ASSERT_OK(made.status());
    ASSERT_OK((*made)->Put("k", "in the log", {.sync = true}));
  }
  for (const auto& [name, bytes] : Contents("/other")) {
    if (!name.starts_with("MANIFEST")) continue;
    // In the last edit; behind it is a mark.
    std::string damaged = bytes;
    damaged[damaged.size() - kManifestRecordHeaderBytes - kManifestControlBytes - 1] ^= 1;
    ASSERT_OK(database.memory.WriteFileContents("/other/" + name, damaged));
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(RepairTo(nullptr, Elsewhere(""), "/other")));
  RepairReport report;
  ASSERT_OK(RepairTo(&report, Elsewhere("/logs"), "/other"));
  EXPECT_TRUE(report.changed);
  const auto opened = Engine::Open(Elsewhere("/logs"), database.tuning, "/other");
  ASSERT_OK(opened.status());
  EXPECT_EQ((*opened)->Get("k").value_or("absent"), "in the log");
}

TEST_F(LogDirectoryTest, WithoutTheHeadOfTheManifestALogMayBeNeededAndNothingIsGivenUp) {
  // The second opening begins a manifest whose first edit says which log is needed; no other does.
  for (int opening = 0; opening < 2; ++opening) {
    const auto made = Engine::Open(Elsewhere("/logs"), database.tuning, "/other");
    ASSERT_OK(made.status());
    // A table, without which there would be no database in the directory once its manifest is gone.
    if (opening == 0) ASSERT_OK((*made)->Put("k", "in a table"));
    if (opening == 0) ASSERT_OK((*made)->Flush());
    ASSERT_OK((*made)->Put("k", "in the log", {.sync = true}));
  }
  const auto logs = Contents("/logs");
  std::string manifest;
  for (const auto& [name, bytes] : Contents("/other")) {
    if (name.starts_with("MANIFEST")) manifest = name;
  }
  ASSERT_OK(database.memory.FlipBit("/other/" + manifest, kManifestHeaderBytes + kManifestRecordHeaderBytes, 0));
  for (const bool removed : {false, true}) {
    SCOPED_TRACE(removed);
    if (removed) ASSERT_OK(database.memory.OpenDirectory("/other", false).value()->Remove(manifest));
    for (const bool dry_run : {true, false}) {
      const absl::Status refused = RepairTo(nullptr, Elsewhere(""), "/other", {.dry_run = dry_run});
      EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
      EXPECT_THAT(std::string(ToStd(refused.message())),
                  AllOf(HasSubstr("log_directory"), HasSubstr("logs_lost"), Not(HasSubstr("000000.log"))));
    }
  }
  EXPECT_TRUE(Contents("/logs") == logs);
  ASSERT_OK(RepairTo(nullptr, Elsewhere("/logs"), "/other"));
  const auto opened = Engine::Open(Elsewhere("/logs"), database.tuning, "/other");
  ASSERT_OK(opened.status());
  EXPECT_EQ((*opened)->Get("k").value_or("absent"), "in the log");
}

TEST_F(LogDirectoryTest, LogsThatAreLostAreGivenUpWhereThatIsSaid) {
  {
    const auto made = Engine::Open(Elsewhere("/logs"), database.tuning, "/other");
    ASSERT_OK(made.status());
    ASSERT_OK((*made)->Put("k", "in a table"));
    ASSERT_OK((*made)->Flush());
    ASSERT_OK((*made)->Put("k", "in the log"));
  }
  for (const auto& [name, bytes] : Contents("/logs")) {
    ASSERT_OK(database.memory.OpenDirectory("/logs", false).value()->Remove(name));
  }
  RepairReport report;
  ASSERT_OK(RepairTo(&report, Elsewhere(""), "/other", {.logs_lost = true}));
  ASSERT_EQ(report.dropped.size(), 1u) << report.ToString();
  EXPECT_TRUE(report.dropped[0].file.ends_with(".log"));
  const auto opened = Engine::Open(Elsewhere(""), database.tuning, "/other");
  ASSERT_OK(opened.status());
  EXPECT_EQ((*opened)->Get("k").value_or("absent"), "in a table");
}

// Also while neither has a log there yet.
TEST_F(LogDirectoryTest, OneDatabaseAtATimeMakesItsLogsThere) {
  Options second = Elsewhere("/logs");
  second.env.file_system = &database.memory;
  absl::Status meanwhile;
  int openings = 0;
  database.files.SetDecider([&](const FileCall& call) {
    if (call.op == FileOp::kOpenWrite && call.name.ends_with(".ring") && ++openings == 1) {
      const auto opened = Engine::Open(second, database.tuning, "/second");
      meanwhile = opened.ok() ? (*opened)->Put("k", "v") : opened.status();
    }
    return Fault::kNone;
  });
  const auto first = Engine::Open(Elsewhere("/logs"), database.tuning, "/first");
  database.files.Clear();
  ASSERT_OK(first.status());
  EXPECT_EQ(openings, 1);
  ExpectInUse(meanwhile, "/logs");
  ASSERT_OK((*first)->Put("k", "v"));
}

TEST_F(LogDirectoryTest, WhateverChangesTheLogsLocksTheirDirectory) {
  ASSERT_OK(OpenOther(""));
  auto holder = Engine::Open(Elsewhere("/logs"), database.tuning, "/holder");
  ASSERT_OK(holder.status());
  ASSERT_OK((*holder)->Put("k", "v"));
  const auto other = Contents("/other");
  const auto logs = Contents("/logs");
  ExpectInUse(OpenOther("/logs", "/made"), "/logs");
  ExpectInUse(RepairTo(nullptr, Elsewhere("/logs"), "/other"), "/logs");
  ExpectInUse(DB::Destroy(Elsewhere("/logs"), "/other"), "/logs");
  EXPECT_OK(RepairTo(nullptr, Elsewhere("/logs"), "/other", {.dry_run = true}));
  EXPECT_TRUE(Contents("/other") == other);
  EXPECT_TRUE(Contents("/logs") == logs);

  Options read_only = Elsewhere("/logs");
  read_only.create_if_missing = false;
  read_only.read_only = true;
  const auto reader = Engine::Open(read_only, database.tuning, "/holder");
  ASSERT_OK(reader.status());
  EXPECT_EQ((*reader)->Get("k").value_or("absent"), "v");

  ASSERT_OK((*holder)->Close());
  ASSERT_OK(RepairTo(nullptr, Elsewhere("/logs"), "/holder"));
  holder = Engine::Open(Elsewhere("/logs"), database.tuning, "/holder");
  ASSERT_OK(holder.status());
  EXPECT_EQ((*holder)->Get("k").value_or("absent"), "v");
}

TEST_F(LogDirectoryTest, ALockFileThatIsReplacedInTheLogDirectoryEndsWritingToo) {
  const auto opened = Engine::Open(Elsewhere("/logs"), database.tuning, "/other");
  ASSERT_OK(opened.status());
  ASSERT_OK((*opened)->Put("k", "1"));
  ASSERT_OK(database.memory.OpenDirectory("/logs", false).value()->Remove("LOCK"));
  const absl::Status flushed = (*opened)->Flush();
  EXPECT_TRUE(absl::IsFailedPrecondition(flushed)) << flushed;
  EXPECT_THAT(flushed.ToString(), HasSubstr("/logs/LOCK"));
  EXPECT_FALSE((*opened)->Close().ok());
}

TEST_F(LogDirectoryTest, AReadOnlyOpeningAndADryRunMakeNoLockFile) {
  ASSERT_OK(OpenOther("/logs"));
  ASSERT_OK(database.memory.OpenDirectory("/logs", false).value()->Remove("LOCK"));
  const auto logs = Contents("/logs");
  Options read_only = Elsewhere("/logs");
  read_only.create_if_missing = false;
  read_only.read_only = true;
  ASSERT_OK(Engine::Open(read_only, database.tuning, "/other").status());
  ASSERT_OK(RepairTo(nullptr, Elsewhere("/logs"), "/other", {.dry_run = true}));
  EXPECT_TRUE(Contents("/logs") == logs);
}

TEST_F(LogDirectoryTest, DestroyTakesItsOwnLogsWhereverTheyLie) {
  Fill(0, 300);
  ASSERT_OK(OpenOther("/logs"));
  ASSERT_OK(DB::Destroy(Elsewhere("/logs"), "/other"));
  EXPECT_EQ(Contents("/logs").size(), 0u);
  database.db.reset();
  ASSERT_OK(DB::Destroy(Elsewhere("/db"), "/db"));
  EXPECT_EQ(database.memory.OpenDirectory("/db", false).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(LogDirectoryTest, DestroyTakesNoLogsWhereADamagedManifestCannotSayWhoseTheyAre) {
  ASSERT_OK(OpenOther("/logs"));
  std::string manifest;
  for (const std::string& name : FilesIn(&database.memory, "/other")) {
    if (name.starts_with("MANIFEST")) manifest = "/other/" + name;
  }
  ASSERT_OK(database.memory.FlipBit(manifest, 20, 1));
  const absl::Status status = DB::Destroy(Elsewhere("/logs"), "/other");
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.ToString(), ::testing::HasSubstr("repair it first"));
  EXPECT_THAT(FilesIn(&database.memory, "/logs"), ::testing::Not(::testing::IsEmpty()));
}

TEST(LogDirectoryNameTest, ItIsKeptAsAnAbsolutePath) {
  const tools::TemporaryDirectory directory;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  Options options{.create_if_missing = true};
  options.log_directory = "logs";
  auto db = DB::Open(options, "db");
  ASSERT_OK(db.status());
  ASSERT_OK((*db)->Put("k", "v"));
  db->reset();
  std::filesystem::current_path(before);
  std::filesystem::create_directory_symlink(directory.path() + "/db", directory.path() + "/link");
  for (const std::string name : {"/db", "/link"}) {
    db = DB::Open({.read_only = true}, directory.path() + name);
    ASSERT_OK(db.status());
    EXPECT_EQ((*db)->Get("k").value_or("absent"), "v");
  }
}

TEST(LogDirectoryNameTest, TheDatabasesOwnDirectoryIsNoneUnderAnotherName) {
  const tools::TemporaryDirectory directory;
  const std::string path = directory.path() + "/db";
  Options options;
  options.create_if_missing = true;
  for (const std::string alias : {"/./db", "//db", "/db/../db"}) {
    options.log_directory = directory.path() + alias;
    for (int opening = 0; opening < 3; ++opening) {
      auto db = DB::Open(options, path);
      ASSERT_OK(db.status());
      ASSERT_OK((*db)->Put("k", "v"));
      ASSERT_OK((*db)->Close());
    }
    ASSERT_OK(RepairTo(nullptr, options, path));
    ASSERT_OK(DB::Destroy(options, path));
  }
}

}  // namespace
}  // namespace sepal
