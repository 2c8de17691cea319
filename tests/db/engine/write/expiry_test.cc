// Puts that expire: first use, times, clocks that jump, and crashes. What they mean is in tests/scripts/expiry.txt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "db/format/version_edit.h"
#include "sepal/merge_operator.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

// Where simulated time begins.
constexpr int64_t kBegin = 1'700'000'000'000;
constexpr int64_t kMinute = 60'000;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kYear = 365 * 24 * kHour;

// The manifest's records, as text.
std::string ManifestText(TestDatabase* database) {
  std::string text;
  for (const std::string& name : FilesIn(&database->memory, database->path)) {
    if (name.starts_with("MANIFEST")) text += database->memory.ReadFileContents(database->path + "/" + name).value();
  }
  return text;
}

class ExpiringPutTest : public ::testing::Test {
 protected:
  DB* db() { return database.db.get(); }
  void Jump(int64_t millis) { database.clock->Jump(millis); }
  absl::Status PutFor(std::string_view key, std::string_view value, int64_t ttl_millis) {
    return db()->Put(key, value, {.ttl = milliseconds(ttl_millis)});
  }
  // "absent" where it is.
  std::string Read(std::string_view key, const ReadOptions& options = {}) {
    const absl::StatusOr<std::string> value = db()->Get(key, options);
    if (absl::IsNotFound(value.status())) return "absent";
    EXPECT_OK(value.status());
    return value.value_or("failed");
  }
  uint64_t EntriesInTables() { return NumberProperty(db(), "sepal.num-entries"); }
  // "k" would live for a year, lies in a table, and the clock goes ten years ahead.
  void OpenPutFlushAndJump() {
    ASSERT_OK(database.Open());
    ASSERT_OK(PutFor("k", "v", kYear));
    ASSERT_OK(db()->Flush());
    Jump(10 * kYear);
  }
  std::string Clock() { return db()->GetProperty("sepal.clock").value(); }
  // All writing and merging is done.
  void Compact() {
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->CompactRange());
  }

  TestDatabase database;
};

TEST_F(ExpiringPutTest, TimesThatArePastNotPositiveOrTooLateAreRefused) {
  ASSERT_OK(database.Open());
  Jump(kYear);
  const auto refused = [](const absl::Status& status, std::string_view why) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_NE(status.ToString().find(why), std::string::npos) << status;
  };
  refused(PutFor("k", "v", 0), "not positive");
  refused(PutFor("k", "v", -1), "not positive");
  refused(PutFor("k", "v", int64_t{1} << 48), "beyond what the format has");
  refused(PutFor("k", "v", INT64_MAX), "beyond what the format has");
  const std::chrono::system_clock::time_point past(milliseconds(kBegin + kYear - 1));
  refused(db()->Put("k", "v", {.expires_at = past}), "has passed");
  refused(db()->Put("k", "v", {.ttl = milliseconds(5), .expires_at = past}), "give one");
  WriteBatch batch;
  batch.Put("other", "v");
  batch.Put("k", "v", past);
  refused(db()->Write(batch), "has passed");
  refused(db()->Delete("k", {.ttl = milliseconds(5)}), "for DB::Put alone");
  refused(db()->Write(WriteBatch(), {.ttl = milliseconds(5)}), "for DB::Put alone");
  EXPECT_EQ(Read("k"), "absent");
  EXPECT_EQ(Read("other"), "absent") << "the whole batch is refused";
  EXPECT_OK(db()->Put("k", "v", {.expires_at = past + milliseconds(kMinute)}));
  EXPECT_EQ(Read("k"), "v");
}

TEST_F(ExpiringPutTest, AnIteratorThatStandsKeepsWhatItShowsAndSeesTheRestExpire) {
  ASSERT_OK(database.Open());
  ASSERT_OK(PutFor("a", "1", kMinute));
  ASSERT_OK(PutFor("b", "2", kMinute));
  ASSERT_OK(db()->Put("c", "3"));
  const std::unique_ptr<Iterator> it = db()->NewIterator();
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->value(), "1");
  Jump(kMinute);
  EXPECT_EQ(it->value(), "1");
  it->Next();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), "c");
  it->Prev();
  EXPECT_FALSE(it->Valid());
  EXPECT_OK(it->status());
}

TEST_F(ExpiringPutTest, SnapshotsSeeThemExpireToo) {
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("k", "old"));
  ASSERT_OK(PutFor("k", "new", kMinute));
  const std::shared_ptr<const Snapshot> snapshot = db()->GetSnapshot();
  ASSERT_OK(db()->Put("k", "newest"));
  EXPECT_EQ(Read("k", {.snapshot = snapshot.get()}), "new");
  Jump(kMinute);
  EXPECT_EQ(Read("k", {.snapshot = snapshot.get()}), "absent");
  Compact();
  EXPECT_EQ(Read("k", {.snapshot = snapshot.get()}), "absent");
  EXPECT_EQ(Read("k"), "newest");
}

