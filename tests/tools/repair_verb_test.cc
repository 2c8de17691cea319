// sepal db repair: what it says, what it leaves alone, and its exit status.
#include <gtest/gtest.h>

#include "tests/tools/sepal_command_fixture.h"

namespace sepal::tools {
namespace {

class RepairVerbTest : public SepalCommandTest {
 protected:
  // The files whose names hold `part`.
  std::vector<std::string> Named(const std::string& part) const {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(db_)) {
      if (Has(entry.path().filename().string(), part)) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  // One table of many blocks.
  void MakeOneTable() {
    MakeDatabase();
    ASSERT_EQ(RunSepal({"db", "compact", db_, "--yes"}).exit, kExitOk);
    ASSERT_EQ(Files(".sst").size(), 1u);
  }
};

TEST_F(RepairVerbTest, WithoutYesItTellsWhatItWouldDoAndDoesNothing) {
  MakeOneTable();
  FlipByte(Files(".sst").front(), 0.3);
  const std::set<std::string> before = State();
  const Outcome refused = RunSepal({"db", "repair", db_});
  EXPECT_EQ(refused.exit, kExitUsage);
  EXPECT_TRUE(Has(refused.err, "what cannot be read is dropped") && Has(refused.err, "--yes")) << refused.err;
  EXPECT_EQ(State(), before);
}

TEST_F(RepairVerbTest, AHealthyDatabaseIsNotTouched) {
  MakeDatabase();
  // Who has the lock is written into it.
  const std::set<std::string> before = StateOf(db_, "LOCK");
  const Outcome outcome = RunSepal({"db", "repair", db_, "--yes"});
  EXPECT_EQ(outcome.exit, kExitOk) << outcome.err;
  EXPECT_EQ(outcome.out, "nothing was wrong; nothing was changed\n");
  const nlohmann::json json = LastJson(RunSepal({"db", "repair", db_, "--yes", "--json"}).out);
  EXPECT_FALSE(json.at("changed"));
  EXPECT_TRUE(json.at("ok"));
  EXPECT_EQ(StateOf(db_, "LOCK"), before);
}

TEST_F(RepairVerbTest, ADryRunTellsWhatTheRepairThenDoesAndChangesNothing) {
  MakeOneTable();
  EXPECT_EQ(RunSepal({"db", "repair", db_, "--dry-run"}).out, "nothing is wrong; a repair would change nothing\n");
  FlipByte(Files(".sst").front(), 0.3);
  const std::set<std::string> before = State();
  const Outcome text = RunSepal({"db", "repair", db_, "--dry-run"});
  EXPECT_EQ(text.exit, kExitDamage) << text.err;
  EXPECT_TRUE(Has(text.out, "a dry run: nothing was changed") && Has(text.out, "dropped: ")) << text.out;
  EXPECT_TRUE(Has(text.err, "a repair would lose 1 part")) << text.err;
  nlohmann::json foreseen = LastJson(RunSepal({"db", "repair", db_, "--dry-run", "--json"}).out);
  EXPECT_EQ(State(), before);
  EXPECT_TRUE(foreseen.at("dry_run"));
  nlohmann::json done = LastJson(RunSepal({"db", "repair", db_, "--yes", "--json"}).out);
  EXPECT_FALSE(done.at("dry_run"));
  for (const char* of_its_own : {"dry_run", "error"}) {
    foreseen.erase(of_its_own);
    done.erase(of_its_own);
  }
  EXPECT_EQ(foreseen, done);
}

TEST_F(RepairVerbTest, WhatWasLostIsNamedWithExitStatusThree) {
  MakeOneTable();
  const std::string table = std::filesystem::path(Files(".sst").front()).filename();
  FlipByte(Files(".sst").front(), 0.3);
  ASSERT_EQ(RunSepal({"db", "verify", db_}).exit, kExitDamage);
  const Outcome repaired = RunSepal({"db", "repair", db_, "--yes", "--json"});
  EXPECT_EQ(repaired.exit, kExitDamage) << repaired.err;
  const nlohmann::json json = LastJson(repaired.out);
  EXPECT_FALSE(json.at("ok"));
  EXPECT_TRUE(json.at("changed"));
  EXPECT_EQ(json.at("tables_rewritten"), 1);
  ASSERT_EQ(json.at("dropped").size(), 1u);
  const nlohmann::json dropped = json["dropped"][0];
  EXPECT_EQ(dropped.at("file"), table);
  EXPECT_EQ(dropped.at("column_family").at("utf8"), "default");
  EXPECT_GT(dropped.at("end_offset"), dropped.at("begin_offset"));
  EXPECT_TRUE(std::filesystem::exists(db_ + "/lost/" + table));

  EXPECT_EQ(RunSepal({"db", "verify", db_}).exit, kExitOk);
  // Exactly the keys of the range that was named are gone.
  const std::string first = dropped.at("first_key").at("utf8"), last = dropped.at("last_key").at("utf8");
  for (int i : {0, 500, 999}) {
    const bool named = first <= Key(i) && Key(i) <= last;
    EXPECT_EQ(RunSepal({"db", "get", db_, Key(i)}).exit == kExitOk, !named) << Key(i);
  }
  const Outcome again = RunSepal({"db", "repair", db_, "--yes"});
  EXPECT_EQ(again.exit, kExitOk) << again.err;
}

TEST_F(RepairVerbTest, TheTextNamesFilesAndReasons) {
  MakeOneTable();
  FlipByte(Files(".sst").front(), 0.3);
  const Outcome repaired = RunSepal({"db", "repair", db_, "--yes"});
  EXPECT_EQ(repaired.exit, kExitDamage);
  EXPECT_TRUE(Has(repaired.err, "1 part, listed above, was lost")) << repaired.err;
  EXPECT_TRUE(Has(repaired.out, db_ + " opens again; damaged files are in " + db_ + "/lost\n")) << repaired.out;
  EXPECT_TRUE(Has(repaired.out, "dropped: 0") && Has(repaired.out, "put aside: 0")) << repaired.out;
}

TEST_F(RepairVerbTest, ADamagedManifestIsMadeAnew) {
  MakeDatabase();
  for (const std::string& manifest : Named("MANIFEST")) FlipByte(manifest, 0.2);
  ASSERT_EQ(RunSepal({"db", "get", db_, "key0001"}).exit, kExitDamage);
  EXPECT_EQ(RunSepal({"db", "repair", db_, "--yes"}).exit, kExitDamage);
  EXPECT_EQ(RunSepal({"db", "get", db_, "key0999"}).out, "first");
  EXPECT_EQ(RunSepal({"db", "verify", db_}).exit, kExitOk);
}

TEST_F(RepairVerbTest, ALogDirectoryIsRememberedAndOneThatIsGoneIsNamedAndNothingIsGivenUp) {
  const std::string logs = directory_.File("logs"), moved = directory_.File("moved");
  ASSERT_EQ(RunSepal({"db", "put", db_, "k1", "v", "--log-directory", logs}).exit, kExitOk);
  ASSERT_EQ(RunSepal({"db", "put", db_, "k2", "v"}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"db", "get", db_, "k2"}).out, "v");
  EXPECT_EQ(RunSepal({"db", "verify", db_}).exit, kExitOk);
  EXPECT_TRUE(Has(RunSepal({"wal", "dump", db_}).out, "k2"));
  const Outcome other = RunSepal({"db", "get", db_, "k2", "--log-directory", db_});
  EXPECT_EQ(other.exit, kExitError);
  EXPECT_TRUE(Has(other.err, "log_directory is " + db_) && Has(other.err, "are in " + logs)) << other.err;

