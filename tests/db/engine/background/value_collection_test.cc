// Files of values that were overwritten are emptied: what is live moves, readers and snapshots notice nothing, and the
// space of a database stays within its bound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "db/format/value_file.h"
#include "tests/db/engine/write/separated_values_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kOverwrittenKeys = 300;
constexpr size_t kOverwrittenBytes = 1000;

class ValueCollectionTest : public SeparatedValuesTest {
 protected:
  void Put(uint64_t key) {
    const std::string value = Large(std::to_string(key) + "." + std::to_string(++writes_) + ":", kOverwrittenBytes);
    ASSERT_OK(db()->Put(NumberedKey(key), value));
    model_[NumberedKey(key)] = value;
  }
  void PutAll() {
    for (uint64_t key = 0; key < kOverwrittenKeys; ++key) ASSERT_NO_FATAL_FAILURE(Put(key));
  }
  void PutAtRandom(int count, uint64_t first = 0) {
    for (int i = 0; i < count; ++i) ASSERT_NO_FATAL_FAILURE(Put(first + random_.Uniform(kOverwrittenKeys - first)));
  }
  absl::Status Rest() {
    const absl::Status status = db()->Flush();
    return status.ok() ? db()->WaitForBackgroundWork() : status;
  }
  void ExpectAll() {
    for (const auto& [key, value] : model_) EXPECT_EQ(Value(db(), key), value) << key;
    size_t count = 0;
    const std::unique_ptr<Iterator> it = db()->NewIterator(db()->DefaultColumnFamily(), {});
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++count) EXPECT_EQ(it->value(), model_[std::string(it->key())]);
    EXPECT_OK(it->status());
    EXPECT_EQ(count, model_.size());
  }
  uint64_t Moved() { return db()->statistics().Get(Ticker::kValueBytesMoved); }
  uint64_t LiveBytes() const { return model_.size() * kOverwrittenBytes; }

  std::map<std::string, std::string> model_;

 private:
  Random random_{7};
  uint64_t writes_ = 0;
};

TEST_F(ValueCollectionTest, OverwritesAtRandomStayWithinTheSpaceBound) {
  ASSERT_NO_FATAL_FAILURE(PutAll());
  // Beyond the bound: what a memtable may refer to, and files that are being written or are no reason to begin.
  const uint64_t beside = 9 * database.tuning.memtable_bytes + 6 * database.tuning.value_file_bytes;
  for (int round = 0; round < 20; ++round) {
    ASSERT_NO_FATAL_FAILURE(PutAtRandom(400));
    EXPECT_LE(BytesOf(FileKind::kValues), 2 * LiveBytes() + beside) << round;
  }
  ASSERT_OK(Rest());
  EXPECT_GT(Moved(), LiveBytes());
  EXPECT_LE(Moved(), 20 * 400 * kOverwrittenBytes * 3 / 2);
  ASSERT_NO_FATAL_FAILURE(ExpectAll());
  EXPECT_OK(db()->VerifyChecksums({}));
  EXPECT_OK(db()->CheckConsistency());
  ASSERT_OK(database.Reopen());
  ASSERT_NO_FATAL_FAILURE(ExpectAll());
}

// Files so small that their headers are a third of them: they are no garbage, and moving values does not help.
TEST_F(ValueCollectionTest, HeadersOfSmallFilesAreNoGarbage) {
  database.tuning.value_file_bytes = 128;
  database.options.family.max_space_amplification = 1;
  ASSERT_OK(database.Reopen());
  for (uint64_t key = 0; key < 100; ++key) ASSERT_OK(db()->Put(NumberedKey(key), Large(std::to_string(key), 120)));
  ASSERT_OK(Rest());
  EXPECT_EQ(Moved(), 0u);
  for (uint64_t key = 0; key < 100; key += 2) ASSERT_OK(db()->Put(NumberedKey(key), Large(std::to_string(key), 130)));
  ASSERT_OK(Rest());
  ASSERT_OK(db()->WaitForBackgroundWork());
  for (uint64_t key = 0; key < 100; ++key) {
    EXPECT_EQ(Value(db(), NumberedKey(key)), Large(std::to_string(key), key % 2 == 0 ? 130 : 120));
  }
}

