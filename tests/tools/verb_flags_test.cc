// What the flags of the verbs mean, and what is refused of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "tests/tools/sepal_command_fixture.h"
#include "tools/db_bench/process_metrics.h"
#include "tools/sepal/scrub_history.h"
#include "tools/sepal/tree_watch.h"
#include "tools/terminal/terminal_color.h"

namespace sepal::tools {
namespace {

namespace fs = std::filesystem;

class VerbFlagsTest : public SepalCommandTest {
 protected:
  // Families "default" and "f", one that was dropped, tables that were merged, keys that are no text, and every kind of
  // update in the log.
  void MakeRichDatabase() {
    const std::unique_ptr<DB> db = DB::Open({.create_if_missing = true, .memory_limit = size_t{8} << 20}, db_).value();
    const std::shared_ptr<ColumnFamily> f = db->CreateColumnFamily("f").value();
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 300; ++i) {
        ASSERT_TRUE(db->Put(Key(i), "v" + std::to_string(round)).ok());
        ASSERT_TRUE(db->Put(*f, Key(i), "of f").ok());
      }
      ASSERT_TRUE(db->Flush().ok());
      ASSERT_TRUE(db->Flush(*f).ok());
    }
    ASSERT_TRUE(db->CompactRange().ok());
    const std::shared_ptr<ColumnFamily> dropped = db->CreateColumnFamily("dropped").value();
    ASSERT_TRUE(db->Put(*dropped, "k", "v").ok());
    ASSERT_TRUE(db->Flush(*dropped).ok());
    ASSERT_TRUE(db->DropColumnFamily(*dropped).ok());
    ASSERT_TRUE(db->Delete(Key(7)).ok());
    ASSERT_TRUE(db->Put("\x01\xff", "\x02\xfe").ok());
    ASSERT_TRUE(db->Put("\xff\xff", "last").ok());
    ASSERT_TRUE(db->Put("", "empty key").ok());
    ASSERT_TRUE(db->Close().ok());
  }
  // What it prints, as text or JSON; it is ok.
  static std::string Out(const std::vector<std::string>& words) {
    const Outcome outcome = RunSepal(words);
    EXPECT_EQ(outcome.exit, kExitOk) << words[0] << " " << words[1] << ": " << outcome.err;
    return outcome.out;
  }
};

TEST_F(VerbFlagsTest, WordsThatAreNotHexadecimalAreUsageErrorsWhereverTheyStand) {
  MakeDatabase();
  ExpectRefused({"db get DB xy --hex", "db put DB xy 00 --hex", "db put DB 00 0 --hex", "db delete DB 0g --hex",
                 "db scan DB --from g0 --hex", "db scan DB --to g0 --hex", "db scan DB --prefix g0 --hex",
                 "db compact DB --yes --from g0 --hex", "db compact DB --yes --to g0 --hex", "explain get DB g0 --hex",
                 "sst scan TABLE --from g0 --hex", "sst scan TABLE --to g0 --hex", "sst scan TABLE --prefix g0 --hex"},
                kExitUsage, "hexadecimal");
}

TEST_F(VerbFlagsTest, AFamilyThatIsNotThereIsAnErrorThatNamesIt) {
  MakeRichDatabase();
  ExpectRefused({"db get DB k --family none", "db put DB k v --family none", "db delete DB k --family none",
                 "db scan DB --family none", "db compact DB --yes --family none", "explain get DB k --family none",
                 "explain filters DB --family none"},
                kExitError, "none");
  EXPECT_EQ(Out({"db", "get", db_, Key(1), "--family", "f"}), "of f");
  ASSERT_EQ(RunSepal({"db", "put", db_, "new", "of f too", "--family", "f"}).exit, kExitOk);
  EXPECT_EQ(Out({"db", "scan", db_, "--family", "f", "--prefix", "n"}), "new\tof f too\n");
  ASSERT_EQ(RunSepal({"db", "delete", db_, "new", "--family", "f"}).exit, kExitOk);
  EXPECT_EQ(Out({"db", "scan", db_, "--family", "f", "--prefix", "n"}), "");
}

