// sepal completion, sepal man: they know every verb and flag, and other programs take them.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "tests/tools/sepal_command_fixture.h"

namespace sepal::tools {
namespace {

class PaperVerbsTest : public SepalCommandTest {
 protected:
  static std::string Shell(const std::string& command) {
    std::string out;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return "no pipe";
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) out.push_back(static_cast<char>(c));
    return pclose(pipe) == 0 ? out : "failed: " + out;
  }

  // What bash offers where the cursor stands behind the last of `words`.
  std::string Completed(const std::vector<std::string>& words) {
    const std::string script = directory_.File("sepal.bash");
    std::ofstream(script) << RunSepal({"completion", "bash"}).out;
    std::string line;
    for (const std::string& word : words) line += "'" + word + "' ";
    return Shell("bash -c 'source " + script + "; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _sepal; " +
                 "echo \"${COMPREPLY[*]}\"' bash " + line + "2>&1");
  }
};

// The flags of a verb that its --help shows.
std::vector<std::string> FlagsOf(const VerbEntry& entry) {
  const std::unique_ptr<Verb> verb = entry.make();
  const std::unique_ptr<CLI::App> app = MakeApp(entry, verb.get());
  std::vector<std::string> flags;
  for (const CLI::Option* option : app->get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

TEST_F(PaperVerbsTest, BashCompletesEveryVerbAndFlag) {
  for (const VerbEntry& verb : Verbs()) {
    std::vector<std::string> words = WordsOf(verb);
    EXPECT_TRUE(Has(" " + Completed({"sepal", ""}), " " + words[0])) << words[0];
    if (words.size() == 2) {
      EXPECT_TRUE(Has(" " + Completed({"sepal", words[0], ""}), " " + words[1])) << verb.name;
    }
    words.insert(words.begin(), "sepal");
    words.insert(words.end(), {"/var/lib/app", "--"});
    std::string offered = " " + Completed(words);
    offered.back() = ' ';
    for (const std::string& flag : FlagsOf(verb)) EXPECT_TRUE(Has(offered, " " + flag + " ")) << verb.name << flag;
  }
}

TEST_F(PaperVerbsTest, BashCompletesWhatHasBegun) {
  EXPECT_EQ(Completed({"sepal", "db", "ge"}), "get\n");
  EXPECT_EQ(Completed({"sepal", "db", "get", "/var/lib/app", "--fa"}), "--family\n");
  EXPECT_EQ(Completed({"sepal", "import", "new", "old", "--from", ""}), "leveldb rocksdb\n");
  EXPECT_EQ(Completed({"sepal", "completion", ""}), "bash\n");
  // The names of files, which bash knows.
  EXPECT_EQ(Completed({"sepal", "db", "get", ""}), "\n");
}

TEST_F(PaperVerbsTest, TheManualHasEveryVerbAndFlag) {
  std::string page = RunSepal({"man"}).out;
  std::erase(page, '\\');
  for (const VerbEntry& verb : Verbs()) {
    const std::string head = ".SS \"sepal " + std::string(verb.name);
    const size_t at = std::min(page.find(head + " "), page.find(head + "\""));
    ASSERT_NE(at, std::string::npos) << verb.name;
    const std::string section = page.substr(at, page.find(".SS", at + 1) - at);
    EXPECT_TRUE(Has(section, "sepal " + std::string(verb.example) + "\n")) << verb.name;
    for (const std::string& flag : FlagsOf(verb)) {
      const bool common = flag == "--json" || flag == "--help";
      EXPECT_TRUE(Has(common ? page : section, "fB" + flag + "fR")) << verb.name << " " << flag;
    }
  }
}

TEST_F(PaperVerbsTest, ThePageIsTakenWithoutWarnings) {
  const std::string page = directory_.File("sepal.1");
  std::ofstream(page) << RunSepal({"man"}).out;
  int asked = 0;
  for (const auto& [program, command] : std::vector<std::pair<std::string, std::string>>{
           {"groff", "groff -man -Tutf8 -ww " + page + " 2>&1 >/dev/null"},
           {"mandoc", "mandoc -Tlint -Wwarning " + page + " 2>&1"},
           {"shellcheck", "shellcheck -s bash " + directory_.File("sepal.bash") + " 2>&1"}}) {
    if (!HaveProgram(program)) continue;
    if (program == "shellcheck") Completed({"sepal", ""});
    EXPECT_EQ(Shell(command), "") << program;
    ++asked;
  }
  if (asked == 0) GTEST_SKIP() << "there is no groff, mandoc or shellcheck";
}

TEST_F(PaperVerbsTest, AnUnknownShellIsAUsageError) {
  EXPECT_EQ(RunSepal({"completion", "tcsh"}).exit, kExitUsage);
  EXPECT_EQ(RunSepal({"completion"}).exit, kExitUsage);
}

}  // namespace
}  // namespace sepal::tools
