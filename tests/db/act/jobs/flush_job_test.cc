#include "db/act/jobs/flush_job.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/format/file_names.h"
#include "sepal/simulation/fault_file_system.h"
#include "sepal/simulation/memory_file_system.h"
#include "tests/util/thread/held_executor.h"
#include "util/base/hash.h"
#include "util/base/random.h"
#include "util/memory/memory_budget.h"
#include "util/thread/thread_pool.h"

namespace sepal {
namespace {

constexpr uint64_t kSeed = 5;

class FlushJobTest : public testing::Test {
 protected:
  FlushJobTest() {
    directory_ = files_.OpenDirectory("db", true).value();
    context_.directory = directory_.get();
    context_.budget = &budget_;
    context_.tuning.part_bytes = 4096;
    context_.options = &options_;
    context_.hash_seed = kSeed;
    context_.new_file_number = [this] { return FileNumber(++last_number_); };
    context_.new_table_id = [this] { return ++last_id_; };
  }

  // Versions of random keys, oldest first over both memtables.
  void Fill(uint64_t entries) {
    auto first = std::make_shared<MemTable>(KeyOrder(), kSeed, 1 << 20, MemTable::Memory{});
    auto second = std::make_shared<MemTable>(KeyOrder(), kSeed, 1 << 20, MemTable::Memory{});
    Random random(entries);
    for (uint64_t i = 1; i <= entries; ++i) {
      const std::string key = absl::StrFormat("key%05u", random.Uniform(entries));
      const std::string value = absl::StrFormat("value %u", i);
      (i * 3 < entries ? first : second)->Add(SequenceNumber(i), ValueKind::kPut, key, value, HashKey(key, kSeed));
      newest_[key] = value;
    }
    memtables_ = {first, second};
  }

  absl::StatusOr<std::vector<TableMetadata>> Flush(int parts) {
    return FlushMemTables({.context = context_,
                           .memtables = memtables_,
                           .snapshots = {kMaxSequenceNumber},
                           .executor = parts > 1 ? &pool_ : nullptr,
                           .max_threads = parts});
  }

  size_t FileCount() { return directory_->List().value().size(); }

  MemoryFileSystem memory_;
  FaultFileSystem files_{&memory_};
  std::unique_ptr<Directory> directory_;
  MemoryBudget budget_{size_t{64} << 20};
  ColumnFamilyOptions options_;
  TableOutputContext context_;
  std::atomic<uint64_t> last_number_{0};
  std::atomic<uint64_t> last_id_{0};
  std::vector<std::shared_ptr<const MemTable>> memtables_;
  std::map<std::string, std::string> newest_;
  ThreadPool pool_{1, 3};
};

TEST_F(FlushJobTest, PartsAreTablesOfOneRunInKeyOrderThatHoldEverything) {
  Fill(5000);
  const auto tables = Flush(4);
  ASSERT_TRUE(tables.ok()) << tables.status();
  ASSERT_GE(tables->size(), 1u);
  uint64_t entries = 0;
  for (size_t i = 0; i < tables->size(); ++i) {
    EXPECT_EQ((*tables)[i].run.value(), tables->front().number.value());
    if (i > 0) {
      EXPECT_LT((*tables)[i - 1].largest.user_key, (*tables)[i].smallest.user_key);
    }
    entries += (*tables)[i].entries;
  }
  EXPECT_EQ(entries, newest_.size());
  EXPECT_EQ(tables->front().smallest.user_key, newest_.begin()->first);
  EXPECT_EQ(tables->back().largest.user_key, newest_.rbegin()->first);
  EXPECT_EQ(FileCount(), tables->size());
}

class HelpedFlushTest : public FlushJobTest {
 protected:
  absl::StatusOr<std::vector<TableMetadata>> FlushWithHelp(const std::function<int()>& threads) {
    auto tables = FlushMemTables({.context = context_,
                                  .memtables = memtables_,
                                  .snapshots = {kMaxSequenceNumber},
                                  .executor = &executor_,
                                  .max_threads = 2,
                                  .threads = threads});
    executor_.RunAll();  // who comes too late finds nothing to do
    return tables;
  }
  uint64_t EntriesOf(const std::vector<TableMetadata>& tables) {
    uint64_t entries = 0;
    for (const TableMetadata& table : tables) entries += table.entries;
    return entries;
  }

