#include "tools/sepal/sepal_command.h"

#include <gtest/gtest.h>

#include "db/doctor/kept_families.h"
#include "db/format/manifest_format.h"
#include "db/state/version/tuning.h"
#include "tests/tools/browser.h"
#include "tests/tools/sepal_command_fixture.h"
#include "tools/db_bench/db_bench_runner.h"
#include "util/base/coding.h"
#include "util/base/hash.h"

namespace sepal::tools {
namespace {

TEST_F(SepalCommandTest, AValueThatIsTooLargeForTheMemoryNamesTheFlagThatMakesItFit) {
  const std::string value(size_t{3} << 20, 'v');
  const Outcome refused = RunSepal({"db", "put", db_, "large", "-", "--memory-limit", "8MiB"}, value);
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "over a quarter of memory_limit") && Has(refused.err, "--memory-limit")) << refused.err;
  EXPECT_EQ(RunSepal({"db", "put", db_, "large", "-", "--memory-limit", "16MiB"}, value).exit, kExitOk);
  EXPECT_EQ(RunSepal({"db", "get", db_, "large"}).out, value);
  const Outcome too_small = RunSepal({"db", "put", db_, "k", "v", "--memory-limit", "7MiB"});
  EXPECT_EQ(too_small.exit, kExitUsage);
  EXPECT_TRUE(Has(too_small.err, "memory_limit of 7340032 bytes is too small")) << too_small.err;
}

// The command writes as the program does that owns the database, and leaves its options as they are.
TEST_F(SepalCommandTest, WhatWritesToADatabaseKeepsItAsItIsKept) {
  Options options{.create_if_missing = true, .memory_limit = size_t{8} << 20};
  options.family.compression = CompressionKind::kZstd;
  options.family.block_bytes = 32768;
  options.family.filter_policy = FilterPolicy::FromBitsPerKey(20);
  {
    const std::unique_ptr<DB> db = DB::Open(options, db_).value();
    ASSERT_TRUE(db->CreateColumnFamily("f", options.family).ok());
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(db->Put(Key(i), std::string(100, static_cast<char>('a' + i % 26))).ok());
    ASSERT_TRUE(db->Flush().ok());
    ASSERT_TRUE(db->Close().ok());
  }
  const auto expect_kept = [&](const std::string& directory) {
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      if (entry.path().extension() != ".sst") continue;
      const Outcome shown = RunSepal({"sst", "show", entry.path(), "--json"});
      EXPECT_TRUE(Has(shown.out, "zstd") && Has(shown.out, "32768")) << shown.out << shown.err;
    }
    const auto kept = KeptFamilies(FileSystem::Posix(), directory, "");
    ASSERT_TRUE(kept.ok()) << kept.status();
    ASSERT_EQ(kept->size(), 2u);
    for (const ColumnFamilyDescriptor& family : *kept) {
      EXPECT_EQ(family.options.compression, CompressionKind::kZstd);
      EXPECT_EQ(family.options.filter_policy, options.family.filter_policy);
    }
  };
  expect_kept(db_);
  ASSERT_EQ(RunSepal({"db", "put", db_, Key(5), "new"}).exit, kExitOk);
  expect_kept(db_);
  ASSERT_EQ(RunSepal({"db", "compact", db_, "--yes"}).exit, kExitOk);
  expect_kept(db_);
  ASSERT_EQ(RunSepal({"db", "checkpoint", db_, directory_.File("copy")}).exit, kExitOk);
  expect_kept(directory_.File("copy"));
  FlipByte(Files(".sst").front(), 0.3);
  EXPECT_EQ(RunSepal({"db", "repair", db_, "--yes"}).exit, kExitDamage);
  expect_kept(db_);
}

// These need other engines' libraries: import_verb_test.cc, export_verb_test.cc, tests/leveldb; or another side:
// sync_verbs_test.cc; or what no verb makes: transaction_verbs_test.cc.
bool NeedsMore(const VerbEntry& verb) {
  return verb.name == "import" || verb.name == "export" || verb.name == "run" || verb.name == "sync-server" ||
         verb.name.starts_with("txn ");
}

