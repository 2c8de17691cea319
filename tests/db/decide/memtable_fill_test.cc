// When what comes in order is flushed.
#include "db/decide/memtable_fill.h"

#include <gtest/gtest.h>

namespace sepal {
namespace {

constexpr uint64_t kMemtable = 64 << 20;

TEST(MemtableFillTest, TheFirstFlushComesEarly) {
  EXPECT_GT(EnoughInOrder(kMemtable, std::nullopt), 0u);
  EXPECT_LE(EnoughInOrder(kMemtable, std::nullopt), kMemtable / 4);
}

TEST(MemtableFillTest, WhoIsSlowerThanFlushesFillsMemtables) {
  EXPECT_GT(EnoughInOrder(kMemtable, LastFlush{.data_bytes = 1000, .data_bytes_meanwhile = 0}), kMemtable);
  EXPECT_GT(EnoughInOrder(kMemtable, LastFlush{.data_bytes = 10 << 20, .data_bytes_meanwhile = 5 << 20}), kMemtable);
}

TEST(MemtableFillTest, WhoIsFasterHasFlushesThatGrowWithinBounds) {
  const auto next = [](uint64_t flushed) {
    return EnoughInOrder(kMemtable, LastFlush{.data_bytes = flushed, .data_bytes_meanwhile = flushed});
  };
  EXPECT_EQ(next(1000), EnoughInOrder(kMemtable, std::nullopt));
  EXPECT_EQ(next(10 << 20), 20u << 20);
  EXPECT_EQ(next(16 << 20), next(17 << 20));
  EXPECT_LT(next(60 << 20), kMemtable) << "keys and values are not all that a memtable takes";
}

}  // namespace
}  // namespace sepal
