// Every verb on what is no whole database, and with an output that cannot be written: it says so, by its exit status,
// its message and its JSON, and never prints half a truth with status 0.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "sepal/comparator.h"
#include "tests/tools/full_disk.h"
#include "tests/tools/sepal_command_fixture.h"
#include "tests/util/files/watched_calls.h"

namespace sepal::tools {
namespace {

namespace fs = std::filesystem;

// What it needs to look at the database `db`, or at one of its tables, without a flag that changes what it does.
struct Look {
  std::vector<std::string> words;
  bool of_table = false;  // reads that table alone
};

std::vector<Look> Looks(const std::string& db, const std::string& table, const std::string& page) {
  std::vector<Look> looks;
  for (const VerbEntry& verb : Verbs()) {
    const std::string name(verb.name);
    std::vector<std::string> words = WordsOf(verb);
    const auto add = [&](std::vector<std::string> rest, bool of_table = false) {
      rest.insert(rest.begin(), words.begin(), words.end());
      looks.push_back({std::move(rest), of_table});
    };
    if (name == "db get" || name == "explain get") {
      add({db, "key0500"});
    } else if (name == "lsm html") {
      add({db, "--output", page});
    } else if (name == "db repair") {
      add({db, "--dry-run"});
    } else if (name.starts_with("sst ")) {
      add({table}, true);
    } else if (name == "explain filters") {
      add({db, "--probes", "200"});
    } else if (name == "db scan" || name == "db stats" || name == "db verify" || name == "db families" ||
               name.starts_with("manifest ") || name.starts_with("wal ") || name == "lsm tree") {
      add({db});
    }
  }
  return looks;
}

class VerbFaultsTest : public SepalCommandTest {
 protected:
  static std::string Text(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += word + " ";
    return text;
  }

  // Runs it as text and as JSON. Both end alike, a failure is explained, and the last line of JSON tells of it.
  static int RunBoth(std::vector<std::string> words) {
    const Outcome text = RunSepal(words);
    words.push_back("--json");
    const Outcome json = RunSepal(words);
    EXPECT_EQ(text.exit, json.exit) << Text(words) << text.err << json.err;
    EXPECT_EQ(text.err.empty(), text.exit == kExitOk) << Text(words) << text.err;
    const nlohmann::json last = LastJson(json.out);
    EXPECT_EQ(last.value("ok", true), json.exit == kExitOk) << Text(words) << json.out;
    EXPECT_EQ(last.value("schema_version", 0), kJsonSchemaVersion) << Text(words);
    if (json.exit != kExitOk) {
      EXPECT_EQ(last.value("exit_code", 0), json.exit) << Text(words) << json.out;
      EXPECT_FALSE(last.value("code", "").empty() || last.value("error", "").empty()) << Text(words) << json.out;
    }
    return text.exit;
  }

  // How each way to look ends. Those that read a table alone: at the first.
  std::vector<std::pair<Look, int>> ExitsOfAll() {
    std::vector<std::pair<Look, int>> exits;
    const std::vector<std::string> tables = fs::is_directory(db_) ? Files(".sst") : std::vector<std::string>();
    const std::string table = tables.empty() ? db_ + "/000001.sst" : tables.front();
    for (const Look& look : Looks(db_, table, directory_.File("page.html"))) {
      exits.emplace_back(look, RunBoth(look.words));
    }
    return exits;
  }
  void ExpectAll(const std::function<bool(const Look&, int)>& holds) {
    for (const auto& [look, exit] : ExitsOfAll()) EXPECT_TRUE(holds(look, exit)) << Text(look.words) << exit;
  }

