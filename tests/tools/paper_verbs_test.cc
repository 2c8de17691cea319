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

  // What bash offers where the cursor stands behind the last of `words`. A program named sepal prints two families.
  std::string Completed(const std::vector<std::string>& words, const std::string& function = "_sepal") {
    const std::string script = directory_.File("sepal.bash");
    std::ofstream(script) << RunSepal({"completion", "bash"}).out;
    std::string line;
    for (const std::string& word : words) line += "'" + word + "' ";
    return Shell("bash -c 'source " + script +
                 "; sepal() { [ \"$*\" = \"db families /db\" ] && echo default && echo mail; }; " +
                 "COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); " + function + "; " + "echo \"${COMPREPLY[*]}\"' bash " +
                 line + "2>&1");
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
  EXPECT_EQ(Completed({"sepal", "completion", ""}), "bash zsh fish\n");
  // The names of files, which bash knows.
  EXPECT_EQ(Completed({"sepal", "db", "get", ""}), "\n");
}

TEST_F(PaperVerbsTest, BashCompletesFamiliesBenchmarksAndSisterPrograms) {
  EXPECT_EQ(Completed({"sepal", "db", "get", "/db", "--family", ""}), "default mail\n");
  EXPECT_EQ(Completed({"sepal", "db", "get", "/db", "--family", "=", "m"}), "mail\n");
  EXPECT_EQ(Completed({"sepal", "db", "get", "/other", "--family", ""}), "\n");
  EXPECT_EQ(Completed({"sepal", "bench", "run", "/db", "--benchmarks", "ycsb"}),
            "ycsba ycsbb ycsbc ycsbd ycsbe ycsbf\n");
  EXPECT_EQ(Completed({"db_bench", "--benchmarks", "=", "fillseq,readr"}, "_sepal_db_bench"),
            "fillseq,readrandom fillseq,readreverse fillseq,readrandomwriterandom "
            "fillseq,readrandommergerandom\n");
  EXPECT_EQ(Completed({"db_bench", "--use_e"}, "_sepal_db_bench"), "--use_existing_db\n");
  EXPECT_EQ(Completed({"sst_dump", "--command", "=", ""}, "_sepal_sst_dump"),
            "check filters identify layout none raw recompress scan verify\n");
  EXPECT_EQ(Completed({"sst_dump", ""}, "_sepal_sst_dump"), "\n");  // files
}

TEST_F(PaperVerbsTest, FishCompletesEveryVerbAndFlag) {
  if (!HaveProgram("fish")) GTEST_SKIP() << "there is no fish";
  const std::string script = directory_.File("sepal.fish");
  std::ofstream(script) << RunSepal({"completion", "fish"}).out;
  // One fish for all questions; an answer is lines of a candidate, a tab and its description.
  std::string questions = "source " + script + "\n";
  const auto ask = [&](const std::string& line) {
    questions += "echo '>> " + line + "'; complete -C '" + line + "'\n";
  };
  ask("sepal ");
  ask("sepal db ge");
  ask("sepal import new old --from ");
  for (const VerbEntry& verb : Verbs()) ask("sepal " + std::string(verb.name) + " --");
  const std::string asking = directory_.File("ask.fish");
  std::ofstream(asking) << questions;
  const std::string answers = Shell("HOME=" + directory_.path() + " fish --no-config " + asking + " 2>&1");
  const auto answer = [&](const std::string& line) {
    const size_t at = answers.find(">> " + line + "\n");
    return at == answers.npos ? "" : answers.substr(at, answers.find(">> ", at + 1) - at);
  };
  EXPECT_TRUE(Has(answer("sepal "), "\nmanifest\tdump, check\n")) << answers;
  EXPECT_TRUE(Has(answer("sepal db ge"), "\nget\tprint the value of a key\n")) << answers;
  EXPECT_FALSE(Has(answer("sepal db ge"), "\nput"));
  EXPECT_TRUE(Has(answer("sepal import new old --from "), "\nleveldb\tThe other engine")) << answers;
  for (const VerbEntry& verb : Verbs()) {
    const std::string offered = answer("sepal " + std::string(verb.name) + " --");
    for (const std::string& flag : FlagsOf(verb)) {
      EXPECT_TRUE(Has(offered, "\n" + flag + "\t")) << verb.name << " " << flag << offered;
    }
  }
}

