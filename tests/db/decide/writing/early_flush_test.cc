// When what comes in order is flushed.
#include "db/decide/writing/early_flush.h"

#include <gtest/gtest.h>

namespace sepal {
namespace {

constexpr uint64_t kMemtable = 64 << 20;

constexpr MemtableFill Fill(uint64_t data_bytes) {
  return {.memory_bytes = data_bytes + data_bytes / 2, .data_bytes = data_bytes};
}

TEST(MemtableFillTest, TheFirstFlushComesEarly) {
  EXPECT_FALSE(EnoughInOrder(kMemtable, Fill(kMemtable / 10), std::nullopt));
  EXPECT_TRUE(EnoughInOrder(kMemtable, Fill(kMemtable / 4), std::nullopt));
}

TEST(MemtableFillTest, WritersSlowerThanFlushesFillMemtables) {
  for (const uint64_t behind : {0, 4 << 20}) {
    const LastFlush last{.data_bytes = 10 << 20, .data_bytes_behind = behind};
    EXPECT_FALSE(EnoughInOrder(kMemtable, Fill(20 << 20), last));
    EXPECT_FALSE(EnoughInOrder(kMemtable, {.memory_bytes = kMemtable - 1, .data_bytes = kMemtable / 2}, last));
  }
}

TEST(MemtableFillTest, WritersFasterThanFlushesHaveFlushesThatGrowToHalf) {
  const auto enough = [](uint64_t flushed, const MemtableFill& fill) {
    return EnoughInOrder(kMemtable, fill, LastFlush{.data_bytes = flushed, .data_bytes_behind = flushed / 4 * 3});
  };
  EXPECT_FALSE(enough(10 << 20, Fill(19 << 20)));
  EXPECT_TRUE(enough(10 << 20, Fill(20 << 20)));
  EXPECT_FALSE(enough(1000, Fill(kMemtable / 10))) << "a small one, which somebody asked for, does not make all small";
  EXPECT_TRUE(enough(1000, Fill(kMemtable / 8)));
  // Whatever part of the memory keys and values are.
  for (const uint64_t data : {uint64_t{1} << 20, kMemtable / 4}) {
    EXPECT_FALSE(enough(60 << 20, {.memory_bytes = kMemtable / 10 * 4, .data_bytes = data}));
    EXPECT_TRUE(enough(60 << 20, {.memory_bytes = kMemtable / 2, .data_bytes = data}));
  }
}

}  // namespace
}  // namespace sepal
