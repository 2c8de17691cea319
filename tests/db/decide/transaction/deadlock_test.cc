#include "db/decide/transaction/deadlock.h"

#include <gtest/gtest.h>

#include <map>

#include "gmock/gmock.h"

namespace sepal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Graph = std::map<uint64_t, std::vector<uint64_t>>;

std::vector<uint64_t> CycleOf(const Graph& graph, uint64_t start) {
  return FindWaitCycle(start, [&](uint64_t waiter) {
    const auto it = graph.find(waiter);
    return it != graph.end() ? it->second : std::vector<uint64_t>();
  });
}

TEST(DeadlockTest, WhoWaitsForOneThatRunsIsInNoCycle) { EXPECT_THAT(CycleOf({{1, {2}}}, 1), IsEmpty()); }

TEST(DeadlockTest, TwoThatWaitForEachOtherAreACycle) {
  EXPECT_THAT(CycleOf({{1, {2}}, {2, {1}}}, 1), ElementsAre(1, 2));
  EXPECT_THAT(CycleOf({{1, {2}}, {2, {1}}}, 2), ElementsAre(2, 1));
}

TEST(DeadlockTest, ACycleThatTheStartIsNotInIsNotTheStarts) {
  EXPECT_THAT(CycleOf({{1, {2}}, {2, {3}}, {3, {2}}}, 1), IsEmpty());
}

TEST(DeadlockTest, BranchesThatLeadNowhereAreLeftOut) {
  EXPECT_THAT(CycleOf({{1, {5, 2}}, {2, {6, 3}}, {3, {1, 7}}, {5, {6}}, {7, {5}}}, 1), ElementsAre(1, 2, 3));
}

TEST(DeadlockTest, AChainOfManyIsFollowedToItsEnd) {
  Graph graph;
  for (uint64_t i = 1; i < 100'000; ++i) graph[i] = {i + 1};
  EXPECT_THAT(CycleOf(graph, 1), IsEmpty());
  graph[100'000] = {1};
  EXPECT_EQ(CycleOf(graph, 1).size(), 100'000u);
}

}  // namespace
}  // namespace sepal