TEST_F(VerbFlagsTest, ScanTakesThePartThatAllItsBoundsLeave) {
  MakeRichDatabase();
  const auto keys = [&](std::vector<std::string> bounds) {
    bounds.insert(bounds.begin(), {"db", "scan", db_, "--keys"});
    return Out(bounds);
  };
  EXPECT_EQ(keys({"--prefix", "key000", "--from", "key0008"}), "key0008\nkey0009\n");
  EXPECT_EQ(keys({"--prefix", "key000", "--to", "key0001"}), "key0000\n");
  EXPECT_EQ(keys({"--prefix", "key000", "--to", "z", "--limit", "1"}), "key0000\n");
  EXPECT_EQ(keys({"--prefix", "ff", "--hex"}), "ffff\n");
  EXPECT_EQ(keys({"--prefix", "01ff", "--hex"}), "01ff\n");
  EXPECT_EQ(keys({"--prefix", "0xFF", "--hex", "--reverse"}), "ffff\n");
  EXPECT_EQ(Out({"db", "scan", db_, "--prefix", "01", "--hex"}), "01ff\t02fe\n");
  const std::string lines = Out({"db", "scan", db_, "--keys", "--limit", "1", "--json"});
  const nlohmann::json first = nlohmann::json::parse(lines.substr(0, lines.find('\n')));
  EXPECT_TRUE(first.contains("key") && !first.contains("value")) << first;
}

TEST_F(VerbFlagsTest, CompactTakesAFamilyAndARange) {
  MakeRichDatabase();
  EXPECT_TRUE(Has(Out({"db", "compact", db_, "--yes", "--family", "f"}), "tables of"));
  EXPECT_TRUE(Has(Out({"db", "compact", db_, "--yes", "--from", Key(10), "--to", Key(20)}), "tables of"));
  ExpectRefused({"db compact DB", "db repair DB"}, kExitUsage, "give --yes to confirm");
  EXPECT_EQ(RunSepal({"db", "verify", db_}).exit, kExitOk);
}

TEST_F(VerbFlagsTest, ARangeToCompactMayBeGivenInHexadecimal) {
  MakeDatabase();
  const std::string before = Files(".sst").front();
  ASSERT_EQ(RunSepal({"db", "compact", db_, "--yes", "--from", "0101", "--to", "0102", "--hex"}).exit, kExitOk);
  EXPECT_TRUE(fs::exists(before));
  ASSERT_EQ(RunSepal({"db", "compact", db_, "--yes", "--from", "6b6579", "--to", "6b65797f", "--hex"}).exit, kExitOk);
  EXPECT_FALSE(fs::exists(before));
}

TEST_F(VerbFlagsTest, OpenMakesADatabaseWhereItIsAskedToOnly) {
  ExpectRefused({"db open DB"}, kExitError, "does not exist");
  EXPECT_TRUE(Has(Out({"db", "open", db_, "--create"}), "1 column family, last sequence number 0"));
  EXPECT_EQ(LastJson(Out({"db", "open", db_, "--json"})).at("column_families").at(0).at("name").at("utf8"), "default");
  // An empty directory will do.
  const std::string empty = directory_.File("empty");
  fs::create_directory(empty);
  EXPECT_EQ(RunSepal({"db", "open", empty, "--create"}).exit, kExitOk);
}

TEST_F(VerbFlagsTest, WhatCannotBeMadeLeavesNothing) {
  const std::string file = directory_.File("file");
  std::ofstream(file) << "x";
  EXPECT_EQ(RunSepal({"db", "put", file + "/db", "k", "v"}).exit, kExitError);
  // The logs have no place.
  for (const bool there : {false, true}) {
    if (there) fs::create_directory(db_);
    EXPECT_EQ(RunSepal({"db", "put", db_, "k", "v", "--log-directory", file + "/logs"}).exit, kExitError);
    EXPECT_EQ(fs::exists(db_), there);
    if (there) {
      EXPECT_TRUE(fs::is_empty(db_));
    }
  }
}