  std::string ManifestPath() const {
    for (const auto& entry : fs::directory_iterator(db_)) {
      if (entry.path().filename().string().starts_with("MANIFEST-")) return entry.path();
    }
    return "";
  }
};

TEST_F(VerbFaultsTest, EveryVerbThatLooksSucceedsOnAWholeDatabase) {
  MakeDatabase();
  ExpectAll([](const Look&, int exit) { return exit == kExitOk; });
}

TEST_F(VerbFaultsTest, AMissingDatabaseIsAnErrorOfEveryVerb) {
  ExpectAll([](const Look&, int exit) { return exit == kExitError; });
  EXPECT_FALSE(fs::exists(db_));
}

TEST_F(VerbFaultsTest, AFileInPlaceOfADatabaseIsAnErrorOfEveryVerb) {
  std::ofstream(db_) << "no directory";
  ExpectAll([](const Look&, int exit) { return exit == kExitError; });
}

TEST_F(VerbFaultsTest, ADirectoryOfSomethingElseIsAnErrorOfAllThatLookAtDatabases) {
  fs::create_directory(db_);
  ExpectAll([](const Look&, int exit) { return exit == kExitError; });
  std::ofstream(db_ + "/letter.txt") << "hello";
  std::ofstream(db_ + "/another.txt") << "hello";
  ExpectAll([](const Look&, int exit) { return exit == kExitError; });
  const Outcome refused = RunSepal({"db", "put", db_, "k", "v"});
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "and no database")) << refused.err;
  // Another engine's.
  std::ofstream(db_ + "/CURRENT") << "MANIFEST-000001\n";
  EXPECT_EQ(RunSepal({"db", "put", db_, "k", "v"}).exit, kExitError);
  std::ofstream(db_ + "/MANIFEST-000001") << "other";
  ExpectAll([](const Look&, int exit) { return exit == kExitError; });
  EXPECT_EQ(RunSepal({"db", "put", db_, "k", "v"}).exit, kExitError);
}

TEST_F(VerbFaultsTest, ADamagedManifestIsDamageToAllThatReadIt) {
  MakeDatabase();
  FlipByte(ManifestPath(), 0.4);
  ExpectAll([](const Look& look, int exit) { return exit == (look.of_table ? kExitOk : kExitDamage); });
  for (const char* change : {"put", "delete"}) {
    std::vector<std::string> words = {"db", change, db_, "k"};
    if (std::string(change) == "put") words.push_back("v");
    EXPECT_EQ(RunBoth(words), kExitDamage);
  }
  EXPECT_EQ(RunBoth({"db", "open", db_}), kExitDamage);
  EXPECT_EQ(RunBoth({"db", "compact", db_, "--yes"}), kExitDamage);
}

TEST_F(VerbFaultsTest, AMissingManifestIsDamageOrNoDatabase) {
  MakeDatabase();
  fs::remove(ManifestPath());
  ExpectAll([](const Look& look, int exit) { return (exit == kExitOk) == look.of_table; });
}

TEST_F(VerbFaultsTest, AMissingTableIsDamageToThoseThatNeedIt) {
  MakeDatabase();
  fs::remove(Files(".sst").back());
  for (const auto& [look, exit] : ExitsOfAll()) {
    const std::string& verb = look.words.back() == db_ ? look.words[look.words.size() - 2] : look.words[1];
    if (verb == "verify" && !look.of_table) {
      EXPECT_EQ(exit, kExitDamage) << Text(look.words);
    }
    if (verb == "check") {
      EXPECT_EQ(exit, kExitDamage) << Text(look.words);
    }
    if (verb == "scan" && !look.of_table) {
      EXPECT_NE(exit, kExitOk) << Text(look.words);
    }
  }
}

TEST_F(VerbFaultsTest, ATableOfAnotherSizeIsDamage) {
  MakeDatabase();
  const std::string table = Files(".sst").front();
  std::ofstream(table, std::ios::app) << "more";
  EXPECT_EQ(RunBoth({"manifest", "check", db_}), kExitDamage);
  EXPECT_EQ(RunBoth({"db", "verify", db_}), kExitDamage);
  fs::resize_file(table, 100);
  for (const auto& [look, exit] : ExitsOfAll()) {
    if (look.of_table) {
      EXPECT_EQ(exit, kExitDamage) << Text(look.words);
    }
  }
}

// Wherever a byte of a table is wrong, what reads it all finds it, and nothing else takes it for a database's absence.
TEST_F(VerbFaultsTest, ADamagedTableIsFoundByWhatReadsItAll) {
  MakeDatabase();
  const std::string table = Files(".sst").front();
  for (const double where : {0.02, 0.5, 0.9, 0.995}) {
    FlipByte(table, where);
    EXPECT_EQ(RunBoth({"db", "verify", db_}), kExitDamage) << where;
    EXPECT_EQ(RunBoth({"sst", "verify", table}), kExitDamage) << where;
    // Of what lies in the middle something would be lost; filters and index can be made anew.
    if (where == 0.5) {
      EXPECT_EQ(RunBoth({"db", "repair", db_, "--dry-run"}), kExitDamage);
    }
    for (const auto& [look, exit] : ExitsOfAll()) {
      EXPECT_TRUE(exit == kExitOk || exit == kExitDamage) << where << " " << Text(look.words) << exit;
    }
    FlipByte(table, where);
  }
  EXPECT_EQ(RunBoth({"db", "verify", db_}), kExitOk);
}

