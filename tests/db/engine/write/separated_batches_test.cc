// Batches of values that are kept apart: they are written together, and mean what they mean without that.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/db/engine/write/separated_values_fixture.h"
#include "util/base/random.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

class SeparatedBatchesTest : public SeparatedValuesTest {
 protected:
  // How many writes value files got by what `write` does.
  template <typename Write>
  size_t WritesOfValues(const Write& write) {
    size_t writes = 0;
    database.files.SetDecider([&writes](const FileCall& call) {
      writes += call.op == FileOp::kWriteAt && call.name.find(".val") != std::string::npos;
      return Fault::kNone;
    });
    write();
    database.files.Clear();
    return writes;
  }
};

TEST_F(SeparatedBatchesTest, TheValuesOfABatchAreOneWrite) {
  ASSERT_OK(db()->Put("first", Large("makes the file")));
  WriteBatch batch;
  for (uint64_t i = 0; i < 100; ++i) batch.Put(NumberedKey(i), Large(std::to_string(i), 150));
  EXPECT_EQ(WritesOfValues([&] { EXPECT_OK(db()->Write(batch)); }), 1u);
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(Value(db(), NumberedKey(i)), Large(std::to_string(i), 150));
}

// 1 MiB of values, of which each write takes at most a quarter.
TEST_F(SeparatedBatchesTest, AWriteIsOfBoundedSize) {
  ASSERT_OK(db()->Put("first", Large("makes the file")));
  WriteBatch batch;
  for (uint64_t i = 0; i < 128; ++i) batch.Put(NumberedKey(i), Large(std::to_string(i), size_t{8} << 10));
  EXPECT_EQ(WritesOfValues([&] { EXPECT_OK(db()->Write(batch)); }), 4u);
  ASSERT_OK(database.CrashAndReopen(CrashMode::kKillProcess));
  for (uint64_t i = 0; i < 128; ++i) {
    EXPECT_EQ(Value(db(), NumberedKey(i)), Large(std::to_string(i), size_t{8} << 10));
  }
}

TEST_F(SeparatedBatchesTest, EntriesKeepTheirOrder) {
  const std::string huge = Large("huge", size_t{300} << 10);  // more than is written together
  WriteBatch batch;
  batch.Put("a", Large("a is overwritten"));
  batch.Put("a", "small");
  batch.Put("b", "small is overwritten");
  batch.Put("b", Large("b"));
  batch.Put("c", Large("c is deleted"));
  batch.Delete("c");
  batch.Put("d", "overwritten by what is written alone");
  batch.Put("d", huge);
  batch.Put("e", huge);
  batch.Put("e", "small again");
  batch.DeleteRange("f", "g");
  batch.Put("f", Large("f"));
  batch.Put("h", Large("h is deleted"));
  batch.DeleteRange("h", "i");
  ASSERT_OK(db()->Write(batch));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Value(db(), "a"), "small");
    EXPECT_EQ(Value(db(), "b"), Large("b"));
    EXPECT_EQ(Value(db(), "c"), "NOT_FOUND");
    EXPECT_EQ(Value(db(), "d"), huge);
    EXPECT_EQ(Value(db(), "e"), "small again");
    EXPECT_EQ(Value(db(), "f"), Large("f"));
    EXPECT_EQ(Value(db(), "h"), "NOT_FOUND");
    ASSERT_OK(database.CrashAndReopen(CrashMode::kKillProcess));
  }
}

