// How many bytes snapshots with names hold, beside what compactions give back once they are dropped.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/db/engine/engine_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

class SnapshotBytesTest : public EngineTest {
 protected:
  static constexpr uint64_t kSnapshotKeys = 400;
  // About what an entry with a value of 100 bytes takes in a table of such small blocks.
  static constexpr uint64_t kStoredBytes = 150;

  // Values that do not compress.
  void Fill(uint64_t from, uint64_t to, size_t value_bytes) {
    for (uint64_t i = from; i < to; ++i) {
      std::string value(value_bytes, '\0');
      for (char& c : value) c = static_cast<char>(random_.Uniform(256));
      ASSERT_OK(db()->Put(NumberedKey(i), value));
    }
  }
  void CompactAll() {
    ASSERT_OK(db()->CompactRange());
    ASSERT_OK(db()->WaitForBackgroundWork());
  }
  std::optional<uint64_t> Held(std::string_view name) {
    const absl::StatusOr<std::vector<NamedSnapshot>> all = db()->ListSnapshots({.bytes_held = true});
    EXPECT_OK(all.status());
    for (const NamedSnapshot& snapshot : *all) {
      if (snapshot.name == name) return snapshot.bytes_held;
    }
    return std::nullopt;
  }
  uint64_t BytesInTables() {
    uint64_t bytes = 0;
    const Properties properties = db()->GetProperties().value();
    for (const LevelProperties& level : properties.levels) bytes += level.bytes;
    return bytes;
  }
  static void ExpectAbout(uint64_t found, uint64_t expected, double part = 0.15) {
    EXPECT_GE(static_cast<double>(found), (1 - part) * static_cast<double>(expected));
    EXPECT_LE(static_cast<double>(found), (1 + part) * static_cast<double>(expected));
  }
  // What a drop gives back.
  uint64_t Drop(std::string_view name) {
    const uint64_t before = BytesInTables();
    EXPECT_OK(db()->DropSnapshot(name));
    CompactAll();
    return before - BytesInTables();
  }

  Random random_{17};
};

TEST_F(SnapshotBytesTest, AreNotLookedForUnlessAskedFor) {
  ASSERT_OK(db()->CreateSnapshot("s").status());
  EXPECT_FALSE(db()->ListSnapshots().value().front().bytes_held.has_value());
  EXPECT_EQ(Held("s"), 0u);
}

TEST_F(SnapshotBytesTest, AreWhatADropGivesBack) {
  Fill(0, kSnapshotKeys, 100);
  ASSERT_OK(db()->CreateSnapshot("old").status());
  EXPECT_EQ(Held("old"), 0u);
  Fill(0, kSnapshotKeys / 2, 100);
  CompactAll();
  const uint64_t old = Held("old").value();
  ExpectAbout(old, kSnapshotKeys / 2 * kStoredBytes);
  ASSERT_OK(db()->CreateSnapshot("new").status());
  ASSERT_OK(db()->DeleteRange(NumberedKey(0), NumberedKey(kSnapshotKeys)));
  // What both see, neither holds alone.
  ExpectAbout(Held("old").value(), old);
  const uint64_t held = Held("new").value();
  ExpectAbout(held, kSnapshotKeys / 2 * kStoredBytes);
  CompactAll();
  ExpectAbout(Drop("new"), held, 0.3);
  ExpectAbout(Held("old").value(), kSnapshotKeys * kStoredBytes);
  EXPECT_GT(Drop("old"), kSnapshotKeys * 100);
}

TEST_F(SnapshotBytesTest, OneThatIsHeldElsewhereHoldsNothingAlone) {
  Fill(0, 20, 100);
  ASSERT_OK(db()->CreateSnapshot("a").status());
  ASSERT_OK(db()->Put("z", "between"));
  std::shared_ptr<const Snapshot> other = db()->GetSnapshot();
  Fill(0, 20, 100);
  EXPECT_EQ(Held("a"), 0u);
  other.reset();
  ExpectAbout(Held("a").value(), 20 * 110, 0.3);
  // Two names of one moment: what the moment holds.
  const std::shared_ptr<const Snapshot> b = db()->CreateSnapshot("b").value();
  ASSERT_OK(db()->CreateSnapshot("c").status());
  Fill(0, 20, 100);
  EXPECT_EQ(Held("b"), Held("c"));
  ExpectAbout(Held("c").value(), 20 * 110, 0.3);
}