TEST_F(ExpiringPutTest, CompactionsGiveTheSpaceBack) {
  ASSERT_OK(database.Open());
  for (int i = 0; i < 200; ++i) ASSERT_OK(PutFor("k" + std::to_string(i), "v", kMinute));
  ASSERT_OK(db()->Put("stays", "v"));
  Compact();
  EXPECT_EQ(EntriesInTables(), 201);
  Jump(kMinute);
  ASSERT_OK(db()->Put("stays", "w"));
  Compact();
  EXPECT_EQ(EntriesInTables(), 1);
  EXPECT_EQ(Read("stays"), "w");
}

TEST_F(ExpiringPutTest, TablesOfWhichAllHasExpiredGoUnread) {
  ASSERT_OK(database.Open());
  for (int i = 0; i < 200; ++i) ASSERT_OK(PutFor("k" + std::to_string(i), "v", kMinute + i));
  Compact();
  ASSERT_OK(db()->WaitForBackgroundWork());
  const uint64_t read = db()->statistics().Get(Ticker::kCompactionReadBytes);
  Jump(kMinute + 198);
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(EntriesInTables(), 200u) << "one is still there";
  Jump(1);
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(EntriesInTables(), 0u);
  EXPECT_EQ(db()->statistics().Get(Ticker::kCompactionReadBytes), read);
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Read("k7"), "absent");
}

TEST_F(ExpiringPutTest, WhatAnExpiredTableHidesStaysHidden) {
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("k", "older"));
  Compact();
  ASSERT_OK(PutFor("k", "v", kMinute));
  ASSERT_OK(db()->Flush());
  Jump(kMinute);
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(Read("k"), "absent");
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Read("k"), "absent");
}

TEST_F(ExpiringPutTest, NoTableIsDroppedBeforeAJumpIsBelieved) {
  OpenPutFlushAndJump();
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(Read("k"), "absent");
  EXPECT_EQ(EntriesInTables(), 1u);
}

// A clock that a machine got wrong by years, and that is set right minutes later.
TEST_F(ExpiringPutTest, AClockThatJumpsHidesAtOnceAndDestroysNothing) {
  OpenPutFlushAndJump();
  EXPECT_EQ(Read("k"), "absent");
  ASSERT_OK(db()->Put("other", "v"));
  Compact();
  EXPECT_EQ(EntriesInTables(), 2) << "what has expired by that clock alone is kept";
  Jump(-10 * kYear);
  EXPECT_EQ(Read("k"), "absent") << "time does not go back";
  Compact();
  EXPECT_EQ(EntriesInTables(), 2);
}

TEST_F(ExpiringPutTest, AJumpThatStandsForTenMinutesIsBelieved) {
  OpenPutFlushAndJump();
  ASSERT_OK(db()->Put("other", "v"));
  Compact();
  EXPECT_EQ(EntriesInTables(), 2);
  database.world->SleepMicros(uint64_t{11} * 60 * 1'000'000);
  ASSERT_OK(db()->Put("other", "w"));
  Compact();
  EXPECT_EQ(EntriesInTables(), 1);
}

TEST_F(ExpiringPutTest, AJumpThatIsAcceptedIsBelievedAtOnce) {
  OpenPutFlushAndJump();
  EXPECT_THAT(Clock(), HasSubstr("removals wait"));
  ASSERT_OK(db()->AcceptClock());
  EXPECT_THAT(Clock(), Not(HasSubstr("removals wait")));
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(EntriesInTables(), 0u);
}

TEST_F(ExpiringPutTest, OfAClockThatWasSetRightTimeGoesBackWhereItIsAccepted) {
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("k", "old"));
  ASSERT_OK(PutFor("k", "v", kYear));
  ASSERT_OK(db()->Flush());
  Jump(10 * kYear);
  EXPECT_EQ(Read("k"), "absent");
  Compact();
  Jump(-10 * kYear);
  EXPECT_THAT(Clock(), HasSubstr("set back"));
  ASSERT_OK(db()->AcceptClock());
  EXPECT_THAT(Clock(), Not(HasSubstr("set back")));
  EXPECT_EQ(Read("k"), "v");
  // Durably, and from there on as ever.
  ASSERT_OK(db()->Close());
  ASSERT_OK(database.Open());
  EXPECT_EQ(Read("k"), "v");
  Jump(kYear);
  EXPECT_EQ(Read("k"), "absent");
  Jump(-kYear);
  EXPECT_EQ(Read("k"), "absent");
}

TEST_F(ExpiringPutTest, AnAcceptedClockSurvivesALossOfPower) {
  OpenPutFlushAndJump();
  EXPECT_EQ(Read("k"), "absent");
  ASSERT_OK(db()->Put("other", "v"));
  ASSERT_OK(db()->Flush());  // keeps the wrong time
  Jump(-10 * kYear);
  ASSERT_OK(db()->AcceptClock());
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(Read("k"), "v");
}

