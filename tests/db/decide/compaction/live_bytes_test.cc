#include "db/decide/compaction/live_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/decide/compaction/compaction_picker.h"
#include "db/decide/compaction/level_targets.h"
#include "tests/db/version_text.h"
#include "util/base/hash.h"

namespace sepal {
namespace {

// A tree whose runs hold keys [first, last) of 10 bytes of table each.
class LiveBytesTest : public testing::Test {
 protected:
  struct Keys {
    int level;
    int first;
    int last;
    bool sketched = true;
    uint64_t tombstones = 0;
    uint64_t bytes_each = 10;
    uint64_t versions = 1;
    bool zeroed = false;
  };

  static VersionRef Tree(const std::vector<Keys>& runs) {
    VersionEdit edit;
    uint64_t number = 1;
    for (const Keys& keys : runs) {
      TableMetadata m;
      m.number = FileNumber(number);
      m.run = RunNumber(number++);
      m.entries = static_cast<uint64_t>(keys.last - keys.first) * keys.versions;
      m.tombstones = keys.tombstones;
      m.size_bytes = keys.bytes_each * m.entries;
      const SequenceNumber sequence(keys.zeroed ? 0 : number);
      m.lowest_sequence = m.highest_sequence = sequence;
      m.smallest = InternalKey(KeyText(keys.first), PackTrailer(sequence, ValueKind::kPut));
      m.largest = InternalKey(KeyText(keys.last - 1), PackTrailer(sequence, ValueKind::kPut));
      if (keys.sketched) {
        HyperLogLog sketch;
        for (int i = keys.first; i < keys.last; ++i) sketch.Add(HashKey(KeyText(i), 0));
        m.key_sketch = std::make_shared<const HyperLogLog>(sketch);
      }
      edit.added_tables.push_back({ColumnFamilyId(0), keys.level, m});
    }
    const absl::StatusOr<VersionRef> built = BuildOn(std::make_shared<const Version>(KeyOrder()), edit);
    EXPECT_TRUE(built.ok()) << built.status();
    return *built;
  }
  static std::string KeyText(int key) { return absl::StrFormat("key%07d", key); }
  static double Live(const std::vector<Keys>& runs) { return static_cast<double>(EstimatedLiveBytes(*Tree(runs))); }
};

TEST_F(LiveBytesTest, AnEmptyVersionHasNoLiveBytes) { EXPECT_EQ(EstimatedLiveBytes(Version(KeyOrder())), 0u); }

TEST_F(LiveBytesTest, FreshKeysAreLiveAndOverwrittenOnesOnce) {
  // Three standard errors above, four below.
  const auto near = [](double bytes) { return testing::AllOf(testing::Ge(bytes * 0.87), testing::Le(bytes * 1.07)); };
  EXPECT_THAT(Live({{1, 0, 10'000}, {0, 10'000, 20'000}, {0, 20'000, 30'000}}), near(300'000));
  EXPECT_THAT(Live({{1, 0, 10'000}, {0, 0, 10'000}, {0, 5'000, 15'000}}), near(150'000));
}

TEST_F(LiveBytesTest, TombstonesCountAgainstWhatIsLive) {
  const double live = Live({{1, 0, 1'000}, {0, 1'000, 20'000, true, 5'000}});
  EXPECT_GE(live, 130'000);
  EXPECT_LE(live, 155'000);
  // More of them than keys: the oldest run is left.
  EXPECT_EQ(Live({{1, 0, 1'000}, {0, 0, 1'000, true, 1'000}, {0, 0, 900, true, 900}}), 10'000);
}

TEST_F(LiveBytesTest, LargeValuesThatAreOverwrittenDoNotHideBehindManySmallOnes) {
  std::vector<Keys> runs = {{1, 0, 10'000}};
  for (int i = 0; i < 20; ++i) runs.push_back({0, 20'000, 20'100, true, 0, 10'000});
  EXPECT_LT(Live(runs), 0.5 * static_cast<double>(Tree(runs)->Bytes()));
}

TEST_F(LiveBytesTest, WithoutSketchesTheOldestRunStandsForAll) {
  EXPECT_EQ(Live({{1, 0, 5'000, false}, {0, 5'000, 20'000, false}}), 50'000);
  // What is known of the others may say more, but not less.
  EXPECT_GE(Live({{1, 0, 5'000, false}, {0, 5'000, 20'000}}), 130'000);
  EXPECT_EQ(Live({{1, 0, 5'000, false}, {0, 5'000, 5'100}}), 50'000);
}

TEST_F(LiveBytesTest, TheSpaceBoundAsksForLiveBytesRatherThanForTheOldestRun) {
  CompactionPolicy policy;
  policy.min_rest_bytes = 1;
  EXPECT_EQ(BytesOverSpaceBound(*Tree({{1, 0, 5'000}, {0, 5'000, 20'000}}), policy), 0u);
  EXPECT_GT(
      BytesOverSpaceBound(*Tree({{1, 0, 5'000, false}, {0, 5'000, 20'000, false}, {0, 5'000, 20'000, false}}), policy),
      0u);
  EXPECT_GT(BytesOverSpaceBound(*Tree({{1, 0, 5'000}, {0, 0, 5'000}, {0, 0, 5'000}}), policy), 0u);
}

// --- what no snapshot sees any more ---

class RewriteTableTest : public LiveBytesTest {
 protected:
  // Why the table, all of the last level, is rewritten; empty: it is not.
  static std::string Rewritten(const Keys& last, uint64_t oldest_snapshot = 100, double space = 2) {
    const VersionRef version = Tree({last});
    CompactionPolicy policy;
    policy.max_space_amplification = space;
    policy.min_rest_bytes = 1000;
    const CompactionPlan plan = PickCompaction({.version = version.get(),
                                                .policy = policy,
                                                .oldest_snapshot = SequenceNumber(oldest_snapshot),
                                                .sketches_sought = true});
    EXPECT_TRUE(CheckPlan(*version, plan).ok());
    return plan.nothing() ? "" : plan.reason;
  }
};

// Else it would be for ever, where its sequence numbers are not zeroed.
TEST_F(RewriteTableTest, ATableOfFewKeysOfWhichSomeLookLikeOneIsNot) {
  for (const int keys : {7, 9, 12}) {
    for (int first = 0; first < 10'000 * keys; first += keys) {
      ASSERT_EQ(Rewritten({.level = 1, .first = first, .last = first + keys, .bytes_each = 1000}, 100, 1.05), "")
          << keys << " from " << first;
    }
  }
}

TEST_F(RewriteTableTest, ATableOfOldVersionsIsRewrittenOnceNoSnapshotSeesThem) {
  const Keys versions = {.level = 1, .first = 0, .last = 10'000, .versions = 4};
  EXPECT_THAT(Rewritten(versions), testing::HasSubstr("versions of each key"));
  EXPECT_EQ(Rewritten(versions, /*oldest_snapshot=*/1), "");
  EXPECT_EQ(Rewritten({.level = 1, .first = 0, .last = 10'000, .versions = 4, .zeroed = true}), "");
}

TEST_F(RewriteTableTest, NotForFewerThanTheSpaceBoundAllowsNorForLittle) {
  EXPECT_EQ(Rewritten({.level = 1, .first = 0, .last = 10'000}), "");
  EXPECT_EQ(Rewritten({.level = 1, .first = 0, .last = 10'000, .versions = 2}), "");
  EXPECT_EQ(Rewritten({.level = 1, .first = 0, .last = 10'000, .versions = 4}, 100, /*space=*/5), "");
  EXPECT_EQ(Rewritten({.level = 1, .first = 0, .last = 20, .versions = 4}), "");
  // Whose keys are not known.
  EXPECT_EQ(Rewritten({.level = 1, .first = 0, .last = 10'000, .sketched = false, .versions = 4}), "");
}

}  // namespace
}  // namespace sepal
