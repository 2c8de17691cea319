// What a database does while it is closed.
#include <gtest/gtest.h>

#include <atomic>

#include "sepal/comparator.h"
#include "sepal/event_listener.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

class CancelledCompactions final : public EventListener {
 public:
  void OnCompactionEnd(const CompactionEvent& event) override { count += absl::IsCancelled(event.status) ? 1 : 0; }
  std::atomic<int> count{0};
};

// However late the closing thread gets its turn.
TEST(ClosingTest, ACompactionThatClosingEndsIsNotBegunAgain) {
  int most = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    TestDatabase database(Threads::kSimulated, {.seed = seed, .switch_one_in = 2, .park_one_in = 1},
                          MemoryFileSystem());
    const auto cancelled = std::make_shared<CancelledCompactions>();
    database.options.listeners = {cancelled};
    ASSERT_OK(database.Open());
    for (int run = 0; run < database.tuning.runs_per_level; ++run) {
      for (uint64_t i = 0; i < 60; ++i) ASSERT_OK(database.db->Put(NumberedKey(i), std::string(100, 'v')));
      ASSERT_OK(database.db->Flush());
    }
    database.world->BeginOperation();
    ASSERT_OK(database.db->Close());
    most = std::max(most, cancelled->count.load());
    EXPECT_LE(cancelled->count.load(), database.tuning.compaction_threads) << "seed " << seed;
  }
  EXPECT_GT(most, 0) << "no seed closed in the middle of a compaction";
}

// The job that reads sketches holds a version. Let go of behind the job's end, it would outlive the database with one
// of some 150 seeds.
TEST(ClosingTest, NoJobHoldsTablesLongerThanTheDatabaseLives) {
  int learned = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    TestDatabase database(Threads::kSimulated, {.seed = seed, .switch_one_in = 64, .park_one_in = 1},
                          MemoryFileSystem());
    const auto put = [&](uint64_t first, uint64_t count) {
      for (uint64_t i = first; i < first + count; ++i) {
        ASSERT_OK(database.db->Put(NumberedKey(i), std::string(100, 'v')));
      }
    };
    database.options.family.compression = CompressionKind::kNone;
    ASSERT_OK(database.Open());
    put(0, 10);
    ASSERT_OK(database.db->CompactRange());
    std::string old_table;
    for (const std::string& name : FilesIn(&database.memory, database.path)) {
      if (name.ends_with(".sst")) old_table = name;
    }
    ASSERT_OK(database.Reopen());
    std::atomic<int> opened{0};
    database.files.SetDecider([&](const FileCall& call) {
      if (call.op == FileOp::kOpenRead && call.name == old_table) ++opened;
      return Fault::kNone;
    });
    put(10, 80);
    ASSERT_OK(database.db->Flush());
    learned += opened.load();
    ASSERT_OK(database.db->Get(NumberedKey(3)).status());  // the version's table is open from now on
    database.world->BeginOperation();
    ASSERT_OK(database.db->Close());
    database.db.reset();
    database.world->RunUntilIdle();
  }
  EXPECT_GT(learned, 0) << "no seed read a sketch";
}

// Holds a reader in the middle of a Get.
class HoldingComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override {
    if (holds.load()) {
      MutexLock lock(&mutex);
      reached = true;
      changed.NotifyAll();
      while (holds.load()) changed.Wait(&mutex);
    }
    return a.compare(b);
  }
  std::string_view Name() const override { return "test.holding"; }
  void WaitUntilReached() const {
    MutexLock lock(&mutex);
    while (!reached) changed.Wait(&mutex);
  }
  void LetGo() {
    MutexLock lock(&mutex);
    holds.store(false);
    changed.NotifyAll();
  }
  std::atomic<bool> holds{false};
  mutable Mutex mutex;
  mutable CondVar changed;
  mutable bool reached = false;
};

TEST(ClosingTest, TablesThatOnlyAReaderStillLookedAtAreRemoved) {
  HoldingComparator comparator;
  TestDatabase database(Threads::kReal);
  database.options.family.comparator = &comparator;
  ASSERT_OK(database.Open());
  const auto write_a_table = [&] {
    for (uint64_t i = 0; i < 60; ++i) ASSERT_OK(database.db->Put(NumberedKey(i), std::string(100, 'v')));
    ASSERT_OK(database.db->Flush());
    ASSERT_OK(database.db->WaitForBackgroundWork());
  };
  write_a_table();
  comparator.holds.store(true);
  Thread reader([&] { EXPECT_OK(database.db->Get(NumberedKey(7)).status()); });
  comparator.WaitUntilReached();
  comparator.holds.store(false);  // for all but the reader, which looks again when it is told
  write_a_table();
  ASSERT_OK(database.db->CompactRange());
  ASSERT_OK(database.db->WaitForBackgroundWork());
  comparator.LetGo();
  reader.Join();
  const int live = std::stoi(database.db->GetProperty("sepal.num-files-at-level1").value_or("0"));
  ASSERT_OK(database.db->Close());
  int tables = 0;
  for (const std::string& name : FilesIn(&database.memory, database.path)) tables += name.ends_with(".sst") ? 1 : 0;
  EXPECT_GT(live, 0);
  EXPECT_EQ(tables, live);
}

}  // namespace
}  // namespace sepal