TEST_F(SnapshotBytesTest, OperandsAreHeldUntilAPutHidesThem) {
  database.options.family.merge_operator = MergeOperators::Append(",");
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->Put("k", std::string(1000, 'v')));
  ASSERT_OK(db()->CreateSnapshot("s").status());
  ASSERT_OK(db()->Merge("k", "more"));
  EXPECT_EQ(Held("s"), 0u);  // readers of now need it
  ASSERT_OK(db()->Put("k", "other"));
  EXPECT_EQ(Held("s"), 1001u);
}

TEST_F(SnapshotBytesTest, CountSeparatedValues) {
  database.options.family.separate_from = 500;
  ASSERT_OK(database.Reopen());
  Fill(0, 20, 1000);
  ASSERT_OK(db()->CreateSnapshot("s").status());
  Fill(0, 20, 1000);
  CompactAll();
  ExpectAbout(Held("s").value(), 20 * 1040);
}

// In memory, where nothing is packed, against what each update is seen at, one by one.
class SnapshotBytesModel {
 public:
  void Note(uint64_t sequence, std::string_view begin, std::string_view last, uint64_t bytes) {
    updates_.push_back({sequence, std::string(begin), std::string(last), bytes});
  }
  // Of the updates that readers see at `moment`, and not at any other of `moments`.
  uint64_t HeldAlone(uint64_t moment, const std::vector<uint64_t>& moments) const {
    uint64_t bytes = 0;
    for (const Update& update : updates_) {
      if (!Sees(moment, update)) continue;
      const bool alone = std::none_of(moments.begin(), moments.end(),
                                      [&](uint64_t other) { return other != moment && Sees(other, update); });
      if (alone) bytes += update.bytes;
    }
    return bytes;
  }

 private:
  struct Update {
    uint64_t sequence;
    std::string begin, last;  // of one key, or of a range that is deleted, which takes nothing
    uint64_t bytes;
  };
  bool Sees(uint64_t moment, const Update& update) const {
    if (update.sequence > moment) return false;
    return std::none_of(updates_.begin(), updates_.end(), [&](const Update& newer) {
      return newer.sequence > update.sequence && newer.sequence <= moment && newer.begin <= update.begin &&
             newer.last >= update.begin;
    });
  }

  std::vector<Update> updates_;
};

TEST_F(SnapshotBytesTest, AreThoseOfUpdatesThatOneMomentAloneSees) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    ASSERT_OK(db()->Close());
    ASSERT_OK(DB::Destroy(database.options, database.path));
    database.tuning.memtable_bytes = size_t{1} << 20;
    ASSERT_OK(database.Open());
    SnapshotBytesModel model;
    std::vector<uint64_t> moments;
    const auto last = [&] { return db()->GetSnapshot()->sequence(); };
    for (int step = 0; step < 60; ++step) {
      const std::string key(1, static_cast<char>('a' + random.Uniform(4)));
      switch (random.Uniform(6)) {
        case 0:
          ASSERT_OK(db()->Delete(key));
          model.Note(last(), key, key, 1);
          break;
        case 1: {
          const std::string end(1, static_cast<char>('a' + random.Uniform(5)));
          ASSERT_OK(db()->DeleteRange(std::min(key, end), std::max(key, end)));
          if (key != end) {
            const char before = static_cast<char>(std::max(key, end).front() - 1);
            model.Note(last(), std::min(key, end), std::string(1, before), 0);
          }
          break;
        }
        case 2:
          ASSERT_OK(db()->CreateSnapshot("s" + std::to_string(step)).status());
          moments.push_back(last());
          break;
        default:
          ASSERT_OK(db()->Put(key, std::string(10 + step, 'v')));
          model.Note(last(), key, key, 11 + step);
      }
    }
    moments.push_back(last());
    const std::vector<NamedSnapshot> all = db()->ListSnapshots({.bytes_held = true}).value();
    for (const NamedSnapshot& snapshot : all) {
      const uint64_t expected = snapshot.sequence == moments.back() ? 0 : model.HeldAlone(snapshot.sequence, moments);
      ASSERT_EQ(snapshot.bytes_held, expected) << snapshot.name << ", seed " << seed;
    }
  }
}