// A database with a family that keeps its history.
void MakeHistory(const std::string& directory) {
  EXPECT_EQ(RunSepal({"db", "put", directory, "k", "v"}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"family", "create", directory, "kept", "--history", "1h"}).exit, kExitOk);
}

// Of a map, in the order of the verbs.
std::map<std::string, std::vector<std::string>> ShardArguments(const std::string& map, const std::string& databases) {
  return {{"shard create", {map, "--databases", databases}},
          {"shard list", {map}},
          {"shard route", {map, "k"}},
          {"shard split", {map, "k"}},
          {"shard move", {map, "k", "b"}}};
}

TEST_F(SepalCommandTest, EveryVerbGivesJsonWithItsSchemaVersion) {
  MakeDatabase();
  const std::string table = Files(".sst").front();
  std::map<std::string, std::vector<std::string>> arguments = {
      {"db get", {db_, "key0001"}},
      {"db put", {db_, "k", "v"}},
      {"db delete", {db_, "k"}},
      {"db merge", {db_, "k", "1", "--number", "--family", "counters"}},
      {"db compact", {db_, "--yes"}},
      {"db repair", {db_, "--yes"}},
      {"options explain", {}},
      {"explain get", {db_, "key0001"}},
      {"db delete-range", {db_, "--prefix", "k"}},
      {"completion", {"bash"}},
      {"man", {}},
      {"family create", {db_, "a"}},
      {"family drop", {db_, "a", "--yes"}},
      {"snapshot create", {db_, "s"}},
      {"snapshot drop", {db_, "s"}}};
  const std::string dump = directory_.File("dump");
  arguments["dump"] = {db_, "--output", dump};
  arguments["load"] = {directory_.File("loaded"), dump};
  arguments["db destroy"] = {directory_.File("loaded"), "--yes"};
  ASSERT_EQ(RunSepal({"family", "create", db_, "counters", "--merge-operator", "add64"}).exit, kExitOk);
  ASSERT_EQ(RunSepal({"db", "put", directory_.File("other"), "k", "v"}).exit, kExitOk);
  arguments["sync"] = {db_, directory_.File("other")};
  MakeHistory(directory_.File("past"));
  arguments["db history"] = {directory_.File("past"), "k", "--family", "kept"};
  arguments.merge(ShardArguments(directory_.File("shard map"), directory_.File("shards")));
  const std::string filter = directory_.File("filter");
  arguments["filter size"] = {"--keys", "1M", "--rate", "0.01"};
  arguments["filter build"] = {"--from-db", db_, "--output", filter};
  arguments["filter test"] = {filter, "/dev/null"};
  arguments["filter info"] = {filter};
  arguments["filter merge"] = {filter, filter, "--output", directory_.File("merged")};
  arguments["filter plot"] = {"--output", directory_.File("plot.svg"), "--keys", "100", "--lookups", "1000"};
  arguments["filter page"] = {filter, "--output", directory_.File("filter.html")};
  // What changes the database comes last.
  std::vector<VerbEntry> verbs = Verbs();
  std::stable_partition(verbs.begin(), verbs.end(), [](const VerbEntry& verb) {
    return verb.name != "db put" && verb.name != "db delete" && verb.name != "db delete-range" &&
           verb.name != "db merge" && verb.name != "db compact" && verb.name != "db repair" && verb.name != "db open" &&
           verb.name != "db destroy" && verb.name != "sync";
  });
  for (const VerbEntry& verb : verbs) {
    std::vector<std::string> words = WordsOf(verb);
    const auto special = arguments.find(std::string(verb.name));
    if (verb.name == "db checkpoint" || verb.name == "db backup") {
      words.insert(words.end(), {db_, directory_.File("new " + std::string(verb.name))});
    } else if (verb.name == "db backups") {
      words.push_back(directory_.File("new db backup"));
    } else if (verb.name == "db restore") {
      words.insert(words.end(), {directory_.File("new db backup") + "/000001", directory_.File("restored")});
    } else if (special != arguments.end()) {
      words.insert(words.end(), special->second.begin(), special->second.end());
    } else {
      words.push_back(verb.name.starts_with("sst ") ? table : db_);
    }
    if (NeedsMore(verb)) continue;
    if (verb.name == "bench run") {
      words.back() = directory_.File("bench");
      words.insert(words.end(), {"--num=100", "--benchmarks=fillseq", "--report_file=" + directory_.File("recording")});
    } else if (verb.name == "bench compare") {
      words.back() = directory_.File("recording");
      words.push_back(directory_.File("recording"));
    } else if (verb.name == "bench report") {
      words.back() = directory_.File("recording");
      words.insert(words.end(), {"--output", directory_.File("bench.html")});
    }
    if (verb.name == "lsm html") words.insert(words.end(), {"--output", directory_.File("lsm.html")});
    words.push_back("--json");
    const Outcome outcome = RunSepal(words);
    EXPECT_EQ(outcome.exit, kExitOk) << verb.name << ": " << outcome.err;
    EXPECT_FALSE(Has(outcome.out + outcome.err, "\x1b[")) << verb.name << ": colours";
    const nlohmann::json last = LastJson(outcome.out);
    EXPECT_EQ(last.value("schema_version", 0), kJsonSchemaVersion) << verb.name;
    EXPECT_EQ(last.value("command", ""), verb.name);
    EXPECT_TRUE(last.value("ok", false)) << verb.name;
  }
}

