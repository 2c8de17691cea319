// The guards' bits among runs: the budget is kept, and no other way of sharing it lets fewer absent keys pass.
#include "db/decide/writing/guard_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sepal/filter_policy.h"
#include "tests/db/version_text.h"

namespace sepal {
namespace {

using Runs = std::vector<uint64_t>;

std::vector<double> BitsOfAll(double bits_per_key, const Runs& runs) {
  std::vector<double> bits;
  for (size_t i = 0; i < runs.size(); ++i) {
    Runs others = runs;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    bits.push_back(GuardBits(bits_per_key, runs[i], others));
  }
  return bits;
}

double Spent(const Runs& runs, const std::vector<double>& bits) {
  double spent = 0;
  for (size_t i = 0; i < runs.size(); ++i) spent += static_cast<double>(runs[i]) * bits[i];
  return spent;
}

// Of a Bloom filter with as many probes as are best.
double Passing(const std::vector<double>& bits) {
  double rates = 0;
  for (const double b : bits) rates += std::exp(-b * std::log(2.0) * std::log(2.0));
  return rates;
}

TEST(GuardBudgetTest, ARunAloneHasWhatThereIs) {
  EXPECT_EQ(GuardBits(5, 1000, {}), 5);
  EXPECT_NEAR(GuardBits(5, 1000, Runs{0, 0}), 5, 1e-6);
  EXPECT_NEAR(GuardBits(5, 1000, Runs{1000, 1000}), 5, 1e-6);
}

TEST(GuardBudgetTest, NoBitsAreNone) {
  EXPECT_EQ(GuardBits(0, 1000, Runs{10}), 0);
  EXPECT_EQ(GuardBits(5, 0, Runs{10}), 5);
  EXPECT_EQ(GuardBits(40, 1000, Runs{10}), 40);
}

TEST(GuardBudgetTest, AnEighthOfTheKeysHasThreeOverLnTwoBitsMore) {
  const std::vector<double> bits = BitsOfAll(5, {8000, 1000});
  EXPECT_NEAR(bits[1] - bits[0], 3 / std::log(2.0), 1e-6);
  EXPECT_NEAR(Spent({8000, 1000}, bits), 5 * 9000, 1e-3);
}

TEST(GuardBudgetTest, WhatIsTooMuchForSmallRunsGoesToTheOthers) {
  const Runs runs = {100'000'000, 1'000'000, 10, 1};
  for (const double bits_per_key : {0.5, 2.0, 5.0, 10.0, 15.0}) {
    const std::vector<double> bits = BitsOfAll(bits_per_key, runs);
    EXPECT_NEAR(Spent(runs, bits) / 101'000'011, bits_per_key, 1e-4);
    EXPECT_LE(*std::max_element(bits.begin(), bits.end()), kMostGuardBits);
    EXPECT_GE(*std::min_element(bits.begin(), bits.end()), 0);
    EXPECT_TRUE(std::is_sorted(bits.begin(), bits.end()));
  }
}

TEST(GuardBudgetTest, NoOtherShareLetsLessPass) {
  const Runs runs = {8'355'515, 1'454'604, 189'881};
  std::vector<double> bits = BitsOfAll(5, runs);
  const double least = Passing(bits);
  EXPECT_LT(least, 0.6 * Passing({5, 5, 5}));
  for (size_t from = 0; from < runs.size(); ++from) {
    for (size_t to = 0; to < runs.size(); ++to) {
      if (from == to) continue;
      std::vector<double> other = bits;
      other[from] -= 0.1;
      other[to] += 0.1 * static_cast<double>(runs[from]) / static_cast<double>(runs[to]);
      EXPECT_GT(Passing(other), least) << from << " gives to " << to;
    }
  }
}

TEST(GuardBudgetTest, AFlushIsARunBesideAllOthers) {
  const VersionRef version = Draw(
                                 "L0 run 7: 7[a..z]{entries=50}\n"
                                 "L1 run 5: 5[a..m]{entries=100} 6[n..z]{entries=100}\n")
                                 .value();
  EXPECT_EQ(GuardBitsOfFlush(5, *version, 30), GuardBits(5, 30, Runs{50, 200}));
}

TEST(GuardBudgetTest, AMergeIsARunBesideWhatItLeaves) {
  const VersionRef version = Draw(
                                 "L0 run 9: 9[a..z]{entries=40}\n"
                                 "L0 run 7: 7[a..z]{entries=50}\n"
                                 "L1 run 5: 5[a..m]{entries=100} 6[n..z]{entries=300}\n"
                                 "L2 run 3: 3[a..z]{entries=5000}\n")
                                 .value();
  const auto tables = [&](int level, uint64_t run) {
    return version->FindRun(level, RunNumber(run))->tables().ToVector();
  };
  CompactionPlan plan;
  plan.kind = CompactionPlan::Kind::kRewrite;
  plan.output_level = 1;
  plan.output_run = RunNumber(5);
  plan.inputs = {{0, RunNumber(7), tables(0, 7)}, {1, RunNumber(5), {tables(1, 5).front()}}};
  EXPECT_EQ(GuardBitsOfCompaction(5, *version, plan), GuardBits(5, 450, Runs{40, 5000})) << "with what it joins";
  plan.output_run.reset();
  EXPECT_EQ(GuardBitsOfCompaction(5, *version, plan), GuardBits(5, 150, Runs{40, 300, 5000}));
}

}  // namespace
}  // namespace sepal
