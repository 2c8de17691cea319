// The text that Prometheus scrapes: complete, in its format, with the right figures.
#include "util/stats/prometheus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

using PrometheusTest = EngineTest;

TEST_F(PrometheusTest, ThePageHoldsStatisticsLevelsAndMemory) {
  database.options.latency_histograms = true;
  ASSERT_OK(database.Reopen());
  Fill(0, 300);
  ASSERT_OK(db()->CompactRange());
  for (int i = 0; i < 640; ++i) EXPECT_OK(db()->Get(NumberedKey(i % 160)).status());
  const TestMetrics metrics = database.Metrics();
  EXPECT_EQ(metrics.Sample("sepal_gets_total"), 640);
  EXPECT_EQ(metrics.Sample("sepal_write_entries_total"), 300);
  EXPECT_EQ(metrics.Sample("sepal_get_seconds_count"), 10);  // one in 64
  EXPECT_EQ(metrics.Sample("sepal_last_sequence"), 300);
  EXPECT_EQ(metrics.Sample("sepal_writable"), 1);
  EXPECT_EQ(metrics.Sample("sepal_memory_limit_bytes"), 8 << 20);
  double entries = 0, lookups = 0;
  for (int level = 0; level < kMaxLevels; ++level) {
    const std::string l = std::to_string(level);
    entries += metrics.Sample("sepal_level_entries{family=\"default\",level=\"" + l + "\"}");
    lookups += metrics.Sample("sepal_filter_lookups_total{level=\"" + l + "\"}");
  }
  EXPECT_EQ(entries, 300);
  EXPECT_EQ(lookups, 640);
}

TEST_F(PrometheusTest, AStoppedDatabaseIsNotWritable) {
  database.files.Inject({.fault = Fault::kIoError, .op = FileOp::kSync, .name_contains = ".log"});
  EXPECT_FALSE(db()->Put("k", "v", {.sync = true}).ok());
  EXPECT_EQ(database.Metrics().Sample("sepal_writable"), 0);
}

TEST_F(PrometheusTest, NamesOfFamiliesAreEscaped) {
  auto family = db()->CreateColumnFamily("a\"b\\c\nd");
  ASSERT_OK(family.status());
  const std::string page = db()->GetProperty("sepal.prometheus").value();
  EXPECT_THAT(page, HasSubstr("{family=\"a\\\"b\\\\c\\nd\"}"));
  database.Metrics();
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