TEST_F(ValueCollectionTest, SnapshotsAndIteratorsReadWhatWasMovedSince) {
  ASSERT_NO_FATAL_FAILURE(PutAll());
  ASSERT_OK(Rest());
  const std::map<std::string, std::string> then = model_;
  const std::shared_ptr<const Snapshot> snapshot = db()->GetSnapshot();
  std::unique_ptr<Iterator> it = db()->NewIterator(db()->DefaultColumnFamily(), {});
  it->SeekToFirst();
  for (int round = 0; round < 8; ++round) {
    ASSERT_NO_FATAL_FAILURE(PutAtRandom(400));
    ASSERT_OK(Rest());
  }
  EXPECT_GT(Moved(), 0u);
  for (const auto& [key, value] : then) {
    EXPECT_EQ(it->value(), value);
    it->Next();
    EXPECT_EQ(db()->Get(db()->DefaultColumnFamily(), key, {.snapshot = snapshot.get()}).value_or("?"), value);
  }
  EXPECT_OK(it->status());
  EXPECT_FALSE(it->Valid());
  it.reset();
  ASSERT_NO_FATAL_FAILURE(ExpectAll());
}

TEST_F(ValueCollectionTest, AValueThatCannotBeReadStaysWhereItIsAndOthersMove) {
  ASSERT_NO_FATAL_FAILURE(PutAll());
  ASSERT_OK(Rest());
  const std::string name = Files(FileKind::kValues).front();
  ASSERT_OK(database.memory.FlipBit("/db/" + name, kValueFileHeaderBytes + 5, 3));
  const std::string damaged = NumberedKey(0);
  for (int round = 0; round < 20; ++round) {
    ASSERT_NO_FATAL_FAILURE(PutAtRandom(300, 1));
    ASSERT_OK(Rest());
  }
  EXPECT_GT(Moved(), LiveBytes());
  const absl::Status status = db()->Get(damaged).status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(damaged), HasSubstr(name)));
  for (const auto& [key, value] : model_) {
    if (key == damaged) continue;
    EXPECT_EQ(Value(db(), key), value) << key;
  }
}

TEST_F(ValueCollectionTest, FamiliesShareFilesAndADropGivesThemBack) {
  ColumnFamilyOptions options;
  options.separate_from = kSeparatedFrom;
  const std::shared_ptr<ColumnFamily> other = db()->CreateColumnFamily("other", options).value();
  for (uint64_t key = 0; key < kOverwrittenKeys; ++key) {
    ASSERT_NO_FATAL_FAILURE(Put(key));
    ASSERT_OK(db()->Put(*other, NumberedKey(key), Large("other", kOverwrittenBytes)));
  }
  ASSERT_OK(Rest());
  ASSERT_OK(db()->DropColumnFamily(*other));
  // Every file is half garbage, and that is not over the bound: a little more is.
  for (int round = 0; round < 4; ++round) {
    ASSERT_NO_FATAL_FAILURE(PutAtRandom(300));
    ASSERT_OK(Rest());
  }
  EXPECT_GT(Moved(), 0u);
  EXPECT_LE(BytesOf(FileKind::kValues), 2 * LiveBytes() + 4 * database.tuning.value_file_bytes);
  ASSERT_NO_FATAL_FAILURE(ExpectAll());
}

TEST_F(ValueCollectionTest, AReopenedDatabaseGoesOnWithTheGarbageOfBefore) {
  ASSERT_NO_FATAL_FAILURE(PutAll());
  ASSERT_OK(Rest());
  ASSERT_OK(db()->PauseBackgroundWork());
  for (uint64_t key = 0; key < kOverwrittenKeys; key += 2) ASSERT_NO_FATAL_FAILURE(Put(key));
  ASSERT_OK(db()->ContinueBackgroundWork());
  ASSERT_OK(database.Reopen());
  for (int round = 0; round < 3; ++round) {
    for (uint64_t key = 0; key < kOverwrittenKeys; key += 2) ASSERT_NO_FATAL_FAILURE(Put(key));
    ASSERT_OK(Rest());
  }
  EXPECT_LE(BytesOf(FileKind::kValues), 2 * LiveBytes() + 4 * database.tuning.value_file_bytes);
  ASSERT_NO_FATAL_FAILURE(ExpectAll());
}