TEST_F(VerbFlagsTest, TheManifestIsDumpedEditByEdit) {
  MakeRichDatabase();
  std::set<std::string> fields;
  std::istringstream lines(Out({"manifest", "dump", db_, "--json"}));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json edit = nlohmann::json::parse(line);
    for (const auto& [name, value] : edit.items()) fields.insert(name);
  }
  for (const char* field : {"created_column_families", "dropped_column_family_ids", "removed_tables", "added_tables",
                            "flushed_through", "last_sequence", "database_id", "hash_seed", "next_file_number"}) {
    EXPECT_TRUE(fields.contains(field)) << field;
  }
  EXPECT_TRUE(Has(Out({"manifest", "dump", db_}), "edit 0\n"));
  EXPECT_TRUE(Has(Out({"manifest", "check", db_}), "2 column families"));
  EXPECT_TRUE(Has(Out({"lsm", "tree", db_, "--tables"}), "column family f"));
  EXPECT_EQ(LastJson(Out({"lsm", "tree", db_, "--json"})).at("column_families").size(), 2u);
  EXPECT_EQ(RunSepal({"lsm", "html", db_, "-o", directory_.File("page.html")}).exit, kExitOk);
  ExpectRefused({"lsm html DB -o DIR/none/page.html", "lsm html DB -o DIR/"}, kExitError, "cannot be written");
}

TEST_F(VerbFlagsTest, ATornManifestAndATornLogAreToldAndAreNoDamage) {
  MakeRichDatabase();
  for (const auto& entry : fs::directory_iterator(db_)) {
    if (entry.path().filename().string().starts_with("MANIFEST-")) {
      std::ofstream(entry.path(), std::ios::app | std::ios::binary) << std::string(5, '\x07');
    }
  }
  EXPECT_TRUE(Has(Out({"manifest", "dump", db_}), "incomplete end, never acknowledged: "));
  EXPECT_NE(LastJson(Out({"manifest", "dump", db_, "--json"})).at("torn"), "");
  // As power loss leaves a log: the last record is not whole.
  const std::string copy = directory_.File("copy");
  {
    const std::unique_ptr<DB> db = DB::Open({}, db_).value();
    ASSERT_TRUE(db->Put("whole", "1", {.sync = true}).ok());
    ASSERT_TRUE(db->Put("torn", std::string(100, 't'), {.sync = true}).ok());
    fs::copy(db_, copy);
  }
  for (const auto& entry : fs::directory_iterator(copy)) {
    if (entry.path().extension() == ".ring") fs::resize_file(entry.path(), 0);
    if (entry.path().extension() != ".log") continue;
    const std::string log = Slurp(entry.path());
    const size_t record = log.rfind(std::string(100, 't'));
    if (record != log.npos) fs::resize_file(entry.path(), record + 50);
  }
  const std::string dumped = Out({"wal", "dump", copy});
  EXPECT_TRUE(Has(dumped, "'whole'") && !Has(dumped, "'torn'")) << dumped;
  EXPECT_TRUE(Has(dumped, "incomplete end of the log, never acknowledged as durable: ")) << dumped;
}

TEST_F(VerbFlagsTest, LogsAreDumpedByUpdateOrByBatch) {
  MakeRichDatabase();
  EXPECT_TRUE(Has(Out({"wal", "dump", db_}), "'\\x01\\xff' (2 bytes)"));
  EXPECT_TRUE(Has(Out({"wal", "dump", db_, "--values", "--hex"}), "'01ff' => '02fe'"));
  EXPECT_TRUE(Has(Out({"wal", "dump", db_}), "type:delete '" + Key(7) + "'\n"));
  EXPECT_TRUE(Has(Out({"wal", "dump", db_, "--batches"}), "1 update, "));
  EXPECT_TRUE(Has(Out({"wal", "dump", db_, "--batches", "--json"}), "\"updates\":1"));
  EXPECT_TRUE(Has(Out({"wal", "dump", db_, "--values", "--json"}), "{\"hex\":\"02fe\"}"));
  EXPECT_FALSE(Has(Out({"wal", "dump", db_, "--json"}), "02fe"));
}

TEST_F(VerbFlagsTest, LookupsAreExplainedWhateverTheirAnswer) {
  MakeRichDatabase();
  EXPECT_TRUE(LastJson(Out({"explain", "get", db_, Key(1), "--json"})).at("found").get<bool>());
  const nlohmann::json deleted = LastJson(Out({"explain", "get", db_, Key(7), "--json"}));
  EXPECT_FALSE(deleted.at("found").get<bool>());
  EXPECT_FALSE(deleted.contains("value_bytes"));
  EXPECT_TRUE(Has(deleted.dump(), "\"deleted\"")) << deleted;
  // Within the tables' range, and in none.
  std::set<std::string> answers;
  for (int i = 0; i < 200; ++i) {
    const nlohmann::json absent = LastJson(Out({"explain", "get", db_, Key(i) + "x", "--json"}));
    EXPECT_FALSE(absent.at("found").get<bool>());
    for (const nlohmann::json& source : absent.at("sources")) answers.insert(source.at("answer"));
  }
  EXPECT_GE(answers.size(), 2u);
  EXPECT_EQ(LastJson(Out({"explain", "get", db_, "01ff", "--hex", "--json"})).at("value_bytes"), 2);
  EXPECT_EQ(LastJson(Out({"explain", "filters", db_, "--family", "f", "--probes", "100", "--json"}))
                .at("column_families")
                .size(),
            1u);
  EXPECT_TRUE(Has(Out({"explain", "filters", db_, "--probes", "0"}), "family f"));
}

