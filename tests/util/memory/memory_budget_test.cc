#include "util/memory/memory_budget.h"

#include <gtest/gtest.h>

#include <string>

namespace sepal {
namespace {

TEST(MemoryBudgetTest, PartsAddUpAndGoBackToZero) {
  MemoryBudget budget(1000);
  budget.Charge(MemoryPart::kMemtables, 100);
  budget.Charge(MemoryPart::kDataBlocks, 30);
  budget.Charge(MemoryPart::kDataBlocks, 3);
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), 100u);
  EXPECT_EQ(budget.used(MemoryPart::kDataBlocks), 33u);
  EXPECT_EQ(budget.used(MemoryPart::kGuards), 0u);
  EXPECT_EQ(budget.total(), 133u);
  budget.Release(MemoryPart::kMemtables, 100);
  budget.Release(MemoryPart::kDataBlocks, 33);
  EXPECT_EQ(budget.total(), 0u);
}

TEST(MemoryBudgetTest, TheCacheMayHoldWhatTheOthersLeave) {
  MemoryBudget budget(1000);
  EXPECT_EQ(budget.CacheCapacity(), 1000u);
  budget.Charge(MemoryPart::kDataBlocks, 200);
  budget.Charge(MemoryPart::kLeafPages, 200);
  budget.Charge(MemoryPart::kGuards, 200);
  EXPECT_EQ(budget.unreclaimable(), 0u);
  EXPECT_EQ(budget.CacheCapacity(), 1000u);
  size_t others = 0;
  for (MemoryPart part :
       {MemoryPart::kMemtables, MemoryPart::kTables, MemoryPart::kCompaction, MemoryPart::kLog, MemoryPart::kPins}) {
    budget.Charge(part, 100);
    others += 100;
    EXPECT_EQ(budget.unreclaimable(), others);
    EXPECT_EQ(budget.CacheCapacity(), 1000 - others);
  }
  budget.Charge(MemoryPart::kMemtables, 5000);
  EXPECT_EQ(budget.CacheCapacity(), 0u);
}

TEST(MemoryBudgetTest, ReliefIsAskedForOnlyClearlyAboveTheLimit) {
  MemoryBudget budget(1000);
  budget.Charge(MemoryPart::kMemtables, 2000);
  budget.Relieve();  // nobody is there to be asked
  budget.Release(MemoryPart::kMemtables, 1500);
  int asked = 0;
  budget.RelieveBy([&asked] { ++asked; });
  budget.Charge(MemoryPart::kDataBlocks, 500 + MemoryBudget::ReliefSlack(1000));
  budget.Relieve();
  EXPECT_EQ(asked, 0);
  budget.Charge(MemoryPart::kCompaction, 1);
  EXPECT_EQ(asked, 0);
  budget.Relieve();
  EXPECT_EQ(asked, 1);
}

TEST(MemoryBudgetTest, WithoutALimitNoReliefIsAskedFor) {
  MemoryBudget budget(SIZE_MAX);
  budget.RelieveBy([] { FAIL(); });
  budget.Charge(MemoryPart::kMemtables, size_t{1} << 60);
  budget.Relieve();
}

TEST(MemoryBudgetTest, TheTextNamesEveryPart) {
  MemoryBudget budget(1 << 20);
  budget.Charge(MemoryPart::kGuards, 4096);
  const std::string text = budget.ToString();
  for (int i = 0; i < static_cast<int>(MemoryPart::kCount); ++i) {
    EXPECT_NE(text.find(Name(static_cast<MemoryPart>(i))), std::string::npos);
  }
  EXPECT_NE(text.find("4.0 KiB"), std::string::npos);
  EXPECT_NE(text.find("of 1.0 MiB"), std::string::npos);
}

}  // namespace
}  // namespace sepal
