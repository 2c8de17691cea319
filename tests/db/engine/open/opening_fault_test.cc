// Openings and repairs each of whose file calls fails once, and options that are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <climits>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

class OpeningFaultTest : public ::testing::Test {
 protected:
  // Two families, tables and logs, left as a process leaves them that is killed.
  static MemoryFileSystem KilledDatabase(const std::string& log_directory) {
    TestDatabase database;
    database.options.log_directory = log_directory;
    EXPECT_OK(database.Open());
    const std::shared_ptr<ColumnFamily> family = database.db->CreateColumnFamily("f", {}).value();
    for (uint64_t i = 0; i < 60; ++i) EXPECT_OK(database.db->Put(NumberedKey(i), std::string(40, 'a')));
    EXPECT_OK(database.db->Flush());
    for (uint64_t i = 60; i < 90; ++i) EXPECT_OK(database.db->Put(NumberedKey(i), std::string(40, 'b')));
    EXPECT_OK(database.db->Put(*family, "key", "value"));
    EXPECT_OK(database.db->WaitForBackgroundWork());
    return database.memory.Clone();
  }

  static void ExpectAll(TestDatabase* database) {
    EXPECT_EQ(ReadAll(database->db->NewIterator().get()).size(), 90u);
    const absl::StatusOr<std::shared_ptr<ColumnFamily>> family = database->db->FindColumnFamily("f");
    ASSERT_OK(family.status());
    EXPECT_EQ(ReadAll(database->db->NewIterator(**family).get()).size(), 1u);
  }

  // `work` with each of its file calls failing in turn; afterwards, with none failing, the database opens, whole.
  static void FailEachCall(const std::string& log_directory, bool empty,
                           const std::function<absl::Status(TestDatabase*)>& work) {
    const MemoryFileSystem disk = empty ? MemoryFileSystem() : KilledDatabase(log_directory);
    uint64_t failures = 0;
    for (uint64_t skip = 0;; ++skip) {
      TestDatabase database(Threads::kSimulated, {.seed = 1}, disk.Clone());
      database.options.log_directory = log_directory;
      database.files.Inject({.fault = Fault::kIoError, .skip = skip});
      const absl::Status status = work(&database);
      const bool failed = database.files.FaultCount() > 0;
      database.db.reset();
      database.files.Clear();
      if (!failed) {
        EXPECT_OK(status);
        break;
      }
      SCOPED_TRACE("call " + std::to_string(skip));
      if (!status.ok()) {
        ++failures;
        EXPECT_TRUE(absl::IsInternal(status)) << status;
      }
      ASSERT_OK(database.Open());
      if (!empty) ExpectAll(&database);
    }
    EXPECT_GT(failures, 3u);
  }
};

// The process died before the header of a log was durable whose records are in the ring. A new log names that one, and
// must not outlive it.
TEST(LastHeaderTest, ThePowerMayGoAtAnyCallOfTheOpeningBehindALogWhoseHeaderWasNotYetDurable) {
  bool opened = false;
  uint64_t calls_of_opening = 0;
  for (uint64_t last_call = 0; !opened; ++last_call) {
    SCOPED_TRACE(last_call);
    TestDatabase database;
    ASSERT_OK(database.Open());
    ASSERT_OK(database.db->Put("synced", "value", {.sync = true}));
    std::map<std::string, int> syncs;
    bool died = false;
    database.files.SetDecider([&](const FileCall& call) {
      // The first sync of a log that was made ahead makes its name and space durable.
      const bool of_header = call.op == FileOp::kSync && call.name.ends_with(".log") && ++syncs[call.name] == 2;
      if (of_header && !std::exchange(died, true)) database.memory.Crash(CrashMode::kKillProcess, 0);
      return Fault::kNone;
    });
    uint64_t written = 0;
    while (!died && database.db->Put(NumberedKey(written), std::string(40, 'v')).ok()) ++written;
    ASSERT_TRUE(died);
    database.db.reset();
    uint64_t calls = 0;
    database.files.SetDecider([&](const FileCall& call) {
      if (IsMutation(call.op) && calls++ == last_call) database.memory.Crash(CrashMode::kLoseUnsynced, 0);
      return Fault::kNone;
    });
    opened = database.Open().ok() && calls <= last_call;
    database.db.reset();
    calls_of_opening = std::max(calls_of_opening, calls);
    database.files.Clear();
    ASSERT_OK(database.Open());
    EXPECT_EQ(Value(database.db.get(), "synced"), "value");
  }
  EXPECT_GT(calls_of_opening, 10u);
}

TEST_F(OpeningFaultTest, EveryFailedCallOfAnOpeningLosesNothing) {
  FailEachCall("", false, [](TestDatabase* database) { return database->Open(); });
}