TEST_F(VerbFlagsTest, TablesAreReadWithinBoundsAndPackedAnewWithKnownCodecs) {
  MakeDatabase();
  const std::string table = Files(".sst").front();
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  EXPECT_EQ(lines(Out({"sst", "scan", table, "--prefix", "key001"})), 10);
  EXPECT_EQ(lines(Out({"sst", "scan", table, "--from", "key0010", "--to", "key0013"})), 3);
  EXPECT_EQ(lines(Out({"sst", "scan", table, "--from", "6b6579", "--limit", "2", "--hex"})), 2);
  EXPECT_EQ(lines(Out({"sst", "recompress", table, "--codecs", "none,lz4", "--block-size", "2KiB"})), 2);
  EXPECT_EQ(lines(Out({"sst", "recompress", table})), 4);
  ExpectRefused({"sst recompress TABLE --from 7a7a --hex"}, kExitError, "no entries are left by --from");
  ExpectRefused({"sst recompress TABLE --block-size 0"}, kExitUsage, "out of range");
  // It prints neither keys nor values.
  ExpectRefused({"sst filters TABLE --hex"}, kExitUsage, "there is no flag --hex");
  EXPECT_EQ(lines(Out({"sst", "recompress", "--codecs", "lz4", table, "--block-size", "2KiB"})), 1);
  ExpectRefused({"sst recompress TABLE --codecs none,rar"}, kExitUsage, "unknown codec rar");
  const Outcome none = RunSepal({"sst", "recompress", table, "--prefix", "zzz"});
  EXPECT_EQ(none.exit, kExitError);
  EXPECT_TRUE(Has(none.err, "no entries are left by --from, --to and --prefix")) << none.err;
  EXPECT_TRUE(Has(RunSepal({"sst", "verify", directory_.path()}).err, "no table files in this directory"));
  EXPECT_EQ(RunSepal({"sst", "verify", "no such file"}).exit, kExitError);
  EXPECT_EQ(RunSepal({"sst", "show", Files(".log").front()}).exit, kExitDamage);
}

TEST_F(VerbFlagsTest, TablesWithoutFiltersSaySo) {
  for (const bool filters_there : {false, true}) {
    const std::string place = directory_.File(filters_there ? "with" : "without");
    Options options{.create_if_missing = true};
    options.family.filter_policy = filters_there ? FilterPolicy::FromBitsPerKey(16) : FilterPolicy::None();
    {
      const std::unique_ptr<DB> db = DB::Open(options, place).value();
      for (int i = 0; i < 500; ++i) ASSERT_TRUE(db->Put(Key(i), "v").ok());
      ASSERT_TRUE(db->Flush().ok());
      ASSERT_TRUE(db->Close().ok());
    }
    const std::string filters = Out({"sst", "filters", place});
    EXPECT_EQ(Has(filters, "guard: none"), !filters_there) << filters;
    EXPECT_EQ(LastJson(Out({"sst", "filters", place, "--json"})).contains("guard"), filters_there);
    const nlohmann::json explained = LastJson(Out({"explain", "get", place, Key(3), "--json"}));
    EXPECT_TRUE(explained.at("found").get<bool>());
    EXPECT_EQ(RunSepal({"lsm", "html", place, "-o", directory_.File("page.html")}).exit, kExitOk);
    EXPECT_EQ(RunSepal({"explain", "filters", place, "--probes", "50"}).exit, kExitOk);
    EXPECT_EQ(RunSepal({"db", "verify", place}).exit, kExitOk);
  }
}

