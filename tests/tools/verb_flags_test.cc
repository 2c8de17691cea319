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
  // What it prints, as text or JSON; it is ok.
  static std::string Out(const std::vector<std::string>& words) {
    const Outcome outcome = RunSepal(words);
    EXPECT_EQ(outcome.exit, kExitOk) << words[0] << " " << words[1] << ": " << outcome.err;
    return outcome.out;
  }
};

TEST_F(VerbFlagsTest, ARangeToCompactMayBeGivenInHexadecimal) {
  MakeDatabase();
  const std::string before = Files(".sst").front();
  ASSERT_EQ(RunSepal({"db", "compact", db_, "--yes", "--from", "0101", "--to", "0102", "--hex"}).exit, kExitOk);
  EXPECT_TRUE(fs::exists(before));
  ASSERT_EQ(RunSepal({"db", "compact", db_, "--yes", "--from", "6b6579", "--to", "6b65797f", "--hex"}).exit, kExitOk);
  EXPECT_FALSE(fs::exists(before));
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
    if (entry.path().extension() == ".ring")
      std::ofstream(entry.path(), std::ios::in | std::ios::binary) << std::string(fs::file_size(entry.path()), 0);
    if (entry.path().extension() != ".log") continue;
    const std::string log = Slurp(entry.path());
    const size_t record = log.rfind(std::string(100, 't'));
    if (record != log.npos) fs::resize_file(entry.path(), record + 50);
  }
  const std::string dumped = Out({"wal", "dump", copy});
  EXPECT_TRUE(Has(dumped, "'whole'") && !Has(dumped, "'torn'")) << dumped;
  EXPECT_TRUE(Has(dumped, "incomplete end of the log, never acknowledged as durable: ")) << dumped;
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