TEST_F(OpeningFaultTest, EveryFailedCallOfAnOpeningWithItsLogsElsewhereLosesNothing) {
  FailEachCall("/logs", false, [](TestDatabase* database) { return database->Open(); });
}

TEST_F(OpeningFaultTest, EveryFailedCallWhileADatabaseIsMadeLeavesWhatCanBeOpened) {
  FailEachCall("", true, [](TestDatabase* database) { return database->Open(); });
}

TEST_F(OpeningFaultTest, EveryFailedCallWhileAFamilyIsAddedLosesNothing) {
  FailEachCall("", false, [](TestDatabase* database) {
    database->options.column_families = {{.name = "g"}};
    const absl::Status status = database->Open();
    database->options.column_families.clear();
    return status;
  });
}

TEST_F(OpeningFaultTest, EveryFailedCallOfAReadOnlyOpeningLosesNothing) {
  FailEachCall("", false, [](TestDatabase* database) { return database->OpenReadOnly().status(); });
}

TEST_F(OpeningFaultTest, EveryFailedCallOfARepairWithItsLogsElsewhereLosesNothing) {
  FailEachCall("/logs", false,
               [](TestDatabase* database) { return RepairTo(nullptr, database->options, database->path); });
}

// For want of space, each with more of it, until one has enough: for the tables, the log, and the manifest.
TEST_F(OpeningFaultTest, OpeningsThatFailLeaveNoTables) {
  for (const std::string log_directory : {"", "/logs"}) {
    TestDatabase database(Threads::kSimulated, {.seed = 1}, KilledDatabase(log_directory));
    database.options.log_directory = log_directory;
    const auto tables = [&] {
      std::vector<std::string> names = FilesIn(&database.memory, "/db");
      std::erase_if(names, [](const std::string& name) { return !name.ends_with(".sst"); });
      return names;
    };
    const std::vector<std::string> before = tables();
    const uint64_t used = database.memory.UsedBytes();
    uint64_t behind_the_tables = 0;
    absl::Status status = absl::UnknownError("");
    for (uint64_t space = 0; !status.ok(); space += 16) {
      ASSERT_LT(space, uint64_t{1} << 20);
      database.memory.SetCapacity(used + space);
      database.files.SetDecider([&](const FileCall& call) {
        behind_the_tables += call.op == FileOp::kOpenWrite && !call.name.ends_with(".sst") && tables() != before;
        return Fault::kNone;
      });
      status = database.Open();
      if (status.ok()) break;
      EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
      EXPECT_EQ(tables(), before) << space;
    }
    EXPECT_GT(behind_the_tables, 3u);  // a log needs little space
    EXPECT_GT(tables().size(), before.size());
    database.memory.SetCapacity(UINT64_MAX);
    ExpectAll(&database);
  }
}

// Each sync of an opening fails; then the process dies, or the power goes.
TEST_F(OpeningFaultTest, TablesThatAManifestMayListStay) {
  const MemoryFileSystem disk = KilledDatabase("");
  uint64_t skip = 0;
  for (bool failed = true; failed; ++skip) {
    SCOPED_TRACE(skip);
    TestDatabase database(Threads::kSimulated, {.seed = 1}, disk.Clone());
    database.files.Inject({.fault = Fault::kIoError, .op = FileOp::kSync, .skip = skip});
    database.Open().IgnoreError();
    failed = database.files.FaultCount() > 0;
    for (const CrashMode mode : {CrashMode::kKillProcess, CrashMode::kLoseUnsynced}) {
      TestDatabase copy(Threads::kSimulated, {.seed = 1}, database.memory.Clone());
      copy.memory.Crash(mode);
      ASSERT_OK(copy.Open());
      if (mode == CrashMode::kKillProcess) ExpectAll(&copy);
      EXPECT_GE(ReadAll(copy.db->NewIterator().get()).size(), 60u) << "which were flushed";
    }
  }
  EXPECT_GT(skip, 5u);
}

TEST_F(OpeningFaultTest, AnOpeningTouchesNoTableFile) {
  TestDatabase database(Threads::kSimulated, {.seed = 1}, KilledDatabase(""));
  for (const FileOp op : {FileOp::kOpenRead, FileOp::kRead}) {
    database.files.Inject({.op = op, .name_contains = ".sst", .sticky = true});
  }
  EXPECT_OK(database.OpenReadOnly().status());
  EXPECT_EQ(database.files.FaultCount(), 0u);
  ASSERT_OK(database.Open());
  database.world->RunUntilIdle();
  EXPECT_EQ(database.files.FaultCount(), 0u);
  // The first read does.
  EXPECT_TRUE(absl::IsInternal(database.db->Get(NumberedKey(0)).status()));
  EXPECT_GT(database.files.FaultCount(), 0u);
  database.files.Clear();
  ExpectAll(&database);
  for (uint64_t i = 0; i < 90; ++i) EXPECT_EQ(Value(database.db.get(), NumberedKey(i)), std::string(40, "ab"[i / 60]));
}

