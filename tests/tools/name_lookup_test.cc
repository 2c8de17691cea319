#include "tools/lib/name_lookup.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tools/temporary_directory.h"
#include "tools/lib/cli.h"

namespace sepal::tools {
namespace {

class NameLookupTest : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream names(directory_.File("names.tsv"));
    for (int i = 0; i < 3000; ++i) names << "name-" << i << "\tvalue of " << i << "\n";
  }

  Outcome RunLookup(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), {"name_lookup", "--db=" + directory_.File("db")});
    std::vector<const char*> argv;
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    std::istringstream in(input);
    std::ostringstream out, err;
    Outcome outcome;
    outcome.exit = NameLookupMain(static_cast<int>(argv.size()), argv.data(), in, out, err);
    outcome.out = out.str();
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
}

TEST_F(NameLookupTest, WhatWasLoadedIsThereTheNextTime) {
  ASSERT_EQ(RunLookup({Load()}).exit, kExitOk);
  const Outcome outcome = RunLookup({"name-5", "name-x"});
  ASSERT_EQ(outcome.exit, kExitOk) << outcome.err;
  EXPECT_NE(outcome.out.find("taken"), std::string::npos);
  EXPECT_NE(outcome.out.find("free"), std::string::npos);
}

TEST_F(NameLookupTest, AMissingFileOrDatabaseIsAnErrorThatNamesIt) {
  const Outcome no_database = RunLookup({"name-5"});
  EXPECT_EQ(no_database.exit, kExitError);
  EXPECT_NE(no_database.err.find(directory_.File("db")), std::string::npos) << no_database.err;
  const Outcome no_file = RunLookup({"--load=" + directory_.File("none.tsv")});
  EXPECT_EQ(no_file.exit, kExitError);
  EXPECT_NE(no_file.err.find("none.tsv"), std::string::npos);
}

}  // namespace
}  // namespace sepal::tools
