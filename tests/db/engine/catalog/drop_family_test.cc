// A column family that is dropped beside other work, by many schedules: until its drop is durable it is there whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sepal/simulation/manual_clock.h"
#include "sepal/write_batch.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

using ::testing::Contains;

constexpr uint64_t kDropSeeds = 60;

// Refuses space for edits to manifests that are begun while it is armed, and notes when an edit of one is made durable.
class Manifests {
 public:
  Fault Note(const FileCall& call) {
    if (!call.name.starts_with("MANIFEST")) return Fault::kNone;
    if (!armed_) newest_ = call.name;
    const bool allocates = call.op == FileOp::kAllocate;
    const bool begins = allocates && begun_.insert(call.name).second;
    const bool refused = armed_ && allocates && !begins && call.name > newest_;
    syncing_ = syncing_ || refused || call.op == FileOp::kSync;
    return refused ? Fault::kNoSpace : Fault::kNone;
  }
  void Arm(bool armed) {
    armed_ = armed;
    syncing_ = false;
  }
  bool syncing() const { return syncing_; }

 private:
  std::string newest_;
  std::set<std::string> begun_;
  bool armed_ = false;
  bool syncing_ = false;
};

class DropFamilyTest : public ::testing::Test {
 protected:
  static std::unique_ptr<TestDatabase> Open(uint64_t seed, uint32_t park_one_in = 0) {
    auto database = std::make_unique<TestDatabase>(
        Threads::kSimulated,
        SimulationOptions{.seed = seed, .switch_one_in = 2, .park_one_in = park_one_in, .switch_inside_locks = true},
        MemoryFileSystem());
    EXPECT_OK(database->Open());
    return database;
  }
  // Until one is being made durable, by another thread, or none will be.
  template <class Ended>
  static void AwaitEdit(TestDatabase* database, const Manifests& manifests, const Ended& ended) {
    for (int i = 1; !manifests.syncing() && !ended(); ++i) {
      SchedulePoint(&manifests);
      if (i % 100 == 0) database->world->SleepMicros(10);
    }
  }
  // Of which each few begin a new manifest, until a drop is refused.
  static void MakeEdits(TestDatabase* database, const absl::Status& dropped) {
    for (uint64_t i = 0; dropped.ok() && i < 200; ++i) {
      database->db->Put("k", "v").IgnoreError();  // there may be no space
      database->db->Flush({.wait = false}).IgnoreError();
      database->world->SleepMicros(20);
    }
  }
  // For long enough.
  template <class Done>
  static void Await(TestDatabase* database, const Done& done) {
    for (int i = 0; !done() && i < 20'000; ++i) database->world->SleepMicros(10);
  }
  static std::string ValueIn(DB* db, std::string_view family, std::string_view key) {
    const auto found = db->FindColumnFamily(family);
    if (!found.ok()) return "no family";
    return db->Get(**found, key).value_or("none");
  }
};

TEST_F(DropFamilyTest, ADropThatIsRefusedBesideANewManifestLosesNothing) {
  std::vector<bool> refused;
  for (uint64_t seed = 1; seed <= kDropSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Manifests manifests;
    const std::unique_ptr<TestDatabase> database = Open(seed);
    DB* const db = database->db.get();
    database->files.SetDecider([&](const FileCall& call) { return manifests.Note(call); });
    absl::Status dropped;
    bool ended = false;
    database->world->Spawn([&] {
      MakeEdits(database.get(), dropped);
      ended = true;
    });
    std::shared_ptr<ColumnFamily> family;
    while (dropped.ok() && !ended) {
      family = db->CreateColumnFamily("family").value();
      ASSERT_OK(db->Put(*family, "in a table", "1"));
      ASSERT_OK(db->Flush(*family));
      ASSERT_OK(db->Put(*family, "in the log", "2", {.sync = true}));
      manifests.Arm(true);
      AwaitEdit(database.get(), manifests, [&] { return ended; });
      dropped = db->DropColumnFamily(*family);
      manifests.Arm(false);
    }
    refused.push_back(!dropped.ok());
    if (!dropped.ok()) {
      EXPECT_TRUE(absl::IsResourceExhausted(dropped)) << dropped;
      ASSERT_OK(db->Put(*family, "later", "3", {.sync = true}));
      // Before another manifest is begun.
      MemoryFileSystem disk = database->memory.Clone();
      disk.Crash(CrashMode::kLoseUnsynced);
      TestDatabase after(Threads::kSimulated, {.seed = seed}, std::move(disk));
      ASSERT_OK(after.Open());
      for (const auto& [key, value] : {std::pair("in a table", "1"), {"in the log", "2"}, {"later", "3"}}) {
        EXPECT_EQ(ValueIn(after.db.get(), "family", key), value);
      }
    }
    Await(database.get(), [&] { return ended; });
  }
  EXPECT_THAT(refused, Contains(true)) << "no schedule had a drop wait for a new manifest";
}

TEST_F(DropFamilyTest, ABatchIsWholeWhereThePowerFailsBesideADrop) {
  std::vector<bool> overtaken;
  for (uint64_t seed = 1; seed <= 5 * kDropSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const std::unique_ptr<TestDatabase> database = Open(seed, /*park_one_in=*/2);
    DB* const db = database->db.get();
    const auto family = db->CreateColumnFamily("family").value();
    WriteBatch batch;
    batch.Put(*family, "k", "1");
    batch.Put("k", "2");
    ASSERT_OK(db->Write(batch));
    bool flushed = false;
    std::optional<MemoryFileSystem> disk;  // once the flush is durable
    bool dropped = false;
    database->world->Spawn([&] {
      EXPECT_OK(db->Flush());
      if (!dropped) disk.emplace(database->memory.Clone());
      flushed = true;
    });
    database->world->BeginOperation();
    ASSERT_OK(db->DropColumnFamily(*family));
    dropped = true;
    Await(database.get(), [&] { return flushed; });
    overtaken.push_back(disk.has_value());
    if (!disk.has_value()) continue;
    disk->Crash(CrashMode::kLoseUnsynced);
    TestDatabase after(Threads::kSimulated, {.seed = seed}, std::move(*disk));
    ASSERT_OK(after.Open());
    EXPECT_EQ(Value(after.db.get(), "k"), "2");
    const std::string in_family = ValueIn(after.db.get(), "family", "k");
    EXPECT_TRUE(in_family == "1" || in_family == "no family") << in_family;
  }
  EXPECT_THAT(overtaken, Contains(true)) << "no schedule had the flush's edit before the drop's";
}

TEST_F(DropFamilyTest, CallsOnAFamilyThatIsBeingDroppedEnd) {
  std::vector<bool> flushed;
  for (uint64_t seed = 1; seed <= 5 * kDropSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const std::unique_ptr<TestDatabase> database = Open(seed);
    DB* const db = database->db.get();
    auto family = db->CreateColumnFamily("family").value();
    for (uint64_t i = 0; i < 30; ++i) ASSERT_OK(db->Put(*family, NumberedKey(i), "v"));
    int ended = 0;
    const auto expect_ok_or_gone = [&](const absl::Status& status) {
      EXPECT_TRUE(status.ok() || absl::IsFailedPrecondition(status) || absl::IsCancelled(status)) << status;
      ++ended;
    };
    database->world->Spawn([&] {
      const absl::Status status = db->Flush(*family);
      flushed.push_back(status.ok());
      expect_ok_or_gone(status);
    });
    database->world->Spawn([&] { expect_ok_or_gone(db->CompactRange(*family)); });
    database->world->Spawn([&] { expect_ok_or_gone(db->Put(*family, "k", "v")); });
    database->world->SleepMicros(seed % 50);
    ASSERT_OK(db->DropColumnFamily(*family));
    Await(database.get(), [&] { return ended == 3; });
    ASSERT_EQ(ended, 3) << "a call waits for ever";
    EXPECT_TRUE(absl::IsFailedPrecondition(db->Put(*family, "k", "v")));
    EXPECT_TRUE(absl::IsFailedPrecondition(db->DropColumnFamily(*family)));
    EXPECT_FALSE(db->FindColumnFamily("family").ok());
    ASSERT_OK(db->WaitForBackgroundWork());
    ASSERT_OK(db->CheckConsistency());
  }
  EXPECT_THAT(flushed, Contains(true));
  EXPECT_THAT(flushed, Contains(false)) << "no schedule had the drop first";
}

// Something else is done when it is read the next time.
class BusyClock final : public Clock {
 public:
  uint64_t MonotonicMicros() override {
    if (meanwhile_ != nullptr) std::exchange(meanwhile_, nullptr)();
    return clock_.MonotonicMicros();
  }
  uint64_t UnixMicros() override { return clock_.UnixMicros(); }
  void SleepMicros(uint64_t micros) override { clock_.SleepMicros(micros); }
  void Meanwhile(std::function<void()> meanwhile) { meanwhile_ = std::move(meanwhile); }

