// Reads as of past moments (sepal/history.h). Their times: history_time_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/db/engine/first_letter_filter.h"
#include "tests/db/engine/read/history_fixture.h"
#include "util/base/random.h"
#include "util/base/unix_time.h"

namespace sepal {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(HistoryTest, AnyPastMomentIsReadFromMemoryFromTablesAndOverOpenings) {
  std::vector<uint64_t> moments;
  for (int i = 0; i < 5; ++i) {
    Put("k", "v" + std::to_string(i));
    moments.push_back(Now());
  }
  ASSERT_OK(db()->Delete("k"));
  moments.push_back(Now());
  const auto expect_all = [&](const char* where) {
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(AsOf("k", moments[i]), "v" + std::to_string(i)) << where;
    EXPECT_EQ(AsOf("k", moments[5]), "NOT_FOUND") << where;
    EXPECT_EQ(AsOf("k", moments[0] - 1), "NOT_FOUND") << where;
    EXPECT_EQ(AsOf("k", kMaxSequenceNumber.value()), "NOT_FOUND") << where;
    EXPECT_THAT(Versions("k"), ElementsAre("deleted", "=v4", "=v3", "=v2", "=v1", "=v0")) << where;
  };
  expect_all("in memory");
  ASSERT_OK(db()->Flush());
  expect_all("flushed");
  CompactAll();
  expect_all("compacted");
  ASSERT_OK(database.Reopen());
  expect_all("opened again");
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  expect_all("after a crash");
  database.options.family.history.reset();
  ASSERT_OK(database.Reopen());
  expect_all("opened without saying so");
}

TEST_F(HistoryTest, AMomentInTheLogIsReadAfterACrash) {
  Put("k", "old");
  const uint64_t old = Now();
  ASSERT_OK(db()->DeleteRange("a", "z"));
  const uint64_t deleted = Now();
  Put("k", "new");
  ASSERT_OK(db()->DeleteRange("b", std::nullopt, {.sync = true}));
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(AsOf("k", old), "old");
  EXPECT_EQ(AsOf("k", deleted), "NOT_FOUND");
  EXPECT_EQ(AsOf("k", deleted + 1), "new");
  EXPECT_THAT(Versions("k"), ElementsAre("deleted", "=new", "deleted", "=old"));
}

TEST_F(HistoryTest, EveryCallThatReadsHonoursAMoment) {
  Put("a", "1");
  Put("b", "1");
  const uint64_t moment = Now();
  Put("a", "2");
  ASSERT_OK(db()->Delete("b"));
  Put("c", "2");
  const ReadOptions then{.as_of_sequence = moment};
  const std::vector<std::string_view> keys = {"a", "b", "c"};
  const auto values = db()->MultiGet(keys, then);
  EXPECT_EQ(*values[0], "1");
  EXPECT_EQ(*values[1], "1");
  EXPECT_TRUE(absl::IsNotFound(values[2].status()));
  EXPECT_THAT(ReadAll(db()->NewIterator(then).get()), ElementsAre(std::pair<std::string, std::string>("a", "1"),
                                                                  std::pair<std::string, std::string>("b", "1")));
  EXPECT_TRUE(db()->KeyMayExist("b", then));
  EXPECT_FALSE(db()->KeyMayExist("c", then));
  char buffer[4];
  const absl::StatusOr<ValuePart> part = db()->ReadValue("b", 0, buffer, then);
  ASSERT_OK(part.status());
  EXPECT_EQ(std::string_view(buffer, part->copied), "1");
  const absl::StatusOr<GetExplanation> explained = db()->ExplainGet("b", then);
  ASSERT_OK(explained.status());
  EXPECT_TRUE(explained->found);
  const absl::StatusOr<filters::BloomFilter> filter = db()->ExportFilter({}, then);
  ASSERT_OK(filter.status());
  EXPECT_TRUE(filter->MayContain("b"));
  int scanned = 0;
  for (const auto& entry : db()->Scan(then)) scanned += entry.value == "1" ? 1 : 100;
  EXPECT_EQ(scanned, 2);
}

TEST_F(HistoryTest, AReadIsAsOfOneMoment) {
  Put("k", "v");
  const std::shared_ptr<const Snapshot> snapshot = db()->GetSnapshot();
  EXPECT_EQ(Value(db(), "k", {.snapshot = snapshot.get(), .as_of_sequence = 1}), "INVALID_ARGUMENT");
  EXPECT_EQ(Value(db(), "k", {.snapshot = snapshot.get(), .as_of_time = Time()}), "INVALID_ARGUMENT");
  EXPECT_EQ(Value(db(), "k", {.as_of_sequence = 1, .as_of_time = Time()}), "INVALID_ARGUMENT");
  EXPECT_TRUE(absl::IsInvalidArgument(db()->NewIterator({.snapshot = snapshot.get(), .as_of_sequence = 1})->status()));
  const absl::StatusOr<std::unique_ptr<Transaction>> transaction = db()->BeginTransaction();
  ASSERT_OK(transaction.status());
  EXPECT_TRUE(absl::IsInvalidArgument((*transaction)->Get("k", {.as_of_sequence = 1}).status()));
}

TEST_F(HistoryTest, AFamilyWithoutHistorySaysHowToGetOne) {
  const auto family = db()->CreateColumnFamily("plain");
  ASSERT_OK(family.status());
  const absl::Status refused = db()->Get(**family, "k", {.as_of_sequence = 1}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("ColumnFamilyOptions::history"));
  EXPECT_TRUE(absl::IsFailedPrecondition(db()->History(**family, "k").status()));
  EXPECT_EQ(db()->GetProperty(**family, "sepal.history"), "");
}

// The marks that were made meanwhile are ahead, too.
// Between the two, things were written of which no mark tells.
TEST_F(HistoryTest, AReadHoldsWhatItSees) {
  for (int i = 0; i < 50; ++i) Put(NumberedKey(static_cast<uint64_t>(i)), "old");
  const uint64_t moment = Now();
  Wait(10 * kSecondMillis);
  for (int i = 0; i < 50; ++i) Put(NumberedKey(static_cast<uint64_t>(i)), "new");
  const std::unique_ptr<Iterator> old = db()->NewIterator({.as_of_sequence = moment});
  Wait(2 * kHourMillis);
  Put("z", "v");
  CompactAll();
  EXPECT_EQ(AsOf("z", moment), "OUT_OF_RANGE");
  int seen = 0;
  for (old->SeekToFirst(); old->Valid(); old->Next()) seen += old->value() == "old" ? 1 : 1000;
  EXPECT_EQ(seen, 50);
  ASSERT_OK(old->status());
}

TEST_F(HistoryTest, HotKeysKeepTheirVersions) {
  std::vector<uint64_t> moments;
  for (int i = 0; i < 3000; ++i) {
    Put("hot", std::string(40, static_cast<char>('a' + i % 26)) + std::to_string(i));
    if (i % 100 == 0) moments.push_back(Now());
  }
  for (size_t i = 0; i < moments.size(); ++i) {
    EXPECT_THAT(AsOf("hot", moments[i]), ::testing::EndsWith(std::to_string(i * 100)));
  }
}

TEST_F(HistoryTest, MergesAreNotFoldedAcrossVersions) {
  Put("k", "a");
  std::vector<uint64_t> moments = {Now()};
  std::vector<std::string> wanted = {"a"};
  for (int i = 0; i < 6; ++i) {
    ASSERT_OK(db()->Merge("k", std::to_string(i)));
    moments.push_back(Now());
    wanted.push_back(wanted.back() + "," + std::to_string(i));
    if (i == 2) ASSERT_OK(db()->Flush());
  }
  const auto expect_all = [&] {
    for (size_t i = 0; i < moments.size(); ++i) EXPECT_EQ(AsOf("k", moments[i]), wanted[i]);
  };
  expect_all();
  CompactAll();
  expect_all();
  ASSERT_OK(database.Reopen());
  expect_all();
  EXPECT_EQ(Versions("k").size(), 7u);
}

TEST_F(HistoryTest, WhatHasExpiredIsReturnedAsOfNoMoment) {
  ASSERT_OK(db()->Put("k", "brief", {.ttl = milliseconds(kSecondMillis)}));
  const uint64_t moment = Now();
  EXPECT_EQ(AsOf("k", moment), "brief");
  Wait(2 * kSecondMillis);
  EXPECT_EQ(AsOf("k", moment), "NOT_FOUND");
  EXPECT_THAT(Versions("k"), ElementsAre("expired"));
}

TEST_F(HistoryTest, ValuesInFilesAreKept) {
  database.options.family.separate_from = 64;
  ASSERT_OK(database.Reopen());
  std::vector<uint64_t> moments;
  for (int i = 0; i < 20; ++i) {
    for (uint64_t key = 0; key < 20; ++key) {
      ASSERT_OK(db()->Put(NumberedKey(key), std::to_string(i) + std::string(200, 'x')));
    }
    moments.push_back(Now());
    if (i % 4 == 0) ASSERT_OK(db()->Flush());
  }
  CompactAll();
  for (size_t i = 0; i < moments.size(); ++i) {
    EXPECT_EQ(AsOf(NumberedKey(7), moments[i]), std::to_string(i) + std::string(200, 'x'));
  }
  EXPECT_EQ(Versions(NumberedKey(7)).size(), 20u);
}

TEST_F(HistoryTest, AFilterIsAskedWithTheEpochOfTheMoment) {
  Options options = database.options;
  options.family.merge_operator = nullptr;
  options.family.compaction_filter = std::make_shared<FirstLetterFilter>();
  const absl::StatusOr<std::shared_ptr<ColumnFamily>> family = db()->CreateColumnFamily("filtered", options.family);
  ASSERT_OK(family.status());
  const auto as_of = [&](uint64_t sequence) {
    return db()->Get(**family, "k", {.as_of_sequence = sequence}).value_or("absent");
  };
  ASSERT_OK(db()->Put(**family, "k", "x1"));
  const uint64_t before = Now();
  ASSERT_OK(db()->SetFilterEpoch(**family, "x"));
  const uint64_t after = Now();
  ASSERT_OK(db()->SetFilterEpoch(**family, "xy"));
  ASSERT_OK(db()->SetFilterEpoch(**family, "xyz"));
  EXPECT_EQ(as_of(before), "x1");
  EXPECT_EQ(as_of(after), "absent");
  ASSERT_OK(db()->CompactRange(**family));
  EXPECT_EQ(as_of(before), "x1");
  EXPECT_EQ(as_of(after), "absent");
}

TEST_F(HistoryTest, AFamilyWithHistoryHasNoContextFilter) {
  class NoFactory final : public ContextFilterFactory {
   public:
    std::unique_ptr<ContextFilter> Create(const FilterContext&) const override { return nullptr; }
  };
  database.options.family.context_filter = std::make_shared<NoFactory>();
  EXPECT_TRUE(absl::IsInvalidArgument(database.Reopen()));
  database.options.family.history.reset();  // the database keeps it
  EXPECT_TRUE(absl::IsInvalidArgument(database.Open()));
  database.options.family.history = milliseconds(0);
  EXPECT_OK(database.Open());
}

TEST_F(HistoryTest, AHistoryBeginsWithTheOpeningThatGivesIt) {
  database.options.family.history = milliseconds(0);
  ASSERT_OK(database.Reopen());
  Put("k", "first");
  const uint64_t first = Now();
  Put("k", "second");
  const uint64_t second = Now();
  EXPECT_EQ(AsOf("k", first), "FAILED_PRECONDITION");
  database.options.family.history = milliseconds(kHourMillis);
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(AsOf("k", first), "OUT_OF_RANGE");
  EXPECT_EQ(AsOf("k", second), "second");
  EXPECT_TRUE(absl::IsInvalidArgument([&] {
    database.options.family.history = milliseconds(-1);
    return database.Reopen();
  }()));
}

// Nothing that was written after the time is ever shown, and what is missing was written within the second before it.
TEST_F(HistoryTest, AReaderBesideTheWriterReadsThePast) {
  Put("k", "old");
  const uint64_t old = Now();
  Wait(2 * kSecondMillis);
  const auto time = Time();
  Wait(2 * kSecondMillis);
  Put("k", "new");
  const auto reader = database.OpenReadOnly();
  ASSERT_OK(reader.status());
  EXPECT_EQ(Value(reader->get(), "k", {.as_of_sequence = old}), "old");
  EXPECT_EQ(Value(reader->get(), "k", {.as_of_time = time}), "old");
  Wait(2 * kSecondMillis);
  const auto later = Time();
  Put("k", "newest");
  CompactAll();
  ASSERT_OK((*reader)->CatchUp());
  EXPECT_EQ(Value(reader->get(), "k", {.as_of_time = time}), "old");
  EXPECT_EQ(Value(reader->get(), "k", {.as_of_time = later}), "new");
  EXPECT_EQ((*reader)->History("k").value().size(), 3u);
  Wait(2 * kHourMillis);
  Put("k", "last");
  CompactAll();
  ASSERT_OK((*reader)->CatchUp());
  EXPECT_EQ(Value(reader->get(), "k", {.as_of_sequence = old}), "OUT_OF_RANGE");
  // It forgets the marks that nobody needs, as the writer does.
  EXPECT_THAT((*reader)->GetProperty("sepal.history").value(), HasSubstr("time marks: 2"));
}

TEST_F(HistoryTest, ACheckpointHasTheHistory) {
  Put("k", "old");
  const uint64_t old = Now();
  Wait(2 * kSecondMillis);
  const auto time = Time();
  Put("k", "newer");
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->DeleteRange("a", "z"));
  Put("k", "newest");
  ASSERT_OK(db()->Checkpoint("/checkpoint"));
  const absl::StatusOr<std::unique_ptr<DB>> copy = Engine::Open(database.options, database.tuning, "/checkpoint");
  ASSERT_OK(copy.status());
  EXPECT_EQ(Value(copy->get(), "k", {.as_of_sequence = old}), "old");
  EXPECT_EQ(Value(copy->get(), "k", {.as_of_time = time}), "old");
  EXPECT_EQ((*copy)->History("k").value().size(), 4u);
}

