// sepal db get|scan|put|delete: values come out as they went in, and a mistyped path makes and removes nothing.
#include "tests/tools/sepal_command_fixture.h"

namespace sepal::tools {
namespace {

using DataVerbsTest = SepalCommandTest;

TEST_F(DataVerbsTest, WhatGetPrintsIsTheValueWhereItIsPiped) {
  const std::string copy = directory_.File("copy");
  for (const std::string& value :
       {std::string("x"), std::string("line\n"), std::string(), std::string("\0\xff\r\n\n", 5)}) {
    ASSERT_EQ(RunSepal({"db", "put", db_, "k", "-"}, value).exit, kExitOk);
    const Outcome got = RunSepal({"db", "get", db_, "k"});
    EXPECT_EQ(got.out, value);
    EXPECT_EQ(RunSepal({"db", "get", db_, "k", "--raw"}).out, value);
    EXPECT_EQ(RunSepal({"db", "get", db_, "k", "--newline"}).out, value + "\n");
    ASSERT_EQ(RunSepal({"db", "put", copy, "k", "-"}, got.out).exit, kExitOk);
    EXPECT_EQ(RunSepal({"db", "get", copy, "k"}).out, value);
    // Digits are text, which ends with a line; what reads them takes it off.
    const std::string digits = RunSepal({"db", "get", db_, "6b", "--hex"}).out;
    EXPECT_TRUE(digits.ends_with("\n")) << digits;
    ASSERT_EQ(RunSepal({"db", "put", copy, "6b", "-", "--hex"}, digits).exit, kExitOk);
    EXPECT_EQ(RunSepal({"db", "get", copy, "k"}).out, value);
  }
  EXPECT_EQ(RunSepal({"db", "get", db_, "k", "--raw", "--newline"}).exit, kExitUsage);
}

TEST_F(DataVerbsTest, ScanShowsTextAsItIsAndEscapesTheRest) {
  ASSERT_EQ(RunSepal({"db", "put", db_, "Käse", "日本 🌸"}).exit, kExitOk);
  ASSERT_EQ(RunSepal({"db", "put", db_, "a\\b", "-"}, "tab\tline\n\xff\xc3\xc2\x85").exit, kExitOk);
  EXPECT_EQ(RunSepal({"db", "scan", db_}).out, "Käse\t日本 🌸\na\\x5cb\ttab\\x09line\\x0a\\xff\\xc3\\xc2\\x85\n");
}

TEST_F(DataVerbsTest, ANewDatabaseIsToldAndNoParentDirectoryIsMade) {
  EXPECT_TRUE(Has(RunSepal({"db", "put", db_, "k", "v"}).err, "created a new database in " + db_));
  EXPECT_EQ(RunSepal({"db", "put", db_, "k", "v"}).err, "");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"db", "put", directory_.File("no/such/db"), "k", "v"},
                                             {"db", "open", directory_.File("no/such/db"), "--create"}}) {
    const Outcome refused = RunSepal(words);
    EXPECT_EQ(refused.exit, kExitError);
    EXPECT_TRUE(Has(refused.err, directory_.File("no/such") + " does not exist")) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(directory_.File("no")));
  }
}

// As of a volume that is not mounted.
TEST_F(DataVerbsTest, ALinkToNothingStays) {
  MakeDatabase();
  const std::string link = directory_.File("link");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"db", "put", link, "k", "v"},
                                             {"db", "open", link, "--create"},
                                             {"db", "open", link},
                                             {"db", "stats", link},
                                             {"db", "get", link, "k"},
                                             {"db", "delete", link, "k"},
                                             {"db", "compact", link, "--yes"},
                                             {"db", "repair", link, "--yes"},
                                             {"db", "checkpoint", db_, link},
                                             {"db", "backup", db_, link},
                                             {"db", "restore", db_, link},
                                             {"import", link, db_},
                                             {"bench", "run", link, "--num=10", "--yes"}}) {
    std::filesystem::create_symlink("/not mounted/db", link);
    const Outcome refused = RunSepal(words);
    EXPECT_EQ(refused.exit, kExitError) << words[1];
    if (words[0] == "db") {
      EXPECT_TRUE(Has(refused.err, "is a symbolic link to /not mounted/db")) << refused.err;
    }
    EXPECT_TRUE(std::filesystem::is_symlink(link)) << words[1];
    std::filesystem::remove(link);
  }
}