TEST_F(SepalCommandTest, WhatOnlyLooksWritesNothingAndWorksBesideAWriter) {
  MakeDatabase();
  absl::StatusOr<std::unique_ptr<DB>> writer = DB::Open({.info_log = false}, db_);
  ASSERT_TRUE(writer.ok()) << writer.status();
  // Synced, for otherwise the log is mapped, and the writer takes memory of the next window beside us, which changes
  // the file's time.
  ASSERT_TRUE((*writer)->Put("beside", "yes", {.sync = true}).ok());
  ASSERT_TRUE((*writer)->WaitForBackgroundWork().ok());
  const std::set<std::string> before = State();
  for (const std::vector<std::string>& looks :
       std::vector<std::vector<std::string>>{{"db", "get", db_, "beside"},
                                             {"db", "scan", db_},
                                             {"db", "stats", db_},
                                             {"db", "verify", db_},
                                             {"sst", "verify", db_},
                                             {"manifest", "dump", db_},
                                             {"manifest", "check", db_},
                                             {"wal", "dump", db_},
                                             {"lsm", "tree", db_},
                                             {"db", "stats", db_, "--watch", "--count", "1"},
                                             {"filter", "build", "--from-db", db_, "-o", directory_.File("filter")},
                                             {"explain", "get", db_, "beside"}}) {
    const Outcome outcome = RunSepal(looks);
    EXPECT_EQ(outcome.exit, kExitOk) << looks[0] << " " << looks[1] << ": " << outcome.err;
  }
  EXPECT_EQ(State(), before);
  const Outcome refused = RunSepal({"db", "put", db_, "k", "v"});
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "close it there first")) << refused.err;
  EXPECT_TRUE((*writer)->Close().ok());
}

TEST_F(SepalCommandTest, CheckpointWorksBesideAWriterAndRefusesAPlaceThatIsTaken) {
  MakeDatabase();
  absl::StatusOr<std::unique_ptr<DB>> writer = DB::Open({}, db_);
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->Put("beside", "yes").ok());
  const std::string target = directory_.File("checkpoint");
  const Outcome made = RunSepal({"db", "checkpoint", db_, target, "--json"});
  EXPECT_EQ(made.exit, kExitOk) << made.err;
  EXPECT_GT(LastJson(made.out).at("linked"), 0);
  EXPECT_EQ(RunSepal({"db", "get", target, "beside"}).out, "yes");
  EXPECT_EQ(RunSepal({"db", "scan", target, "--count"}).out, "1002\n");
  const Outcome again = RunSepal({"db", "checkpoint", db_, target});
  EXPECT_EQ(again.exit, kExitError);
  EXPECT_TRUE(Has(again.err, "is not empty")) << again.err;
  EXPECT_EQ(RunSepal({"db", "verify", target}).exit, kExitOk);
}

