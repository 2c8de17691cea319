// Iterators, snapshots, and what lives longer than its database.
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/decide/compaction/compaction_policy.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using IterationTest = EngineTest;

std::string At(Iterator* iterator) {
  return iterator->Valid() ? std::string(iterator->key()) : iterator->status().ok() ? "end" : "error";
}

TEST_F(IterationTest, ATargetMayLieInTheEntryThatIsShown) {
  std::map<std::string, std::string> all;
  for (int user = 1; user <= 4; ++user) {
    for (int i = 0; i < 300; ++i) {
      const std::string key = absl::StrFormat("user%d:%06d", user, i);
      all[key] = absl::StrFormat("user%d:%06d", 5 - user, 299 - i);
    }
  }
  for (const bool flushed : {true, false}) {
    for (const auto& [key, value] : all) ASSERT_OK(db()->Put(key, value));
    if (flushed) ASSERT_OK(db()->Flush());
  }
  const std::unique_ptr<Iterator> it = db()->NewIterator();
  const auto stand = [&](const std::string& key) { it->Seek(key); };
  for (const auto& [key, value] : all) {
    const std::string group = key.substr(0, 6);
    const auto first = all.lower_bound(group);
    stand(key);
    it->Seek(it->key().substr(0, group.size()));
    ASSERT_EQ(At(it.get()), first->first) << key;
    stand(key);
    it->SeekForPrev(it->key().substr(0, group.size()));
    ASSERT_EQ(At(it.get()), first == all.begin() ? "end" : std::prev(first)->first) << key;
    stand(key);
    it->Seek(it->value());
    ASSERT_EQ(At(it.get()), value) << key;
    stand(key);
    it->Next();
    if (it->Valid()) it->Prev();
    if (it->Valid()) it->SeekForPrev(it->value());
    if (it->Valid()) {
      ASSERT_EQ(At(it.get()), value) << key;
    }
  }
}

TEST_F(IterationTest, TablesOutsideTheBoundsAreNotOpened) {
  Fill(0, 2000);
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(database.Reopen());
  std::atomic<int> opened{0};
  database.files.SetDecider([&](const FileCall& call) {
    opened += call.op == FileOp::kOpenRead && call.name.ends_with(".sst") ? 1 : 0;
    return Fault::kNone;
  });
  const std::unique_ptr<Iterator> it =
      db()->NewIterator({.lower_bound = NumberedKey(1000), .upper_bound = NumberedKey(1005)});
  it->SeekToFirst();
  for (uint64_t i = 1000; i < 1005; ++i, it->Next()) EXPECT_EQ(At(it.get()), NumberedKey(i));
  EXPECT_EQ(At(it.get()), "end");
  it->SeekToLast();
  for (uint64_t i = 1005; i-- > 1000; it->Prev()) EXPECT_EQ(At(it.get()), NumberedKey(i));
  EXPECT_EQ(At(it.get()), "end");
  it->Seek(NumberedKey(3));
  EXPECT_EQ(At(it.get()), NumberedKey(1000));
  it->SeekForPrev(NumberedKey(1999));
  EXPECT_EQ(At(it.get()), NumberedKey(1004));
  EXPECT_GE(opened.load(), 1);
  EXPECT_LE(opened.load(), 2) << "more tables than the bounds can touch";
  database.files.Clear();
}

