// Puts that expire and whose values lie in value files: what a reader sees of them before and after their time, and
// what keeps their expiry when the value, or the reference to it, is written elsewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "sepal/merge_operator.h"
#include "sepal/transaction.h"
#include "tests/db/engine/write/value_streams_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr int64_t kHourMillis = 3'600'000;

class ExpiringValuesTest : public ValueStreamsTest {
 protected:
  void PutFor(std::string_view key, const std::string& value, int ttl_hours) {
    ASSERT_OK(db()->Put(key, value, {.ttl = hours(ttl_hours)}));
  }
  // Beyond half an hour the clock has to be accepted before jobs act on it.
  void Pass(int64_t millis) {
    database.clock->Jump(millis);
    ASSERT_OK(db()->AcceptClock());
  }
  // What each way of reading says of "k": all of them the same.
  void ExpectEverywhere(const std::string& value) {
    const bool there = value != "NOT_FOUND";
    EXPECT_EQ(Value(db(), "k"), value);
    const std::vector<std::string_view> keys = {"k", "none"};
    EXPECT_EQ(db()->MultiGet(db()->DefaultColumnFamily(), keys, {})[0].value_or("NOT_FOUND"), value);
    EXPECT_EQ(Part("k", 3, 50), there ? value.substr(3, 50) : value);
    for (const bool keys_only : {false, true}) {
      const std::unique_ptr<Iterator> it = db()->NewIterator({.keys_only = keys_only});
      for (const bool backward : {false, true}) {
        backward ? it->SeekToLast() : it->SeekToFirst();
        while (it->Valid() && it->key() != "k") backward ? it->Prev() : it->Next();
        ASSERT_EQ(it->Valid(), there) << keys_only << backward;
        if (there && !keys_only) {
          EXPECT_EQ(it->value(), value) << backward;
        }
        EXPECT_OK(it->status());
      }
    }
    const absl::StatusOr<GetExplanation> explained = db()->ExplainGet(db()->DefaultColumnFamily(), "k");
    ASSERT_OK(explained.status());
    EXPECT_EQ(explained->found, there);
    EXPECT_EQ(explained->expires_at.has_value(), there);
    if (there) {
      EXPECT_EQ(explained->value_bytes, value.size());
    }
  }
};

TEST_F(ExpiringValuesTest, AreReadUntilTheirTimeWhereverTheirKeysLie) {
  const std::string value = Large("k", 400);
  const auto places = {"memory", "a table", "the last level", "after reopening", "after a crash"};
  for (const std::string place : places) {
    SCOPED_TRACE(place);
    ASSERT_OK(db()->Put("a", "before"));
    ASSERT_OK(db()->Put("z", Large("behind")));
    ASSERT_OK(db()->Put("k", Large("older")));
    PutFor("k", value, 10);
    if (place == "a table") {
      ASSERT_OK(db()->Flush());
    }
    if (place == "the last level") {
      ASSERT_OK(Compact());
    }
    if (place == "after reopening") {
      ASSERT_OK(database.Reopen());
    }
    if (place == "after a crash") {
      ASSERT_OK(db()->Sync());
      ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
    }
    ExpectEverywhere(value);
    database.clock->Jump(10 * kHourMillis);
    ExpectEverywhere("NOT_FOUND");
    EXPECT_EQ(Value(db(), "a"), "before");
    EXPECT_EQ(Value(db(), "z"), Large("behind"));
    EXPECT_OK(db()->VerifyChecksums({}));
  }
}

TEST_F(ExpiringValuesTest, AreWrittenToValueFilesByEachWayToPut) {
  const auto in_value_files = [this](std::string_view how) {
    static uint64_t before = 0;
    const uint64_t now = db()->statistics().Get(Ticker::kValueBytes);
    EXPECT_GE(now, before + 300) << how;
    before = now;
  };
  PutFor("k", Large("put"), 1);
  in_value_files("put");
  WriteBatch batch;
  const auto until =
      std::chrono::system_clock::time_point(milliseconds(database.clock->UnixMicros() / 1000)) + hours(1);
  batch.Put("k", Large("batch"), until);
  batch.Put("small", "in its place", until);
  ASSERT_OK(db()->Write(batch));
  in_value_files("batch");
  const absl::StatusOr<std::unique_ptr<Transaction>> transaction = db()->BeginTransaction();
  ASSERT_OK(transaction.status());
  ASSERT_OK((*transaction)->Put("k", Large("transaction"), {.expires_at = until}));
  ASSERT_OK((*transaction)->Commit());
  in_value_files("transaction");
  EXPECT_EQ(Value(db(), "k"), Large("transaction"));
  EXPECT_EQ(Value(db(), "small"), "in its place");
  ColumnFamilyOptions lives = database.options.family;
  lives.ttl = hours(1);
  const auto family = db()->CreateColumnFamily("lives", lives);
  ASSERT_OK(family.status());
  ASSERT_OK(db()->Put(**family, "k", Large("family")));
  in_value_files("a family's time to live");
  ASSERT_OK(PutMade("streamed", 1, 5000, {.ttl = hours(1)}));
  in_value_files("stream");
  ExpectMade("streamed", 1, 5000);
  database.clock->Jump(kHourMillis);
  for (const std::string_view key : {"k", "small", "streamed"}) EXPECT_EQ(Value(db(), key), "NOT_FOUND") << key;
  EXPECT_EQ(Part("streamed", 0, 10), "NOT_FOUND");
  EXPECT_TRUE(absl::IsNotFound(db()->Get(**family, "k").status()));
}

