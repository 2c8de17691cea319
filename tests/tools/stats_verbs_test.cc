// sepal stats: looks again and again, the page for Prometheus, and the dashboard that draws it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "tests/tools/sepal_command_fixture.h"
#include "tools/sepal/tree_watch.h"

namespace sepal::tools {
namespace {

using ::testing::IsSubsetOf;

class StatsVerbsTest : public SepalCommandTest {
 protected:
  // The page of a process that has the database open.
  std::string LivePage() {
    absl::StatusOr<std::unique_ptr<DB>> db =
        DB::Open({.create_if_missing = true, .latency_histograms = true}, directory_.File("live"));
    EXPECT_TRUE(db.ok()) << db.status();
    for (int i = 0; i < 100; ++i) EXPECT_TRUE((*db)->Put(Key(i), "v").ok());
    EXPECT_TRUE((*db)->Flush().ok());
    EXPECT_TRUE((*db)->Get(Key(1)).ok());
    EXPECT_TRUE((*db)->CreateColumnFamily("a \"quoted\" one").ok());
    return (*db)->GetProperty("sepal.prometheus").value_or("");
  }
  // Every expression of the dashboard, with what Grafana puts in.
  static std::vector<std::string> Expressions() {
    const nlohmann::json dashboard = nlohmann::json::parse(Slurp(SEPAL_SOURCE_DIRECTORY "/docs/grafana/sepal.json"));
    std::vector<std::string> expressions;
    for (const nlohmann::json& panel : dashboard.at("panels")) {
      if (!panel.contains("targets")) continue;
      for (const nlohmann::json& target : panel.at("targets")) {
        std::string text = target.at("expr");
        text = std::regex_replace(text, std::regex("\\$__rate_interval"), "5m");
        expressions.push_back(std::regex_replace(text, std::regex("\\$(job|instance)"), ".*"));
      }
    }
    return expressions;
  }
  static std::set<std::string> Names(const std::string& text) {
    const std::regex name("sepal_[a-z_]+");
    std::set<std::string> names;
    for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it) names.insert(it->str());
    return names;
  }
};

TEST_F(StatsVerbsTest, WatchingTellsWhatWasFlushedMergedAndRemoved) {
  MakeDatabase();
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open({}, db_);
  ASSERT_TRUE(db.ok()) << db.status();
  TreeWatch watch({.directory = db_});
  absl::StatusOr<TreeChange> change = watch.Look();
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->tables, Files(".sst").size());
  EXPECT_EQ(change->flushed_tables + change->compacted_tables + change->removed_tables, 0u);
  EXPECT_GT(change->log_bytes, 0u);
  const uint64_t sequence = change->flushed_sequence;

  ASSERT_TRUE((*db)->Put("more", "1").ok());
  ASSERT_TRUE((*db)->Flush().ok());
  change = watch.Look();
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->flushed_tables, 1u);
  EXPECT_GT(change->flushed_bytes, 0u);
  EXPECT_EQ(change->compacted_tables, 0u);
  EXPECT_GT(change->flushed_sequence, sequence);
  const uint64_t bytes = change->bytes, tables = change->tables;

  ASSERT_TRUE((*db)->CompactRange().ok());
  change = watch.Look();
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->flushed_tables, 0u);
  EXPECT_EQ(change->compacted_tables, 1u);
  EXPECT_EQ(change->compacted_bytes, change->bytes);
  EXPECT_EQ(change->removed_tables, tables);
  EXPECT_EQ(change->removed_bytes, bytes);
  EXPECT_EQ(change->levels.back().runs, 1u);
  change = watch.Look();
  EXPECT_EQ(change->compacted_tables + change->removed_tables, 0u);
}

TEST_F(StatsVerbsTest, WatchingGoesOnWhereANewManifestBegins) {
  MakeDatabase();
  TreeWatch watch({.directory = db_});
  ASSERT_TRUE(watch.Look().ok());
  // Opening begins a manifest.
  ASSERT_EQ(RunSepal({"db", "put", db_, "more", "1"}).exit, kExitOk);
  ASSERT_EQ(RunSepal({"db", "compact", db_, "--yes"}).exit, kExitOk);
  const absl::StatusOr<TreeChange> change = watch.Look();
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->tables, 1u);
  EXPECT_EQ(change->compacted_bytes, change->bytes);
  EXPECT_EQ(change->removed_tables, 2u);
}