// In blocks as merges into the last level leave them, beneath a few newer entries.
TEST_F(IterationTest, WalksThroughMergedBlocksKeepBoundsAndSeeWhatIsNewer) {
  std::map<std::string, std::string> now;
  for (uint64_t i = 0; i < 3'000; ++i) {
    now[NumberedKey(i)] = std::string(i % 50, static_cast<char>('a' + i % 26));
    ASSERT_OK(db()->Put(NumberedKey(i), now[NumberedKey(i)]));
  }
  ASSERT_OK(db()->CompactRange());
  for (const bool newer : {false, true}) {
    if (newer) {
      ASSERT_OK(db()->Delete(NumberedKey(1'400)));
      now.erase(NumberedKey(1'400));
      ASSERT_OK(db()->Put(NumberedKey(1'401), "newer"));
      now[NumberedKey(1'401)] = "newer";
    }
    for (const uint64_t upper : {1'450, 1'451, 1'487, 4'000}) {
      const std::unique_ptr<Iterator> it =
          db()->NewIterator({.lower_bound = NumberedKey(1'350), .upper_bound = NumberedKey(upper)});
      const auto begin = now.lower_bound(NumberedKey(1'350)), end = now.lower_bound(NumberedKey(upper));
      for (uint64_t from = 1'340; from < 1'449; from += 7) {
        it->Seek(NumberedKey(from));
        auto at = from < 1'350 ? begin : now.lower_bound(NumberedKey(from));
        // Two steps on, one back, to the end.
        for (uint64_t step = 1; at != end; ++step) {
          ASSERT_EQ(At(it.get()), at->first);
          ASSERT_EQ(it->value(), at->second);
          const bool back = step % 3 == 0 && at != begin;
          back ? it->Prev() : it->Next();
          back ? --at : ++at;
        }
        ASSERT_EQ(At(it.get()), "end");
      }
    }
  }
}

// They come to the last level under snapshots, and nothing is written any more when those go.
TEST_F(IterationTest, WhatOnlyReleasedSnapshotsSawGoesByItself) {
  for (const CompactionStyle style :
       {CompactionStyle::kLazyLeveling, CompactionStyle::kLeveled, CompactionStyle::kUniversal}) {
    ColumnFamilyOptions options = database.options.family;
    options.compaction_style = style;
    const auto family = db()->CreateColumnFamily(std::to_string(static_cast<int>(style)), options).value();
    std::vector<std::shared_ptr<const Snapshot>> snapshots;
    for (int version = 0; version < 5; ++version) {
      for (uint64_t i = 0; i < 1000; ++i) {
        ASSERT_OK(db()->Put(*family, NumberedKey(i), std::string(40, static_cast<char>('a' + version))));
      }
      snapshots.push_back(db()->GetSnapshot());
    }
    ASSERT_OK(db()->CompactRange(*family));
    ASSERT_OK(db()->WaitForBackgroundWork());
    const auto entries = [&] { return NumberProperty(db(), "sepal.num-entries", family.get()); };
    EXPECT_EQ(entries(), 5000u);
    // Those that go first let nothing go, for the table holds what is newer than the next. The last sees the newest
    // alone. Where the merge's parts met there may be a table too small to be worth a job.
    while (!snapshots.empty()) {
      snapshots.erase(snapshots.begin());
      database.world->RunUntilIdle();
      if (snapshots.size() > 1) {
        EXPECT_EQ(entries(), 5000u);
      } else {
        // A merge that had begun before may leave a few, too few for another.
        EXPECT_GE(entries(), 1000u);
        EXPECT_LE(entries(), 1020u);
      }
    }
    for (uint64_t i = 0; i < 1000; ++i) {
      EXPECT_EQ(db()->Get(*family, NumberedKey(i)).value_or("none"), std::string(40, 'e'));
    }
    // Nor is it written again and again.
    const uint64_t compactions = db()->statistics().Get(Ticker::kCompactions);
    snapshots.push_back(db()->GetSnapshot());
    snapshots.clear();
    database.world->RunUntilIdle();
    EXPECT_EQ(db()->statistics().Get(Ticker::kCompactions), compactions);
  }
}

// By many schedules: a release beside the beginning of a job that still met the snapshot.
TEST(SnapshotReleaseTest, BesideACompactionWhatOnlyTheSnapshotSawGoesToo) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    TestDatabase database(Threads::kSimulated, seed, /*switch_one_in=*/2);
    ASSERT_OK(database.Open());
    DB* const db = database.db.get();
    std::vector<std::shared_ptr<const Snapshot>> snapshots;
    for (int version = 0; version < 4; ++version) {
      for (uint64_t i = 0; i < 200; ++i) ASSERT_OK(db->Put(NumberedKey(i), std::string(40, 'v')));
      snapshots.push_back(db->GetSnapshot());
    }
    bool compacted = false;
    database.world->Spawn([&] {
      EXPECT_OK(db->CompactRange());
      compacted = true;
    });
    database.world->SleepMicros(seed * 20);
    while (!snapshots.empty()) snapshots.pop_back();
    while (!compacted) database.world->SleepMicros(10);
    database.world->RunUntilIdle();
    // A table that is too small to be worth it may be left as it is.
    const uint64_t left = MakeCompactionPolicy({}, database.tuning.memtable_bytes).min_rest_bytes / 40;
    EXPECT_LE(NumberProperty(db, "sepal.num-entries"), 200u + left);
  }
}

class OutlivingTest : public EngineTest {
 protected:
  // In the memtable, in the block cache, and too large for it.
  void WriteEverywhere() {
    ASSERT_OK(db()->Put("table", std::string(200, 't')));
    ASSERT_OK(db()->Put("huge", std::string(300 << 10, 'h')));
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->Put("memtable", std::string(200, 'm')));
  }
};

TEST_F(OutlivingTest, PinnedValuesOutliveFlushesCompactionsAndTheDatabase) {
  WriteEverywhere();
  PinnedValue memtable, table, huge;
  ASSERT_OK(db()->Get("memtable", memtable));
  ASSERT_OK(db()->Get("table", table));
  ASSERT_OK(db()->Get("huge", huge));
  for (const char* key : {"memtable", "table", "huge"}) ASSERT_OK(db()->Put(key, "new"));
  ASSERT_OK(db()->CompactRange());
  Fill(0, 2000);
  for (uint64_t i = 0; i < 2000; ++i) Value(db(), NumberedKey(i));
  ASSERT_OK(db()->Close());
  database.db.reset();
  EXPECT_EQ(memtable.value(), std::string(200, 'm'));
  EXPECT_EQ(table.value(), std::string(200, 't'));
  EXPECT_EQ(huge.value(), std::string(300 << 10, 'h'));
  PinnedValue moved = std::move(memtable);
  EXPECT_EQ(moved.value(), std::string(200, 'm'));
  EXPECT_EQ(memtable.value(), "");
}

TEST_F(OutlivingTest, LongValuesOfAMultiGetStayReadableAfterTheDatabaseIsGone) {
  Fill(0, 40, 2000);
  ASSERT_OK(db()->CompactRange());
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 40; ++i) keys.push_back(NumberedKey(i));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<PinnedValue> values(keys.size());
  std::vector<absl::Status> statuses(keys.size());
  db()->MultiGet(views, values, statuses).IgnoreError();
  ASSERT_OK(db()->Close());
  database.db.reset();
  for (uint64_t i = 0; i < 40; ++i) {
    EXPECT_EQ(values[i].value().size(), 2000u);
    EXPECT_TRUE(values[i].value().starts_with(std::to_string(i) + ":"));
  }
}

TEST_F(OutlivingTest, WhatTheLastIteratorKeptIsRemovedThoughNothingElseIsDone) {
  Fill(0, 1000);
  ASSERT_OK(db()->CompactRange());
  std::unique_ptr<Iterator> it = db()->NewIterator();
  Fill(0, 1000);
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(db()->WaitForBackgroundWork());
  database.world->RunUntilIdle();
  const uint64_t kept = database.memory.UsedBytes();
  it.reset();
  database.world->RunUntilIdle();
  EXPECT_LT(database.memory.UsedBytes(), kept);
}

TEST_F(OutlivingTest, SnapshotsAndHandlesMayOutliveTheDatabase) {
  auto family = db()->CreateColumnFamily("f");
  ASSERT_OK(family.status());
  ASSERT_OK(db()->Put(**family, "k", "v"));
  const std::shared_ptr<const Snapshot> snapshot = db()->GetSnapshot();
  const uint64_t sequence = snapshot->sequence();
  ASSERT_OK(db()->Close());
  EXPECT_EQ(db()->Get("k", {.snapshot = snapshot.get()}).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(db()->Get(**family, "k").status().code(), absl::StatusCode::kFailedPrecondition);
  database.db.reset();
  EXPECT_EQ((*family)->name(), "f");
  EXPECT_EQ(snapshot->sequence(), sequence);
  ASSERT_OK(database.Open());
  EXPECT_EQ(db()->Get(**family, "k").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(OutlivingTest, AValueReadByAClosedDatabasesIteratorIsLeftToTheCallerUntilItMoves) {
  WriteEverywhere();
  std::unique_ptr<Iterator> it = db()->NewIterator();
  it->Seek("table");
  const std::string_view value = it->value();
  ASSERT_OK(db()->Close());
  database.db.reset();
  EXPECT_EQ(value, std::string(200, 't'));
}

}  // namespace
}  // namespace sepal
