// The text that Prometheus scrapes: complete, in its format, with the right figures.
#include "util/stats/prometheus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

// Sample by name and labels; fails on anything that the format does not allow.
std::map<std::string, double> Parse(const std::string& page) {
  std::map<std::string, double> samples;
  std::set<std::string> families;
  std::string family, type;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    if (line.starts_with("# HELP ")) {
      std::string skip;
      words >> skip >> skip >> family;
      EXPECT_TRUE(families.insert(family).second) << "twice: " << family;
      EXPECT_TRUE(line.ends_with(".")) << line;
    } else if (line.starts_with("# TYPE ")) {
      std::string skip, name;
      words >> skip >> skip >> name >> type;
      EXPECT_EQ(name, family);
      EXPECT_EQ(type == "counter", family.ends_with("_total")) << line;
    } else if (!line.starts_with("# ")) {
      const size_t space = line.rfind(' ');
      const std::string name = line.substr(0, std::min(line.find('{'), space));
      const bool belongs = type == "summary" ? name.starts_with(family) : name == family;
      EXPECT_TRUE(belongs) << line << " under " << family;
      EXPECT_TRUE(samples.emplace(line.substr(0, space), std::stod(line.substr(space + 1))).second) << line;
    }
  }
  return samples;
}

using PrometheusTest = EngineTest;

TEST_F(PrometheusTest, ThePageHoldsStatisticsLevelsAndMemory) {
  database.options.latency_histograms = true;
  ASSERT_OK(database.Reopen());
  Fill(0, 300);
  ASSERT_OK(db()->CompactRange());
  for (int i = 0; i < 640; ++i) EXPECT_OK(db()->Get(NumberedKey(i % 160)).status());
  const std::map<std::string, double> samples = Parse(db()->GetProperty("sepal.prometheus").value());
  EXPECT_EQ(samples.at("sepal_gets_total"), 640);
  EXPECT_EQ(samples.at("sepal_write_entries_total"), 300);
  EXPECT_EQ(samples.at("sepal_get_seconds_count"), 10);  // one in 64
  EXPECT_EQ(samples.at("sepal_last_sequence"), 300);
  EXPECT_EQ(samples.at("sepal_writable"), 1);
  EXPECT_EQ(samples.at("sepal_memory_limit_bytes"), 8 << 20);
  double entries = 0, lookups = 0;
  for (int level = 0; level < kMaxLevels; ++level) {
    const std::string l = std::to_string(level);
    entries += samples.at("sepal_level_entries{family=\"default\",level=\"" + l + "\"}");
    lookups += samples.at("sepal_filter_lookups_total{level=\"" + l + "\"}");
  }
  EXPECT_EQ(entries, 300);
  EXPECT_EQ(lookups, 640);
}

TEST_F(PrometheusTest, AStoppedDatabaseIsNotWritable) {
  database.files.Inject({.fault = Fault::kIoError, .op = FileOp::kSync, .name_contains = ".log"});
  EXPECT_FALSE(db()->Put("k", "v", {.sync = true}).ok());
  EXPECT_EQ(Parse(db()->GetProperty("sepal.prometheus").value()).at("sepal_writable"), 0);
}

TEST_F(PrometheusTest, NamesOfFamiliesAreEscaped) {
  auto family = db()->CreateColumnFamily("a\"b\\c\nd");
  ASSERT_OK(family.status());
  const std::string page = db()->GetProperty("sepal.prometheus").value();
  EXPECT_THAT(page, HasSubstr("{family=\"a\\\"b\\\\c\\nd\"}"));
  Parse(page);
}

TEST(PrometheusTextTest, SamplesFollowTheirFamily) {
  PrometheusText text;
  text.Family("sepal_x_total", "counter", "Some.");
  text.Sample({}, 3);
  text.Sample({{"a", "1"}, {"b", "2"}}, 1234567890123.0);
  EXPECT_EQ(text.Take(),
            "# HELP sepal_x_total Some.\n# TYPE sepal_x_total counter\nsepal_x_total 3\n"
            "sepal_x_total{a=\"1\",b=\"2\"} 1234567890123\n");
}

}  // namespace
}  // namespace sepal