TEST_F(SepalCommandTest, OnAFullDiskACopySaysSoAndLeavesNothing) {
  MakeDatabase();
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open({}, db_);
  ASSERT_TRUE(db.ok()) << db.status();
  std::string big;  // that does not compress
  for (uint64_t x = 1; big.size() < 1 << 20; x = x * 6364136223846793005u + 1)
    big.push_back(static_cast<char>(x >> 56));
  ASSERT_TRUE((*db)->Put("big", big).ok());
  ASSERT_TRUE((*db)->CompactRange().ok());
  ASSERT_TRUE((*db)->Close().ok());
  db->reset();
  ASSERT_EQ(RunSepal({"db", "backup", db_, directory_.File("backups")}).exit, kExitOk);
  const std::string disk = directory_.File("disk");
  std::filesystem::create_directory(disk);
  if (std::system(("mount -t tmpfs -o size=64k none " + disk + " 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << "no file system can be mounted here";
  }
  for (const std::vector<std::string>& copy : std::vector<std::vector<std::string>>{
           {"db", "backup", db_, disk + "/backups"},
           {"db", "checkpoint", db_, disk + "/copy"},
           {"db", "restore", directory_.File("backups") + "/000001", disk + "/back"}}) {
    const Outcome full = RunSepal(copy);
    EXPECT_EQ(full.exit, kExitError) << copy[1];
    EXPECT_TRUE(Has(full.err, "No space left") && Has(full.err, "free some space")) << full.err;
    EXPECT_TRUE(std::filesystem::is_empty(disk)) << copy[1];
  }
  EXPECT_EQ(std::system(("umount " + disk).c_str()), 0);
}

TEST_F(SepalCommandTest, ExplainFiltersTellsWhatTheyCostAndSave) {
  MakeDatabase();
  const std::set<std::string> before = State();
  const Outcome outcome = RunSepal({"explain", "filters", db_, "--json"});
  EXPECT_EQ(outcome.exit, kExitOk) << outcome.err;
  const nlohmann::json level = LastJson(outcome.out).at("column_families").at(0).at("levels").at(0);
  EXPECT_EQ(level.at("tables"), 2);
  EXPECT_EQ(level.at("entries"), 1100);
  EXPECT_GT(level.at("filter_bytes"), 1100);
  EXPECT_GT(level.at("lookups"), 1000);
  EXPECT_GT(level.at("reads_saved"), level.at("lookups").get<int>() * 95 / 100);
  EXPECT_LT(level.at("expected_rate"), 0.05);
  EXPECT_LT(level.at("observed_rate"), 0.05);
  const Outcome text = RunSepal({"explain", "filters", db_, "--family", "default", "--probes", "0"});
  EXPECT_EQ(text.exit, kExitOk) << text.err;
  EXPECT_TRUE(Has(text.out, "expected rate  observed rate")) << text.out;
  EXPECT_EQ(RunSepal({"explain", "filters", db_, "--family", "none"}).exit, kExitError);
  EXPECT_EQ(State(), before);
}

// What stands between the marks of the page's data.
nlohmann::json DataOf(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const size_t at = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
}

TEST_F(SepalCommandTest, LsmHtmlIsOneFileThatNeedsNoNetwork) {
  MakeDatabase();
  ASSERT_EQ(RunSepal({"db", "put", db_, "</script><script>alert(1)//", "v"}).exit, kExitOk);
  const std::string path = directory_.File("lsm.html");
  const Outcome outcome = RunSepal({"lsm", "html", db_, "--output", path});
  EXPECT_EQ(outcome.exit, kExitOk) << outcome.err;
  const std::string page = Slurp(path);
  const nlohmann::json data = DataOf(page);
  EXPECT_EQ(data.at("tables").size(), Files(".sst").size());
  EXPECT_EQ(data.at("fills").size(), Files(".sst").size());
  EXPECT_GE(data.at("edits").size(), data.at("snapshot_edits"));
  // The namespace of SVG is a name, not an address.
  const std::string name = "http://www.w3.org/2000/svg";
  std::string rest = page;
  rest.erase(rest.find(name), name.size());
  EXPECT_FALSE(Has(rest, "http")) << rest.substr(rest.find("http"), 80);
  EXPECT_FALSE(Has(page, "<script>alert"));
  // A place that cannot be written leaves nothing.
  EXPECT_EQ(RunSepal({"lsm", "html", db_, "--output", directory_.File("none/lsm.html")}).exit, kExitError);
}

TEST_F(SepalCommandTest, LsmHtmlDrawsEveryTableInABrowser) {
  if (!HaveProgram("chromium")) GTEST_SKIP() << "there is no chromium";
  MakeDatabase();
  const std::string page = directory_.File("lsm.html");
  ASSERT_EQ(RunSepal({"lsm", "html", db_, "--output", page}).exit, kExitOk);
  const std::string dom = Rendered(page, directory_.File("profile"));
  size_t drawn = 0;
  const std::string mark = "<rect class=\"table ";
  for (size_t at = dom.find(mark); at != std::string::npos; at = dom.find(mark, at + 1)) ++drawn;
  EXPECT_EQ(drawn, Files(".sst").size());
  EXPECT_TRUE(Has(dom, ">level 0</text>"));
}

TEST_F(SepalCommandTest, LsmHtmlIsUsedByKeyboardInLightAndDark) {
  if (!HaveProgram("chromium")) GTEST_SKIP() << "there is no chromium";
  MakeDatabase();
  const std::string page = directory_.File("lsm.html");
  ASSERT_EQ(RunSepal({"lsm", "html", db_, "--output", page}).exit, kExitOk);
  // Presses keys, and writes down what came of it.
  std::ofstream(page, std::ios::app) << R"(<script>
const state = document.body.dataset, at = id => document.getElementById(id);
const press = key => document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
state.last = at("edit").value;
press("ArrowLeft");
state.left = Number(state.last) - at("edit").value;
press("ArrowRight");
state.right = Number(state.last) - at("edit").value;
press("c");
state.compared = at("compare").checked;
at("edit").dispatchEvent(new KeyboardEvent("keydown", {key: "C", bubbles: true}));
state.again = !at("compare").checked;
document.querySelector("rect.table").focus();
state.told = at("detail").textContent.includes(".sst");
const focused = document.activeElement.dataset.number;
dispatchEvent(new Event("resize"));
state.kept = focused !== undefined && document.activeElement.dataset.number === focused;
state.color = getComputedStyle(document.body).backgroundColor;
</script>)";
  const std::string light = Rendered(page, directory_.File("profile"));
  for (const char* expected : {"data-left=\"1\"", "data-right=\"0\"", "data-compared=\"true\"", "data-again=\"true\"",
                               "data-told=\"true\"", "data-kept=\"true\""}) {
    EXPECT_TRUE(Has(light, expected)) << expected << light.substr(light.find("<body"), 300);
  }
  EXPECT_TRUE(Has(light, "data-color=\"rgb(255, 255, 255)\""));
  EXPECT_TRUE(Has(Rendered(page, directory_.File("profile"), {.dark = true}), "data-color=\"rgb(17, 17, 19)\""));
}

TEST_F(SepalCommandTest, BenchReportDrawsWhatDbBenchRecorded) {
  const std::string recording = directory_.File("run.jsonl"), page = directory_.File("bench.html");
  const std::string flags[] = {"--db=" + db_, "--num=20000", "--benchmarks=fillrandom,readrandom",
                               "--report_file=" + recording, "--report_interval_seconds=0.01"};
  std::vector<const char*> argv = {"db_bench"};
  for (const std::string& flag : flags) argv.push_back(flag.c_str());
  std::ostringstream out, err;
  ASSERT_EQ(DbBenchMain(static_cast<int>(argv.size()), argv.data(), out, err), kExitOk) << err.str();
  const Outcome report = RunSepal({"bench", "report", recording, recording, "--output", page, "--json"});
  ASSERT_EQ(report.exit, kExitOk) << report.err;
  EXPECT_EQ(LastJson(report.out).at("results"), 4);
  const nlohmann::json run = DataOf(Slurp(page)).at("runs").at(0);
  EXPECT_EQ(run.at("results").at(0).at("operations"), 20000);
  EXPECT_EQ(run.at("samples").back().at("benchmark"), "readrandom");
  EXPECT_GT(run.at("results").at(1).at("latency_micros").at("p99"), 0);
  if (HaveProgram("chromium")) {
    const std::string dom = Rendered(page, directory_.File("profile"));
    EXPECT_TRUE(Has(dom, "<h3>fillrandom</h3>") && Has(dom, "class=\"rate\" d=\"M")) << dom;
  }
  EXPECT_EQ(RunSepal({"bench", "report", directory_.File("none")}).exit, kExitError);
  std::ofstream(directory_.File("text")) << "no JSON\n";
  const Outcome refused = RunSepal({"bench", "report", directory_.File("text"), "--output", page});
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "line 1")) << refused.err;
}

