// Values in files of their own: what is written once is read everywhere, survives what its key survives, and goes when
// nothing refers to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "db/format/value_file.h"
#include "sepal/merge_operator.h"
#include "sepal/transaction.h"
#include "tests/db/engine/first_letter_filter.h"
#include "tests/db/engine/write/separated_values_fixture.h"

namespace sepal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(SeparatedValuesTest, TheyAreReadWhereverTheirKeysLie) {
  std::map<std::string, std::string> model;
  const auto put = [&](std::string_view key, const std::string& value) {
    ASSERT_OK(db()->Put(key, value));
    model[std::string(key)] = value;
  };
  const auto check = [&] {
    std::vector<std::string_view> keys;
    for (const auto& [key, value] : model) {
      EXPECT_EQ(Value(db(), key), value);
      EXPECT_TRUE(db()->KeyMayExist(db()->DefaultColumnFamily(), key, {}));
      keys.push_back(key);
    }
    const auto values = db()->MultiGet(db()->DefaultColumnFamily(), keys, {});
    for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(values[i].value_or("?"), model[std::string(keys[i])]);
    std::string forward, backward;
    for (const auto& [key, value] : model) {
      const std::string text = key + "=" + value.substr(0, 6) + " ";
      forward += text;
      backward = text + backward;
    }
    EXPECT_EQ(Scan(/*backward=*/false), forward);
    EXPECT_EQ(Scan(/*backward=*/true), backward);
  };
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 40; ++i) {
      const std::string key = NumberedKey(static_cast<uint64_t>(i * 7 % 40));
      put(key,
          i % 3 == 0 ? "small" + std::to_string(round) : Large(std::to_string(round * 100 + i) + "v", 80 + 40 * i));
    }
    check();
    ASSERT_OK(db()->Flush());
    check();
    if (round == 1) ASSERT_OK(Compact());
    check();
    if (round == 2) ASSERT_OK(database.Reopen());
    check();
  }
  EXPECT_OK(db()->VerifyChecksums({}));
  EXPECT_OK(db()->CheckConsistency());
}

TEST_F(SeparatedValuesTest, EachIsWrittenOnce) {
  uint64_t bytes = 0;
  for (int i = 0; i < 200; ++i) {
    ASSERT_OK(db()->Put(NumberedKey(static_cast<uint64_t>(i)), Large(std::to_string(i), 1000)));
    bytes += 1000;
  }
  ASSERT_OK(db()->Flush());
  ASSERT_OK(Compact());
  EXPECT_LE(BytesOf(FileKind::kValues), bytes + Files(FileKind::kValues).size() * kValueFileHeaderBytes);
  EXPECT_LE(BytesOf(FileKind::kTable), bytes / 10);
  EXPECT_GT(Files(FileKind::kValues).size(), 10u);
}

TEST_F(SeparatedValuesTest, AFileGoesWithTheLastThatRefersToIt) {
  for (int i = 0; i < 50; ++i) ASSERT_OK(db()->Put(NumberedKey(static_cast<uint64_t>(i)), Large("a", 500)));
  ASSERT_OK(db()->Flush());
  std::shared_ptr<const Snapshot> snapshot = db()->GetSnapshot();
  for (int i = 0; i < 50; ++i) ASSERT_OK(db()->Put(NumberedKey(static_cast<uint64_t>(i)), Large("b", 500)));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(Compact());
  const size_t both = Files(FileKind::kValues).size();
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(
        db()->Get(db()->DefaultColumnFamily(), NumberedKey(static_cast<uint64_t>(i)), {.snapshot = snapshot.get()})
            .value_or("?"),
        Large("a", 500));
  }
  snapshot.reset();
  ASSERT_OK(db()->Put("z", "z"));
  ASSERT_OK(Compact());
  EXPECT_LE(Files(FileKind::kValues).size(), both / 2 + 1);
  EXPECT_EQ(Value(db(), NumberedKey(7)), Large("b", 500));
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Value(db(), NumberedKey(7)), Large("b", 500));
  for (int i = 0; i < 50; ++i) ASSERT_OK(db()->Delete(NumberedKey(static_cast<uint64_t>(i))));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(Compact());
  EXPECT_TRUE(Files(FileKind::kValues).empty()) << Files(FileKind::kValues).size();
}