TEST_F(StatsVerbsTest, WatchPrintsALineForEachIntervalBesideAWriterAndWritesNothing) {
  MakeDatabase();
  absl::StatusOr<std::unique_ptr<DB>> writer = DB::Open({.info_log = false}, db_);
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->WaitForBackgroundWork().ok());
  const std::set<std::string> before = State();
  const Outcome text = RunSepal({"db", "stats", db_, "--watch", "--interval", "0.001", "--count", "3"});
  EXPECT_EQ(text.exit, kExitOk) << text.err;
  EXPECT_EQ(std::count(text.out.begin(), text.out.end(), '\n'), 4);
  EXPECT_TRUE(text.out.starts_with("time ")) << text.out;
  const Outcome lines = RunSepal({"db", "stats", db_, "--watch", "--count", "1", "--json"});
  EXPECT_EQ(LastJson(lines.out).at("tables"), Files(".sst").size());
  EXPECT_EQ(LastJson(lines.out).at("flushed_bytes"), 0);
  EXPECT_EQ(State(), before);
}

TEST_F(StatsVerbsTest, WatchingMistakesAreTold) {
  MakeDatabase();
  EXPECT_EQ(RunSepal({"db", "stats", db_, "--watch", "--prometheus"}).exit, kExitUsage);
  EXPECT_EQ(RunSepal({"db", "stats", db_, "--count", "1"}).exit, kExitUsage);
  EXPECT_EQ(RunSepal({"db", "stats", directory_.File("none"), "--watch"}).exit, kExitError);
}

TEST_F(StatsVerbsTest, PromtoolTakesBothPages) {
  if (!HaveProgram("promtool")) GTEST_SKIP() << "there is no promtool (Debian: prometheus)";
  MakeDatabase();
  for (const std::string& page : {LivePage(), RunSepal({"db", "stats", db_, "--prometheus"}).out}) {
    const std::string file = directory_.File("page"), said = directory_.File("said");
    std::ofstream(file) << page;
    EXPECT_EQ(std::system(("promtool check metrics <" + file + " >" + said + " 2>&1").c_str()), 0) << Slurp(said);
    EXPECT_EQ(Slurp(said), "");
  }
}

TEST_F(StatsVerbsTest, TheDashboardDrawsEveryCounterAndOnlyWhatThereIs) {
  std::string all;
  for (const std::string& expression : Expressions()) all += expression + "\n";
  const std::set<std::string> drawn = Names(all);
  EXPECT_GT(drawn.size(), 40u);
  std::set<std::string> printed = Names(LivePage());
  EXPECT_THAT(drawn, IsSubsetOf(printed));
  std::set<std::string> counters;
  for (const std::string& name : printed) {
    if (name.ends_with("_total")) counters.insert(name);
  }
  EXPECT_GT(counters.size(), 25u);
  EXPECT_THAT(counters, IsSubsetOf(drawn));
}

TEST_F(StatsVerbsTest, TheDashboardsExpressionsAreOnesThatPrometheusTakes) {
  if (!HaveProgram("promtool")) GTEST_SKIP() << "there is no promtool (Debian: prometheus)";
  nlohmann::json rules = nlohmann::json::array();
  for (const std::string& expression : Expressions()) {
    rules.push_back({{"record", "drawn:" + std::to_string(rules.size())}, {"expr", expression}});
  }
  // JSON is YAML.
  const std::string file = directory_.File("rules.yml"), said = directory_.File("said");
  std::ofstream(file) << nlohmann::json({{"groups", {{{"name", "drawn"}, {"rules", rules}}}}}).dump();
  EXPECT_EQ(std::system(("promtool check rules " + file + " >" + said + " 2>&1").c_str()), 0) << Slurp(said);
}

}  // namespace
}  // namespace sepal::tools
