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

}  // namespace
}  // namespace sepal::tools
