// Which tables are dropped because all in them has expired: what readers are told stays the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/decide/compaction/droppable_tables.h"
#include "tests/db/version_text.h"
#include "util/base/random.h"

namespace sepal {
namespace {

constexpr size_t kExpiryKeys = 6;
constexpr uint64_t kExpiryNow = 5;

// The newest entry of a key in a run: a put until a time, a put that stays (0), or a tombstone.
struct ExpiryEntry {
  enum class Kind { kStays, kExpires, kTombstone } kind;
  uint64_t expiry;
};

// Runs of tables, each with some of the keys; the newest run first.
struct ExpiryWorld {
  struct Table {
    uint64_t number;
    std::map<size_t, ExpiryEntry> entries;
  };
  std::vector<std::vector<Table>> runs;
};

std::string ExpiryKey(size_t key) { return std::string(1, static_cast<char>('a' + key)); }

ExpiryWorld RandomExpiryWorld(Random* random) {
  ExpiryWorld world;
  uint64_t number = 0;
  for (uint64_t runs = 1 + random->Uniform(4); runs > 0; --runs) {
    std::vector<ExpiryWorld::Table>& tables = world.runs.emplace_back();
    bool open = false;
    const bool all_expire = !random->OneIn(4);
    for (size_t key = 0; key < kExpiryKeys; ++key) {
      if (random->OneIn(3)) continue;
      if (!open || random->OneIn(2)) tables.push_back({++number, {}});
      open = true;
      ExpiryEntry entry{ExpiryEntry::Kind::kExpires, 1 + random->Uniform(kExpiryNow + 2)};
      if (random->OneIn(5)) entry = {ExpiryEntry::Kind::kTombstone, 0};
      if (!all_expire && random->OneIn(3)) entry = {ExpiryEntry::Kind::kStays, 0};
      tables.back().entries[key] = entry;
    }
  }
  return world;
}

TableMetadata MetadataOf(const ExpiryWorld::Table& table, uint64_t run) {
  TableMetadata m =
      TableOf(table.number, run, ExpiryKey(table.entries.begin()->first), ExpiryKey(table.entries.rbegin()->first));
  uint64_t last = 0;
  bool any_stays = false;
  for (const auto& [key, entry] : table.entries) {
    any_stays |= entry.kind == ExpiryEntry::Kind::kStays;
    last = std::max(last, entry.expiry);
  }
  m.expired_at_millis = any_stays ? 0 : last;
  return m;
}

// Whether a reader at `now` finds the key, in the tables that are not among `gone`.
bool IsThere(const ExpiryWorld& world, size_t key, const std::vector<uint64_t>& gone) {
  for (const std::vector<ExpiryWorld::Table>& run : world.runs) {
    for (const ExpiryWorld::Table& table : run) {
      if (std::find(gone.begin(), gone.end(), table.number) != gone.end()) continue;
      const auto it = table.entries.find(key);
      if (it == table.entries.end()) continue;
      return it->second.kind == ExpiryEntry::Kind::kStays ||
             (it->second.kind == ExpiryEntry::Kind::kExpires && it->second.expiry > kExpiryNow);
    }
  }
  return false;
}

// The newest runs lie in level 0, the oldest below; `held` may be held by a running plan.
VersionRef VersionIn(const ExpiryWorld& world) {
  VersionEdit edit;
  for (size_t i = 0; i < world.runs.size(); ++i) {
    const uint64_t run = 100 - i;
    for (const ExpiryWorld::Table& table : world.runs[i]) {
      edit.added_tables.push_back({ColumnFamilyId(0), i + 1 < world.runs.size() ? 0 : 1, MetadataOf(table, run)});
    }
  }
  return *BuildOn(std::make_shared<VersionRef::element_type>(KeyOrder()), edit);
}

std::vector<uint64_t> DroppedBy(const CompactionPlan& plan) {
  std::vector<uint64_t> numbers;
  for (const CompactionInput& input : plan.inputs) {
    for (const TableRef& table : input.tables) numbers.push_back(table->number().value());
  }
  return numbers;
}

TEST(ExpiredTablesTest, ADropChangesNothingThatAReaderIsTold) {
  Random random(51);
  size_t drops = 0;
  size_t stays = 0;
  for (int round = 0; round < 20'000; ++round) {
    const ExpiryWorld world = RandomExpiryWorld(&random);
    const VersionRef version = VersionIn(world);
    const CompactionPlan plan = PlanDrop({.version = version.get()}, {}, kExpiryNow);
    const std::vector<uint64_t> gone = DroppedBy(plan);
    for (size_t key = 0; key < kExpiryKeys; ++key) {
      ASSERT_EQ(IsThere(world, key, gone), IsThere(world, key, {})) << ExpiryKey(key) << ": " << ToString(plan);
    }
    for (const TableRef& table : version->Tables()) {
      const uint64_t expired = table->metadata().expired_at_millis;
      const bool is_gone = std::find(gone.begin(), gone.end(), table->number().value()) != gone.end();
      ASSERT_TRUE(!is_gone || (expired > 0 && expired <= kExpiryNow));
      (is_gone ? drops : stays) += 1;
    }
    // Of the oldest run all goes that has expired.
    for (const ExpiryWorld::Table& table : world.runs.back()) {
      const uint64_t expired = MetadataOf(table, 1).expired_at_millis;
      const bool is_gone = std::find(gone.begin(), gone.end(), table.number) != gone.end();
      ASSERT_EQ(is_gone, expired > 0 && expired <= kExpiryNow);
    }
  }
  EXPECT_GT(drops, 5000u);
  EXPECT_GT(stays, 5000u);
}

TEST(ExpiredTablesTest, WhatARunningPlanHoldsStaysAndKeepsWhatHidesIt) {
  ExpiryWorld world;
  const ExpiryEntry expired{ExpiryEntry::Kind::kExpires, 1};
  world.runs = {{{1, {{0, expired}}}, {2, {{3, expired}}}}, {{3, {{0, expired}}}, {4, {{3, expired}}}}};
  const VersionRef version = VersionIn(world);
  EXPECT_EQ(DroppedBy(PlanDrop({.version = version.get()}, {}, kExpiryNow)), (std::vector<uint64_t>{1, 2, 3, 4}));
  CompactionPlan held;
  const LevelRun& oldest = version->runs().back();
  held.inputs.push_back({.level = oldest.level, .run = oldest.run->number(), .tables = {oldest.run->tables()[0]}});
  const CompactionPlan* const running[] = {&held};
  EXPECT_EQ(DroppedBy(PlanDrop({.version = version.get(), .running = running}, {}, kExpiryNow)),
            (std::vector<uint64_t>{2, 4}));
}

}  // namespace
}  // namespace sepal