  std::filesystem::rename(logs, moved);
  for (const std::vector<std::string>& look :
       std::vector<std::vector<std::string>>{{"db", "get", db_, "k1"}, {"db", "verify", db_}}) {
    const Outcome outcome = RunSepal(look);
    EXPECT_EQ(outcome.exit, kExitDamage);
    EXPECT_TRUE(Has(outcome.err, "--log-directory") && Has(outcome.err, logs)) << outcome.err;
  }
  for (const std::string how : {"--yes", "--dry-run"}) {
    const Outcome refused = RunSepal({"db", "repair", db_, how});
    EXPECT_EQ(refused.exit, kExitError) << refused.out;
    EXPECT_TRUE(Has(refused.err, "--log-directory") && Has(refused.err, "--logs-lost")) << refused.err;
  }
  EXPECT_EQ(RunSepal({"db", "get", db_, "k2", "--log-directory", moved}).out, "v");

  std::filesystem::remove_all(moved);
  const Outcome dry = RunSepal({"db", "repair", db_, "--dry-run", "--logs-lost"});
  EXPECT_EQ(dry.exit, kExitDamage) << dry.err;
  EXPECT_TRUE(Has(dry.err, "sepal db repair " + db_ + " --logs-lost --yes")) << dry.err;
  EXPECT_EQ(RunSepal({"db", "repair", db_, "--yes", "--logs-lost"}).exit, kExitDamage);
  EXPECT_EQ(RunSepal({"db", "verify", db_}).exit, kExitOk);
}

TEST_F(RepairVerbTest, TheRemedyNamesTheLogDirectoryThatWasGiven) {
  const std::string logs = directory_.File("logs");
  {
    Options options{.create_if_missing = true};
    options.log_directory = logs;
    const std::unique_ptr<DB> db = DB::Open(options, db_).value();
    ASSERT_TRUE(db->Put("k", "v").ok());
    ASSERT_TRUE(db->Flush().ok());
    ASSERT_TRUE(db->Close().ok());
  }
  FlipByte(Files(".sst").front(), 0.01);
  const std::string place = db_ + " --log-directory " + logs;
  const Outcome verify = RunSepal({"db", "verify", db_, "--log-directory", logs});
  EXPECT_EQ(verify.exit, kExitDamage);
  EXPECT_TRUE(Has(verify.err, "sepal db repair " + place + " --dry-run reports")) << verify.err;
  const Outcome dry = RunSepal({"db", "repair", db_, "--log-directory", logs, "--dry-run"});
  EXPECT_EQ(dry.exit, kExitDamage);
  EXPECT_TRUE(Has(dry.err, "sepal db repair " + place + " --yes")) << dry.err;
}

TEST_F(RepairVerbTest, WhatCannotBeRepairedIsAnErrorAndIsLeftAlone) {
  EXPECT_EQ(RunSepal({"db", "repair", directory_.File("none"), "--yes"}).exit, kExitError);
  EXPECT_FALSE(std::filesystem::exists(directory_.File("none")));
  MakeDatabase();
  absl::StatusOr<std::unique_ptr<DB>> writer = DB::Open({}, db_);
  ASSERT_TRUE(writer.ok());
  const Outcome open = RunSepal({"db", "repair", db_, "--yes"});
  EXPECT_EQ(open.exit, kExitError);
  EXPECT_TRUE(Has(open.err, "close it there first")) << open.err;
}

}  // namespace
}  // namespace sepal::tools