TEST_F(VerbFaultsTest, WhatLooksAtLogsFindsADamagedOne) {
  MakeDatabase();
  const std::string log = Files(".log").back();
  FlipByte(log, 0.0001);
  for (const auto& [look, exit] : ExitsOfAll()) {
    if (look.of_table) {
      EXPECT_EQ(exit, kExitOk) << Text(look.words);
    }
    if (look.words[0] == "wal" || look.words[1] == "tree") {
      EXPECT_EQ(exit, kExitDamage) << Text(look.words);
    }
  }
}

TEST_F(VerbFaultsTest, LogsInADirectoryOfTheirOwnAreLookedForThere) {
  const std::string logs = directory_.File("logs");
  {
    Options options{.create_if_missing = true};
    options.log_directory = logs;
    const std::unique_ptr<DB> db = DB::Open(options, db_).value();
    ASSERT_TRUE(db->Put("key0500", "in the log").ok());
    ASSERT_TRUE(db->Close().ok());
  }
  for (const Look& look : Looks(db_, "", directory_.File("page.html"))) {
    if (look.of_table) continue;
    std::vector<std::string> words = look.words;
    words.insert(words.end(), {"--log-directory", logs});
    EXPECT_EQ(RunBoth(words), kExitOk) << Text(words);
    words.back() = directory_.File("none");
    EXPECT_EQ(RunBoth(words), kExitError) << Text(words);
    EXPECT_TRUE(Has(RunSepal(words).err, words.back() + " does not exist; --log-directory names")) << Text(words);
  }
  EXPECT_EQ(RunSepal({"db", "get", db_, "key0500", "--log-directory", logs}).out, "in the log");
  EXPECT_EQ(RunSepal({"db", "stats", db_, "--watch", "--count", "1", "--log-directory", logs}).exit, kExitOk);
}

TEST_F(VerbFaultsTest, ATableThatCannotBeOpenedIsNoDamage) {
  MakeDatabase();
  for (const int error : {EACCES, EMFILE, ELOOP, EIO}) {
    const CallJudge tables_fail = [error](const seccomp_data& call) {
      const bool table = Has(reinterpret_cast<const char*>(call.args[1]), ".sst");
      return table ? std::optional(CallAnswer{.error = error}) : std::nullopt;
    };
    Outcome outcome;
    if (!WithWatchedCalls({SYS_openat}, tables_fail, [&] { outcome = RunSepal({"db", "verify", db_, "--json"}); })) {
      GTEST_SKIP() << "no system call filters here";
    }
    EXPECT_EQ(outcome.exit, kExitError) << outcome.out;
    EXPECT_TRUE(Has(LastJson(outcome.out).at("error"), ".sst")) << outcome.out;
  }
  // What is damaged is told beside what cannot be read.
  const std::string table = Files(".sst").front();
  FlipByte(Files(".sst").back(), 0.3);
  fs::remove(table);
  fs::create_symlink("elsewhere", table);
  const Outcome both = RunSepal({"db", "verify", db_});
  EXPECT_EQ(both.exit, kExitDamage);
  EXPECT_TRUE(Has(both.err, "1 of 2 tables is damaged") && Has(both.err, "symbolic link")) << both.err;
}

class FailedSyncTest : public VerbFaultsTest {
 protected:
  // Whichever of the calls that make bytes or names durable fails, the verb that needed it does not end with status 0.
  // `prepare` comes before each try.
  static void ExpectEachToMatter(
      const std::vector<std::string>& words, const std::function<void()>& prepare = [] {}) {
    for (int number = 0; number < 40; ++number) {
      prepare();
      Outcome outcome;
      int seen = 0;
      const CallJudge judge = [&](const seccomp_data& call) -> std::optional<CallAnswer> {
        if (IsOfARing(call)) return std::nullopt;
        return seen++ == number ? std::optional(CallAnswer{.error = EIO}) : std::nullopt;
      };
      if (!WithWatchedCalls({SYS_fdatasync, SYS_fsync}, judge, [&] { outcome = RunSepal(words); })) {
        GTEST_SKIP() << "no system call filters here";
      }
      const bool failed = seen > number;
      EXPECT_EQ(outcome.exit == kExitOk, !failed) << Text(words) << number << " of " << seen << ": " << outcome.err;
      if (!failed) return;
    }
    ADD_FAILURE() << Text(words) << "goes on and on";
  }
};