TEST_F(SeparatedValuesTest, AnIteratorReadsWhatWasOverwrittenMeanwhile) {
  for (int i = 0; i < 30; ++i) ASSERT_OK(db()->Put(NumberedKey(static_cast<uint64_t>(i)), Large("old", 500)));
  ASSERT_OK(db()->Flush());
  const std::unique_ptr<Iterator> it = db()->NewIterator(db()->DefaultColumnFamily(), {});
  it->SeekToFirst();
  for (int i = 0; i < 30; ++i) ASSERT_OK(db()->Put(NumberedKey(static_cast<uint64_t>(i)), "new"));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(Compact());
  int count = 0;
  for (; it->Valid(); it->Next(), ++count) EXPECT_EQ(it->value(), Large("old", 500));
  EXPECT_OK(it->status());
  EXPECT_EQ(count, 30);
}

std::string SomeValue(uint64_t i) { return Large(std::to_string(i), 200 + 300 * (i % 3)); }

// Writes, crashes and opens. What is there then is a prefix, and durable.
void CrashOnce(uint64_t seed) {
  TestDatabase database(Threads::kSimulated, seed + 1);
  database.options.family.separate_from = kSeparatedFrom;
  database.options.family.compression = seed % 2 == 0 ? CompressionKind::kNone : CompressionKind::kSnappy;
  ASSERT_OK(database.Open());
  const uint64_t synced = seed % 7;
  const uint64_t all = 12 + seed % 5;
  const bool flushes = seed % 11 == 3;
  for (uint64_t i = 0; i < all; ++i) {
    ASSERT_OK(database.db->Put(NumberedKey(i), SomeValue(i), {.sync = i + 1 == synced}));
    if (flushes && i == 8) ASSERT_OK(database.db->Flush());
  }
  constexpr CrashMode kModes[] = {CrashMode::kKillProcess, CrashMode::kLoseUnsynced, CrashMode::kAnySubset};
  const CrashMode mode = kModes[seed % 3];
  ASSERT_OK(database.CrashAndReopen(mode, seed));
  uint64_t there = 0;
  while (there < all && Value(database.db.get(), NumberedKey(there)) == SomeValue(there)) ++there;
  for (uint64_t i = there; i < all; ++i) {
    EXPECT_EQ(Value(database.db.get(), NumberedKey(i)), "NOT_FOUND") << i << " seed " << seed;
  }
  EXPECT_GE(there, flushes ? std::max<uint64_t>(synced, 9) : synced) << seed;
  EXPECT_TRUE(mode != CrashMode::kKillProcess || there == all) << seed;
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced, seed));
  for (uint64_t i = 0; i < there; ++i) EXPECT_EQ(Value(database.db.get(), NumberedKey(i)), SomeValue(i)) << seed;
}

TEST(SeparatedValuesCrashTest, WhatWasSyncedSurvivesALossOfPowerAndWhatWasNotGoesAsAWhole) {
  for (uint64_t seed = 0; seed < 90 && !::testing::Test::HasFailure(); ++seed) CrashOnce(seed);
}

TEST_F(SeparatedValuesTest, ADamagedValueIsToldWithFileOffsetAndKeyAndOthersAreRead) {
  ASSERT_OK(db()->Put("a", Large("a")));
  ASSERT_OK(db()->Put("b", Large("b")));
  ASSERT_OK(db()->Flush());
  const std::string name = Files(FileKind::kValues).front();
  ASSERT_OK(database.memory.FlipBit("/db/" + name, kValueFileHeaderBytes + 300 + 5, 3));
  const absl::Status status = db()->Get("b").status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("key \"b\""), HasSubstr(name), HasSubstr("offset 364")));
  EXPECT_EQ(Value(db(), "a"), Large("a"));
  const std::unique_ptr<Iterator> it = db()->NewIterator(db()->DefaultColumnFamily(), {});
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->value(), Large("a"));
  it->Next();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(absl::IsDataLoss(it->status()));
  EXPECT_TRUE(absl::IsDataLoss(db()->VerifyChecksums({})));
  ASSERT_OK(db()->Put("b", "new"));
  EXPECT_EQ(Value(db(), "b"), "new");
}