class InlineLastLevelTest : public ValueCollectionTest {
 protected:
  void SetUp() override {
    database.options.family.last_level_inline_below = 2000;
    ValueCollectionTest::SetUp();
  }
};

TEST_F(InlineLastLevelTest, SmallValuesComeBackIntoTheLastLevelAndLargeOnesStay) {
  for (uint64_t key = 0; key < 100; ++key) {
    model_[NumberedKey(key)] = Large(std::to_string(key), key % 10 == 3 ? 5000 : 500);
    ASSERT_OK(db()->Put(NumberedKey(key), model_[NumberedKey(key)]));
  }
  ASSERT_OK(Rest());
  EXPECT_GT(BytesOf(FileKind::kValues), 90'000u);
  ASSERT_OK(Compact());
  EXPECT_GT(BytesOf(FileKind::kTable), 90u * 100);  // compressed; references would be a third of it
  ASSERT_OK(database.Reopen());
  EXPECT_THAT(db()->GetProperty("sepal.values").value(), HasSubstr("tables refer to 48.8 KiB"));
  ASSERT_NO_FATAL_FAILURE(ExpectAll());
  ASSERT_NO_FATAL_FAILURE(PutAll());
  ASSERT_NO_FATAL_FAILURE(PutAtRandom(4000));
  ASSERT_OK(Rest());
  ASSERT_NO_FATAL_FAILURE(ExpectAll());
  ASSERT_OK(Compact());
  ASSERT_NO_FATAL_FAILURE(ExpectAll());
  ASSERT_OK(db()->Put("z", "z"));  // the last that a memtable held
  ASSERT_OK(Compact());
  EXPECT_LE(Files(FileKind::kValues).size(), 3u);
}

TEST_F(InlineLastLevelTest, SpaceStaysWithinItsBound) {
  ASSERT_NO_FATAL_FAILURE(PutAll());
  const uint64_t beside = 8 * database.tuning.memtable_bytes + 6 * database.tuning.value_file_bytes;
  for (int round = 0; round < 20; ++round) {
    ASSERT_NO_FATAL_FAILURE(PutAtRandom(400));
    ASSERT_OK(Rest());
    EXPECT_LE(BytesOf(FileKind::kValues) + BytesOf(FileKind::kTable), 2 * LiveBytes() + beside) << round;
  }
  ASSERT_NO_FATAL_FAILURE(ExpectAll());
}

// Overwrites, and loses power or the process at some moment, whatever a compaction is about then.
void CrashWhileValuesMove(uint64_t seed) {
  TestDatabase database(Threads::kSimulated, seed + 1);
  database.options.family.separate_from = kSeparatedFrom;
  database.options.family.compression = seed % 2 == 0 ? CompressionKind::kNone : CompressionKind::kZstd;
  ASSERT_OK(database.Open());
  Random random(seed);
  std::map<std::string, std::string> synced;
  const uint64_t writes = 600 + random.Uniform(400);
  for (uint64_t i = 0; i < writes; ++i) {
    const std::string key = NumberedKey(random.Uniform(60));
    const std::string value = Large(std::to_string(i), 700);
    ASSERT_OK(database.db->Put(key, value, {.sync = true}));
    synced[key] = value;
  }
  constexpr CrashMode kModes[] = {CrashMode::kKillProcess, CrashMode::kLoseUnsynced, CrashMode::kAnySubset};
  ASSERT_OK(database.CrashAndReopen(kModes[seed % 3], seed));
  for (const auto& [key, value] : synced) EXPECT_EQ(Value(database.db.get(), key), value) << key << " seed " << seed;
  EXPECT_OK(database.db->VerifyChecksums({}));
}

TEST(ValueCollectionCrashTest, WhatWasSyncedSurvivesALossOfPowerWhileItMoves) {
  for (uint64_t seed = 0; seed < 60 && !::testing::Test::HasFailure(); ++seed) CrashWhileValuesMove(seed);
}

}  // namespace
}  // namespace sepal