TEST_F(OpeningFaultTest, OptionsOutOfRangeAreRefusedByName) {
  const auto refusal = [](const std::function<void(Options*)>& change) {
    TestDatabase database;
    change(&database.options);
    return database.Open();
  };
  const std::vector<std::pair<std::string, std::function<void(Options*)>>> changes = {
      {"memory_limit", [](Options* o) { o->memory_limit = 1; }},
      {"memory_limit of 18446744073709551615", [](Options* o) { o->memory_limit = SIZE_MAX; }},
      {"memory_limit of 70368744177665", [](Options* o) { o->memory_limit = (size_t{1} << 46) + 1; }},
      {"background_threads of -1", [](Options* o) { o->background_threads = -1; }},
      {"background_threads of 1025", [](Options* o) { o->background_threads = 1025; }},
      {"background_threads of 2147483647", [](Options* o) { o->background_threads = INT_MAX; }},
      {"memtable_bytes", [](Options* o) { o->memtable_bytes = o->memory_limit; }},
      {"memtable_bytes of 64 is too small", [](Options* o) { o->memtable_bytes = 64; }},  // meant as MiB
      {"compaction_style", [](Options* o) { o->family.compaction_style = static_cast<CompactionStyle>(3); }},
      {"compression must", [](Options* o) { o->family.compression = static_cast<CompressionKind>(4); }},
      {"compression_per_level",
       [](Options* o) {
         o->family.compression_per_level = {CompressionKind::kNone, static_cast<CompressionKind>(255)};
       }},
      {"comparator", [](Options* o) { o->family.comparator = nullptr; }},
      {"block_bytes", [](Options* o) { o->family.block_bytes = 255; }},
      {"block_bytes", [](Options* o) { o->family.block_bytes = (size_t{1} << 20) + 1; }},
      {"max_space_amplification", [](Options* o) { o->family.max_space_amplification = 0.5; }},
      {"filter_policy", [](Options* o) { o->family.filter_policy.lane_bits_per_key = -1; }},
      {"filter_policy", [](Options* o) { o->family.filter_policy.lane_bits_per_key = 65; }},
      {"filter_policy",
       [](Options* o) { o->family.filter_policy.guard_bits_per_key = std::numeric_limits<double>::quiet_NaN(); }},
      {"filter_policy", [](Options* o) { o->family.filter_policy.guard_bits_per_key = 65; }},
      {"read_only", [](Options* o) { o->read_only = true; }},
      {"read_only",
       [](Options* o) {
         o->read_only = o->error_if_exists = true;
         o->create_if_missing = false;
       }},
      {"comparator", [](Options* o) { o->column_families = {{.name = "f", .options = {.comparator = nullptr}}}; }},
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    const absl::Status status = refusal(changes[i].second);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << i << ": " << status;
    EXPECT_THAT(std::string(ToStd(status.message())), testing::HasSubstr(changes[i].first)) << i;
  }
}

// What a failed sync of a manifest has lost, an edit or the link to the next one, is still read by the next opening. So
// that must not make anything durable which is damage without it.
TEST(OpeningAfterAFailedSyncTest, PowerMayBeLostAtAnyCall) {
  constexpr int kSyncs = 14;  // the manifest is rolled twice
  for (int failing_sync = 3; failing_sync <= kSyncs; ++failing_sync) {
    bool whole = false;
    for (uint64_t lost_at = 1; !whole; ++lost_at) {
      SCOPED_TRACE(absl::StrFormat("sync %d failed, power lost at call %u", failing_sync, lost_at));
      TestDatabase database;
      database.tuning.manifest_limit_bytes = 256;
      ASSERT_OK(database.Open());
      int syncs = 2;
      database.files.SetDecider([&](const FileCall& call) {
        const bool counts = call.op == FileOp::kSync && call.name.starts_with("MANIFEST");
        return counts && ++syncs == failing_sync ? Fault::kIoError : Fault::kNone;
      });
      uint64_t keys = 0;
      for (; syncs < failing_sync; ++keys) {
        ASSERT_LT(keys, 100u);
        ASSERT_OK(database.db->Put(NumberedKey(keys), "value", {.sync = true}));
        (void)database.db->Flush();
      }
      (void)database.db->Close();
      database.files.Clear();
      uint64_t calls = 0;
      database.files.SetDecider([&](const FileCall& call) {
        if (IsMutation(call.op) && ++calls == lost_at) database.memory.Crash(CrashMode::kLoseUnsynced, lost_at);
        return Fault::kNone;
      });
      whole = database.Open().ok();
      database.files.Clear();
      ASSERT_OK(database.Open());
      for (uint64_t i = 0; i < keys; ++i) ASSERT_OK(database.db->Get(NumberedKey(i)).status());
    }
  }
}

}  // namespace
}  // namespace sepal