// After a wrong clock was believed for long, what it removed is gone, and what it did not is there again.
TEST_F(ExpiringPutTest, WhatAWrongClockRemovedStaysRemovedWhenTheRightOneIsAccepted) {
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("removed", "old"));
  ASSERT_OK(PutFor("removed", "v", kYear));
  ASSERT_OK(db()->Flush());
  Jump(10 * kYear);
  ASSERT_OK(db()->AcceptClock());
  Compact();
  Jump(-10 * kYear);
  ASSERT_OK(PutFor("late", "v", 11 * kYear));  // from the time that stands
  ASSERT_OK(db()->AcceptClock());
  EXPECT_EQ(Read("removed"), "absent") << "never what was older";
  ASSERT_OK(PutFor("k", "v", kMinute));
  EXPECT_EQ(Read("k"), "v");
  Jump(kMinute);
  EXPECT_EQ(Read("k"), "absent") << "by the accepted clock";
  EXPECT_EQ(Read("late"), "v");
}

TEST_F(ExpiringPutTest, AcceptingTheClockIsAWriteAndDoesNothingWhereNothingExpires) {
  ASSERT_OK(database.Open());
  const std::string before = ManifestText(&database);
  ASSERT_OK(db()->AcceptClock());
  EXPECT_EQ(ManifestText(&database), before);
  const auto reader = database.OpenReadOnly();
  ASSERT_OK(reader.status());
  EXPECT_TRUE(absl::IsFailedPrecondition((*reader)->AcceptClock()));
  ASSERT_OK(db()->Close());
  EXPECT_TRUE(absl::IsFailedPrecondition(db()->AcceptClock()));
}

TEST_F(ExpiringPutTest, TimeDoesNotGoBackOverAnOpening) {
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("k", "old"));
  ASSERT_OK(PutFor("k", "v", kMinute));
  Jump(kMinute);
  EXPECT_EQ(Read("k"), "absent");
  ASSERT_OK(db()->Close());
  Jump(-kMinute);
  ASSERT_OK(database.Open());
  EXPECT_EQ(Read("k"), "absent");
  const auto reader = database.OpenReadOnly();
  ASSERT_OK(reader.status());
  EXPECT_TRUE(absl::IsNotFound((*reader)->Get("k").status()));
  ASSERT_OK(PutFor("k", "again", 1));  // from the time that stands
  EXPECT_EQ(Read("k"), "again");
}

TEST_F(ExpiringPutTest, TheFirstUseIsInTheManifestBeforeItIsInTheLog) {
  VersionEdit feature;
  feature.features |= Feature::kExpiry;
  const std::string bytes = feature.Encode();
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("plain", "v", {.sync = true}));
  EXPECT_EQ(ManifestText(&database).find(bytes), std::string::npos);
  ASSERT_OK(PutFor("k", "v", kMinute));
  EXPECT_NE(ManifestText(&database).find(bytes), std::string::npos);
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_NE(ManifestText(&database).find(bytes), std::string::npos) << "and in each that follows";
}

TEST_F(ExpiringPutTest, AFamilyKeepsItsTimeToLive) {
  database.options.family.ttl = milliseconds(kMinute);
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("k", "v"));
  database.options.family.ttl = milliseconds(0);
  ASSERT_OK(database.Reopen());  // it need not be said again
  ASSERT_OK(db()->Put("l", "v"));
  ASSERT_OK(db()->Close());
  database.options.family.ttl = milliseconds(2 * kMinute);
  const absl::Status other = database.Open();
  EXPECT_TRUE(absl::IsInvalidArgument(other)) << other;
  EXPECT_NE(other.ToString().find("has a ttl of 60000 ms, not 120000 ms"), std::string::npos) << other;
  database.options.family.ttl = milliseconds(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(database.Open()));
  database.options.family.ttl = milliseconds(kMinute);
  ASSERT_OK(database.Open());
  Jump(kMinute);
  EXPECT_EQ(Read("k"), "absent");
  EXPECT_EQ(Read("l"), "absent");
}

TEST_F(ExpiringPutTest, ACheckpointExpiresAsTheDatabaseDoes) {
  ASSERT_OK(database.Open());
  ASSERT_OK(PutFor("k", "v", kMinute));
  ASSERT_OK(db()->Checkpoint("/copy", {}));
  const auto before = database.OpenReadOnly("/copy");
  ASSERT_OK(before.status());
  EXPECT_EQ((*before)->Get("k").value_or("?"), "v");
  Jump(kMinute);
  EXPECT_TRUE(absl::IsNotFound((*before)->Get("k").status()));
}

