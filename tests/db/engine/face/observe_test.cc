// Properties, statistics, events and estimates, each with a test that a constant answer fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "absl/strings/str_split.h"
#include "sepal/event_listener.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

using PropertyTest = EngineTest;

TEST_F(PropertyTest, AnUnknownNameHasNoValue) {
  EXPECT_EQ(db()->GetProperty("sepal.nonsense"), std::nullopt);
  EXPECT_EQ(db()->GetProperty("stats"), std::nullopt);
  EXPECT_EQ(db()->GetProperty("sepal.num-files-at-level"), std::nullopt);
  EXPECT_EQ(db()->GetProperty("sepal.num-files-at-level99"), std::nullopt);
  EXPECT_EQ(db()->GetProperty(""), std::nullopt);
}

TEST_F(PropertyTest, FilesRunsAndBytesFollowFlushesAndCompactions) {
  EXPECT_EQ(FilesPerLevel(db()), "");
  EXPECT_EQ(NumberProperty(db(), "sepal.num-runs"), 0u);
  EXPECT_EQ(NumberProperty(db(), "sepal.total-table-bytes"), 0u);
  Fill(0, 10);
  ASSERT_OK(db()->Flush());
  EXPECT_EQ(FilesPerLevel(db()), "1");
  EXPECT_EQ(NumberProperty(db(), "sepal.num-runs"), 1u);
  const uint64_t one = NumberProperty(db(), "sepal.total-table-bytes");
  EXPECT_GT(one, 0u);
  Fill(10, 20);
  ASSERT_OK(db()->Flush());
  // They overlap nothing, and move down when the background comes to it.
  EXPECT_THAT(FilesPerLevel(db()), AnyOf("2", "0,2"));
  EXPECT_GT(NumberProperty(db(), "sepal.total-table-bytes"), one);
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(NumberProperty(db(), "sepal.num-runs"), 1u);
  EXPECT_THAT(db()->GetProperty("sepal.sstables").value(), HasSubstr("level"));
  EXPECT_NE(db()->GetProperty("sepal.levels"), std::nullopt);
}

TEST_F(PropertyTest, AtRestOverwrittenEntriesGoThoughNoLevelIsFull) {
  Fill(0, 100);
  ASSERT_OK(db()->Flush());
  Fill(0, 100);
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(NumberProperty(db(), "sepal.num-runs"), 1u) << db()->GetProperty("sepal.levels").value();
  EXPECT_EQ(NumberProperty(db(), "sepal.num-entries"), 100u);
}

// Fresh keys are no waste of space, and those of an earlier opening are found out about when it matters.
TEST_F(PropertyTest, FreshKeysAreNotMergedForTheSakeOfSpaceAndOverwrittenOnesAre) {
  database.tuning.memtable_bytes = size_t{256} << 10;
  database.tuning.runs_per_level = 20;
  database.options.family.compaction_style = CompactionStyle::kUniversal;
  ASSERT_OK(database.Reopen());
  const auto flush = [&](uint64_t begin, uint64_t end) {
    Fill(begin, end);
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->WaitForBackgroundWork());
  };
  flush(0, 300);
  ASSERT_OK(db()->CompactRange());
  flush(300, 600);
  flush(600, 900);
  flush(900, 1200);
  const auto runs = [&] { return NumberProperty(db(), "sepal.num-runs"); };
  const auto live_part = [&] {
    return static_cast<double>(NumberProperty(db(), "sepal.estimated-live-bytes")) /
           static_cast<double>(NumberProperty(db(), "sepal.total-table-bytes"));
  };
  EXPECT_EQ(runs(), 4u);
  EXPECT_GT(live_part(), 0.8);
  EXPECT_EQ(NumberProperty(db(), "sepal.compaction-debt-bytes"), 0u);

  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(runs(), 4u);
  EXPECT_EQ(NumberProperty(db(), "sepal.compaction-debt-bytes"), 0u);
  EXPECT_LT(live_part(), 0.4) << "nothing but the oldest run is known";
  flush(1200, 1500);
  EXPECT_EQ(runs(), 5u);
  EXPECT_GT(live_part(), 0.8);

  // Each adds a run or more, all of it overwritten by the next: the tree comes to rest, by merges.
  for (int round = 0; round < 4; ++round) {
    flush(0, 1500);
    EXPECT_GE(live_part(), 1 / database.options.family.max_space_amplification);
  }
  EXPECT_EQ(NumberProperty(db(), "sepal.compaction-debt-bytes"), 0u);
}

