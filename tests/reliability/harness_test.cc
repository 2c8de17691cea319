#include "tests/reliability/harness.h"

#include <gtest/gtest.h>

#include <set>

namespace sepal::reliability {
namespace {

TEST(SearchTest, CountsEachDistinctCaseOnce) {
  Search run(SearchOptions{});
  EXPECT_TRUE(run.Begin("a"));
  EXPECT_TRUE(run.Count(7));
  EXPECT_FALSE(run.Count(7));
  EXPECT_TRUE(run.Count(8));
  EXPECT_EQ(run.cases(), 2u);
}

TEST(SearchTest, EndsAtItsCountOrItsFailures) {
  Search counted(SearchOptions{.count = 2});
  for (uint64_t i = 0; counted.GoOn(); ++i) counted.Count(i);
  EXPECT_EQ(counted.cases(), 2u);
  Search failing(SearchOptions{.max_failures = 3});
  for (int i = 0; failing.GoOn(); ++i) {
    failing.Begin(std::to_string(i));
    failing.Fail("wrong");
    failing.Fail("the same case");
  }
  EXPECT_EQ(failing.failed(), 3u);
  EXPECT_EQ(failing.failures().front().name, "0");
}

TEST(SearchTest, OnlyTheCaseThatWasAskedForBegins) {
  Search run(SearchOptions{.only_case = "k=3"});
  EXPECT_FALSE(run.Begin("k=2"));
  EXPECT_TRUE(run.Begin("k=3"));
}

TEST(SearchTest, ForEachSeedRepeatsTheSeedOfACase) {
  std::vector<uint64_t> seeds;
  Search all(SearchOptions{.seed = 5, .count = 2});
  ForEachSeed(&all, [&](uint64_t seed) { seeds.push_back(seed), all.Count(seed); });
  Search one(SearchOptions{.only_case = "seed=17"});
  ForEachSeed(&one, [&](uint64_t seed) { seeds.push_back(seed), one.Count(seed); });
  EXPECT_EQ(seeds, (std::vector<uint64_t>{5, 6, 17}));
}

TEST(SearchTest, NumbersAreFoundByTheirWholeKey) {
  EXPECT_EQ(NumberIn("block=2 k=3", "k"), 3u);
  EXPECT_EQ(NumberIn("block=2", "k"), std::nullopt);
}

TEST(SearchDeathTest, ACaseThatOnlyTakesProcessorTimeIsReportedAsAHang) {
  const auto hang = [] {
    ReportCrashes("spin", 7);
    Search run(SearchOptions{.case_seconds = 1});
    run.Begin("k=3");
    for (volatile uint64_t i = 0;;) i = i + 1;
  };
  EXPECT_DEATH(hang(), "the case hangs; to repeat it: reliability run spin --seed 7 --case 'k=3'");
}

TEST(RegistryTest, HarnessesHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Harness& harness : AllHarnesses()) {
    EXPECT_TRUE(names.insert(harness.name).second) << harness.name;
    EXPECT_FALSE(harness.description.empty());
  }
  EXPECT_EQ(FindHarness(AllHarnesses(), "no such"), nullptr);
}

}  // namespace
}  // namespace sepal::reliability