TEST_F(ExpiringPutTest, ExplainSaysThatAKeyHasExpired) {
  ASSERT_OK(database.Open());
  ASSERT_OK(PutFor("k", "value", kMinute));
  ASSERT_OK(db()->Flush());
  const GetExplanation there = db()->ExplainGet("k").value();
  EXPECT_TRUE(there.found && there.expires);
  EXPECT_EQ(there.expires_at, std::chrono::system_clock::time_point(milliseconds(kBegin + kMinute)));
  EXPECT_EQ(there.value_bytes, 5);
  Jump(kMinute);
  const GetExplanation gone = db()->ExplainGet("k").value();
  EXPECT_FALSE(gone.found || gone.expires_at.has_value());
  EXPECT_EQ(gone.sources.back().answer, ExplainedSource::Answer::kExpired);
}

TEST_F(ExpiringPutTest, AMergeOverAValueThatExpiresIsNotMadeAValue) {
  database.options.family.merge_operator = MergeOperators::Append("+");
  ASSERT_OK(database.Open());
  ASSERT_OK(PutFor("k", "base", kMinute));
  ASSERT_OK(db()->Merge("k", "x"));
  EXPECT_EQ(Read("k"), "base+x");
  Compact();
  EXPECT_EQ(Read("k"), "base+x");
  Jump(kMinute);
  EXPECT_EQ(Read("k"), "x");
  ASSERT_OK(db()->Merge("k", "y"));
  Compact();
  EXPECT_EQ(Read("k"), "x+y");
}

// Random writes, flushes, compactions, openings and losses of power under a clock that jumps at each of them, forward
// and back. `low` and `high` bound what the database took for now: a key is there before its time, and not from then
// on. Only a loss of power may take the database's time back, to its last edit.
TEST_F(ExpiringPutTest, UnderAClockThatJumpsAllTheTimeReadersSeeWhatHasNotExpired) {
  struct LastPut {
    std::string value;
    int64_t expiry = INT64_MAX;
  };
  int expired = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    TestDatabase jumping(Threads::kSimulated, seed);
    ASSERT_OK(jumping.Open());
    Random random(seed);
    const auto wall = [&] { return static_cast<int64_t>(jumping.clock->UnixMicros() / 1000); };
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random.Uniform(static_cast<uint64_t>(n))); };
    const auto key_of = [&] { return "k" + std::to_string(random.Uniform(30)); };
    ASSERT_OK(jumping.db->Put("tick", "", {.sync = true, .ttl = milliseconds(100 * kYear)}));
    std::map<std::string, LastPut> model;
    int64_t low = 0, high = 0;
    for (int step = 0; step < 300; ++step) {
      const int64_t back = std::min<int64_t>(wall(), 20 * kMinute);
      jumping.clock->Jump(random.OneIn(3) ? -below(back + 1) : below(20 * kMinute));
      low = std::max(low, wall());
      ASSERT_OK(jumping.db->Get("tick").status());
      high = std::max(high, wall());
      const std::string key = key_of();
      switch (random.Uniform(10)) {
        case 0:
          model[key] = {"plain" + std::to_string(step), INT64_MAX};
          ASSERT_OK(jumping.db->Put(key, model[key].value, {.sync = true}));
          break;
        case 1:
          model.erase(key);
          ASSERT_OK(jumping.db->Delete(key, {.sync = true}));
          break;
        case 2:
          ASSERT_OK(jumping.db->Flush());
          break;
        case 3:
          ASSERT_OK(jumping.db->CompactRange());
          break;
        case 4:
          if (random.OneIn(4)) ASSERT_OK(jumping.Reopen());
          break;
        case 5:
          if (!random.OneIn(4)) break;
          ASSERT_OK(jumping.CrashAndReopen(CrashMode::kLoseUnsynced));
          low = 0;
          break;
        default: {
          const LastPut put{"v" + std::to_string(step), high + kMinute + below(40 * kMinute)};
          const std::chrono::system_clock::time_point at(milliseconds(put.expiry));
          ASSERT_OK(jumping.db->Put(key, put.value, {.sync = true, .expires_at = at}));
          model[key] = put;
        }
      }
      for (int probes = 0; probes < 3; ++probes) {
        const std::string probe = key_of();
        const absl::StatusOr<std::string> got = jumping.db->Get(probe);
        high = std::max(high, wall());
        const auto it = model.find(probe);
        if (it == model.end() || it->second.expiry <= low) {
          expired += it == model.end() ? 0 : 1;
          ASSERT_TRUE(absl::IsNotFound(got.status())) << seed << " " << step << " " << probe;
        } else if (it->second.expiry > high) {
          ASSERT_EQ(got.value_or("absent"), it->second.value) << seed << " " << step << " " << probe;
        }
      }
    }
  }
  EXPECT_GT(expired, 500);
}

}  // namespace
}  // namespace sepal
