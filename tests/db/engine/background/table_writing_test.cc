// How flushes and compactions write table files: in parts side by side, and each file synced and closed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "sepal/event_listener.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::Each;
using ::testing::Pair;

// What is done to table files, and how many jobs run meanwhile. A decider that fails nothing.
class TableWriteLog final : public EventListener {
 public:
  void OnFlushBegin(const FlushEvent&) override { ++flushes_; }
  void OnFlushEnd(const FlushEvent&) override { --flushes_; }
  void OnCompactionBegin(const CompactionEvent&) override { ++compactions_; }
  void OnCompactionEnd(const CompactionEvent&) override { --compactions_; }

  Fault Note(const FileCall& call) {
    if (!call.name.ends_with(".sst")) return Fault::kNone;
    std::string& history = histories_[call.name];
    if (call.op == FileOp::kOpenWrite) {
      history += "open ";
      open_.push_back(call.name);
    }
    if (call.op == FileOp::kAppend || call.op == FileOp::kWriteAt || call.op == FileOp::kTruncate) {
      if (!history.ends_with("write ")) history += "write ";
      NoteWriteBesideOthers();
    }
    if (call.op == FileOp::kSync) history += "sync ";
    if (call.op == FileOp::kClose) {
      history += "close ";
      std::erase(open_, call.name);
    }
    return Fault::kNone;
  }

  // That run now.
  int compactions() const { return compactions_; }
  // By the file's name: what was done to it, with writes in a row told once.
  const std::map<std::string, std::string>& histories() const { return histories_; }
  // The most table files that a flush, or a compaction, that ran alone had open when it wrote to one.
  size_t most_of_flush() const { return most_of_flush_; }
  size_t most_of_compaction() const { return most_of_compaction_; }

 private:
  void NoteWriteBesideOthers() {
    if (flushes_ == 1 && compactions_ == 0) most_of_flush_ = std::max(most_of_flush_, open_.size());
    if (flushes_ == 0 && compactions_ == 1) most_of_compaction_ = std::max(most_of_compaction_, open_.size());
  }

  int flushes_ = 0;
  int compactions_ = 0;
  std::vector<std::string> open_;
  std::map<std::string, std::string> histories_;
  size_t most_of_flush_ = 0;
  size_t most_of_compaction_ = 0;
};

// Simulated threads that hand over at every point, so that parts that can run side by side do.
class TableWritingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    database.options.listeners = {writes};
    database.options.family.compression = CompressionKind::kNone;
    database.files.SetDecider([noted = writes](const FileCall& call) { return noted->Note(call); });
  }
  DB* db() { return database.db.get(); }
  // No memtable becomes full, and nothing is merged but by CompactRange.
  void OpenWithoutOtherJobs() {
    database.options.memory_limit = size_t{64} << 20;
    database.tuning.memtable_bytes = size_t{16} << 20;
    database.tuning.memtable_limit_bytes = size_t{32} << 20;
    database.tuning.log_limit_bytes = uint64_t{64} << 20;
    database.tuning.runs_per_level = 100;
    ASSERT_OK(database.Open());
  }
  void Fill(uint64_t begin, uint64_t end, uint64_t step = 1) {
    for (uint64_t i = begin; i < end; i += step) ASSERT_OK(db()->Put(NumberedKey(i), std::string(40, 'v')));
  }
  std::vector<uint64_t> TableSizes() {
    std::vector<uint64_t> sizes;
    const std::unique_ptr<Directory> directory = std::move(database.memory.OpenDirectory(database.path, false)).value();
    for (const std::string& name : FilesIn(&database.memory, database.path)) {
      if (name.ends_with(".sst")) sizes.push_back((*directory->OpenForRead(name))->Size().value());
    }
    return sizes;
  }
  size_t EntryCount() { return ReadAll(db()->NewIterator().get()).size(); }

  const std::shared_ptr<TableWriteLog> writes = std::make_shared<TableWriteLog>();
  TestDatabase database{Threads::kSimulated, /*seed=*/1, /*switch_one_in=*/1};
};

TEST_F(TableWritingTest, ALargeCompactRangeIsWrittenInTwoPartsSideBySide) {
  OpenWithoutOtherJobs();
  // Runs that begin and end at different places.
  for (uint64_t run = 0; run < 4; ++run) {
    const uint64_t begin = 400 * run + run;
    Fill(begin, begin + 1200, /*step=*/4);
    ASSERT_OK(db()->Flush());
  }
  ASSERT_OK(db()->WaitForBackgroundWork());
  ASSERT_EQ(NumberProperty(db(), "sepal.num-runs"), 4u) << db()->GetProperty("sepal.levels").value();
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(writes->most_of_compaction(), 2u);
  EXPECT_EQ(NumberProperty(db(), "sepal.num-runs"), 1u);
  EXPECT_EQ(EntryCount(), 1200u);
}