TEST_F(DataVerbsTest, AFreshVolumeIsAPlaceForADatabase) {
  std::filesystem::create_directories(db_ + "/lost+found");
  EXPECT_EQ(RunSepal({"db", "put", db_, "k", "v"}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"db", "get", db_, "k"}).out, "v");
  EXPECT_TRUE(std::filesystem::exists(db_ + "/lost+found"));
  std::filesystem::create_directories(directory_.File("other/lost+found"));
  EXPECT_EQ(RunSepal({"db", "open", directory_.File("other"), "--create"}).exit, kExitOk);
  const std::string letters = directory_.File("letters");
  std::filesystem::create_directory(letters);
  std::ofstream(letters + "/dear") << "Ada";
  const Outcome refused = RunSepal({"db", "put", letters, "k", "v"});
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "holds other files (dear)")) << refused.err;
}

TEST_F(DataVerbsTest, AMistypedPathIsToldWithTheDatabaseThatWasMeant) {
  MakeDatabase();
  const std::string mistyped = directory_.File("bd");
  EXPECT_TRUE(Has(RunSepal({"db", "get", mistyped, "k"}).err, "bd does not exist; did you mean " + db_ + "?"));
  EXPECT_TRUE(Has(RunSepal({"db", "open", directory_.File("nothing")}).err, "--create makes"));
}

TEST_F(DataVerbsTest, NumbersAreUnderstoodOrRefusedInWords) {
  MakeDatabase();
  EXPECT_EQ(RunSepal({"db", "scan", db_, "--count", "--limit", "0.5k"}).out, "500\n");
  EXPECT_EQ(RunSepal({"db", "scan", db_, "--count", "--limit=1e2"}).out, "100\n");
  EXPECT_EQ(RunSepal({"db", "scan", db_, "--count", "--limit", "0"}).out, "0\n");
  for (const char* wrong : {"-1", "1.5", "many", "1e-3", "1e400", "99999999999999999999"}) {
    const Outcome refused = RunSepal({"db", "scan", db_, std::string("--limit=") + wrong});
    EXPECT_EQ(refused.exit, kExitUsage) << wrong;
    EXPECT_TRUE(Has(refused.err, "is not a whole number: write 1000, 10k, 1.5M or 1e6")) << refused.err;
    EXPECT_EQ(refused.out, "");
  }
}

// A flag that every verb takes may stand before it, and help and the version are JSON, too.
TEST_F(DataVerbsTest, JsonIsThereWhereverItIsAskedFor) {
  MakeDatabase();
  EXPECT_EQ(LastJson(RunSepal({"--json", "db", "get", db_, Key(1)}).out).at("value").at("utf8"), "second");
  EXPECT_TRUE(Has(RunSepal({"--color", "always", "lsm", "tree", db_}).out, "\x1b["));
  EXPECT_TRUE(LastJson(RunSepal({"--version", "--json"}).out).contains("version"));
  EXPECT_TRUE(LastJson(RunSepal({"--json", "--version"}).out).contains("version"));
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--help", "--json"}, {"--json", "help", "db"}, {"db", "--help", "--json"}, {"db", "get", "--json", "-h"}}) {
    const Outcome help = RunSepal(words);
    EXPECT_EQ(help.exit, kExitOk) << words[0];
    EXPECT_TRUE(Has(LastJson(help.out).at("text"), "db get")) << help.out;
  }
  EXPECT_EQ(RunSepal({"--json"}).exit, kExitUsage);
  // A mistake has the code of one.
  EXPECT_EQ(LastJson(RunSepal({"db", "get", db_, "xyz", "--hex", "--json"}).out).at("code"), "INVALID_ARGUMENT");
  EXPECT_EQ(LastJson(RunSepal({"sst", "show", db_ + "/none.sst", "--json"}).out).at("code"), "NOT_FOUND");
}

// One name for one thing: a family's name has one form wherever it is told.
TEST_F(DataVerbsTest, FamiliesHaveOneFormInJson) {
  MakeDatabase();
  const nlohmann::json name = {{"utf8", "default"}};
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"db", "families", db_},
                                                                                     {"db", "stats", db_},
                                                                                     {"lsm", "tree", db_},
                                                                                     {"manifest", "check", db_},
                                                                                     {"explain", "filters", db_},
                                                                                     {"db", "open", db_}}) {
    std::vector<std::string> with_json = words;
    with_json.emplace_back("--json");
    EXPECT_EQ(LastJson(RunSepal(with_json).out).at("column_families").at(0).at("name"), name) << words[1];
  }
  EXPECT_EQ(LastJson(RunSepal({"explain", "get", db_, "k", "--json"}).out).at("column_family"), name);
  EXPECT_EQ(RunSepal({"db", "families", db_}).out, "default\n");
}

