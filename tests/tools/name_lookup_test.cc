#include "tools/name_lookup/name_lookup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "sepal/db.h"
#include "tests/tools/full_disk.h"
#include "tests/tools/temporary_directory.h"
#include "tests/util/files/watched_calls.h"
#include "tools/terminal/cli.h"

namespace sepal::tools {
namespace {

class NameLookupTest : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream names(directory_.File("names.tsv"));
    for (int i = 0; i < 3000; ++i) names << "name-" << i << "\tvalue of " << i << "\n";
  }

  Outcome RunLookup(const std::vector<std::string>& arguments, const std::string& input = "") {
    std::ostringstream out;
    Outcome outcome = RunLookup(arguments, input, out);
    outcome.out = out.str();
    return outcome;
  }
  Outcome RunLookup(std::vector<std::string> arguments, const std::string& input, std::ostream& out) {
    arguments.insert(arguments.begin(), {"name_lookup", "--db=" + directory_.File("db")});
    std::vector<const char*> argv;
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    std::istringstream in(input);
    std::ostringstream err;
    Outcome outcome;
    outcome.exit = NameLookupMain(static_cast<int>(argv.size()), argv.data(), in, out, err);
    outcome.err = err.str();
    return outcome;
  }
  std::string Load() const { return "--load=" + directory_.File("names.tsv"); }

  TemporaryDirectory directory_;
};

TEST_F(NameLookupTest, TellsTakenNamesFromFreeOnes) {
  const Outcome outcome = RunLookup({Load(), "--json", "name-17", "name-2999"});
  ASSERT_EQ(outcome.exit, kExitOk) << outcome.err;
  std::istringstream lines(outcome.out);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  const nlohmann::json taken = nlohmann::json::parse(line);
  EXPECT_EQ(taken.at("found"), true);
  EXPECT_EQ(taken.at("value").at("utf8"), "value of 17");
  EXPECT_EQ(taken.at("ruled_out_by_filters"), false);
  EXPECT_GE(taken.at("blocks_searched"), 1);
}

TEST_F(NameLookupTest, MostFreeNamesAreRuledOutWithoutABlock) {
  std::string names;
  for (int i = 0; i < 1000; ++i) names += "name-" + std::to_string(i) + "-free\n";
  const Outcome outcome = RunLookup({Load(), "--json", "-"}, names);
  ASSERT_EQ(outcome.exit, kExitOk) << outcome.err;
  int free = 0, ruled_out = 0;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json answer = nlohmann::json::parse(line);
    free += answer.at("found") == false ? 1 : 0;
    ruled_out += answer.at("ruled_out_by_filters") == true ? 1 : 0;
    EXPECT_EQ(answer.at("ruled_out_by_filters") == true, answer.at("blocks_searched") == 0);
  }
  EXPECT_EQ(free, 1000);
  EXPECT_GT(ruled_out, 970);
}

TEST_F(NameLookupTest, TheSummaryAddsUp) {
  const Outcome outcome = RunLookup({Load(), "--summary", "-"}, "name-1\nname-2\nnobody\n");
  ASSERT_EQ(outcome.exit, kExitOk) << outcome.err;
  EXPECT_EQ(outcome.out.rfind("3 names: 2 taken, 1 free;", 0), 0u) << outcome.out;
  EXPECT_NE(outcome.out.find("filters saved"), std::string::npos);
  const Outcome json = RunLookup({"--summary", "--json", "-"}, "name-1\nname-2\nnobody\n");
  ASSERT_EQ(json.exit, kExitOk) << json.err;
  const nlohmann::json line = nlohmann::json::parse(json.out);
  EXPECT_EQ(line.at("names"), 3);
  EXPECT_EQ(line.at("taken"), 2);
  EXPECT_EQ(line.at("free"), 1);
  EXPECT_LE(line.at("ruled_out_by_filters"), 1);
  EXPECT_GE(line.at("blocks_searched"), 2);
}

TEST_F(NameLookupTest, WhatWasLoadedIsThereTheNextTime) {
  ASSERT_EQ(RunLookup({Load()}).exit, kExitOk);
  const Outcome outcome = RunLookup({"name-5", "name-x"});
  ASSERT_EQ(outcome.exit, kExitOk) << outcome.err;
  EXPECT_NE(outcome.out.find("taken"), std::string::npos);
  EXPECT_NE(outcome.out.find("free"), std::string::npos);
}

