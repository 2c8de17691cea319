// A database whose default family keeps a history of an hour, in simulated time.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "tests/db/engine/engine_fixture.h"
#include "util/base/unix_time.h"

namespace sepal {

inline constexpr int64_t kSecondMillis = 1000;
inline constexpr int64_t kHourMillis = 3600 * kSecondMillis;

class HistoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    database.options.family.history = std::chrono::milliseconds(kHourMillis);
    database.options.family.merge_operator = MergeOperators::Append(",");
    ASSERT_OK(database.Open());
  }
  DB* db() { return database.db.get(); }
  void Wait(int64_t millis) { database.world->SleepMicros(static_cast<uint64_t>(millis) * 1000); }
  uint64_t Now() { return db()->GetSnapshot()->sequence(); }
  std::chrono::system_clock::time_point Time() { return TimeOfMillis(database.clock->UnixMicros() / 1000); }
  void Put(std::string_view key, std::string_view value) { ASSERT_OK(db()->Put(key, value)); }
  std::string AsOf(std::string_view key, uint64_t sequence) { return Value(db(), key, {.as_of_sequence = sequence}); }
  std::string At(std::string_view key, std::chrono::system_clock::time_point time) {
    return Value(db(), key, {.as_of_time = time});
  }
  // Everything goes into the last level, as far as it may.
  void CompactAll() {
    ASSERT_OK(db()->CompactRange());
    ASSERT_OK(db()->WaitForBackgroundWork());
  }
  std::vector<std::string> Versions(std::string_view key) {
    const absl::StatusOr<std::vector<KeyVersion>> all = db()->History(key);
    std::vector<std::string> texts;
    if (!all.ok()) return {all.status().ToString()};
    for (const KeyVersion& version : *all) {
      switch (version.kind) {
        case KeyVersion::Kind::kPut:
          texts.push_back("=" + version.value);
          break;
        case KeyVersion::Kind::kDelete:
          texts.emplace_back("deleted");
          break;
        case KeyVersion::Kind::kMerge:
          texts.push_back("+" + version.value);
          break;
        case KeyVersion::Kind::kExpired:
          texts.emplace_back("expired");
          break;
      }
    }
    return texts;
  }

  TestDatabase database;
};

}  // namespace sepal