TEST_F(PropertyTest, WhileThereAreWritesAndAfterOpeningLevelsWaitUntilTheyAreFull) {
  database.tuning.memtable_bytes = size_t{4} << 10;
  database.tuning.runs_per_level = 9;
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->WaitForBackgroundWork());
  for (int round = 0; NumberProperty(db(), "sepal.num-runs") < 2; ++round) {
    ASSERT_LT(round, 100);
    Fill(0, 10);
    ASSERT_OK(db()->WaitForBackgroundWork());
  }
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_GE(NumberProperty(db(), "sepal.num-runs"), 2u) << db()->GetProperty("sepal.levels").value();
}

TEST_F(PropertyTest, MemtableBytesGrowWithWritesAndFallWithTheFlush) {
  const uint64_t empty = NumberProperty(db(), "sepal.memtable-bytes");
  Fill(0, 100);
  const uint64_t filled = NumberProperty(db(), "sepal.memtable-bytes");
  EXPECT_GT(filled, empty + 4000);
  ASSERT_OK(db()->Flush());
  EXPECT_LT(NumberProperty(db(), "sepal.memtable-bytes"), filled);
}

TEST_F(PropertyTest, BlockCacheBytesGrowWithReads) {
  Fill(0, 200);
  ASSERT_OK(database.Reopen());
  const uint64_t before = NumberProperty(db(), "sepal.block-cache-bytes");
  for (uint64_t i = 0; i < 200; ++i) Value(db(), NumberedKey(i));
  EXPECT_GT(NumberProperty(db(), "sepal.block-cache-bytes"), before);
  EXPECT_THAT(db()->GetProperty("sepal.memory").value(), HasSubstr("memtables"));
}

TEST_F(PropertyTest, SnapshotsAreListedWhileTheyLive) {
  Fill(0, 77);
  const std::string none = db()->GetProperty("sepal.snapshots").value();
  std::shared_ptr<const Snapshot> snapshot = db()->GetSnapshot();
  EXPECT_THAT(db()->GetProperty("sepal.snapshots").value(), HasSubstr(std::to_string(snapshot->sequence())));
  snapshot.reset();
  EXPECT_EQ(db()->GetProperty("sepal.snapshots").value(), none);
}

TEST_F(PropertyTest, OptionsStatsAndFiltersSayWhatIsSetAndDone) {
  EXPECT_THAT(db()->GetProperty("sepal.options").value(), HasSubstr("block_bytes: 256"));
  Fill(0, 100);
  ASSERT_OK(db()->Flush());
  const std::string before = db()->GetProperty("sepal.stats").value();
  Value(db(), NumberedKey(5));
  EXPECT_NE(db()->GetProperty("sepal.stats").value(), before);
  EXPECT_THAT(db()->GetProperty("sepal.filters").value(), HasSubstr("expected false positive rate"));
  EXPECT_EQ(db()->GetProperty("sepal.background-error").value(), "OK");
}

TEST_F(PropertyTest, CompactionDebtIsThereWhileCompactionsAreOwed) {
  EXPECT_EQ(NumberProperty(db(), "sepal.compaction-debt-bytes"), 0u);
  // Compactions do not run until this thread waits.
  Fill(0, 3000);
  uint64_t most = 0;
  for (uint64_t i = 0; i < 40; ++i) {
    Fill(i * 50, i * 50 + 50, 100);
    most = std::max(most, NumberProperty(db(), "sepal.compaction-debt-bytes"));
  }
  EXPECT_GT(most, 0u);
}

using EstimateTest = EngineTest;

TEST_F(EstimateTest, KeyMayExistIsCertainOfAbsenceAndMakesNoFileCall) {
  Fill(0, 1000);
  ASSERT_OK(db()->CompactRange());
  Fill(1000, 1010);
  for (uint64_t i = 0; i < 1000; ++i) Value(db(), NumberedKey(i));
  ASSERT_OK(db()->WaitForBackgroundWork());
  database.world->RunUntilIdle();  // the log writes behind
  const uint64_t calls = database.files.CallCount();
  int absent = 0;
  for (uint64_t i = 0; i < 1010; ++i) {
    EXPECT_TRUE(db()->KeyMayExist(NumberedKey(i)));
    absent += db()->KeyMayExist(NumberedKey(i) + "x") ? 0 : 1;
  }
  EXPECT_EQ(database.files.CallCount(), calls);
  EXPECT_GT(absent, 900);
}

TEST_F(EstimateTest, KeyMayExistMakesNoFileCallWhenNothingIsCached) {
  Fill(0, 1000);
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->WaitForBackgroundWork());
  const uint64_t calls = database.files.CallCount();
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_TRUE(db()->KeyMayExist(NumberedKey(i)));
  EXPECT_EQ(database.files.CallCount(), calls);
}

