// Many threads at once: real ones for the sanitizers, simulated ones for odd schedules.
#include <gtest/gtest.h>

#include <atomic>

#include "tests/db/engine/engine_fixture.h"
#include "util/base/random.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

// Starts bodies in threads of either kind, and waits for them.
class Crew {
 public:
  explicit Crew(TestDatabase* database) : database_(database) {}
  ~Crew() { Join(); }
  void Start(std::function<void()> body) {
    if (database_->world != nullptr) {
      database_->world->Spawn(std::move(body));
    } else {
      threads_.emplace_back(std::move(body));
    }
  }
  void Join() {
    if (database_->world != nullptr) database_->world->RunUntilIdle();
    threads_.clear();
  }

 private:
  TestDatabase* const database_;
  std::vector<Thread> threads_;
};

class ConcurrentTest : public ::testing::TestWithParam<Threads> {
 protected:
  ConcurrentTest() : database(GetParam(), 11) {}
  void SetUp() override { ASSERT_OK(database.Open()); }
  DB* db() { return database.db.get(); }
  TestDatabase database;
};

constexpr int kRounds = 400;

TEST_P(ConcurrentTest, ABatchIsSeenWholeByGetsIteratorsAndSnapshots) {
  std::atomic<bool> writing{true};
  Crew crew(&database);
  crew.Start([&] {
    for (int i = 1; i <= kRounds; ++i) {
      WriteBatch batch;
      for (uint64_t key = 0; key < 8; ++key) batch.Put(NumberedKey(key), std::to_string(i) + std::string(60, 'v'));
      ASSERT_OK(db()->Write(batch));
    }
    writing = false;
  });
  for (int reader = 0; reader < 2; ++reader) {
    crew.Start([&, reader] {
      for (int reads = 0; writing && reads < kRounds; ++reads) {
        const std::shared_ptr<const Snapshot> snapshot = reader == 0 ? db()->GetSnapshot() : nullptr;
        const Entries entries = ReadAll(db()->NewIterator({.snapshot = snapshot.get()}).get());
        EXPECT_TRUE(entries.empty() || entries.size() == 8) << entries.size();
        for (const auto& [key, value] : entries) EXPECT_EQ(value, entries.front().second);
        if (snapshot == nullptr) continue;
        const std::string then = Value(db(), NumberedKey(3), {.snapshot = snapshot.get()});
        EXPECT_EQ(then, entries.empty() ? "NOT_FOUND" : entries.front().second);
        EXPECT_EQ(ReadAll(db()->NewIterator({.snapshot = snapshot.get()}).get()), entries);
      }
    });
  }
  crew.Start([&] {
    for (int i = 0; i < 6; ++i) EXPECT_OK(db()->CompactRange());
  });
  crew.Join();
}

TEST_P(ConcurrentTest, WritersOfEveryKindShareTheLogAndNothingIsLost) {
  Crew crew(&database);
  for (int writer = 0; writer < 4; ++writer) {
    crew.Start([&, writer] {
      for (uint64_t i = 0; i < 200; ++i) {
        ASSERT_OK(db()->Put(std::to_string(writer) + NumberedKey(i), std::string(50, 'v'),
                            {.sync = writer == 0 || i % 50 == 0}));
      }
      ASSERT_OK(db()->Sync());
    });
  }
  crew.Join();
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(ReadAll(db()->NewIterator().get()).size(), 800u);
}

TEST_P(ConcurrentTest, FamiliesComeAndGoBesideReadersAndWriters) {
  std::atomic<bool> busy{true};
  Crew crew(&database);
  crew.Start([&] {
    for (int i = 0; i < 15; ++i) {
      auto family = db()->CreateColumnFamily("f" + std::to_string(i), database.options.family);
      ASSERT_OK(family.status());
      for (uint64_t key = 0; key < 60; ++key) {
        ASSERT_OK(db()->Put(**family, NumberedKey(key), std::string(100, 'f')));
      }
      const std::unique_ptr<Iterator> it = db()->NewIterator(**family);
      if (i % 2 == 0) ASSERT_OK(db()->DropColumnFamily(**family));
      EXPECT_EQ(ReadAll(it.get()).size(), 60u);
    }
    busy = false;
  });
  crew.Start([&] {
    for (uint64_t i = 0; busy && i < 5000; ++i) ASSERT_OK(db()->Put(NumberedKey(i % 100), std::string(100, 'd')));
  });
  crew.Start([&] {
    for (int i = 0; busy && i < 200; ++i) {
      db()->ColumnFamilyNames();
      EXPECT_OK(db()->CheckConsistency());
      db()->GetProperty("sepal.stats");
    }
  });
  crew.Join();
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(db()->ColumnFamilyNames().size(), 8u);
}

TEST_P(ConcurrentTest, PinnedValuesStayWhileOthersOverwriteAndCompact) {
  for (uint64_t i = 0; i < 50; ++i) ASSERT_OK(db()->Put(NumberedKey(i), NumberedKey(i) + std::string(200, 'p')));
  ASSERT_OK(db()->Flush());
  Crew crew(&database);
  for (int reader = 0; reader < 2; ++reader) {
    crew.Start([&, reader] {
      Random random(static_cast<uint64_t>(reader) + 5);
      std::vector<PinnedValue> held(20);
      for (int reads = 0; reads < 2 * kRounds; ++reads) {
        const std::string key = NumberedKey(random.Uniform(50));
        PinnedValue& value = held[random.Uniform(held.size())];
        EXPECT_TRUE(value.value().empty() || value.value().starts_with("key"));
        ASSERT_OK(db()->Get(key, value));
        EXPECT_TRUE(value.value().starts_with(key));
      }
    });
  }
  crew.Start([&] {
    for (uint64_t i = 0; i < 2000; ++i) {
      ASSERT_OK(db()->Put(NumberedKey(i % 50), NumberedKey(i % 50) + std::string(i % 300, 'q')));
    }
    ASSERT_OK(db()->CompactRange());
  });
  crew.Join();
}

TEST_P(ConcurrentTest, ClosingBesideCallsRefusesThemOrLetsThemFinish) {
  std::atomic<uint64_t> acknowledged{0};
  Crew crew(&database);
  crew.Start([&] {
    for (uint64_t i = 0; i < 2000; ++i) {
      const absl::Status written = db()->Put(NumberedKey(i), std::string(50, 'v'));
      if (!written.ok()) break;
      acknowledged = i + 1;
    }
  });
  crew.Start([&] {
    while (acknowledged < 200) SchedulePoint(&acknowledged);
    EXPECT_OK(db()->Close());
  });
  crew.Join();
  ASSERT_OK(database.Open());
  EXPECT_GE(ReadAll(db()->NewIterator().get()).size(), acknowledged.load());
}

std::string KindOfThreads(const ::testing::TestParamInfo<Threads>& info) {
  return info.param == Threads::kSimulated ? "Simulated" : "Real";
}

INSTANTIATE_TEST_SUITE_P(Schedules, ConcurrentTest, ::testing::Values(Threads::kSimulated, Threads::kReal),
                         KindOfThreads);

}  // namespace
}  // namespace sepal
