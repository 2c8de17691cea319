// Where entries go in a memtable's tree: found out ahead, and so that leaves stay full.
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/state/memtable/memtable.h"
#include "gtest/gtest.h"
#include "util/base/hash.h"
#include "util/base/random.h"

namespace sepal {
namespace {

constexpr uint64_t kHashSeed = 0x5ea1;

void AddPut(MemTable* table, uint64_t sequence, std::string_view key, std::string_view value,
            const InsertHint& hint = {}) {
  table->Add(SequenceNumber(sequence), ValueKind::kPut, key, value, HashKey(key, kHashSeed), hint);
}

std::string NewestOf(const MemTable& table, std::string_view key) {
  const auto found = table.Lookup(key, HashKey(key, kHashSeed), kMaxSequenceNumber);
  return found.has_value() ? std::string(found->value) : "none";
}

// Each hint is some adds old when it is used, and half of them are another memtable's.
TEST(MemTablePlaceTest, AHintIsUsedWhileItHoldsAndDoesNoHarmAfterwards) {
  constexpr uint64_t kKeys = 3000;
  for (const size_t age : {0, 1, 7, 100}) {
    Random random(age + 1);
    MemTable table(KeyOrder(), kHashSeed, 1 << 20, {});
    MemTable other(KeyOrder(), kHashSeed, 1 << 20, {});
    std::map<std::string, std::string> expected;
    std::deque<std::pair<std::string, InsertHint>> ahead;
    uint64_t sequence = 0;
    const auto add_oldest = [&] {
      const auto& [key, hint] = ahead.front();
      const std::string value = absl::StrFormat("%u", ++sequence);
      AddPut(&table, sequence, key, value, hint);
      AddPut(&other, sequence, key, value, hint);
      expected[key] = value;
      ahead.pop_front();
    };
    for (uint64_t i = 0; i < 2 * kKeys; ++i) {
      const std::string key = absl::StrFormat("%08u", random.Uniform(kKeys));
      const MemTable& asked = random.OneIn(2) ? other : table;
      ahead.emplace_back(key, asked.PrefetchAdd(key, HashKey(key, kHashSeed)));
      if (ahead.size() > age) add_oldest();
    }
    while (!ahead.empty()) add_oldest();
    for (const MemTable* filled : {&table, &other}) {
      ASSERT_TRUE(filled->Check().ok()) << filled->Check() << " age " << age;
      for (const auto& [key, value] : expected) ASSERT_EQ(NewestOf(*filled, key), value) << "age " << age;
    }
  }
}

// As from threads that each load keys of their own in order: full leaves stay full.
TEST(MemTablePlaceTest, KeysThatAscendInManyPlacesTakeLittleMoreMemoryThanInOne) {
  constexpr uint64_t kEntries = 400000;
  const auto overhead = [](uint64_t places) {
    MemTable table(KeyOrder(), kHashSeed, 8 << 20, {});
    for (uint64_t i = 0; i < kEntries; ++i) {
      AddPut(&table, i + 1, absl::StrFormat("%04u/%08u", i % places, i / places), "value");
    }
    EXPECT_TRUE(table.Check().ok()) << table.Check();
    return static_cast<double>(table.MemoryBytes() - table.DataBytes()) / kEntries;
  };
  const double in_one = overhead(1);
  for (const uint64_t places : {2, 10, 50}) EXPECT_LT(overhead(places), 1.05 * in_one) << places;
}

}  // namespace
}  // namespace sepal