TEST_F(PaperVerbsTest, ZshCompletesEveryVerbAndFlag) {
  if (!HaveProgram("zsh")) GTEST_SKIP() << "there is no zsh";
  const std::string script = directory_.File("sepal.zsh");
  std::ofstream(script) << RunSepal({"completion", "zsh"}).out;
  // zsh's own functions, replaced by ones that print what they are asked for.
  std::string questions =
      "compdef() { :; }\n_arguments() { print -rl -- $words[1] \"$@\"; }\n"
      "_describe() { print -rl -- ${(P)4}; }\nsource " +
      script + "\n";
  const auto ask = [&](const std::string& line, int current) {
    questions += absl::StrFormat("print '>> %s'\nwords=(%s '')\nCURRENT=%d\n_sepal\n", line, line, current);
  };
  ask("sepal", 2);
  ask("sepal db", 3);
  for (const VerbEntry& verb : Verbs()) {
    ask("sepal " + std::string(verb.name) + " x", static_cast<int>(WordsOf(verb).size()) + 3);
  }
  const std::string asking = directory_.File("ask.zsh");
  std::ofstream(asking) << questions;
  const std::string answers = Shell("zsh -f " + asking + " 2>&1");
  const auto answer = [&](const std::string& line) {
    const size_t at = answers.find(">> " + line + "\n");
    return at == answers.npos ? "" : answers.substr(at, answers.find(">> ", at + 1) - at);
  };
  EXPECT_TRUE(Has(answer("sepal"), "\nmanifest:dump, check\n")) << answers;
  EXPECT_TRUE(Has(answer("sepal db"), "\nget:print the value of a key\n")) << answers;
  EXPECT_TRUE(Has(answer("sepal import x"), "--from[") && Has(answer("sepal import x"), ":(leveldb rocksdb)\n"));
  for (const VerbEntry& verb : Verbs()) {
    const std::string offered = answer("sepal " + std::string(verb.name) + " x");
    EXPECT_TRUE(Has(offered, " x\n" + WordsOf(verb).back() + "\n")) << offered;
    for (const std::string& flag : FlagsOf(verb)) EXPECT_TRUE(Has(offered, "\n" + flag + "[")) << verb.name << flag;
  }
}

TEST_F(PaperVerbsTest, TheSisterProgramsHavePagesWithEveryFlag) {
  for (const auto& [page, flag] : std::vector<std::pair<std::string, std::string>>{
           {"db_bench", "--report_file"}, {"sst_dump", "--compression_types"}}) {
    std::string text = RunSepal({"man", page}).out;
    std::erase(text, '\\');
    EXPECT_TRUE(Has(text, "sepal_" + page + " -")) << text;
    EXPECT_TRUE(Has(text, "fB" + flag + "fR")) << text;
    EXPECT_TRUE(Has(text, "Example: sepal_" + page + " --")) << text;
    for (const char* section : {"EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO"}) EXPECT_TRUE(Has(text, section));
    EXPECT_TRUE(Has(text, ".BR sepal (1)")) << text;
  }
  EXPECT_EQ(RunSepal({"man", "ls"}).exit, kExitUsage);
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
      const bool common = flag == "--json" || flag == "--help" || flag == "--color";
      EXPECT_TRUE(Has(common ? page : section, "fB" + flag + "fR")) << verb.name << " " << flag;
    }
  }
}

TEST_F(PaperVerbsTest, ThePageIsTakenWithoutWarnings) {
  std::string page;
  for (const std::string name : {"sepal", "db_bench", "sst_dump"}) {
    std::ofstream(directory_.File(name + ".1")) << RunSepal({"man", name}).out;
    page += " " + directory_.File(name + ".1");
  }
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

TEST_F(PaperVerbsTest, AListOfNamesIsBrokenIntoLines) {
  const std::string page = RunSepal({"man", "db_bench"}).out;
  EXPECT_TRUE(Has(page, ".PP\nBenchmarks: fillseq")) << page.substr(0, 1000);
  EXPECT_TRUE(Has(page, ".nf\nExample: sepal_db_bench"));
}

TEST_F(PaperVerbsTest, AnUnknownShellIsAUsageError) {
  EXPECT_EQ(RunSepal({"completion", "tcsh"}).exit, kExitUsage);
  EXPECT_EQ(RunSepal({"completion"}).exit, kExitUsage);
}

}  // namespace
}  // namespace sepal::tools