TEST_F(NameLookupTest, TheLogTellsHowEachNameWasAnswered) {
  // More than is fed at once, and lines without a value.
  std::ofstream names(directory_.File("names.tsv"), std::ios::app);
  for (int i = 0; i < 20'000; ++i) names << "long-" << i << "\t" << std::string(30, 'v') << "\n";
  names << "bare\n";
  names.close();
  const Outcome loaded = RunLookup({Load(), "bare", "-"}, "long-7\nnobody\naaaa\n");
  ASSERT_EQ(loaded.exit, kExitOk) << loaded.err;
  EXPECT_NE(loaded.err.find("loaded 23001 lines"), std::string::npos) << loaded.err;
  std::set<std::string> answers;
  std::string input;
  for (int i = 0; i < 300; ++i) input += "long-" + std::to_string(i) + "x\n";
  std::istringstream lines(RunLookup({"bare", "zzz", "long-7", "-"}, input).out);
  for (std::string line; std::getline(lines, line);) {
    ASSERT_GT(line.size(), 33u) << line;
    answers.insert(line.substr(33));
  }
  EXPECT_TRUE(answers.contains("read from a block"));
  EXPECT_TRUE(answers.contains("no file covers the name; no block touched"));
  EXPECT_TRUE(answers.contains("ruled out by a file's guard; no block touched"));
  // Still in the log, and not in a file.
  {
    const std::unique_ptr<DB> db = DB::Open({}, directory_.File("db")).value();
    ASSERT_TRUE(db->Put("fresh", "v").ok());
    ASSERT_TRUE(db->Close().ok());
  }
  EXPECT_NE(RunLookup({"fresh"}).out.find("taken"), std::string::npos);
  EXPECT_EQ(RunLookup({"--lod"}).exit, kExitUsage);
}

TEST_F(NameLookupTest, ALoadThatCannotBeMadeDurableIsAnError) {
  for (int number = 0; number < 20; ++number) {
    std::filesystem::remove_all(directory_.File("db"));
    Outcome outcome;
    int seen = 0;
    const CallJudge judge = [&](const seccomp_data& call) -> std::optional<CallAnswer> {
      if (IsOfARing(call)) return std::nullopt;
      return seen++ == number ? std::optional(CallAnswer{.error = EIO}) : std::nullopt;
    };
    if (!WithWatchedCalls({SYS_fdatasync, SYS_fsync}, judge, [&] { outcome = RunLookup({Load(), "name-1"}); })) {
      GTEST_SKIP() << "no system call filters here";
    }
    EXPECT_EQ(outcome.exit == kExitOk, seen <= number) << number << " of " << seen << ": " << outcome.err;
  }
}

TEST_F(NameLookupTest, ADamagedDatabaseEndsWithExitStatusThree) {
  ASSERT_EQ(RunLookup({Load()}).exit, kExitOk);
  for (const auto& entry : std::filesystem::directory_iterator(directory_.File("db"))) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file << std::string(2000, 'x');
  }
  std::string input;
  for (int i = 0; i < 100; ++i) input += "name-" + std::to_string(i) + "\n";
  EXPECT_EQ(RunLookup({"-"}, input).exit, kExitDamage);
  EXPECT_EQ(RunLookup({"name-1", "name-10", "name-100", "name-0"}).exit, kExitDamage);
}

TEST_F(NameLookupTest, AMissingFileOrDatabaseIsAnErrorThatNamesIt) {
  const Outcome no_database = RunLookup({"name-5"});
  EXPECT_EQ(no_database.exit, kExitError);
  EXPECT_NE(no_database.err.find(directory_.File("db")), std::string::npos) << no_database.err;
  EXPECT_NE(no_database.err.find("--load=FILE makes one"), std::string::npos) << no_database.err;
  const Outcome no_file = RunLookup({"--load=" + directory_.File("none.tsv")});
  EXPECT_EQ(no_file.exit, kExitError);
  EXPECT_NE(no_file.err.find("none.tsv"), std::string::npos);
  const Outcome directory = RunLookup({"--load=" + directory_.path()});
  EXPECT_EQ(directory.exit, kExitError);
  EXPECT_NE(directory.err.find(directory_.path() + " cannot be read"), std::string::npos) << directory.err;
}

TEST_F(NameLookupTest, AnOutputThatCannotBeWrittenIsAnError) {
  ASSERT_EQ(RunLookup({Load()}).exit, kExitOk);
  for (const std::string argument : {"name-1", "--help"}) {
    FullDisk full;
    std::ostream out(&full);
    const Outcome outcome = RunLookup({argument}, "", out);
    EXPECT_EQ(outcome.exit, kExitError) << argument;
    EXPECT_NE(outcome.err.find("the output could not be written"), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace sepal::tools