TEST_F(VerbFlagsTest, BackupsAreCountedKeptAndNamed) {
  MakeDatabase();
  const std::string backups = directory_.File("backups");
  ExpectRefused({"db backup DB DIR/backups --keep 0"}, kExitUsage, "0 is too small: at least 1");
  ExpectRefused({"db backups DIR/backups"}, kExitError, "does not exist");
  ExpectRefused({"db restore DIR/backups/000001 DIR/r"}, kExitError, "give one backup");
  EXPECT_FALSE(fs::exists(backups));
  for (int i = 0; i < 3; ++i) ASSERT_EQ(RunSepal({"db", "backup", db_, backups, "--keep", "2"}).exit, kExitOk);
  // What is none is passed over; what is unfinished is told.
  fs::create_directory(backups + "/000009");
  fs::create_directory(backups + "/no-backup");
  fs::create_directory(backups + "/12");
  std::ofstream(backups + "/000008") << "a file";
  const std::string listed = Out({"db", "backups", backups});
  EXPECT_TRUE(Has(listed, "/000003  sequence ") && Has(listed, "/000009  interrupted, ")) << listed;
  EXPECT_FALSE(Has(listed, "/000001") || Has(listed, "/000008") || Has(listed, "/12")) << listed;
  EXPECT_EQ(LastJson(Out({"db", "backups", backups, "--json"})).at("backups"), 3);
  EXPECT_TRUE(Has(Out({"db", "backups", backups, "--json"}), "\"finished\":false"));
  // A base that is unfinished is none: the newest that is whole is taken.
  EXPECT_TRUE(Has(Out({"db", "backup", db_, backups, "--no-verify"}), "/000010: "));
  ExpectRefused({"db restore DIR/backups DIR/r"}, kExitError, "name one of them");
  ExpectRefused({"db restore DIR/backups/000077 DIR/r"}, kExitError, "lists those that do");
  ASSERT_EQ(RunSepal({"db", "restore", backups + "/000003", directory_.File("r")}).exit, kExitOk);
  EXPECT_EQ(Out({"db", "get", directory_.File("r"), Key(5)}), "second");
  // An old one that is in use is not removed.
  const std::unique_ptr<DB> used = DB::Open({}, backups + "/000003").value();
  ExpectRefused({"db backup DB DIR/backups --keep 1"}, kExitError, "in use by");
  EXPECT_TRUE(used->Get(Key(5)).ok());
  // Not over what is there.
  EXPECT_EQ(RunSepal({"db", "restore", backups + "/000003", directory_.File("r")}).exit, kExitError);
  EXPECT_EQ(RunSepal({"db", "checkpoint", db_, directory_.File("r")}).exit, kExitError);
}

TEST_F(VerbFlagsTest, OptionsAreExplainedAsTheyAreGiven) {
  const std::string derived = Out({"options", "explain"});
  EXPECT_TRUE(Has(derived, "one for each core, 1 to 8") && Has(derived, "a quarter of the limit") &&
              Has(derived, "no limit") && Has(derived, "several in those above"))
      << derived;
  const std::string given = Out({"options", "explain", "--background-threads", "3", "--memtable-bytes", "1MiB",
                                 "--background-bytes-per-second", "5MiB", "--scrub-seconds", "1h", "--compaction-style",
                                 "leveled", "--bits-per-key", "0"});
  EXPECT_TRUE(Has(given, "given") && Has(given, "5.0 MiB") && Has(given, "not needed")) << given;
  EXPECT_TRUE(Has(Out({"options", "explain", "--compaction-style", "universal", "--scrub-seconds", "0"}), "never"));
  const nlohmann::json json = LastJson(Out({"options", "explain", "--memtable-bytes", "2MiB", "--json"}));
  EXPECT_TRUE(json.at("ok").get<bool>());
  EXPECT_EQ(RunSepal({"options", "explain", "--compaction-style", "fast"}).exit, kExitUsage);
  ExpectRefused({"options explain --memory-limit 1MiB"}, kExitUsage, "memory_limit of 1048576 bytes is too small");
  ExpectRefused({"options explain --memory-limit 8MiB --memtable-bytes 1GiB"}, kExitUsage, "two memtables must fit");
  ExpectRefused({"options explain --memtable-bytes 64"}, kExitUsage, "memtable_bytes of 64 is too small");
  ExpectRefused({"options explain --background-threads -3"}, kExitUsage, "is not a whole number");
  ExpectRefused({"options explain --background-threads 2k"}, kExitUsage, "background_threads of 2000 is out of range");
  ExpectRefused({"options explain --scrub-seconds 250ms"}, kExitUsage, "whole seconds");
}