 private:
  ManualClock clock_;
  std::function<void()> meanwhile_;
};

TEST_F(DropFamilyTest, AReaderThatADropOvertakesIsRefusedByName) {
  BusyClock clock;
  TestDatabase database(Threads::kReal);
  database.options.env.clock = &clock;
  database.options.slow_call_micros = 1'000'000'000;  // each call reads the clock
  ASSERT_OK(database.Open());
  DB* const db = database.db.get();
  const std::vector<std::string_view> keys = {"k"};
  std::vector<PinnedValue> values(1);
  std::vector<absl::Status> statuses(1);
  for (const bool several : {false, true}) {
    const auto family = db->CreateColumnFamily("family").value();
    ASSERT_OK(db->Put(*family, "k", "v"));
    const std::unique_ptr<Iterator> it = db->NewIterator(*family);
    clock.Meanwhile([&] { ASSERT_OK(db->DropColumnFamily(*family)); });
    if (several) {
      db->MultiGet(*family, keys, values, statuses).IgnoreError();
    } else {
      statuses[0] = db->Get(*family, "k").status();
    }
    EXPECT_TRUE(absl::IsFailedPrecondition(statuses[0])) << statuses[0];
    it->SeekToFirst();
    EXPECT_TRUE(it->Valid()) << "it was made before the drop";
  }
}

TEST_F(DropFamilyTest, ACompactionOfADroppedFamilyEnds) {
  const std::unique_ptr<TestDatabase> database = Open(/*seed=*/1);
  DB* const db = database->db.get();
  const auto family = db->CreateColumnFamily("family").value();
  for (const uint64_t step : {1, 100}) {
    for (uint64_t i = 0; i < 10'000; i += step) ASSERT_OK(db->Put(*family, NumberedKey(i), std::to_string(i)));
    ASSERT_OK(db->Flush(*family));
    ASSERT_OK(db->WaitForBackgroundWork());
  }
  bool dropped = false;
  uint64_t told_after = 0;
  CompactRangeOptions options;
  options.progress = [&](const CompactionProgress& progress) {
    told_after += dropped ? 1 : 0;
    if (progress.bytes_done > 0 && !dropped) {
      dropped = true;
      EXPECT_OK(db->DropColumnFamily(*family));
    }
    return true;
  };
  const absl::Status ended = db->CompactRange(*family, options);
  EXPECT_TRUE(dropped);
  EXPECT_TRUE(absl::IsFailedPrecondition(ended)) << ended;
  EXPECT_LE(told_after, 2u) << "it went on";
  ASSERT_OK(db->WaitForBackgroundWork());
  ASSERT_OK(db->Put("k", "v"));
}

// For want of space, while a flush of it waits for its own.
TEST_F(DropFamilyTest, AFamilyWhoseDropIsRefusedIsFlushedAsBefore) {
  std::vector<bool> refused;
  for (uint64_t seed = 1; seed <= kDropSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Manifests manifests;
    const std::unique_ptr<TestDatabase> database = Open(seed);
    DB* const db = database->db.get();
    std::shared_ptr<ColumnFamily> family;
    database->files.SetDecider([&](const FileCall& call) { return manifests.Note(call); });
    int ended = 0;
    absl::Status dropped;
    database->world->Spawn([&] {
      MakeEdits(database.get(), dropped);
      ++ended;
    });
    while (dropped.ok() && ended == 0) {
      family = db->CreateColumnFamily("family").value();
      ASSERT_OK(db->Put(*family, "k", "1"));
      manifests.Arm(true);
      AwaitEdit(database.get(), manifests, [&] { return ended > 0; });
      bool flushed = false;
      absl::Status flush;
      database->world->Spawn([&] {
        flush = db->Flush(*family);
        flushed = true;
      });
      dropped = db->DropColumnFamily(*family);
      manifests.Arm(false);
      Await(database.get(), [&] { return flushed; });
      ASSERT_TRUE(flushed) << "a flush waits for ever";
      EXPECT_TRUE(flush.ok() || (dropped.ok() && absl::IsFailedPrecondition(flush))) << flush;
    }
    Await(database.get(), [&] { return ended > 0; });
    refused.push_back(!dropped.ok());
    EXPECT_EQ(ValueIn(db, "family", "k"), dropped.ok() ? "no family" : "1");
  }
  EXPECT_THAT(refused, Contains(true)) << "no schedule had a drop wait for a new manifest";
}

}  // namespace
}  // namespace sepal