// Small entries between two values wait for the first one's write, but never more than some thousands of them.
TEST_F(SeparatedBatchesTest, ManySmallEntriesBehindAValue) {
  database.options.memory_limit = size_t{64} << 20;
  ASSERT_OK(database.Reopen());
  WriteBatch batch;
  batch.Put("key", Large("value"));
  for (uint64_t i = 0; i < 10'000; ++i) batch.Put(NumberedKey(i), std::to_string(i));
  batch.Put("key", Large("last"));
  ASSERT_OK(db()->Write(batch));
  EXPECT_EQ(Value(db(), "key"), Large("last"));
  for (uint64_t i = 0; i < 10'000; i += 7) EXPECT_EQ(Value(db(), NumberedKey(i)), std::to_string(i));
}

TEST_F(SeparatedBatchesTest, WhatFindsNoSpaceLeavesNothingAndTheNextOneFits) {
  for (const uint64_t written_before : {0, 1, 2}) {
    WriteBatch batch;
    for (uint64_t i = 0; i < 128; ++i) batch.Put(NumberedKey(i), Large("refused", size_t{8} << 10));
    database.files.Inject(
        {.fault = Fault::kShortWrite, .op = FileOp::kWriteAt, .name_contains = ".val", .skip = written_before});
    EXPECT_TRUE(absl::IsResourceExhausted(db()->Write(batch)));
    database.files.Clear();
    EXPECT_EQ(Scan(/*backward=*/false), "");
  }
  WriteBatch batch;
  for (uint64_t i = 0; i < 20; ++i) batch.Put(NumberedKey(i), Large(std::to_string(i)));
  ASSERT_OK(db()->Write(batch));
  ASSERT_OK(database.CrashAndReopen(CrashMode::kKillProcess));
  for (uint64_t i = 0; i < 20; ++i) EXPECT_EQ(Value(db(), NumberedKey(i)), Large(std::to_string(i)));
  EXPECT_OK(db()->VerifyChecksums({}));
}

class CompressedBatchesTest : public SeparatedBatchesTest {
 protected:
  CompressedBatchesTest() { compression = CompressionKind::kSnappy; }
};

// Of values that are compressed, and some that do not compress, each has its own codec and size.
TEST_F(CompressedBatchesTest, EachValueIsStoredByItself) {
  ASSERT_OK(db()->Put("first", Large("makes the file")));
  Random random(1);
  std::vector<std::string> values;
  WriteBatch batch;
  for (uint64_t i = 0; i < 60; ++i) {
    std::string value(200 + i * 10, 'x');
    if (i % 3 == 0) std::ranges::generate(value, [&] { return static_cast<char>(random.Uniform(256)); });
    values.push_back(value);
    batch.Put(NumberedKey(i), value);
  }
  EXPECT_EQ(WritesOfValues([&] { EXPECT_OK(db()->Write(batch)); }), 1u);
  ASSERT_OK(database.Reopen());
  for (uint64_t i = 0; i < 60; ++i) EXPECT_EQ(Value(db(), NumberedKey(i)), values[i]);
}

// Holds syncs of a value file and of the log until both have begun.
class SyncsThatMeet {
 public:
  void Arrive(const FileCall& call) {
    const bool value = call.name.find(".val") != std::string::npos;
    const bool log = call.name.find(".log") != std::string::npos;
    if (call.op != FileOp::kSync || (!value && !log)) return;
    MutexLock lock(&mutex_);
    (value ? value_ : log_) = true;
    changed_.NotifyAll();
    // Without the other one it goes on some day, so that the test fails and does not hang.
    for (int tenths = 0; tenths < 300 && !(value_ && log_); ++tenths) changed_.WaitFor(&mutex_, 100'000);
    met_ = met_ || (value_ && log_);
    in_vain_ = in_vain_ || !(value_ && log_);
  }
  bool met() {
    MutexLock lock(&mutex_);
    return met_ && !in_vain_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool value_ ABSL_GUARDED_BY(mutex_) = false;
  bool log_ ABSL_GUARDED_BY(mutex_) = false;
  bool met_ ABSL_GUARDED_BY(mutex_) = false;
  bool in_vain_ ABSL_GUARDED_BY(mutex_) = false;
};

TEST(SeparatedSyncTest, ValueAndLogAreSyncedSideBySide) {
  TestDatabase database(Threads::kReal);
  database.options.family.separate_from = kSeparatedFrom;
  ASSERT_OK(database.Open());
  ASSERT_OK(database.db->Put("first", Large("makes the file"), {.sync = true}));
  SyncsThatMeet syncs;
  database.files.SetHold([&syncs](const FileCall& call) { syncs.Arrive(call); });
  EXPECT_OK(database.db->Put("key", Large("value"), {.sync = true}));
  database.files.Clear();
  EXPECT_TRUE(syncs.met());
}

TEST(SeparatedSyncTest, AFailedSyncOfEitherFailsTheWriteForGood) {
  for (const char* const name : {".val", ".log"}) {
    TestDatabase database;
    database.options.family.separate_from = kSeparatedFrom;
    ASSERT_OK(database.Open());
    ASSERT_OK(database.db->Put("before", Large("before"), {.sync = true}));
    database.files.Inject({.op = FileOp::kSync, .name_contains = name});
    EXPECT_FALSE(database.db->Put("key", Large("value"), {.sync = true}).ok());
    EXPECT_EQ(database.files.FaultCount(), 1u);
    EXPECT_FALSE(database.db->Put("after", Large("after"), {}).ok());
    ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
    EXPECT_EQ(Value(database.db.get(), "before"), Large("before"));
    EXPECT_EQ(Value(database.db.get(), "after"), "NOT_FOUND");
  }
}

}  // namespace
}  // namespace sepal
