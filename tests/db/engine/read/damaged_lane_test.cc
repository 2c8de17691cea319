// Lanes that are damaged on the disk: a filter that cannot be read gives DataLoss for the keys that come to it, present
// or not, and never "absent".
#include <gtest/gtest.h>

#include "tests/db/engine/engine_fixture.h"
#include "tests/table/file/table_parts.h"

namespace sepal {
namespace {

// One table, without a guard: every key comes to a lane.
class DamagedLaneTest : public EngineTest {
 protected:
  static constexpr uint64_t kKeys = 400;

  void SetUp() override {
    database.options.family.filter_policy = {.lane_bits_per_key = 8, .guard_bits_per_key = 0};
    database.tuning.memtable_bytes = size_t{256} << 10;
    database.tuning.memtable_limit_bytes = size_t{1} << 20;
    database.tuning.log_limit_bytes = uint64_t{1} << 20;
    database.tuning.part_bytes = uint64_t{1} << 20;
    EngineTest::SetUp();
    Fill(0, kKeys);
    ASSERT_OK(db()->Flush());
    ASSERT_OK(database.Reopen());
    for (const std::string& name : FilesIn(&database.memory, database.path)) {
      if (!name.ends_with(".sst")) continue;
      ASSERT_EQ(table, "");
      table = database.path + "/" + name;
    }
    ASSERT_NE(table, "");
    contents = database.memory.ReadFileContents(table).value();
    const std::vector<LeafLanes> pages = LanesOf(contents);
    ASSERT_GE(pages.size(), 3u);
    page = pages[1];
    ASSERT_GE(page.lanes.size(), 2u);
    for (uint64_t i = 0; i < kKeys; ++i) {
      (page.Holds(NumberedKey(i)) ? lost_present : sound_present).push_back(NumberedKey(i));
      // Behind the last key there is no lane.
      if (i + 1 < kKeys) (page.Holds(Absent(i)) ? lost_absent : sound_absent).push_back(Absent(i));
    }
    ASSERT_GE(lost_present.size(), 5u);
    ASSERT_GE(lost_absent.size(), 5u);
    ASSERT_GE(sound_absent.size(), 100u);
  }
  static std::string Absent(uint64_t i) { return NumberedKey(i) + "x"; }
  // Opens the database with these bytes in the place of its table, and an empty cache.
  void ReopenWith(const std::string& bytes) {
    database.db.reset();
    ASSERT_OK(database.memory.WriteFileContents(table, bytes));
    ASSERT_OK(database.Open());
  }
  // As lanes that deny every key, which would be believed if they were not checked.
  void ReopenWithBlankLanes() {
    std::string blank = contents;
    ASSERT_TRUE(page.Blank(&blank));
    ReopenWith(blank);
  }
  absl::StatusCode CodeOf(const std::string& key) { return db()->Get(key).status().code(); }

  std::string table;
  std::string contents;
  LeafLanes page;  // that is damaged
  std::vector<std::string> lost_present, lost_absent, sound_present, sound_absent;
};

TEST_F(DamagedLaneTest, AGetOfAKeyThatComesToADamagedLaneIsDataLossAndOthersAreAnswered) {
  ReopenWithBlankLanes();
  for (int round = 0; round < 2; ++round) {
    for (const std::string& key : lost_absent) EXPECT_EQ(CodeOf(key), absl::StatusCode::kDataLoss) << key;
    for (const std::string& key : lost_present) EXPECT_EQ(CodeOf(key), absl::StatusCode::kDataLoss) << key;
    for (const std::string& key : sound_absent) EXPECT_EQ(CodeOf(key), absl::StatusCode::kNotFound) << key;
    for (const std::string& key : sound_present) EXPECT_EQ(CodeOf(key), absl::StatusCode::kOk) << key;
  }
}

TEST_F(DamagedLaneTest, AMultiGetTellsOfDataLossForTheKeysThatComeToADamagedLaneAlone) {
  struct Expected {
    std::string key;
    absl::StatusCode code;
  };
  std::vector<Expected> expected;
  for (const std::string& key : lost_absent) expected.push_back({key, absl::StatusCode::kDataLoss});
  for (const std::string& key : lost_present) expected.push_back({key, absl::StatusCode::kDataLoss});
  for (const std::string& key : sound_absent) expected.push_back({key, absl::StatusCode::kNotFound});
  for (const std::string& key : sound_present) expected.push_back({key, absl::StatusCode::kOk});
  std::vector<std::string_view> keys;
  for (const Expected& one : expected) keys.push_back(one.key);
  for (const bool fill_cache : {true, false}) {
    ReopenWithBlankLanes();
    for (int round = 0; round < 2; ++round) {
      std::vector<PinnedValue> values(keys.size());
      std::vector<absl::Status> statuses(keys.size());
      db()->MultiGet(keys, values, statuses, {.fill_cache = fill_cache}).IgnoreError();
      for (size_t i = 0; i < keys.size(); ++i) {
        EXPECT_EQ(statuses[i].code(), expected[i].code) << keys[i] << ": " << statuses[i];
        const std::string number = std::to_string(std::stoull(expected[i].key.substr(3)));
        const bool found = values[i].value().starts_with(number + ":");
        EXPECT_EQ(found, expected[i].code == absl::StatusCode::kOk) << keys[i];
      }
    }
  }
}

TEST_F(DamagedLaneTest, KeyMayExistDoesNotDenyAKeyThatComesToADamagedLane) {
  ReopenWithBlankLanes();
  for (const std::string& key : lost_absent) EXPECT_TRUE(db()->KeyMayExist(key)) << key;
  for (const std::vector<std::string>* keys : {&lost_absent, &lost_present}) {
    for (const std::string& key : *keys) {
      EXPECT_EQ(CodeOf(key), absl::StatusCode::kDataLoss);
      EXPECT_TRUE(db()->KeyMayExist(key)) << key;
    }
  }
  for (const std::string& key : sound_absent) {
    EXPECT_EQ(CodeOf(key), absl::StatusCode::kNotFound);
    EXPECT_FALSE(db()->KeyMayExist(key)) << key;
  }
}

TEST_F(DamagedLaneTest, AFlippedBitAtEitherEndOfAnyLaneIsFound) {
  for (const LeafLanes::Place& lane : page.lanes) {
    ASSERT_GT(lane.size, 0u);
    for (const uint64_t offset : {lane.offset, lane.offset + lane.size - 1}) {
      std::string flipped = contents;
      flipped[offset] ^= 1;
      ReopenWith(flipped);
      for (const std::string& key : lost_absent) EXPECT_EQ(CodeOf(key), absl::StatusCode::kDataLoss) << key;
    }
  }
  ReopenWith(contents);
  for (const std::string& key : lost_absent) EXPECT_EQ(CodeOf(key), absl::StatusCode::kNotFound) << key;
}

}  // namespace
}  // namespace sepal