TEST_F(HistoryTest, NamedSnapshotsAndTransactionsGoOnWorking) {
  Put("k", "named");
  ASSERT_OK(db()->CreateSnapshot("s").status());
  Wait(10 * kSecondMillis);
  Put("k", "second");
  const absl::StatusOr<std::unique_ptr<Transaction>> transaction = db()->BeginTransaction();
  ASSERT_OK(transaction.status());
  EXPECT_EQ((*transaction)->Get("k").value(), "second");
  ASSERT_OK((*transaction)->Put("k", "mine"));
  Wait(2 * kHourMillis);
  Put("k", "third");
  CompactAll();
  EXPECT_EQ(Value(db(), "k", {.snapshot = db()->FindSnapshot("s")->get()}), "named");
  EXPECT_TRUE(absl::IsAborted((*transaction)->Commit()));
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Value(db(), "k", {.snapshot = db()->FindSnapshot("s")->get()}), "named");
}

TEST_F(HistoryTest, ARepairWithTheManifestKeepsTheHistory) {
  Put("k", "old");
  const uint64_t old = Now();
  Put("k", "new");
  ASSERT_OK(db()->Flush());
  Put("k", "newest");
  ASSERT_OK(db()->DeleteRange("a", "z"));
  ASSERT_OK(db()->Close());
  database.db.reset();
  // A damaged file that nobody needs has it repair.
  ASSERT_OK(RepairTo(nullptr, database.options, database.path));
  ASSERT_OK(database.Open());
  EXPECT_EQ(AsOf("k", old), "old");
  EXPECT_EQ(AsOf("k", old + 1), "new");
}