  HeldExecutor executor_;
};

TEST_F(HelpedFlushTest, AFlushThatIsAllowedOneThreadAsksForNoHelpAndWritesOneTable) {
  Fill(5000);
  const auto tables = FlushWithHelp([] { return 1; });
  ASSERT_TRUE(tables.ok()) << tables.status();
  EXPECT_EQ(tables->size(), 1u);
  EXPECT_EQ(executor_.held(), 0u);
}

// And then half of what is left again, as long as the first one, in whose thread the helper works here, is held up.
TEST_F(HelpedFlushTest, AHelperThatComesLaterTakesHalfOfWhatIsLeft) {
  Fill(20'000);
  int questions = 0;
  const auto tables = FlushWithHelp([&] {
    if (++questions == 4) executor_.RunAll();
    return questions < 3 ? 1 : 2;
  });
  ASSERT_TRUE(tables.ok()) << tables.status();
  ASSERT_GE(tables->size(), 2u);
  EXPECT_EQ(EntriesOf(*tables), newest_.size());
  for (size_t i = 1; i < tables->size(); ++i) {
    EXPECT_LT((*tables)[i - 1].largest.user_key, (*tables)[i].smallest.user_key);
  }
  EXPECT_NEAR(static_cast<double>(tables->back().entries), static_cast<double>(newest_.size()) / 2,
              static_cast<double>(newest_.size()) / 8);
}

TEST_F(HelpedFlushTest, AHelperThatComesTooLateFindsNothingToDo) {
  Fill(5000);
  const auto tables = FlushWithHelp([] { return 2; });
  ASSERT_TRUE(tables.ok()) << tables.status();
  EXPECT_EQ(tables->size(), 1u);
  EXPECT_EQ(EntriesOf(*tables), newest_.size());
}

TEST_F(FlushJobTest, WithoutAnExecutorThereIsOneTable) {
  Fill(5000);
  const auto tables = Flush(1);
  ASSERT_TRUE(tables.ok()) << tables.status();
  ASSERT_EQ(tables->size(), 1u);
  EXPECT_EQ(tables->front().entries, newest_.size());
}

TEST_F(FlushJobTest, WritersOfRangesOfTheirOwnGetTablesOfTheirOwn) {
  auto memtable = std::make_shared<MemTable>(KeyOrder(), kSeed, 1 << 20, MemTable::Memory{});
  for (uint64_t i = 0; i < 6000; ++i) {
    const std::string key = absl::StrFormat("range%u key%05u", i % 3, i / 3);
    memtable->Add(SequenceNumber(i + 1), ValueKind::kPut, key, "value", HashKey(key, kSeed));
  }
  memtables_ = {memtable};
  context_.tuning.memtable_bytes = 64 << 10;
  const auto tables = Flush(1);
  ASSERT_TRUE(tables.ok()) << tables.status();
  ASSERT_EQ(tables->size(), 3u);
  for (uint64_t i = 0; i < 3; ++i) {
    const TableMetadata& table = (*tables)[i];
    EXPECT_EQ(table.smallest.user_key, absl::StrFormat("range%u key00000", i));
    EXPECT_EQ(table.largest.user_key, absl::StrFormat("range%u key01999", i));
    EXPECT_EQ(table.entries, 2000u);
    EXPECT_EQ(table.run.value(), tables->front().number.value());
  }
  EXPECT_EQ(FileCount(), 3u);

  // A failure in any of them leaves none.
  uint64_t call = 0;
  for (bool failed = true; failed; ++call) {
    files_.Inject({.fault = Fault::kIoError, .mutations_only = true, .skip = call});
    failed = !Flush(1).ok();
    files_.Clear();
    EXPECT_EQ(FileCount(), failed ? 3u : 6u) << "call " << call;
  }
  EXPECT_GT(call, 9u);
}

TEST_F(FlushJobTest, PartsAreNotMadeSmallerThanTheTuningSays) {
  Fill(100);
  const auto tables = Flush(4);
  ASSERT_TRUE(tables.ok()) << tables.status();
  EXPECT_EQ(tables->size(), 1u);
}

TEST_F(FlushJobTest, WhenOnePartFailsNoTableIsLeftBehind) {
  Fill(5000);
  // How many tables there are depends on how fast the threads are.
  uint64_t call = 0;
  for (bool failed = true; failed; ++call) {
    files_.Inject({.fault = Fault::kIoError, .mutations_only = true, .skip = call});
    const auto tables = Flush(4);
    files_.Clear();
    failed = !tables.ok();
    EXPECT_EQ(FileCount(), failed ? 0u : tables->size()) << "call " << call;
  }
  EXPECT_GT(call, 3u);
}

}  // namespace
}  // namespace sepal