class StatisticsTest : public EngineTest {
 protected:
  uint64_t Count(Ticker ticker) { return db()->statistics().Get(ticker); }
  LevelFilterStatistics Filters() {
    LevelFilterStatistics sum;
    for (int level = 0; level < kMaxLevels; ++level) {
      const LevelFilterStatistics one = db()->statistics().GetFilter(level);
      sum.lookups += one.lookups;
      sum.guard_rejections += one.guard_rejections;
      sum.lane_rejections += one.lane_rejections;
      sum.blocks_searched += one.blocks_searched;
      sum.false_positives += one.false_positives;
    }
    return sum;
  }
};

TEST_F(StatisticsTest, ReadsAndWritesAreCounted) {
  Fill(0, 10);
  WriteBatch batch;
  batch.Put("a", "12");
  batch.Delete("b");
  ASSERT_OK(db()->Write(batch, {.sync = true}));
  EXPECT_EQ(Count(Ticker::kWrites), 12u);
  EXPECT_EQ(Count(Ticker::kWriteBatches), 11u);
  EXPECT_EQ(Count(Ticker::kBytesWritten), 10u * (9 + 40) + 3 + 1);
  EXPECT_GE(Count(Ticker::kLogSyncs), 1u);
  EXPECT_GT(Count(Ticker::kLogBytes), Count(Ticker::kBytesWritten));
  Value(db(), NumberedKey(3));
  Value(db(), "absent");
  EXPECT_EQ(Count(Ticker::kGets), 2u);
  EXPECT_EQ(Count(Ticker::kGetHits), 1u);
  EXPECT_EQ(Count(Ticker::kMemtableHits), 1u);
  const std::unique_ptr<Iterator> it = db()->NewIterator();
  it->SeekToFirst();
  it->Next();
  it->Next();
  it->Prev();
  EXPECT_EQ(Count(Ticker::kSeeks), 1u);
  EXPECT_EQ(Count(Ticker::kNexts), 2u);
  EXPECT_EQ(Count(Ticker::kPrevs), 1u);
  db()->statistics().Reset();
  EXPECT_EQ(Count(Ticker::kGets), 0u);
}

