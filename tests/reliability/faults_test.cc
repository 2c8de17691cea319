#include <gtest/gtest.h>

#include "tests/reliability/expect_nothing_found.h"
#include "tests/reliability/script_run.h"

namespace sepal::reliability {
namespace {

TEST(FaultsHarnessTest, ASampleOfFailedCallsLosesNothing) { ExpectNothingFound("faults", {.count = 300}); }
TEST(FaultsHarnessTest, ASampleOfPairsOfFailedCallsLosesNothing) { ExpectNothingFound("pairs", {.count = 300}); }

TEST(ScriptTest, EveryScriptCanBeReadAndThereAreEnough) {
  EXPECT_GE(AllScripts().size(), 40u);
  for (const Script& script : AllScripts()) {
    EXPECT_TRUE(ParseScript(script.text).ok()) << script.name << ": " << ParseScript(script.text).status();
    TestDatabase database;
    EXPECT_TRUE(Configure(script.settings, &database).ok()) << script.name;
  }
}

TEST(ScriptTest, LoopsBatchesAndFamiliesAreRead) {
  const auto ops = ParseScript("2{ p+ } [p1 f/d2*9]! compact:f compact:3-4");
  ASSERT_TRUE(ops.ok()) << ops.status();
  ASSERT_EQ(ops->size(), 5u);
  EXPECT_EQ((*ops)[1].updates.front().key, 1u);
  EXPECT_TRUE((*ops)[2].sync && (*ops)[2].batch);
  EXPECT_EQ((*ops)[2].updates.back().family, "f");
  EXPECT_EQ((*ops)[3].family, "f");
  EXPECT_EQ((*ops)[4].end, 4u);
  EXPECT_FALSE(ParseScript("p").ok());
  EXPECT_FALSE(ParseScript("2{ p1").ok());
  EXPECT_FALSE(ParseScript("strange").ok());
}

TEST(OracleTest, OnlyPrefixesFromTheLastDurableWriteOnMayBeThere) {
  Oracle oracle;
  for (const char* value : {"1", "2", "3"}) {
    oracle.BeginWrite({{"default", std::string("k") + value, value}});
    oracle.EndWrite(true);
    if (*value == '1') oracle.AllDurable();
  }
  const auto settles = [&](Oracle copy, const Oracle::Contents& contents, bool power_lost) {
    return copy.Settle({{"default", contents}, {kPreparedFamily, {}}}, power_lost).empty();
  };
  EXPECT_TRUE(settles(oracle, {{"k1", "1"}}, true));
  EXPECT_TRUE(settles(oracle, {{"k1", "1"}, {"k2", "2"}}, true));
  EXPECT_FALSE(settles(oracle, {{"k1", "1"}, {"k3", "3"}}, true));
  EXPECT_FALSE(settles(oracle, {}, true));
  EXPECT_FALSE(settles(oracle, {{"k1", "1"}, {"k2", "2"}}, false));
  EXPECT_FALSE(settles(oracle, {{"k1", "1"}, {"k2", "x"}, {"k3", "3"}}, false));
}

TEST(OracleTest, OfTheWritesThatFailedAtMostOneAfterTheLastAcknowledgedMayBeThere) {
  Oracle oracle;
  const auto write = [&](const char* key, bool acknowledged) {
    oracle.BeginWrite({{"default", key, "v"}});
    oracle.EndWrite(acknowledged);
  };
  write("refused", false);
  write("good", true);
  write("a", false);
  write("b", false);
  const auto settles = [&](const Oracle::Contents& contents) {
    Oracle copy = oracle;
    return copy.Settle({{"default", contents}, {kPreparedFamily, {}}}, false).empty();
  };
  EXPECT_TRUE(settles({{"good", "v"}}));
  EXPECT_TRUE(settles({{"good", "v"}, {"a", "v"}}));
  EXPECT_TRUE(settles({{"good", "v"}, {"b", "v"}}));
  EXPECT_FALSE(settles({{"good", "v"}, {"a", "v"}, {"b", "v"}}));
  EXPECT_FALSE(settles({{"good", "v"}, {"refused", "v"}}));
}

TEST(OracleTest, AFamilyWhoseDropSucceededIsGone) {
  Oracle oracle;
  oracle.BeginCreate("f");
  oracle.EndFamilyCall("f", true);
  EXPECT_FALSE(Oracle(oracle).Settle({{"default", {}}, {kPreparedFamily, {}}}, true).empty());
  oracle.BeginDrop("f");
  EXPECT_TRUE(Oracle(oracle).Settle({{"default", {}}, {kPreparedFamily, {}}}, true).empty());
  EXPECT_TRUE(Oracle(oracle).Settle({{"default", {}}, {"f", {}}, {kPreparedFamily, {}}}, true).empty());
  oracle.EndFamilyCall("f", true);
  EXPECT_FALSE(Oracle(oracle).Settle({{"default", {}}, {"f", {}}, {kPreparedFamily, {}}}, true).empty());
}

}  // namespace
}  // namespace sepal::reliability