TEST_F(VerbFlagsTest, TheCommandItselfHelpsAndKnowsWhatWasMeant) {
  for (const char* const line : {"--version", "version", "--help", "-h", "help", "help db", "db --help", "db -h",
                                 "help db get", "help db stats"}) {
    const Outcome outcome = RunLine(line);
    EXPECT_EQ(outcome.exit, kExitOk) << line << outcome.err;
    EXPECT_NE(outcome.out, "") << line;
    EXPECT_EQ(outcome.err, "") << line;
  }
  const std::pair<const char*, const char*> mistakes[] = {{"", "Verbs"},
                                                          {"get", "did you mean db get"},
                                                          {"verfy", "did you mean "},
                                                          {"backuup", "did you mean db backup"},
                                                          {"qqqqqqqqqq", "sepal --help lists the verbs"},
                                                          {"--hepl", "did you mean --help?"},
                                                          {"--qqqqqqqqqqqqq", "sepal --help lists the verbs"},
                                                          {"help qqqqqqqqqq", "there is no verb"},
                                                          {"db", "must be followed by one of"},
                                                          {"db --json", "must be followed by one of"},
                                                          {"db gett x", "did you mean db get?"},
                                                          {"gett x y", "there is no verb \"gett\""},
                                                          {"db qqqqqqqqqq", "sepal --help lists the verbs"},
                                                          {"qqqqqqqq rrrrrrrrr", "there is no verb \"qqqqqqqq\""}};
  for (const auto& [line, part] : mistakes) {
    const Outcome outcome = RunLine(line);
    EXPECT_EQ(outcome.exit, kExitUsage) << line;
    EXPECT_TRUE(Has(outcome.err, part)) << line << ": " << outcome.err;
  }
  EXPECT_EQ(LastJson(RunSepal({"qqqqqqqqqq", "--json"}).out).at("exit_code"), kExitUsage);
  EXPECT_EQ(LastJson(RunSepal({"db", "get", "--json"}).out).at("exit_code"), kExitUsage);
  EXPECT_TRUE(Has(RunSepal({"db", "get", "--help", "--json"}).out, "--family"));
}

TEST_F(VerbFlagsTest, ColoursAreAsChosen) {
  MakeDatabase();
  EXPECT_TRUE(Has(Out({"lsm", "tree", db_, "--color", "always"}), "\x1b["));
  EXPECT_FALSE(Has(Out({"lsm", "tree", db_, "--color", "never"}), "\x1b["));
  EXPECT_EQ(RunSepal({"lsm", "tree", db_, "--color", "pink"}).exit, kExitUsage);
  EXPECT_EQ(Paint(true).Good(""), "");
  for (const std::ostream* stream : {&std::cout, &std::cerr}) {
    EXPECT_EQ(Paint::For(*stream, ColorChoice::kNever).Good("ok"), "ok");
  }
  EXPECT_FALSE(WantsColor(ColorChoice::kAuto, /*terminal=*/true, nullptr, ""));
}

TEST_F(VerbFlagsTest, AWatchGoesOnWithAManifestThatWasBegunAnew) {
  MakeDatabase();
  TreeWatch watch({.directory = db_});
  ASSERT_TRUE(watch.Look().ok());
  // Each opening begins a new manifest.
  {
    const std::unique_ptr<DB> db = DB::Open({}, db_).value();
    for (int i = 0; i < 300; ++i) ASSERT_TRUE(db->Put(Key(i), "third").ok());
    ASSERT_TRUE(db->Flush().ok());
    ASSERT_TRUE(db->CompactRange().ok());
    ASSERT_TRUE(db->Put("more", "v").ok());
    ASSERT_TRUE(db->Flush().ok());
    ASSERT_TRUE(db->Close().ok());
  }
  ASSERT_EQ(RunSepal({"db", "open", db_}).exit, kExitOk);
  const TreeChange change = watch.Look().value();
  EXPECT_EQ(change.tables, Files(".sst").size());
  EXPECT_GT(change.flushed_tables + change.compacted_tables, 0u);
  EXPECT_GT(change.removed_tables, 0u);
  // Another one that changes nothing.
  ASSERT_EQ(RunSepal({"db", "open", db_}).exit, kExitOk);
  const TreeChange same = watch.Look().value();
  EXPECT_EQ(same.tables, change.tables);
  EXPECT_EQ(same.flushed_tables + same.compacted_tables + same.moved_tables + same.removed_tables, 0u);
  EXPECT_FALSE(TreeWatch({.directory = directory_.File("none")}).Look().ok());
}