TEST_F(SnapshotBytesTest, WhatHasExpiredIsKeptForNone) {
  for (uint64_t i = 0; i < 20; ++i) ASSERT_OK(db()->Put(NumberedKey(i), "v", {.ttl = std::chrono::seconds(10)}));
  ASSERT_OK(db()->CreateSnapshot("s").status());
  Fill(0, 20, 100);
  EXPECT_GT(Held("s").value(), 0u);
  database.world->SleepMicros(20'000'000);
  EXPECT_EQ(Held("s"), 0u);
}

TEST_F(SnapshotBytesTest, LeaveTheCacheAsItIs) {
  Fill(0, kSnapshotKeys, 100);
  ASSERT_OK(db()->CreateSnapshot("s").status());
  CompactAll();
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Held("s"), 0u);
  // But for pages of the index.
  EXPECT_LT(std::stoull(db()->GetProperty("sepal.block-cache-bytes").value()), BytesInTables() / 2);
}

// What is in memory counts, and is found, as much as what is in tables.
TEST_F(SnapshotBytesTest, OfALargeMemtableArePutTogetherFromPlaces) {
  database.tuning.snapshot_walk_bytes = 64 << 10;
  database.tuning.memtable_bytes = size_t{4} << 20;
  database.tuning.memtable_limit_bytes = size_t{4} << 20;
  ASSERT_OK(database.Reopen());
  Fill(0, 500, 100);
  ASSERT_OK(db()->Flush());
  Fill(5000, 9000, 100);
  ASSERT_OK(db()->CreateSnapshot("s").status());
  Fill(5000, 9000, 100);
  ExpectAbout(Held("s").value(), 4000 * 135, 0.35);
}

TEST_F(SnapshotBytesTest, WhatAHistoryKeepsIsNotTheSnapshots) {
  database.options.family.history = std::chrono::hours(1);
  ASSERT_OK(database.Reopen());
  Fill(0, 20, 100);
  ASSERT_OK(db()->CreateSnapshot("s").status());
  Fill(0, 20, 100);
  EXPECT_EQ(Held("s"), 0u);
}

TEST_F(SnapshotBytesTest, OfManyTablesArePutTogetherFromPlaces) {
  database.tuning.snapshot_walk_bytes = 64 << 10;
  ASSERT_OK(database.Reopen());
  constexpr uint64_t kMany = 4000;
  Fill(0, kMany, 100);
  ASSERT_OK(db()->CreateSnapshot("s").status());
  for (uint64_t i = 0; i < kMany; i += 200) Fill(i, i + 100, 100);  // stretches of it
  CompactAll();
  ExpectAbout(Held("s").value(), kMany / 2 * kStoredBytes, 0.3);
}

TEST_F(SnapshotBytesTest, OfDamagedTablesAreAnError) {
  Fill(0, kSnapshotKeys, 100);
  ASSERT_OK(db()->CreateSnapshot("s").status());
  CompactAll();
  ASSERT_OK(database.Reopen());
  database.files.Inject({.fault = Fault::kIoError, .op = FileOp::kRead, .sticky = true});
  EXPECT_FALSE(db()->ListSnapshots({.bytes_held = true}).ok());
  EXPECT_OK(db()->ListSnapshots().status());
  database.files.Clear();
}

}  // namespace
}  // namespace sepal