TEST_F(StatisticsTest, FlushesCompactionsAndBlockReadsAreCounted) {
  Fill(0, 1000);
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_GT(Count(Ticker::kFlushes), 2u);
  EXPECT_GT(Count(Ticker::kFlushBytes), 10'000u);
  EXPECT_GT(Count(Ticker::kCompactions), 0u);
  EXPECT_GE(Count(Ticker::kCompactionEntriesIn), Count(Ticker::kCompactionEntriesOut));
  EXPECT_GT(Count(Ticker::kCompactionWriteBytes), 0u);
  ASSERT_OK(database.Reopen());  // what the compaction wrote is in the cache
  for (int round = 0; round < 2; ++round) {
    for (uint64_t i = 0; i < 1000; ++i) Value(db(), NumberedKey(i));
  }
  EXPECT_GT(Count(Ticker::kBlockReads), 0u);
  EXPECT_GT(Count(Ticker::kBlockCacheHits), Count(Ticker::kBlockCacheMisses));
}

TEST_F(StatisticsTest, FiltersRuleOutAlmostAllAbsentKeysAtAboutTheExpectedRate) {
  database.options.family.filter_policy = {.lane_bits_per_key = 4, .guard_bits_per_key = 3};
  // So large that rounding up to whole words of filter counts for little.
  database.options.family.block_bytes = 8192;
  database.tuning.table_bytes = size_t{64} << 10;
  ASSERT_OK(database.Reopen());
  Fill(0, 4000);
  ASSERT_OK(db()->CompactRange());
  db()->statistics().Reset();
  for (uint64_t i = 0; i < 3999; ++i) Value(db(), NumberedKey(i) + "x");
  const LevelFilterStatistics absent = Filters();
  EXPECT_GT(absent.lookups, 3000u);
  EXPECT_GT(absent.guard_rejections, absent.lookups / 2);
  EXPECT_GT(absent.lane_rejections, 0u);
  EXPECT_EQ(absent.blocks_searched, absent.false_positives);
  const double expected = database.options.family.filter_policy.ExpectedRate();
  EXPECT_GT(absent.ObservedRate(), expected / 4);
  EXPECT_LT(absent.ObservedRate(), expected * 4);
  db()->statistics().Reset();
  for (uint64_t i = 0; i < 4000; ++i) EXPECT_NE(Value(db(), NumberedKey(i)), "NOT_FOUND");
  const LevelFilterStatistics present = Filters();
  EXPECT_EQ(present.guard_rejections + present.lane_rejections, present.lookups - 4000);
  EXPECT_EQ(present.blocks_searched - present.false_positives, 4000u);
}

// Flushes and merges lay their guards out for the runs that there are.
TEST_F(StatisticsTest, GuardsOfSmallRunsLetLessPass) {
  database.options.family.filter_policy = {.lane_bits_per_key = 0, .guard_bits_per_key = 4};
  database.tuning.memtable_bytes = size_t{1} << 20;
  database.tuning.memtable_limit_bytes = size_t{4} << 20;
  ASSERT_OK(database.Reopen());
  Fill(0, 4000);
  ASSERT_OK(db()->CompactRange());
  Fill(4000, 4400);
  ASSERT_OK(db()->Flush());
  ASSERT_FALSE(FilesPerLevel(db()).starts_with("0")) << FilesPerLevel(db());
  db()->statistics().Reset();
  for (uint64_t i = 0; i < 4400; ++i) Value(db(), NumberedKey(i) + "x");
  const auto passing = [this](int level) {
    const LevelFilterStatistics filter = db()->statistics().GetFilter(level);
    return static_cast<double>(filter.lookups - filter.guard_rejections) / static_cast<double>(filter.lookups);
  };
  int last = 0;
  for (int level = 1; level < kMaxLevels; ++level) {
    if (db()->statistics().GetFilter(level).lookups > 0) last = level;
  }
  EXPECT_GT(passing(last), FilterPolicy::ExpectedRate(4) / 2);
  EXPECT_LT(passing(0), passing(last) / 2);
}

TEST_F(StatisticsTest, TheFiltersOfEachLevelAreSummedUpWithWhatTheyCostAndSave) {
  Fill(0, 2000);
  ASSERT_OK(db()->CompactRange());
  db()->statistics().Reset();
  for (uint64_t i = 0; i < 1999; ++i) Value(db(), NumberedKey(i) + "x");
  const std::vector<std::string> lines = absl::StrSplit(db()->GetProperty("sepal.filters").value(), '\n');
  ASSERT_EQ(lines.size(), 4u);
  int level = -1, tables = 0;
  double bytes = 0, expected = 0, observed = 0;
  uint64_t lookups = 0, guards = 0, lanes = 0, saved = 0;
  std::istringstream row(lines[2]);
  row >> level >> tables >> bytes >> expected >> observed >> lookups >> guards >> lanes >> saved;
  EXPECT_EQ(tables, std::stoi(*db()->GetProperty("sepal.num-files-at-level" + std::to_string(level))));
  EXPECT_GT(lookups, 1900u);  // but for the keys between two tables
  EXPECT_EQ(saved, guards + lanes);
  EXPECT_GT(saved, 1850u);
  EXPECT_GT(expected, 0);
  EXPECT_LT(expected, 0.05);
  EXPECT_LT(observed, 0.05);
  EXPECT_GT(bytes, 2000 * 13 / 8);
  EXPECT_LT(bytes, 2000 * 13);
}

TEST_F(StatisticsTest, WithoutFiltersEveryCandidateBlockIsSearched) {
  database.options.family.filter_policy = FilterPolicy::None();
  ASSERT_OK(database.Reopen());
  Fill(0, 500);
  ASSERT_OK(db()->CompactRange());
  db()->statistics().Reset();
  for (uint64_t i = 0; i < 499; ++i) Value(db(), NumberedKey(i) + "x");
  const LevelFilterStatistics filters = Filters();
  EXPECT_EQ(filters.guard_rejections + filters.lane_rejections, 0u);
  EXPECT_GT(filters.blocks_searched, 400u);
  EXPECT_EQ(filters.false_positives, filters.blocks_searched);
}

TEST_F(StatisticsTest, LatenciesAreMeasuredOnlyWhenAskedFor) {
  Fill(0, 5);
  EXPECT_EQ(db()->statistics().Get(Histogram::kWriteMicros).count, 0u);
  database.options.latency_histograms = true;
  ASSERT_OK(database.Reopen());
  // One call in 64; each of those that are synced.
  Fill(0, 640);
  EXPECT_EQ(db()->statistics().Get(Histogram::kWriteMicros).count, 10u);
  for (int i = 0; i < 5; ++i) ASSERT_OK(db()->Put("k", "v", {.sync = true}));
  EXPECT_EQ(db()->statistics().Get(Histogram::kWriteMicros).count, 15u);
  for (uint64_t i = 0; i < 640; ++i) Value(db(), NumberedKey(i));
  EXPECT_EQ(db()->statistics().Get(Histogram::kGetMicros).count, 10u);
  EXPECT_THAT(db()->statistics().ToString(), HasSubstr(std::string(Name(Histogram::kGetMicros))));
}

class Recorder final : public EventListener {
 public:
  void OnFlushBegin(const FlushEvent&) override { ++flush_begins; }
  void OnFlushEnd(const FlushEvent& event) override { flushes.push_back(event); }
  void OnCompactionBegin(const CompactionEvent&) override { ++compaction_begins; }
  void OnCompactionEnd(const CompactionEvent& event) override { compactions.push_back(event); }
  void OnSlowDisk(const SlowDiskEvent& event) override { slow.push_back(event.path); }
  void OnError(std::string_view, const absl::Status& status) override { errors.push_back(status); }
  size_t flush_begins = 0, compaction_begins = 0;
  std::vector<FlushEvent> flushes;
  std::vector<CompactionEvent> compactions;
  std::vector<std::string> slow;
  std::vector<absl::Status> errors;
};

class ListenerTest : public EngineTest {
 protected:
  void SetUp() override {
    database.options.listeners = {recorder};
    EngineTest::SetUp();
  }
  const std::shared_ptr<Recorder> recorder = std::make_shared<Recorder>();
};

TEST_F(ListenerTest, FlushesAndCompactionsAreToldWithWhatTheyDid) {
  Fill(0, 10);
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->WaitForBackgroundWork());
  ASSERT_EQ(recorder->flushes.size(), 1u);
  EXPECT_EQ(recorder->flush_begins, 1u);
  const FlushEvent flush = recorder->flushes.front();
  EXPECT_EQ(flush.column_family, "default");
  EXPECT_EQ(flush.entries, 10u);
  EXPECT_EQ(flush.bytes_written, NumberProperty(db(), "sepal.total-table-bytes"));
  EXPECT_NE(flush.file_number, 0u);
  EXPECT_OK(flush.status);
  Fill(5, 15);
  ASSERT_OK(db()->CompactRange());
  // What another thread merged meanwhile is told by that one.
  ASSERT_OK(db()->WaitForBackgroundWork());
  ASSERT_GE(recorder->compactions.size(), 1u);
  EXPECT_EQ(recorder->compaction_begins, recorder->compactions.size());
  const CompactionEvent& compaction = recorder->compactions.front();
  EXPECT_EQ(compaction.input_files, 2);
  EXPECT_EQ(compaction.entries_in, 20u);
  EXPECT_EQ(compaction.entries_out, 15u);
  EXPECT_GT(compaction.output_level, 0);
  EXPECT_THAT(compaction.reason, Not(HasSubstr("?")));
  EXPECT_NE(compaction.reason, "");
}

