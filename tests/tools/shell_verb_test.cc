// sepal shell, as a script: commands, words, errors.
#include <gmock/gmock.h>

#include "tests/tools/sepal_command_fixture.h"
#include "tools/sepal/shell_session.h"

namespace sepal::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ShellVerbTest : public SepalCommandTest {
 protected:
  ShellVerbTest() { EXPECT_EQ(RunSepal({"db", "open", db_, "--create"}).exit, kExitOk); }
  Outcome Shell(const std::string& script, std::vector<std::string> flags = {}) const {
    flags.insert(flags.begin(), {"shell", db_});
    return RunSepal(flags, script);
  }
  std::string Print(const std::string& script) const {
    const Outcome outcome = Shell(script);
    EXPECT_EQ(outcome.exit, kExitOk) << outcome.err;
    return outcome.out;
  }
};

TEST_F(ShellVerbTest, WordsStandBetweenBlanksOrInQuotes) {
  const auto words = [](std::string_view line) { return ShellWords(line).value(); };
  EXPECT_THAT(words("  put a\tb\r"), ElementsAre("put", "a", "b"));
  EXPECT_THAT(words("a \"b c\" \"\" d\"e f\"g"), ElementsAre("a", "b c", "", "de fg"));
  EXPECT_THAT(words("\\x00\\xFF \\x5c \"\\x22\" #"), ElementsAre(std::string("\0\xff", 2), "\\", "\"", "#"));
  EXPECT_THAT(words(" # comment \\q \""), ElementsAre());
  EXPECT_TRUE(absl::IsInvalidArgument(ShellWords("a \"b").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ShellWords("a\\n").status()));
}

TEST_F(ShellVerbTest, KeysAreWrittenReadScannedAndDeleted) {
  EXPECT_EQ(Print("# a script\n"
                  "put user:1 Ada\n"
                  "put \"user 2\" \"\\x00 two\\x09words\"\n"
                  "put \\xff \"\"\n"
                  "get \"user 2\"\n"
                  "\n"
                  "scan\n"
                  "delete user:1\n"
                  "scan --keys --reverse\n"
                  "scan --prefix user --limit 1\n"
                  "scan --from v\n"
                  "scan --to v --keys\n"),
            "\\x00 two\\x09words\n"
            "user 2\t\\x00 two\\x09words\n"
            "user:1\tAda\n"
            "\\xff\t\n"
            "\\xff\n"
            "user 2\n"
            "user 2\t\\x00 two\\x09words\n"
            "\\xff\t\n"
            "user 2\n");
  // What was printed can be typed.
  EXPECT_EQ(RunSepal({"db", "get", db_, "user 2"}).out, std::string("\0 two\twords", 11));
}

TEST_F(ShellVerbTest, FamiliesAreListedAndUsed) {
  ASSERT_EQ(RunSepal({"family", "create", db_, "other one"}).exit, kExitOk);
  EXPECT_EQ(Print("put k default\nuse \"other one\"\nput k other\nget k\nuse default\nget k\nfamilies\n"),
            "other\ndefault\ndefault\nother one\n");
  EXPECT_EQ(RunSepal({"db", "get", db_, "k", "--family", "other one"}).out, "other");
  EXPECT_THAT(Shell("use none\n").err, HasSubstr("line 1: there is no column family \"none\""));
}

TEST_F(ShellVerbTest, ABatchIsWrittenAsAWholeOrNotAtAll) {
  EXPECT_EQ(Print("put a 1\nbatch begin\nput a 2\ndelete b\nput c 3\nget a\nbatch commit\nget a\nget c\n"),
            "1\n2\n3\n");
  EXPECT_EQ(Print("batch begin\nput a 9\nbatch cancel\nget a\n"), "2\n");
  const Outcome lost = Shell("batch begin\nput a 9\n");
  EXPECT_EQ(lost.exit, kExitError);
  EXPECT_THAT(lost.err, HasSubstr("the batch was not committed: nothing of its 1 update was written"));
  const Outcome stopped = Shell("batch begin\nput a 9\nnonsense\nbatch commit\n");
  EXPECT_EQ(stopped.exit, kExitError);
  EXPECT_EQ(Print("get a\n"), "2\n");
  EXPECT_EQ(Shell("batch commit\n").exit, kExitError);
  EXPECT_EQ(Shell("batch begin\nbatch begin\n").exit, kExitError);
  EXPECT_EQ(Shell("batch end\n").exit, kExitError);
}

