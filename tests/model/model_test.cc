// Long random histories. A failure says which history it was; to run it again, or to run for long:
//   SEPAL_MODEL_SEED=17 model_test            this seed only
//   SEPAL_MODEL_ROUNDS=100 model_test         a hundred times as many seeds
//   SEPAL_MODEL_STEPS=5000 model_test         longer histories
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/model/history.h"

namespace sepal::model {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::vector<uint64_t> Seeds(uint64_t count) {
  const uint64_t only = FromEnvironment("SEPAL_MODEL_SEED", 0);
  if (only != 0) return {only};
  std::vector<uint64_t> seeds(count * FromEnvironment("SEPAL_MODEL_ROUNDS", 1));
  for (size_t i = 0; i < seeds.size(); ++i) seeds[i] = i + 1;
  return seeds;
}

std::string SeedName(const ::testing::TestParamInfo<uint64_t>& info) { return "Seed" + std::to_string(info.param); }

class ModelTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(ModelTest, HistoriesWithCrashesAgreeWithTheModel) {
  History history(GetParam(), Threads::kSimulated);
  history.Run(static_cast<uint32_t>(FromEnvironment("SEPAL_MODEL_STEPS", 800)));
  EXPECT_EQ(history.failure(), "");
}

INSTANTIATE_TEST_SUITE_P(Simulated, ModelTest, ::testing::ValuesIn(Seeds(40)), SeedName);

class ModelWithThreadsTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(ModelWithThreadsTest, HistoriesBesideConcurrentBackgroundWorkAgreeWithTheModel) {
  History history(GetParam(), Threads::kReal);
  history.Run(static_cast<uint32_t>(FromEnvironment("SEPAL_MODEL_STEPS", 800)));
  EXPECT_EQ(history.failure(), "");
}

// Deletes a key behind the model's back at one step.
std::string RunSabotaged(const reliability::SeededCase& what) {
  History history(what.seed, Threads::kSimulated, what.parts);
  history.Sabotage([](DB* db, uint32_t step) {
    if (step != 57) return;
    for (uint64_t key = 0; key < 120; ++key) EXPECT_TRUE(db->Delete(NumberedKey(key)).ok());
  });
  history.Run(120);
  return history.failure();
}

TEST(ModelShrinkingTest, AFailureIsMadeSmallerToTheStepsThatItTakesAndCanBeRepeated) {
  reliability::Search search(reliability::SearchOptions{.seed = 3, .count = 1});
  reliability::ForEachSeedShrinking(&search, 120, /*draws=*/1, RunSabotaged);
  ASSERT_EQ(search.failed(), 1u);
  const std::string& what = search.failures().front().what;
  const size_t name = what.find("seed=3 keep=");
  ASSERT_NE(name, std::string::npos) << what;
  const std::string smaller = what.substr(name, what.rfind('\'') - name);
  // A write, and the step that undoes it unseen.
  EXPECT_NE(what.find("made smaller, 2 of its 120 parts"), std::string::npos) << what;
  EXPECT_TRUE(reliability::Parts::InName(smaller).Has(57)) << smaller;

  reliability::Search again(reliability::SearchOptions{.only_case = smaller});
  reliability::ForEachSeedShrinking(&again, 120, /*draws=*/1, RunSabotaged);
  EXPECT_EQ(again.failed(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Real, ModelWithThreadsTest, ::testing::ValuesIn(Seeds(8)), SeedName);

}  // namespace
}  // namespace sepal::model