TEST_F(SeparatedValuesTest, AFileThatIsMissingCutSwappedOrOfAnotherDatabaseIsTold) {
  ASSERT_OK(db()->Put("a", Large("a", 9000)));
  ASSERT_OK(db()->Put("b", Large("b", 9000)));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->Close());
  const std::vector<std::string> names = Files(FileKind::kValues);
  ASSERT_EQ(names.size(), 2u);
  const std::string path = "/db/" + names[0];
  const std::string contents = database.memory.ReadFileContents(path).value();
  const std::string other = database.memory.ReadFileContents("/db/" + names[1]).value();
  const auto message = [&](std::string_view bytes) {
    EXPECT_OK(database.memory.WriteFileContents(path, bytes));
    EXPECT_OK(database.Open());
    const absl::Status status = db()->Get("a").status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_EQ(Value(db(), "b"), Large("b", 9000));
    EXPECT_OK(db()->Close());
    return std::string(status.message());
  };
  EXPECT_THAT(message(std::string_view(contents).substr(0, 100)), AllOf(HasSubstr(names[0]), HasSubstr("36")));
  EXPECT_THAT(message(std::string_view(contents).substr(0, 10)), HasSubstr("header"));
  EXPECT_THAT(message(other), AllOf(HasSubstr(names[0]), HasSubstr("number of the value file")));
  ValueFileHeader header = ValueFileHeader::Decode(contents, "").value();
  header.database_id ^= 1;
  EXPECT_THAT(message(header.Encode() + contents.substr(kValueFileHeaderBytes)), HasSubstr("database id"));
  auto directory = database.memory.OpenDirectory("/db", false);
  ASSERT_OK((*directory)->Remove(names[0]));
  const absl::Status missing = database.Open();
  EXPECT_TRUE(absl::IsDataLoss(missing));
  EXPECT_THAT(std::string(missing.message()), AllOf(HasSubstr(names[0]), HasSubstr(".sst refers to")));
  ASSERT_OK(database.memory.WriteFileContents(path, contents));
  ASSERT_OK(database.Open());
  EXPECT_EQ(Value(db(), "a"), Large("a", 9000));
}

TEST_F(SeparatedValuesTest, TheOptionMayChangeFromOpeningToOpening) {
  ASSERT_OK(db()->Put("a", Large("a")));
  ASSERT_OK(db()->Flush());
  database.options.family.separate_from = 0;
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->Put("b", Large("b")));
  EXPECT_EQ(Files(FileKind::kValues).size(), 1u);
  database.options.family.separate_from = 64;
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->Put("c", Large("c")));
  ASSERT_OK(Compact());
  EXPECT_EQ(Scan(false), "a=ahovcj b=bhovcj c=chovcj ");
  database.options.family.separate_from = 63;
  ASSERT_OK(db()->Close());
  EXPECT_TRUE(absl::IsInvalidArgument(database.Open()));
}

TEST_F(SeparatedValuesTest, OneThatNeverSeparatesHasNoTraceOfIt) {
  database.options.family.separate_from = 0;
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->Put("a", Large("a", 5000)));
  ASSERT_OK(Compact());
  EXPECT_TRUE(Files(FileKind::kValues).empty());
}

TEST_F(SeparatedValuesTest, BatchesTransactionsConditionsAndMergesMeetThem) {
  WriteBatch batch;
  batch.Put("a", Large("a"));
  batch.Put("b", "small");
  batch.Delete("c");
  ASSERT_OK(db()->Write(batch));
  EXPECT_EQ(db()->CompareAndSet(db()->DefaultColumnFamily(), "a", Large("a"), Large("A")).value(), true);
  EXPECT_EQ(db()->CompareAndSet(db()->DefaultColumnFamily(), "a", Large("a"), Large("B")).value(), false);
  auto transaction = db()->BeginTransaction({});
  ASSERT_OK(transaction.status());
  EXPECT_EQ((*transaction)->Get("a").value_or("?"), Large("A"));
  ASSERT_OK((*transaction)->Put("d", Large("d")));
  EXPECT_EQ((*transaction)->Get("d").value_or("?"), Large("d"));
  ASSERT_OK((*transaction)->Commit({}));
  ASSERT_OK(db()->Put("e", Large("e"), {.disable_wal = true}));
  ASSERT_OK(db()->Put("f", Large("f"), {.ttl = std::chrono::hours(1)}));
  ASSERT_OK(db()->SingleDelete("b"));
  EXPECT_EQ(Scan(false), "a=Ahovcj d=dhovcj e=ehovcj f=fhovcj ");
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Scan(true), "f=fhovcj e=ehovcj d=dhovcj a=Ahovcj ");
}