TEST_F(ListenerTest, SlowSyncsAreToldWithTheirPath) {
  Fill(0, 3);
  ASSERT_OK(db()->Sync());
  EXPECT_TRUE(recorder->slow.empty());
  database.tuning.slow_disk_micros = 0;
  ASSERT_OK(database.Reopen());
  Fill(0, 3);
  ASSERT_OK(db()->Sync());
  ASSERT_FALSE(recorder->slow.empty());
  EXPECT_THAT(recorder->slow.front(), HasSubstr(".log"));
}

TEST_F(ListenerTest, AnErrorThatEndsWritingIsTold) {
  Fill(0, 3);
  database.files.Inject({.fault = Fault::kIoError, .op = FileOp::kSync, .name_contains = ".log"});
  EXPECT_FALSE(db()->Sync().ok());
  ASSERT_EQ(recorder->errors.size(), 1u);
  EXPECT_FALSE(recorder->errors.front().ok());
}

TEST_F(PropertyTest, TheLogSaysHowItIsWrittenAndWhyNotThroughARing) {
  const auto text = [&] { return db()->GetProperty("sepal.log").value_or("none"); };
  EXPECT_THAT(text(), HasSubstr("through "));
  EXPECT_THAT(text(), HasSubstr(", a ring of 8.0 KiB"));
  ASSERT_OK(db()->Put("k", "v"));
  EXPECT_THAT(text(), HasSubstr("not durable: 38 B"));
  ASSERT_OK(db()->Sync());
  EXPECT_THAT(text(), HasSubstr("not durable: 0 B"));
  database.files.Inject({.fault = Fault::kTooManyFiles, .op = FileOp::kMap, .sticky = true});
  ASSERT_OK(database.Reopen());
  EXPECT_THAT(text(), HasSubstr("one by one, without a ring: "));
  EXPECT_THAT(text(), HasSubstr(".ring"));
}

}  // namespace
}  // namespace sepal