// The manifest says a version that is one too high, with a checksum that is right.
TEST_F(SepalCommandTest, ADatabaseOfANewerFormatIsAnErrorThatSaysSoAndIsLeftAlone) {
  MakeDatabase();
  for (const auto& entry : std::filesystem::directory_iterator(db_)) {
    if (!entry.path().filename().string().starts_with("MANIFEST")) continue;
    std::string bytes = Slurp(entry.path());
    std::string header = bytes.substr(0, kManifestHeaderBytes - 8);
    ++header[8];
    PutFixed64(&header, Checksum64(header, 0));
    std::ofstream(entry.path(), std::ios::binary) << header << bytes.substr(kManifestHeaderBytes);
  }
  const auto state = [this] {
    std::set<std::string> files = State();
    std::erase_if(files, [](const std::string& file) { return file.starts_with("LOCK "); });  // a writer's number
    return files;
  };
  const std::set<std::string> before = state();
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"db", "get", db_, "key0001"},
                                                                                     {"db", "put", db_, "key0001", "v"},
                                                                                     {"db", "verify", db_},
                                                                                     {"db", "repair", db_, "--yes"},
                                                                                     {"manifest", "dump", db_},
                                                                                     {"lsm", "tree", db_},
                                                                                     {"db", "stats", db_}}) {
    const Outcome newer = RunSepal(words);
    EXPECT_EQ(newer.exit, kExitError) << words[0] << " " << words[1];
    EXPECT_TRUE(Has(newer.err, "manifest format version 2; this library supports 1: use a newer version of Sepal"))
        << words[0] << " " << words[1] << ": " << newer.err;
  }
  EXPECT_EQ(state(), before);
}

TEST_F(SepalCommandTest, HelpBeginsWithAnExample) {
  EXPECT_TRUE(Has(RunSepal({"--help"}).out, "Examples:"));
  for (const VerbEntry& verb : Verbs()) {
    std::vector<std::string> words = WordsOf(verb);
    words.emplace_back("--help");
    const Outcome help = RunSepal(words);
    EXPECT_EQ(help.exit, kExitOk);
    EXPECT_TRUE(Has(help.out, "Example: sepal " + std::string(verb.example))) << help.out;
  }
}

TEST_F(SepalCommandTest, OptionsExplainTellsWhatIsDerived) {
  const nlohmann::json derived = LastJson(RunSepal({"options", "explain", "--memory-limit", "64MiB", "--json"}).out);
  EXPECT_EQ(derived.at("memtable_bytes"), 16 << 20);
  // Nothing that the engine says of its sizes is left out.
  std::istringstream lines(Tuning().ToString());
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(derived.contains(line.substr(0, line.find(':')))) << line;
  }
  EXPECT_EQ(RunSepal({"options", "explain", "--memory-limit", "much"}).exit, kExitUsage);
}

}  // namespace
}  // namespace sepal::tools
