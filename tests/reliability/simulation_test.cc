#include <gtest/gtest.h>

#include "tests/reliability/concurrent_history.h"
#include "tests/reliability/expect_nothing_found.h"

namespace sepal::reliability {
namespace {

TEST(SimulationHarnessTest, ASampleOfSchedulesShowsNothingThatCannotBe) {
  ExpectNothingFound("simulation", {.count = 150});
}

TEST(SimulationHarnessTest, ASearchBesideFamiliesThatComeAndGoFindsNothing) {
  ExpectNothingFound("drops", {.count = 100});
}

TEST(SimulationHarnessTest, ASeedGivesTheSameScheduleAgain) {
  const auto hash_of = [](uint64_t seed) {
    ConcurrentHistory history({.seed = seed});
    history.Run();
    EXPECT_EQ(history.failure(), "");
    return history.world().schedule_hash();
  };
  EXPECT_EQ(hash_of(1), hash_of(1));
  EXPECT_EQ(hash_of(2), hash_of(2));
  EXPECT_NE(hash_of(1), hash_of(2));
}

}  // namespace
}  // namespace sepal::reliability