TEST_F(HistoryTest, ARepairWithoutTheManifestBeginsTheHistoryAnew) {
  Put("k", "old");
  const uint64_t old = Now();
  Put("k", "new");
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->Close());
  database.db.reset();
  for (const std::string& name : FilesIn(&database.files, database.path)) {
    if (name.starts_with("MANIFEST")) {
      auto directory = database.files.OpenDirectory(database.path, false);
      ASSERT_OK(directory.status());
      ASSERT_OK((*directory)->Remove(name));
    }
  }
  RepairReport report;
  ASSERT_OK(RepairTo(&report, database.options, database.path));
  ASSERT_OK(database.Open());
  EXPECT_EQ(AsOf("k", old), "OUT_OF_RANGE");
  EXPECT_EQ(Value(db(), "k"), "new");
}

std::vector<uint64_t> SequencesOf(const absl::StatusOr<std::vector<KeyVersion>>& versions) {
  EXPECT_OK(versions.status());
  std::vector<uint64_t> sequences;
  for (const KeyVersion& version : *versions) sequences.push_back(version.sequence);
  return sequences;
}

// In parts of any size it is the same as whole: with operands, deletes of the key and of ranges, and what is older than
// the history.
TEST_F(HistoryTest, VersionsAreReadInParts) {
  Put("k", "before");
  ASSERT_OK(db()->Merge("k", "more"));
  CompactAll();
  Wait(2 * kHourMillis);
  Put("x", "1");
  Wait(2 * kHourMillis);
  for (int round = 0; round < 3; ++round) {
    ASSERT_OK(db()->Merge("k", std::to_string(round)));
    ASSERT_OK(db()->DeleteRange("a", "z"));
    Put("k", "put");
    ASSERT_OK(db()->Delete("k"));
    ASSERT_OK(db()->Merge("k", "after"));
    if (round == 1) CompactAll();
    const std::vector<uint64_t> whole = SequencesOf(db()->History("k"));
    ASSERT_GE(whole.size(), 4u);
    for (size_t limit = 1; limit <= whole.size() + 1; ++limit) {
      std::vector<uint64_t> parts;
      HistoryOptions options{.limit = limit};
      for (;;) {
        const std::vector<uint64_t> part = SequencesOf(db()->History("k", options));
        ASSERT_LE(part.size(), limit);
        parts.insert(parts.end(), part.begin(), part.end());
        if (part.size() < limit) break;
        options.below_sequence = part.back();
      }
      ASSERT_EQ(parts, whole) << "by " << limit;
    }
  }
  EXPECT_TRUE(SequencesOf(db()->History("k", {.limit = 0})).empty());
  EXPECT_TRUE(SequencesOf(db()->History("k", {.below_sequence = 0})).empty());
}

TEST_F(HistoryTest, APropertyTellsWhetherTheClockIsTrusted) {
  const auto clock = [&] {
    const std::string text = db()->GetProperty("sepal.history").value();
    const size_t at = text.find("clock: ");
    return text.substr(at, text.find('\n', at) - at);
  };
  Put("k", "1");
  EXPECT_EQ(clock(), "clock: trusted");
  database.clock->Jump(3 * kHourMillis);
  Wait(2 * kSecondMillis);
  Put("k", "2");
  EXPECT_THAT(clock(), ::testing::HasSubstr("ahead of the time that has passed for certain"));
  database.clock->Jump(-3 * kHourMillis);
  EXPECT_THAT(clock(), ::testing::HasSubstr("ms behind the newest mark"));
  ASSERT_OK(db()->AcceptClock());
  EXPECT_EQ(clock(), "clock: trusted");
}

}  // namespace
}  // namespace sepal