TEST_F(VerbFlagsTest, VerbsThatWriteAreRefusedBesideAnotherWriter) {
  MakeDatabase();
  const std::unique_ptr<DB> db = DB::Open({.info_log = false}, db_).value();
  ExpectRefused({"db put DB k v", "db delete DB k", "db open DB", "db compact DB --yes", "db repair DB --yes",
                 "db repair DB --dry-run"},
                kExitError, "close it there first");
}

TEST_F(VerbFlagsTest, DamageOfSeveralTablesIsCountedAndWhatARepairLosesToo) {
  MakeDatabase();
  for (const std::string& table : Files(".sst")) FlipByte(table, 0.3);
  EXPECT_TRUE(Has(RunSepal({"db", "verify", db_}).err, "2 of 2 tables are damaged"));
  EXPECT_TRUE(Has(RunSepal({"sst", "verify", db_}).err, "a file with the same name"));
  EXPECT_EQ(RunSepal({"db", "compact", db_, "--yes"}).exit, kExitDamage);
  fs::remove(db_ + "/LOCK");
  EXPECT_EQ(RunSepal({"db", "repair", db_, "--dry-run"}).exit, kExitDamage);
  const Outcome repaired = RunSepal({"db", "repair", db_, "--yes"});
  EXPECT_EQ(repaired.exit, kExitDamage);
  EXPECT_TRUE(Has(repaired.err, "listed above, were lost")) << repaired.err;
  EXPECT_EQ(RunSepal({"db", "verify", db_}).exit, kExitOk);
}

TEST_F(VerbFlagsTest, AFamilyOfOneKeyHasAPicture) {
  ASSERT_EQ(RunSepal({"db", "put", db_, "only", "v"}).exit, kExitOk);
  ASSERT_EQ(RunSepal({"db", "compact", db_, "--yes"}).exit, kExitOk);
  EXPECT_TRUE(Has(Out({"lsm", "tree", db_, "--tables"}), "#"));
}

TEST_F(VerbFlagsTest, AnErrorWithoutAMessageIsToldByItsCode) {
  EXPECT_EQ(MessageOf(absl::InternalError("")), "INTERNAL: ");
  EXPECT_EQ(MessageOf(absl::DataLossError("x")), "damage: x");
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), kExitOk);
  EXPECT_FALSE(ScrubHistoryOf({"nospace", "no pass"}).last_pass.has_value());
  std::ostringstream good, err;
  EXPECT_EQ(ExitOfOutput(kExitDamage, "p", good, err), kExitDamage);
  EXPECT_EQ(err.str(), "");
  std::ostream bad(nullptr);
  EXPECT_EQ(ExitOfOutput(kExitDamage, "p", bad, err), kExitDamage);
  EXPECT_EQ(ExitOfOutput(kExitOk, "p", bad, err), kExitError);
}

TEST_F(VerbFlagsTest, DirectoriesAreMeasuredByWhatTheyTakeOfTheDisk) {
  MakeDatabase();
  std::ofstream(db_ + "/big.sst") << std::string(100'000, 'x');
  std::ofstream(db_ + "/big.log") << std::string(50'000, 'x');
  fs::create_directory_symlink(db_, db_ + "/link");
  const DirectorySize size = MeasureDirectory(db_);
  EXPECT_GE(size.data_bytes, 100'000u);
  EXPECT_GE(size.log_bytes, 50'000u);
  const DirectorySize none = MeasureDirectory(directory_.File("none"));
  EXPECT_EQ(none.data_bytes + none.log_bytes, 0u);
  EXPECT_GT(ResidentBytes(), 1u << 20);
  EXPECT_TRUE(Has(DescribeMachine("/proc"), "file system 0x9fa0")) << DescribeMachine("/proc");
  EXPECT_TRUE(Has(DescribeMachine("/none/of/these"), "hardware threads"));
}

}  // namespace
}  // namespace sepal::tools
