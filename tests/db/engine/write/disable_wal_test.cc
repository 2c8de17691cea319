// Writes that leave the log out: what a flush or an orderly close keeps, what a crash takes, and what it never touches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/db/engine/engine_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr WriteOptions kUnlogged = {.disable_wal = true};

using DisableWalTest = EngineTest;

TEST_F(DisableWalTest, ClosingSaysWhatAFullDiskTakes) {
  ASSERT_OK(db()->Put("logged", "v"));
  for (uint64_t i = 0; i < 50; ++i) ASSERT_OK(db()->Put(NumberedKey(i), std::string(100, 'v'), kUnlogged));
  ASSERT_OK(db()->PauseBackgroundWork());
  ASSERT_OK(db()->Flush({.wait = false}));  // the log has gone on; the table is still to be written
  // Less than there is: closing releases what the log has reserved.
  database.memory.SetCapacity(database.memory.UsedBytes() / 4);
  const absl::Status closed = db()->Close();
  EXPECT_TRUE(absl::IsResourceExhausted(closed)) << closed;
  EXPECT_THAT(std::string(closed.message()),
              HasSubstr("writes with disable_wal to column families default are lost: "));
  database.memory.SetCapacity(UINT64_MAX);
  ASSERT_OK(database.Open());
  EXPECT_EQ(Value(db(), "logged"), "v");
}

TEST_F(DisableWalTest, ClosingNeedsSpaceForTheTableAlone) {
  for (uint64_t i = 0; i < 10; ++i) ASSERT_OK(db()->Put(NumberedKey(i), "v", kUnlogged));
  database.memory.SetCapacity(database.memory.UsedBytes() + database.tuning.log_allocation_bytes / 2);
  ASSERT_OK(db()->Close());
  database.memory.SetCapacity(UINT64_MAX);
  ASSERT_OK(database.Open());
  for (uint64_t i = 0; i < 10; ++i) EXPECT_EQ(Value(db(), NumberedKey(i)), "v");
}