TEST_F(ShellVerbTest, SnapshotsAreReadUntilTheyAreReleased) {
  EXPECT_EQ(Print("put a 1\n"
                  "snapshot take\n"
                  "put a 2\n"
                  "snapshot take\n"
                  "put a 3\n"
                  "snapshot use 1\nget a\nscan\n"
                  "snapshot use 2\nget a\n"
                  "snapshot list\n"
                  "snapshot release 2\nget a\n"
                  "snapshot use 1\nsnapshot use none\nget a\n"),
            "1\n2\n1\na\t1\n2\n1\n2 (in use)\n3\n3\n");
  EXPECT_THAT(Shell("snapshot use 7\n").err, HasSubstr("there is no snapshot 7"));
  EXPECT_EQ(Shell("snapshot release none\n").exit, kExitError);
}

TEST_F(ShellVerbTest, AnErrorHasItsLineAndStopsTheScriptUnlessItIsToGoOn) {
  const std::string script = "put a 1\nget b\nput a 2\nptu a 3\n";
  const Outcome stopped = Shell(script);
  EXPECT_EQ(stopped.exit, kExitError);
  EXPECT_THAT(stopped.err, HasSubstr("sepal shell: line 2: key 'b' not found"));
  EXPECT_EQ(Print("get a\n"), "1\n");
  const Outcome through = Shell(script, {"--keep-going"});
  EXPECT_EQ(through.exit, kExitError);
  EXPECT_THAT(through.err, HasSubstr("line 2: key 'b' not found\n"));
  EXPECT_THAT(through.err, HasSubstr("line 4: there is no command \"ptu\"; did you mean put?\n"));
  EXPECT_THAT(through.err, HasSubstr("2 errors; the first: line 2: "));
  EXPECT_EQ(Print("get a\n"), "2\n");
  for (const char* const line :
       {"put a", "get", "get a b", "scan --frm a", "scan --limit x", "scan --from", "quit now"}) {
    EXPECT_EQ(Shell(line).exit, kExitError) << line;
  }
}

TEST_F(ShellVerbTest, ItEndsWithQuitAndKnowsHelpStatsAndProperties) {
  EXPECT_EQ(Print("put a 1\nquit\nput a 2\n"), "");
  EXPECT_EQ(Print("get a\nexit\n"), "1\n");
  const std::string help = Print("help\n");
  for (const char* const command : {"get KEY", "snapshot", "batch", "\\x5c"}) EXPECT_THAT(help, HasSubstr(command));
  EXPECT_THAT(Print("stats\n"), HasSubstr("level"));
  EXPECT_EQ(Print("property last-sequence\n"), "1\n");
  EXPECT_EQ(Shell("property nothing\n").exit, kExitError);
}

TEST_F(ShellVerbTest, JsonIsAnObjectALine) {
  const Outcome outcome = Shell("put a 1\nget a\nscan\nfamilies\nsnapshot take\n", {"--json"});
  EXPECT_EQ(outcome.exit, kExitOk);
  std::istringstream lines(outcome.out);
  std::vector<nlohmann::json> objects;
  for (std::string line; std::getline(lines, line);) objects.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(objects.size(), 5u) << outcome.out;
  EXPECT_EQ(objects[0].at("value").at("utf8"), "1");
  EXPECT_EQ(objects[1].at("key").at("utf8"), "a");
  EXPECT_EQ(objects[2].at("family").at("utf8"), "default");
  EXPECT_EQ(objects[3].at("snapshot"), 1);
  EXPECT_EQ(objects[4].at("ok"), true);
}

TEST_F(ShellVerbTest, AViewIsReadBesideAWriter) {
  const std::unique_ptr<DB> writer = DB::Open({}, db_).value();
  ASSERT_TRUE(writer->Put("a", "1").ok());
  EXPECT_THAT(Shell("get a\n").err, HasSubstr("--read-only"));
  EXPECT_EQ(Shell("get a\n", {"--read-only"}).out, "1\n");
  EXPECT_EQ(Shell("put a 2\n", {"--read-only"}).exit, kExitError);
}

}  // namespace
}  // namespace sepal::tools