TEST_F(SeparatedValuesTest, OperandsLieOverThem) {
  database.options.family.merge_operator = MergeOperators::Append(",");
  ASSERT_OK(database.Reopen());
  const std::string all = Large("a") + ",x,y";
  ASSERT_OK(db()->Put("a", Large("a")));
  ASSERT_OK(db()->Merge("a", "x"));
  EXPECT_EQ(Value(db(), "a"), Large("a") + ",x");
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->Merge("a", "y"));
  EXPECT_EQ(Value(db(), "a"), all);
  ASSERT_OK(Compact());
  EXPECT_EQ(Value(db(), "a"), all);
  for (const bool backward : {false, true}) EXPECT_EQ(Scan(backward), "a=ahovcj ");
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Value(db(), "a"), all);
}

TEST_F(SeparatedValuesTest, AFilterHidesThemFromReads) {
  database.options.family.compaction_filter = std::make_shared<FirstLetterFilter>();
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->Put("a", Large("a")));
  ASSERT_OK(db()->Put("b", Large("b")));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->SetFilterEpoch(db()->DefaultColumnFamily(), "a"));
  const std::string shown = Scan(false);
  ASSERT_OK(Compact());
  EXPECT_EQ(Scan(false), shown);
}

TEST_F(SeparatedValuesTest, AFullDiskRefusesAWriteAndLeavesNoTraceOfIt) {
  ASSERT_OK(db()->Put("a", Large("a")));
  for (const FileOp op : {FileOp::kAllocate, FileOp::kWriteAt}) {
    database.files.Inject({.fault = Fault::kNoSpace, .op = op, .name_contains = ".val", .sticky = true});
    EXPECT_TRUE(absl::IsResourceExhausted(db()->Put("b", Large("b", 100'000)))) << ToString(op);
    database.files.Clear();
    EXPECT_EQ(Value(db(), "b"), "NOT_FOUND");
  }
  ASSERT_OK(db()->Put("b", Large("b", 100'000)));
  EXPECT_EQ(Value(db(), "b"), Large("b", 100'000));
  ASSERT_OK(database.CrashAndReopen(CrashMode::kKillProcess));
  EXPECT_EQ(Value(db(), "a"), Large("a"));
  EXPECT_EQ(Value(db(), "b"), Large("b", 100'000));
}

TEST_F(SeparatedValuesTest, AFailedSyncOfAFileEndsWritingAndIsNotTrusted) {
  ASSERT_OK(db()->Put("a", Large("a"), {.sync = true}));
  database.files.Inject({.fault = Fault::kIoError, .op = FileOp::kSync, .name_contains = ".val"});
  ASSERT_OK(db()->Put("b", Large("b")));
  EXPECT_FALSE(db()->Sync().ok());
  EXPECT_FALSE(db()->Put("c", Large("c")).ok());
  EXPECT_EQ(Value(db(), "a"), Large("a"));
  // What the page cache has is made durable by the next opening, or is not shown.
  ASSERT_OK(database.CrashAndReopen(CrashMode::kKillProcess));
  const std::string b = Value(db(), "b");
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(Value(db(), "a"), Large("a"));
  EXPECT_EQ(Value(db(), "b"), b);
}

TEST_F(SeparatedValuesTest, WritesThatAreRefusedTakeNoSpace) {
  ASSERT_OK(db()->Put("a", Large("a")));
  const uint64_t before = database.db->statistics().Get(Ticker::kValueBytes);
  EXPECT_EQ(before, 300u);
  EXPECT_EQ(database.db->statistics().Get(Ticker::kBytesWritten), 301u);
  const auto written = [&] { return database.db->statistics().Get(Ticker::kValueBytes) - before; };
  const uint64_t bytes = BytesOf(FileKind::kValues);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(db()->CompareAndSet(db()->DefaultColumnFamily(), "a", "no", Large("b", 1000)).value(), false);
  }
  EXPECT_LE(BytesOf(FileKind::kValues), bytes + 1000);
  EXPECT_EQ(Value(db(), "a"), Large("a"));
  ASSERT_OK(db()->Put("b", Large("c", 500)));
  EXPECT_EQ(Value(db(), "b"), Large("c", 500));
  const uint64_t by_then = written();
  // A database that takes no writes takes no values either.
  database.files.Inject({.fault = Fault::kIoError, .op = FileOp::kSync, .name_contains = ".val"});
  EXPECT_FALSE(db()->Sync().ok());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(db()->Put("c", Large("c")).ok());
  EXPECT_EQ(written(), by_then);
  EXPECT_FALSE(db()->Put("c", Large("c"), {.sync = true, .disable_wal = true}).ok());
  EXPECT_EQ(written(), by_then);
}

TEST_F(SeparatedValuesTest, ACheckpointHasThemAndStandsAlone) {
  for (int i = 0; i < 40; ++i)
    ASSERT_OK(db()->Put(NumberedKey(static_cast<uint64_t>(i)), Large(std::to_string(i), 400)));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->Put("z", Large("z")));
  for (const bool link : {false, true}) {
    const std::string path = link ? "/linked" : "/copied";
    ASSERT_OK(db()->Checkpoint(path, {.link_tables = link, .verify = true}));
  }
  database.memory.Crash(CrashMode::kLoseUnsynced);
  database.db.reset();
  for (const char* path : {"/copied", "/linked"}) {
    Options options = database.options;
    auto copy = Engine::Open(options, database.tuning, path);
    ASSERT_OK(copy.status());
    EXPECT_EQ(Value(copy->get(), NumberedKey(13)), Large("13", 400));
    EXPECT_EQ(Value(copy->get(), "z"), Large("z"));
    EXPECT_OK((*copy)->VerifyChecksums({}));
    ASSERT_OK((*copy)->Put("z", Large("y")));
    EXPECT_EQ(Value(copy->get(), "z"), Large("y"));
  }
}

TEST_F(SeparatedValuesTest, AReadOnlyViewReadsWhatTheLogHas) {
  ASSERT_OK(db()->Put("a", Large("a")));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->Put("b", Large("b")));
  auto view = database.OpenReadOnly();
  ASSERT_OK(view.status());
  EXPECT_EQ(Value(view->get(), "a"), Large("a"));
  EXPECT_EQ(Value(view->get(), "b"), Large("b"));
  ASSERT_OK((*view)->Checkpoint("/of_view", {}));
  auto copy = database.OpenReadOnly("/of_view");
  ASSERT_OK(copy.status());
  EXPECT_EQ(Value(copy->get(), "b"), Large("b"));
}

TEST_F(SeparatedValuesTest, ADroppedFamilyLetsThemGoAndDestroyRemovesAll) {
  auto family = db()->CreateColumnFamily("other", database.options.family);
  ASSERT_OK(family.status());
  for (int i = 0; i < 30; ++i) ASSERT_OK(db()->Put(**family, NumberedKey(static_cast<uint64_t>(i)), Large("a", 500)));
  ASSERT_OK(db()->Flush(**family, {}));
  ASSERT_OK(db()->Put("k", Large("k")));
  const size_t before = Files(FileKind::kValues).size();
  ASSERT_OK(db()->DropColumnFamily(**family));
  family->reset();
  ASSERT_OK(Compact());
  EXPECT_LT(Files(FileKind::kValues).size(), before);
  EXPECT_EQ(Value(db(), "k"), Large("k"));
  database.db.reset();
  ASSERT_OK(DB::Destroy(database.options, "/db"));
  EXPECT_TRUE(FilesIn(&database.memory, "/db").empty());
}

}  // namespace
}  // namespace sepal