TEST_F(DataVerbsTest, HintsLeadToWhatHelps) {
  MakeDatabase();
  const auto hint = [](const std::vector<std::string>& words) { return RunSepal(words).err; };
  EXPECT_TRUE(Has(hint({"db", "count", db_}), "db scan DIR --count"));
  EXPECT_TRUE(Has(hint({"db", "drop", db_}), "did you mean db destroy?"));
  EXPECT_TRUE(Has(hint({"stats", db_}), "did you mean db stats?"));
  EXPECT_TRUE(Has(hint({"sst", "props", "x"}), "did you mean sst show?"));
  const std::string missing = directory_.File("quite another");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"lsm", "html", missing}, {"db", "backup", missing, directory_.File("b")}, {"db", "backups", missing}}) {
    EXPECT_TRUE(Has(hint(words), missing + " does not exist\n")) << hint(words);
  }
  EXPECT_FALSE(std::filesystem::exists(directory_.File("b")));
  EXPECT_TRUE(Has(hint({"db", "backups", db_}), db_ + " is a database; give the directory of its backups"));
}

TEST_F(DataVerbsTest, ADatabaseIsNoDirectoryOfBackups) {
  MakeDatabase();
  const std::string other = directory_.File("other");
  ASSERT_EQ(RunSepal({"db", "put", other, "k", "v"}).exit, kExitOk);
  for (const std::string& taken : {db_, other}) {
    const std::set<std::string> before = StateOf(taken);
    const Outcome refused = RunSepal({"db", "backup", db_, taken});
    EXPECT_EQ(refused.exit, kExitError);
    EXPECT_TRUE(Has(refused.err, taken + " is a database")) << refused.err;
    EXPECT_EQ(StateOf(taken), before);
  }
}

TEST_F(DataVerbsTest, TheTreeCountsWhatIsOnlyInTheLog) {
  MakeDatabase();
  EXPECT_TRUE(Has(RunSepal({"lsm", "tree", db_}).out, "memory: 1 update, 15 B of keys and values"));
  const nlohmann::json family = LastJson(RunSepal({"lsm", "tree", db_, "--json"}).out).at("column_families").at(0);
  EXPECT_EQ(family.at("unflushed_updates"), 1);
  EXPECT_EQ(family.at("unflushed_bytes"), 15);
}

// Status 3 is for damage.
TEST_F(DataVerbsTest, AFileOfAnotherKindIsAMistakeAndADamagedTableIsDamage) {
  MakeDatabase();
  const std::string letter = directory_.File("letter.txt"), foreign = directory_.File("000007.sst");
  std::ofstream(letter)
      << "Dear Ada, this is not a table, though it is long enough for a footer, as far as I can tell. "
      << std::string(200, 'x');
  const Outcome mistake = RunSepal({"sst", "show", letter});
  EXPECT_EQ(mistake.exit, kExitError);
  EXPECT_TRUE(Has(mistake.err, letter + " is not a table file of Sepal")) << mistake.err;
  std::ofstream(foreign) << std::string(200, 'x') << "\xf7\xcf\xf4\x85\xb7\x41\xe2\x88";
  const Outcome rocksdb = RunSepal({"sst", "show", foreign});
  EXPECT_EQ(rocksdb.exit, kExitError);
  EXPECT_TRUE(Has(rocksdb.err, "is a table of RocksDB; sepal import")) << rocksdb.err;
  std::ofstream(foreign) << std::string(200, 'x');
  EXPECT_EQ(RunSepal({"sst", "show", foreign}).exit, kExitDamage);
}

TEST_F(DataVerbsTest, AWatchWithoutAPauseIsRefused) {
  MakeDatabase();
  const Outcome refused = RunSepal({"db", "stats", db_, "--watch", "--interval", "0s"});
  EXPECT_EQ(refused.exit, kExitUsage);
  EXPECT_TRUE(Has(refused.err, "at least 1ms")) << refused.err;
}

}  // namespace
}  // namespace sepal::tools
