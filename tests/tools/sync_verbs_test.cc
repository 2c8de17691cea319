// sepal sync and sync-server.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_format.h"
#include "tests/tools/sepal_command_fixture.h"

namespace sepal::tools {
namespace {

class SyncVerbTest : public SepalCommandTest {};

TEST_F(SyncVerbTest, DatabasesOfOneMachineGetWhatTheOtherHas) {
  const std::string a = directory_.File("a"), b = directory_.File("b");
  ASSERT_EQ(RunSepal({"db", "put", a, "one", "1"}).exit, kExitOk);
  ASSERT_EQ(RunSepal({"db", "put", a, "both", "x"}).exit, kExitOk);
  ASSERT_EQ(RunSepal({"db", "put", b, "two", "2"}).exit, kExitOk);
  ASSERT_EQ(RunSepal({"db", "put", b, "both", "y"}).exit, kExitOk);
  const Outcome reported = RunSepal({"sync", a, b});
  EXPECT_EQ(reported.exit, kExitError) << reported.err;
  EXPECT_TRUE(Has(reported.out, "1 key with two values stayed as they were on both sides")) << reported.out;
  EXPECT_TRUE(Has(reported.out, "default: 'both'")) << reported.out;
  EXPECT_EQ(RunSepal({"db", "get", a, "two"}).out, "2");
  EXPECT_EQ(RunSepal({"db", "get", b, "one"}).out, "1");
  EXPECT_EQ(RunSepal({"db", "get", b, "both"}).out, "y");
  const Outcome ours = RunSepal({"sync", a, b, "--on-conflict", "ours", "--json"});
  EXPECT_EQ(ours.exit, kExitOk) << ours.err;
  const nlohmann::json line = LastJson(ours.out);
  EXPECT_EQ(line.at("equal"), true);
  EXPECT_EQ(line.at("entries"), 3);
  EXPECT_EQ(RunSepal({"db", "get", b, "both"}).out, "x");
}

TEST_F(SyncVerbTest, WhatCannotBeSyncedIsRefusedAndNothingIsMade) {
  const std::string a = directory_.File("a"), b = directory_.File("b"), expiring = directory_.File("expiring");
  ASSERT_EQ(RunSepal({"db", "put", a, "one", "1"}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"sync", a}).exit, kExitUsage);
  EXPECT_EQ(RunSepal({"sync", a, b}).exit, kExitError);
  EXPECT_FALSE(std::filesystem::exists(b));
  ASSERT_EQ(RunSepal({"db", "put", expiring, "one", "1", "--ttl", "1h"}).exit, kExitOk);
  const Outcome refused = RunSepal({"sync", a, expiring});
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "keys that expire")) << refused.err;
  const Outcome refused_first = RunSepal({"sync", expiring, a});
  EXPECT_EQ(refused_first.exit, kExitError);
  EXPECT_TRUE(Has(refused_first.err, expiring + " has had keys that expire")) << refused_first.err;
  EXPECT_FALSE(Has(refused_first.err, "begun again")) << refused_first.err;
  const Outcome silent = RunSepal({"sync", a, "--over", "true"});
  EXPECT_EQ(silent.exit, kExitError);
  EXPECT_TRUE(Has(silent.err, "the other side")) << silent.err;
  const Outcome talkative = RunSepal({"sync", a, "--over", "echo hello, this is a login shell"});
  EXPECT_EQ(talkative.exit, kExitError);
  EXPECT_TRUE(Has(talkative.err, "is no sepal sync-server")) << talkative.err;
  EXPECT_FALSE(Has(talkative.err, "repair")) << talkative.err;
  for (const char* command : {"echo hello", "exec <&-; echo hello"}) {  // The second takes nothing.
    const Outcome short_one = RunSepal({"sync", a, "--over", command});
    EXPECT_TRUE(Has(short_one.err, "in the middle of a message: is it a sepal sync-server?")) << short_one.err;
  }
  const Outcome absent = RunSepal({"sync", a, a + "-none"});
  EXPECT_EQ(absent.exit, kExitError);
  EXPECT_TRUE(Has(absent.err, "sepal db open " + a + "-none --create makes")) << absent.err;
  EXPECT_FALSE(std::filesystem::exists(a + "-none"));
}

TEST_F(SyncVerbTest, OneDatabaseGivenTwiceIsToldSo) {
  const std::string a = directory_.File("a");
  ASSERT_EQ(RunSepal({"db", "put", a, "one", "1"}).exit, kExitOk);
  const Outcome twice = RunSepal({"sync", a, directory_.File("./a")});
  EXPECT_EQ(twice.exit, kExitUsage);
  EXPECT_TRUE(Has(twice.err, "are one database: give two")) << twice.err;
}

TEST_F(SyncVerbTest, ACommandThatEndsAtOnceIsNoBrokenPipe) {
  const std::string a = directory_.File("a");
  ASSERT_EQ(RunSepal({"db", "put", a, "one", "1"}).exit, kExitOk);
  for (int i = 0; i < 5; ++i) {
    const Outcome ended = RunSepal({"sync", a, "--over", "true"});
    EXPECT_EQ(ended.exit, kExitError);
    EXPECT_TRUE(Has(ended.err, "the other side ended before the two databases were compared")) << ended.err;
  }
}

