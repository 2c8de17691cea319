// A repair of a database that is not open, with each of its file calls failing in turn.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "db/doctor/repair.h"
#include "tests/db/engine/test_database.h"

namespace sepal {

enum class Failing : uint8_t {
  kOnce,     // the call alone
  kForGood,  // that call and all behind it: the process dies there
};

// After any failure, another repair must give the same result as one without failures. Works on copies of the disk.
inline void ExpectRepairSurvives(const TestDatabase& database, Failing failing) {
  const MemoryFileSystem disk = database.memory.Clone();
  Entries expected;
  for (uint64_t k = 0, calls = 1; k <= calls && !::testing::Test::HasFailure(); ++k) {
    SCOPED_TRACE("call " + std::to_string(k));
    TestDatabase copy(Threads::kSimulated, {.seed = 1}, disk.Clone());
    const Env env = copy.options.env;
    copy.options = database.options;
    copy.options.env = env;
    RepairReport told;
    // k = 0: none, for comparison.
    if (k > 0 && failing == Failing::kOnce) copy.files.Inject({.fault = Fault::kIoError, .skip = k - 1});
    if (k > 0 && failing == Failing::kForGood) {
      copy.files.SetDecider([k](const FileCall& call) { return call.number >= k ? Fault::kIoError : Fault::kNone; });
    }
    const absl::Status first = Repairing(copy.options, database.tuning, "/db", &told).Run();
    copy.files.Clear();
    if (k > 0 && failing == Failing::kForGood) copy.memory.Crash(CrashMode::kKillProcess, k);
    if (k == 0) calls = copy.files.CallCount();
    EXPECT_TRUE(first.ok() || (k > 0 && absl::IsInternal(first))) << first;
    absl::Status status = Repairing(copy.options, database.tuning, "/db", &told).Run();
    if (status.ok()) status = copy.Open();
    if (status.ok()) status = copy.db->CheckConsistency();
    ASSERT_TRUE(status.ok()) << status;
    const Entries found = ReadAll(copy.db->NewIterator().get());
    if (k == 0) expected = found;
    EXPECT_EQ(found, expected);
  }
}

}  // namespace sepal