// Three runs are merged; `unread` more may wait for readers. Writing takes its time, so that the background is not
// calm.
class CompactionThreadsTest : public TableWritingTest {
 protected:
  void SetUp() override {
    TableWritingTest::SetUp();
    database.files.SetDecider([this](const FileCall& call) {
      const bool writes_a_table = call.op == FileOp::kAppend || call.op == FileOp::kWriteAt;
      if (writes_a_table && call.name.ends_with(".sst")) database.world->SleepMicros(100);
      return writes->Note(call);
    });
  }
  void OpenWithMerges(int unread) {
    OpenWithoutOtherJobs();
    database.tuning.runs_per_level = 3;
    database.tuning.unread_runs = unread;
    database.tuning.table_bytes = size_t{64} << 20;
    ASSERT_OK(database.Reopen());
  }
  // Runs that overlap, each begun to be flushed with one more entry in memory.
  void FlushBesideAWriter(uint64_t runs) {
    for (uint64_t run = 0; run < runs; ++run) {
      ASSERT_OK(db()->WaitForBackgroundWork());
      Fill(run, 20'000, /*step=*/10);
      ASSERT_OK(db()->Flush({.wait = false}));
      ASSERT_OK(db()->Put("last", "value"));
    }
  }
};

TEST_F(CompactionThreadsTest, BesideAWriterACompactionLeavesACoreFree) {
  ASSERT_NO_FATAL_FAILURE(OpenWithMerges(/*unread=*/0));
  ASSERT_NO_FATAL_FAILURE(FlushBesideAWriter(3));
  while (FilesPerLevel(db()) != "0,1") database.world->SleepMicros(100);
  EXPECT_EQ(writes->most_of_compaction(), 1u);
}

TEST_F(CompactionThreadsTest, WaitingForAllThatIsDueHasItDoneByAllThreads) {
  ASSERT_NO_FATAL_FAILURE(OpenWithMerges(/*unread=*/0));
  ASSERT_NO_FATAL_FAILURE(FlushBesideAWriter(3));
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(writes->most_of_compaction(), 2u);
}

TEST_F(CompactionThreadsTest, AMergeThatIsUnderWayWhenWritersRestIsHelped) {
  ASSERT_NO_FATAL_FAILURE(OpenWithMerges(/*unread=*/0));
  ASSERT_NO_FATAL_FAILURE(FlushBesideAWriter(3));
  while (writes->compactions() == 0) database.world->SleepMicros(100);
  EXPECT_EQ(writes->most_of_compaction(), 0u);
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(writes->most_of_compaction(), 2u);
  EXPECT_EQ(EntryCount(), 6001u);
}

TEST_F(CompactionThreadsTest, ReadersThatComeToManyRunsHaveThemMergedByAll) {
  ASSERT_NO_FATAL_FAILURE(OpenWithMerges(/*unread=*/10));
  ASSERT_NO_FATAL_FAILURE(FlushBesideAWriter(8));
  ASSERT_OK(db()->WaitForBackgroundWork());
  ASSERT_EQ(NumberProperty(db(), "sepal.num-runs"), 8u) << db()->GetProperty("sepal.levels").value();
  for (uint64_t i = 0; i < 1000; ++i) (void)Value(db(), NumberedKey(i) + "x");
  while (NumberProperty(db(), "sepal.num-runs") > 1) database.world->SleepMicros(100);
  EXPECT_EQ(writes->most_of_compaction(), 2u);
}

TEST_F(TableWritingTest, AMergeReadsTheLastLevelFromTheCacheWhereThatHasIt) {
  OpenWithoutOtherJobs();
  Fill(0, 3000);
  ASSERT_OK(db()->CompactRange());
  Fill(0, 3000, /*step=*/30);
  ASSERT_OK(db()->Flush());
  const auto bytes_read = [this] { return db()->statistics().Get(Ticker::kBlockReadBytes); };
  const uint64_t before = bytes_read();
  const std::vector<uint64_t> sizes = TableSizes();
  ASSERT_OK(db()->CompactRange());
  EXPECT_LT(bytes_read() - before, std::accumulate(sizes.begin(), sizes.end(), uint64_t{0}) / 4);
  EXPECT_EQ(EntryCount(), 3000u);
}

TEST_F(TableWritingTest, EveryTableFileIsSyncedOnceAndClosedAfterIt) {
  ASSERT_OK(database.Open());
  Fill(0, 1000);
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->WaitForBackgroundWork());
  const size_t after_filling = writes->histories().size();
  EXPECT_GT(after_filling, 1u);
  Fill(0, 1000, /*step=*/2);
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(db()->WaitForBackgroundWork());
  const size_t after_compacting = writes->histories().size();
  EXPECT_GT(after_compacting, after_filling + 1);
  // What an opening finds in the log it flushes.
  Fill(1000, 1020);
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_GT(writes->histories().size(), after_compacting);
  EXPECT_EQ(EntryCount(), 1020u);

  EXPECT_THAT(writes->histories(), Each(Pair(::testing::_, "open write sync close ")));
  for (const std::string& name : FilesIn(&database.memory, database.path)) {
    EXPECT_TRUE(!name.ends_with(".sst") || writes->histories().contains(name)) << name;
  }
}

}  // namespace
}  // namespace sepal