TEST_F(SyncVerbTest, TheOtherSideIsAProcessAndMayBeKilled) {
  const std::string a = directory_.File("a"), b = directory_.File("b");
  ASSERT_EQ(RunSepal({"db", "put", a, "one", "1"}).exit, kExitOk);
  ASSERT_EQ(RunSepal({"db", "put", b, "two", "2"}).exit, kExitOk);
  const std::string server = absl::StrFormat("'%s' sync-server '%s'", SEPAL_PROGRAM, b);
  const Outcome killed = RunSepal({"sync", a, "--over", "head -c 30 | " + server});
  EXPECT_EQ(killed.exit, kExitError) << killed.err;
  EXPECT_TRUE(Has(killed.err, "the sync can be begun again")) << killed.err;
  const Outcome synced = RunSepal({"sync", a, "--over", server});
  EXPECT_EQ(synced.exit, kExitOk) << synced.err;
  EXPECT_TRUE(Has(synced.out, "hold the same 2 entries")) << synced.out;
  EXPECT_EQ(RunSepal({"db", "get", a, "two"}).out, "2");
  EXPECT_EQ(RunSepal({"db", "get", b, "one"}).out, "1");
  // What is wrong there is told here.
  const Outcome missing = RunSepal({"sync", a, "--over", server + "-nosuch"});
  EXPECT_EQ(missing.exit, kExitError);
  EXPECT_TRUE(Has(missing.err, "the other side: ")) << missing.err;
}

TEST_F(SyncVerbTest, DamageIsToldOfTheDatabaseThatHasIt) {
  MakeDatabase();
  const std::string a = directory_.File("a");
  ASSERT_EQ(RunSepal({"db", "put", a, "one", "1"}).exit, kExitOk);
  FlipByte(Files(".sst").front(), 0.3);
  for (const auto& [here, there] : {std::pair(a, db_), std::pair(db_, a)}) {
    const Outcome damaged = RunSepal({"sync", here, there});
    EXPECT_EQ(damaged.exit, kExitDamage) << damaged.err;
    EXPECT_TRUE(Has(damaged.err, "sepal db repair " + db_ + " --dry-run")) << damaged.err;
    EXPECT_FALSE(Has(damaged.err, "sepal db repair " + a + " --dry-run")) << damaged.err;
    EXPECT_FALSE(Has(damaged.err, "the databases are whole")) << damaged.err;
  }
  // It is the other side's to tell what to do there.
  const Outcome over = RunSepal({"sync", a, "--over", absl::StrFormat("'%s' sync-server '%s'", SEPAL_PROGRAM, db_)});
  EXPECT_EQ(over.exit, kExitError) << over.err;
  EXPECT_TRUE(Has(over.err, "the other side: ")) << over.err;
  EXPECT_FALSE(Has(over.err, "sepal db repair " + a)) << over.err;
}

TEST_F(SyncVerbTest, HowTheCommandEndsIsTold) {
  const std::string a = directory_.File("a"), b = directory_.File("b");
  ASSERT_EQ(RunSepal({"db", "put", a, "one", "1"}).exit, kExitOk);
  ASSERT_EQ(RunSepal({"db", "put", b, "two", "2"}).exit, kExitOk);
  const auto over = [&](const std::string& command) { return RunSepal({"sync", a, "--over", command}); };
  const Outcome absent = over("no-such-program-anywhere");
  EXPECT_EQ(absent.exit, kExitError);
  EXPECT_TRUE(Has(absent.err, "\"no-such-program-anywhere\" ended with exit status 127: it was not found"))
      << absent.err;
  const Outcome failed = over("exit 9");
  EXPECT_EQ(failed.exit, kExitError);
  EXPECT_TRUE(Has(failed.err, "\"exit 9\" ended with exit status 9")) << failed.err;
  // Also where the sync itself was served.
  const Outcome served = over(absl::StrFormat("'%s' sync-server '%s'; exit 7", SEPAL_PROGRAM, b));
  EXPECT_EQ(served.exit, kExitError);
  EXPECT_TRUE(Has(served.err, "ended with exit status 7")) << served.err;
  EXPECT_EQ(RunSepal({"db", "get", a, "two"}).out, "2");
}

TEST_F(SyncVerbTest, ASideThatDoesNothingIsGivenUpWhereThatIsAsked) {
  const std::string a = directory_.File("a");
  ASSERT_EQ(RunSepal({"db", "put", a, "one", "1"}).exit, kExitOk);
  for (const std::string command : {"exec sleep 3600", "kill -STOP $$"}) {
    const Outcome silent = RunSepal({"sync", a, "--over", command, "--timeout", "20ms"});
    EXPECT_EQ(silent.exit, kExitError) << command;
    EXPECT_TRUE(Has(silent.err, "the other side has done nothing for 0.02 s (--timeout)")) << silent.err;
    EXPECT_TRUE(Has(silent.err, "was ended by signal 15")) << silent.err;
  }
  EXPECT_EQ(RunSepal({"sync", a, a + "-nosuch", "--timeout", "0"}).exit, kExitUsage);
  const std::string b = directory_.File("b");
  ASSERT_EQ(RunSepal({"db", "put", b, "two", std::string(100'000, '2')}).exit, kExitOk);
  const std::string server = absl::StrFormat("'%s' sync-server '%s' --timeout 1h", SEPAL_PROGRAM, b);
  EXPECT_EQ(RunSepal({"sync", a, "--over", server, "--timeout", "1h"}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"db", "get", a, "two"}).out, std::string(100'000, '2'));
}

TEST_F(SyncVerbTest, TheCommandDoesNotIgnoreThePipeSignal) {
  const std::string a = directory_.File("a");
  ASSERT_EQ(RunSepal({"db", "put", a, "one", "1"}).exit, kExitOk);
  const Outcome signalled = RunSepal({"sync", a, "--over", "kill -PIPE $$"});
  EXPECT_EQ(signalled.exit, kExitError);
  EXPECT_TRUE(Has(signalled.err, "was ended by signal 13")) << signalled.err;
}

}  // namespace
}  // namespace sepal::tools