TEST_F(DisableWalTest, ClosingTriesToFlushEveryFamily) {
  auto large = db()->CreateColumnFamily("large");
  ASSERT_OK(large.status());
  auto small = db()->CreateColumnFamily("small");
  ASSERT_OK(small.status());
  Random random(7);
  std::string noise(12'000, ' ');
  for (char& c : noise) c = static_cast<char>(random.Uniform(256));
  ASSERT_OK(db()->Put(**large, "k", noise, kUnlogged));
  ASSERT_OK(db()->Put(**small, "k", "v", kUnlogged));
  large->reset();
  small->reset();
  database.memory.SetCapacity(database.memory.UsedBytes() + 8000);
  const absl::Status closed = db()->Close();
  EXPECT_THAT(std::string(closed.message()), HasSubstr("to column families large are lost: "));
  database.memory.SetCapacity(UINT64_MAX);
  ASSERT_OK(database.Open());
  small = db()->FindColumnFamily("small");
  ASSERT_OK(small.status());
  EXPECT_EQ(db()->Get(**small, "k").value_or("none"), "v");
}

TEST_F(DisableWalTest, AFlushThatClosingOvertakesIsNotCalledDone) {
  ASSERT_OK(db()->Put("k", std::string(2000, 'v'), kUnlogged));
  ASSERT_OK(db()->PauseBackgroundWork());
  absl::Status flushed;
  database.world->Spawn([&] { flushed = db()->Flush(); });
  database.world->RunUntilIdle();
  database.memory.SetCapacity(database.memory.UsedBytes());
  const absl::Status closed = db()->Close();
  database.world->RunUntilIdle();
  EXPECT_TRUE(absl::IsResourceExhausted(closed)) << closed;
  EXPECT_TRUE(absl::IsCancelled(flushed)) << flushed;
  database.memory.SetCapacity(UINT64_MAX);
}

TEST_F(DisableWalTest, ABatchWhoseOtherFamilyComesFarBehindIsRefused) {
  const auto other = db()->CreateColumnFamily("other");
  ASSERT_OK(other.status());
  WriteBatch one;
  for (uint64_t i = 0; i < 1000; ++i) one.Put(**other, NumberedKey(i), "v");
  EXPECT_OK(db()->Write(one, kUnlogged));
  one.Put("of another family, far behind", "v");
  EXPECT_TRUE(absl::IsInvalidArgument(db()->Write(one, kUnlogged)));
}

TEST_F(DisableWalTest, ACheckpointHoldsUnloggedWrites) {
  ASSERT_OK(db()->Put("k", "v", kUnlogged));
  ASSERT_OK(db()->Checkpoint("/copy"));
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  absl::StatusOr<std::unique_ptr<DB>> copy = Engine::Open(database.options, database.tuning, "/copy");
  ASSERT_OK(copy.status());
  EXPECT_EQ(Value(copy->get(), "k"), "v");
}

// Logs in which nothing was written lie between others.
TEST_F(DisableWalTest, MemtablesThatNoLogHoldsAreSwitchedLikeOthers) {
  for (uint64_t round = 0; round < 6; ++round) {
    for (uint64_t i = 0; i < 400; ++i) ASSERT_OK(db()->Put(NumberedKey(i), std::to_string(round), kUnlogged));
    if (round % 2 == 0) {
      ASSERT_OK(db()->Put("logged", std::to_string(round)));
    }
    ASSERT_OK(db()->Flush());
    if (round % 3 == 0) {
      ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
    }
  }
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(Value(db(), NumberedKey(7)), "5");
  EXPECT_EQ(Value(db(), "logged"), "4");
  EXPECT_EQ(ReadAll(db()->NewIterator().get()).size(), 401u);
}

// Random writes with and without the log, to pairs of keys, in two families. After a death of the process a pair has a
// value that was written by its last write that was logged or flushed, or later; and both keys have the same one.
class MixedWrites {
 public:
  explicit MixedWrites(uint64_t seed) : random_(seed), database_(Threads::kSimulated, seed) {}

  void Run() {
    ASSERT_OK(database_.Open());
    ASSERT_OK(db()->CreateColumnFamily("other").status());
    for (int i = 0; i < 600; ++i) Step();
    Crash();
    ASSERT_OK(database_.Reopen());  // an orderly close loses nothing
    for (auto& [pair, written] : history_) written.erase(written.begin(), written.end() - 1);
    Check();
  }

 private:
  using Pair = std::pair<bool, uint64_t>;  // in the other family?
  DB* db() { return database_.db.get(); }

  void Step() {
    const uint64_t dice = random_.Uniform(100);
    if (dice < 1) return Crash();
    if (dice < 4) return Flush(random_.OneIn(2));
    Put({random_.OneIn(2), random_.Uniform(10)}, random_.OneIn(2));
  }
  std::shared_ptr<ColumnFamily> FamilyOf(bool other) {
    return db()->FindColumnFamily(other ? "other" : kDefaultColumnFamilyName).value();
  }
  void Put(Pair pair, bool logged) {
    std::string value = std::to_string(++count_);
    value.resize(1 + random_.Uniform(200), '.');
    const std::shared_ptr<ColumnFamily> family = FamilyOf(pair.first);
    WriteBatch batch;
    batch.Put(*family, NumberedKey(2 * pair.second), value);
    batch.Put(*family, NumberedKey(2 * pair.second + 1), value);
    ASSERT_OK(db()->Write(batch, {.disable_wal = !logged}));
    std::vector<std::string>& written = history_.try_emplace(pair, std::vector<std::string>{kNone}).first->second;
    if (logged) written.clear();
    written.push_back(std::move(value));
  }
  void Flush(bool other) {
    ASSERT_OK(db()->Flush(*FamilyOf(other)));
    for (auto& [pair, written] : history_) {
      if (pair.first == other) written.erase(written.begin(), written.end() - 1);
    }
  }
  void Crash() {
    ASSERT_OK(database_.CrashAndReopen(CrashMode::kKillProcess));
    Check();
    ASSERT_OK(db()->CheckConsistency());
  }
  // What is there now is what counts from now on.
  void Check() {
    for (auto& [pair, written] : history_) {
      const std::shared_ptr<ColumnFamily> family = FamilyOf(pair.first);
      const std::string first = db()->Get(*family, NumberedKey(2 * pair.second)).value_or(kNone);
      const std::string second = db()->Get(*family, NumberedKey(2 * pair.second + 1)).value_or(kNone);
      EXPECT_EQ(first, second);
      EXPECT_THAT(written, Contains(first));
      written = {first};
    }
  }

  static constexpr char kNone[] = "none";
  Random random_;
  TestDatabase database_;
  // What each pair may hold, the newest last.
  std::map<Pair, std::vector<std::string>> history_;
  uint64_t count_ = 0;
};

TEST(DisableWalMixedTest, OnlyWhatWasNeitherLoggedNorFlushedCanGo) {
  for (uint64_t seed = 1; seed <= 40 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    MixedWrites(seed).Run();
  }
}

}  // namespace
}  // namespace sepal