TEST_F(FailedSyncTest, AFailedSyncIsToldByEveryVerbThatChangesADatabase) {
  MakeDatabase();
  ExpectEachToMatter({"db", "put", db_, "k", "v"});
  ExpectEachToMatter({"db", "delete", db_, "k"});
  ExpectEachToMatter({"db", "open", db_});
  ExpectEachToMatter({"db", "compact", db_, "--yes"});
  EXPECT_EQ(RunSepal({"db", "verify", db_}).exit, kExitOk);
}

TEST_F(FailedSyncTest, AFailedSyncIsToldByEveryVerbThatMakesADatabase) {
  MakeDatabase();
  const std::string copy = directory_.File("copy"), backups = directory_.File("backups");
  ExpectEachToMatter({"db", "checkpoint", db_, copy}, [&] { fs::remove_all(copy); });
  ExpectEachToMatter({"db", "backup", db_, backups}, [&] { fs::remove_all(backups); });
  ExpectEachToMatter({"db", "restore", backups + "/000001", copy}, [&] { fs::remove_all(copy); });
}

TEST_F(FailedSyncTest, AFailedSyncIsToldByEveryVerbThatWritesAFile) {
  MakeDatabase();
  const std::string file = directory_.File("file");
  ExpectEachToMatter({"filter", "build", "--from-db", db_, "--output", file});
  ExpectEachToMatter({"filter", "merge", file, file, "--output", file});
  ExpectEachToMatter({"lsm", "html", db_, "--output", file});
  EXPECT_FALSE(fs::exists(file + ".tmp"));
}

TEST_F(FailedSyncTest, AFailedSyncIsToldByABenchmark) {
  ExpectEachToMatter({"bench", "run", db_, "--num=20", "--benchmarks=fillseq,fillsync,flush,compact", "--yes"});
  ExpectEachToMatter({"bench", "run", db_, "--num=4", "--sync", "--batch_size=2", "--yes",
                      "--benchmarks=fillbatch,deleteseq,readrandomwriterandom"});
}

// A custom order: only its program can open the database, but its manifest, tables and logs can be looked at.
class OtherOrder final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  std::string_view Name() const override { return "test.other"; }
};

TEST_F(VerbFaultsTest, ADatabaseOfAnotherOrderIsSaidToBeOne) {
  static const OtherOrder order;
  {
    Options options{.create_if_missing = true};
    options.family.comparator = &order;
    const std::unique_ptr<DB> db = DB::Open(options, db_).value();
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(db->Put(Key(i), "v").ok());
    ASSERT_TRUE(db->Flush().ok());
    ASSERT_TRUE(db->Put("log", "v").ok());
    ASSERT_TRUE(db->Close().ok());
  }
  for (const auto& [look, exit] : ExitsOfAll()) {
    const std::string& group = look.words[0];
    if (group == "manifest" || group == "lsm" || group == "wal") {
      EXPECT_EQ(exit, kExitOk) << Text(look.words);
    }
    if (group == "db") {
      EXPECT_EQ(exit, look.words[1] == "families" ? kExitOk : kExitError) << Text(look.words);
    }
  }
  EXPECT_TRUE(Has(RunSepal({"db", "verify", db_}).err, "supports bytewise order only"));
  EXPECT_TRUE(Has(RunSepal({"db", "get", db_, "k"}).err, "supports bytewise order only"));
  EXPECT_TRUE(Has(RunSepal({"lsm", "tree", db_}).out, "ordered by test.other, which this tool does not know"));
}

TEST_F(VerbFaultsTest, AWatchEndsWhenNobodyListens) {
  MakeDatabase();
  FullDisk full;
  std::istringstream in;
  std::ostream out(&full);
  std::ostringstream err;
  const char* argv[] = {"sepal", "db", "stats", db_.c_str(), "--watch", "--interval", "0.001s"};
  EXPECT_EQ(SepalMain(7, argv, in, out, err), kExitError);
}

TEST_F(VerbFaultsTest, AnOutputThatCannotBeWrittenIsAnErrorOfEveryVerb) {
  MakeDatabase();
  for (const Look& look : Looks(db_, Files(".sst").front(), directory_.File("page.html"))) {
    for (const bool json : {false, true}) {
      std::vector<const char*> argv = {"sepal"};
      for (const std::string& word : look.words) argv.push_back(word.c_str());
      if (json) argv.push_back("--json");
      FullDisk full;
      std::istringstream in;
      std::ostream out(&full);
      std::ostringstream err;
      EXPECT_EQ(SepalMain(static_cast<int>(argv.size()), argv.data(), in, out, err), kExitError) << Text(look.words);
      EXPECT_TRUE(Has(err.str(), "the output could not be written")) << Text(look.words) << err.str();
    }
  }
}

}  // namespace
}  // namespace sepal::tools