TEST_F(ExpiringValuesTest, GiveTheirSpaceBackOnceTheyHaveExpired) {
  for (uint64_t i = 0; i < 100; ++i) PutFor(NumberedKey(i), Large("v", 500), 1);
  ASSERT_OK(PutMade("streamed", 1, 5000, {.ttl = hours(1)}));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(Compact());
  EXPECT_GT(BytesOf(FileKind::kValues), 50'000u);
  Pass(2 * kHourMillis);
  ASSERT_OK(Compact());
  AwaitFiles(1);
  EXPECT_LE(Files(FileKind::kValues).size(), 1u) << "but for the file that the next values go to";
  EXPECT_EQ(NumberProperty(db(), "sepal.num-entries"), 0u);
}

// The values of a scan are read ahead, and some expire before their turn.
TEST_F(ExpiringValuesTest, AScanThatStandsDoesNotShowWhatExpiresMeanwhile) {
  for (uint64_t i = 0; i < 60; ++i) PutFor(NumberedKey(i), Large("v", 200), i % 3 == 0 ? 1 : 100);
  ASSERT_OK(db()->Flush());
  for (const bool backward : {false, true}) {
    const std::unique_ptr<Iterator> it = db()->NewIterator();
    std::vector<std::string> keys;
    backward ? it->SeekToLast() : it->SeekToFirst();
    for (; it->Valid(); backward ? it->Prev() : it->Next()) {
      if (keys.size() == 20 && !backward) database.clock->Jump(kHourMillis);
      EXPECT_EQ(it->value(), Large("v", 200));
      keys.emplace_back(it->key());
    }
    EXPECT_OK(it->status());
    // Of the first 20 a third would expire, and has been shown; backward all of those have gone.
    EXPECT_EQ(keys.size(), backward ? 40u : 20u + 27u) << backward;
    EXPECT_TRUE(backward ? std::is_sorted(keys.rbegin(), keys.rend()) : std::is_sorted(keys.begin(), keys.end()));
  }
}

TEST_F(ExpiringValuesTest, OperandsBuildOnThemUntilTheirTime) {
  database.options.family.merge_operator = MergeOperators::Append(",");
  ASSERT_OK(database.Reopen());
  PutFor("k", Large("base"), 1);
  ASSERT_OK(db()->Merge("k", "one"));
  ASSERT_OK(db()->Merge("k", "two"));
  for (const bool flushed : {false, true}) {
    if (flushed) {
      ASSERT_OK(Compact());
    }
    EXPECT_EQ(Value(db(), "k"), Large("base") + ",one,two");
    EXPECT_EQ(Scan(/*backward=*/true), "k=" + Large("base").substr(0, 6) + " ");
  }
  database.clock->Jump(kHourMillis);
  EXPECT_EQ(Value(db(), "k"), "one,two");
  EXPECT_EQ(Scan(/*backward=*/false), "k=one,tw ");
  Pass(kHourMillis);
  ASSERT_OK(Compact());
  EXPECT_EQ(Value(db(), "k"), "one,two");
}

TEST_F(ExpiringValuesTest, KeepTheirTimeWhenTheirValuesMove) {
  Random random(3);
  PutFor("k", Large("k", 500), 30);
  for (int i = 0; i < 6000; ++i) PutFor(NumberedKey(random.Uniform(300)), Large(std::to_string(i), 500), 30);
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_GT(db()->statistics().Get(Ticker::kValueBytesMoved), 100'000u);
  ExpectEverywhere(Large("k", 500));
  database.clock->Jump(30 * kHourMillis);
  ExpectEverywhere("NOT_FOUND");
  for (uint64_t i = 0; i < 300; ++i) EXPECT_EQ(Value(db(), NumberedKey(i)), "NOT_FOUND");
}

TEST_F(ExpiringValuesTest, KeepTheirTimeWhenTheyComeBackBesideTheirKeys) {
  database.options.family.last_level_inline_below = 1000;
  ASSERT_OK(database.Reopen());
  PutFor("k", Large("k", 400), 1);
  PutFor("larger", Large("l", 2000), 1);
  ASSERT_OK(db()->Flush());
  const uint64_t beside = BytesOf(FileKind::kTable);
  ASSERT_OK(Compact());
  EXPECT_GT(BytesOf(FileKind::kTable), beside + 300);
  ExpectEverywhere(Large("k", 400));
  database.clock->Jump(kHourMillis);
  ExpectEverywhere("NOT_FOUND");
  EXPECT_EQ(Value(db(), "larger"), "NOT_FOUND");
}

TEST_F(ExpiringValuesTest, SurviveARepairWithoutAManifest) {
  PutFor("k", Large("k", 400), 10);
  PutFor("expired", Large("e", 400), 1);
  ASSERT_OK(db()->Flush());
  PutFor("logged", Large("l", 400), 10);
  ASSERT_OK(db()->Sync());
  ASSERT_OK(database.db->Close());
  database.db.reset();
  const std::unique_ptr<Directory> directory = database.memory.OpenDirectory("/db", false).value();
  for (const std::string& name : FilesIn(&database.memory, "/db")) {
    if (name.starts_with("MANIFEST")) {
      ASSERT_OK(directory->Remove(name));
    }
  }
  ASSERT_OK(RepairTo(nullptr, database.options, "/db"));
  ASSERT_OK(database.Open());
  ExpectEverywhere(Large("k", 400));
  EXPECT_EQ(Value(db(), "logged"), Large("l", 400));
  database.clock->Jump(kHourMillis);
  EXPECT_EQ(Value(db(), "expired"), "NOT_FOUND");
  database.clock->Jump(9 * kHourMillis);
  ExpectEverywhere("NOT_FOUND");
  EXPECT_EQ(Value(db(), "logged"), "NOT_FOUND");
}

TEST_F(ExpiringValuesTest, AreInTheHistoryOfTheirKeyUntilTheirTime) {
  database.options.family.history = hours(100);
  ASSERT_OK(database.Reopen());
  PutFor("k", Large("first"), 1);
  PutFor("k", Large("second"), 5);
  const auto history = [this] {
    std::string text;
    const absl::StatusOr<std::vector<KeyVersion>> versions = db()->History(db()->DefaultColumnFamily(), "k");
    if (!versions.ok()) return versions.status().ToString();
    for (const KeyVersion& version : *versions) {
      text += version.kind == KeyVersion::Kind::kExpired ? "expired " : version.value.substr(0, 5) + " ";
    }
    return text;
  };
  EXPECT_EQ(history(), "secon first ");
  ASSERT_OK(db()->Flush());
  EXPECT_EQ(history(), "secon first ");
  database.clock->Jump(kHourMillis);
  EXPECT_EQ(history(), "secon expired ");
}

// Operands over a value that no compaction takes in stay, so that tables hold several versions of each key for good.
TEST_F(ExpiringValuesTest, ADatabaseAtRestIsNotRewrittenForWhatItCannotDrop) {
  database.options.family.merge_operator = MergeOperators::Append(",");
  database.options.family.max_space_amplification = 1.2;
  ASSERT_OK(database.Reopen());
  for (uint64_t i = 0; i < 200; ++i) {
    if (i % 2 == 0) {
      PutFor(NumberedKey(i), "small", 10);
    } else {
      ASSERT_OK(db()->Put(NumberedKey(i), Large("v")));
    }
  }
  for (uint64_t i = 0; i < 200; ++i) ASSERT_OK(db()->Merge(NumberedKey(i), "operand"));
  ASSERT_OK(Compact());
  const uint64_t compactions = db()->statistics().Get(Ticker::kCompactions);
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_LE(db()->statistics().Get(Ticker::kCompactions), compactions);
  EXPECT_EQ(NumberProperty(db(), "sepal.num-entries"), 400u);
  for (uint64_t i = 0; i < 200; ++i) {
    EXPECT_EQ(Value(db(), NumberedKey(i)), (i % 2 == 0 ? "small" : Large("v")) + ",operand");
  }
}

}  // namespace
}  // namespace sepal
