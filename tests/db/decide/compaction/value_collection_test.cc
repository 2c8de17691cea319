// Which value files are emptied, and from when on writers are slowed for it.
#include "db/decide/compaction/value_collection.h"

#include <gtest/gtest.h>

namespace sepal {
namespace {

constexpr uint64_t kFile = 100;

std::vector<ValueFileFacts> Files(std::initializer_list<uint64_t> live) {
  std::vector<ValueFileFacts> files;
  for (const uint64_t bytes : live) files.push_back({FileNumber(files.size() + 1), kFile, bytes});
  return files;
}

std::vector<uint64_t> Emptied(const ValueCollection& plan) {
  std::vector<uint64_t> numbers;
  for (const FileNumber file : plan.files) numbers.push_back(file.value());
  return numbers;
}

TEST(ValueCollectionPlanTest, NothingIsEmptiedWhileGarbageIsWithinTheBound) {
  EXPECT_TRUE(PlanValueCollection({}, 2, kFile).files.empty());
  EXPECT_TRUE(PlanValueCollection(Files({100, 100, 100}), 2, kFile).files.empty());
  // 1000 bytes with 700 live: 1.43 times. A half of all is over 1.55, and three files of garbage more than two.
  EXPECT_TRUE(PlanValueCollection(Files({70, 70, 70, 70, 70, 70, 70, 70, 70, 70}), 2, kFile).files.empty());
  EXPECT_FALSE(PlanValueCollection(Files({50, 50, 50, 50, 50, 50, 50, 50, 50, 50}), 2, kFile).files.empty());
}

TEST(ValueCollectionPlanTest, AFewFilesAreNoReasonToBegin) {
  EXPECT_TRUE(PlanValueCollection(Files({1, 1}), 2, kFile).files.empty());
  EXPECT_FALSE(PlanValueCollection(Files({1, 1, 1}), 2, kFile).files.empty());
}

TEST(ValueCollectionPlanTest, TheFilesOfMostGarbageGoFirstAndOnlyAsManyAsAreNeeded) {
  const ValueCollection plan = PlanValueCollection(Files({90, 10, 80, 20, 70, 30, 40, 40, 40, 40}), 2, kFile);
  // 1000 bytes, 460 live, to come to 667: 2 frees 90, 4 frees 80, 6 frees 70, 7 frees 60 and 8 the rest.
  EXPECT_EQ(Emptied(plan), (std::vector<uint64_t>{2, 4, 6, 7, 8}));
  EXPECT_TRUE(plan.Empties(FileNumber(4)));
  EXPECT_FALSE(plan.Empties(FileNumber(3)));
}

TEST(ValueCollectionPlanTest, AStepMovesNoMoreThanAFewFilesHave) {
  std::vector<ValueFileFacts> files;
  for (uint64_t i = 1; i <= 40; ++i) files.push_back({FileNumber(i), kFile, 50});
  const ValueCollection plan = PlanValueCollection(files, 1.2, kFile);
  EXPECT_EQ(plan.files.size(), 8u);                                // four files' worth
  EXPECT_EQ(PlanValueCollection(files, 1.2, 1).files.size(), 5u);  // a sixteenth of all
}

TEST(ValueCollectionPlanTest, AFileThatIsAlmostAllLiveIsLeftAlone) {
  std::vector<ValueFileFacts> files;
  for (uint64_t i = 1; i <= 40; ++i) files.push_back({FileNumber(i), kFile, 97});
  files.push_back({FileNumber(41), 10 * kFile, 10});
  files.push_back({FileNumber(42), 20 * kFile, 10});
  EXPECT_EQ(Emptied(PlanValueCollection(files, 1.2, kFile)), (std::vector<uint64_t>{41, 42}));
  files.pop_back();
  EXPECT_EQ(Emptied(PlanValueCollection(files, 1, kFile)), (std::vector<uint64_t>{41}));
}

TEST(ValueCollectionPlanTest, WritersAreSlowedBetweenTheBeginningAndTheBound) {
  std::vector<ValueFileFacts> files;
  for (uint64_t i = 1; i <= 1000; ++i) files.push_back({FileNumber(i), kFile, 50});
  for (const double bound : {1.2, 1.5, 2.0, 4.0}) {
    const ValueCollection plan = PlanValueCollection(files, bound, 1);
    const double live = static_cast<double>(plan.live_bytes);
    EXPECT_EQ(plan.live_bytes, 50'000u);
    EXPECT_EQ(plan.bytes, 100'000u);
    EXPECT_LT(plan.soft_bytes, plan.hard_bytes);
    // What may be shadowed among the live counts too.
    EXPECT_LE(static_cast<double>(plan.hard_bytes) * (1 + MostShadowed(bound)), bound * live + 10 * bound);
  }
}

}  // namespace
}  // namespace sepal
