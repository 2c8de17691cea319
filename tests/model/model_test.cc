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
  history.Run(static_cast<int>(FromEnvironment("SEPAL_MODEL_STEPS", 800)));
  EXPECT_EQ(history.failure(), "");
}

INSTANTIATE_TEST_SUITE_P(Simulated, ModelTest, ::testing::ValuesIn(Seeds(40)), SeedName);

class ModelWithThreadsTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(ModelWithThreadsTest, HistoriesBesideConcurrentBackgroundWorkAgreeWithTheModel) {
  History history(GetParam(), Threads::kReal);
  history.Run(static_cast<int>(FromEnvironment("SEPAL_MODEL_STEPS", 800)));
  EXPECT_EQ(history.failure(), "");
}

INSTANTIATE_TEST_SUITE_P(Real, ModelWithThreadsTest, ::testing::ValuesIn(Seeds(8)), SeedName);

}  // namespace
}  // namespace sepal::model
