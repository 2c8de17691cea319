// How fast scrubbing reads.
#pragma once

#include <gtest/gtest.h>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {

// Opens the database anew with a limit to the rate of background work, and scrubs for twenty seconds.
inline void ExpectScrubKeepsToTheRate(TestDatabase* database) {
  constexpr uint64_t kBytesPerSecond = 5'000;
  database->options.background_bytes_per_second = kBytesPerSecond;
  database->tuning.scrub_period_micros = 1000;
  ASSERT_OK(database->Reopen());
  const uint64_t began = database->world->micros();
  const uint64_t before = database->db->statistics().Get(Ticker::kScrubBytes);
  database->world->SleepMicros(20'000'000);
  const uint64_t seconds = (database->world->micros() - began) / 1'000'000;
  const uint64_t bytes = database->db->statistics().Get(Ticker::kScrubBytes) - before;
  EXPECT_GT(bytes, 50'000u);
  EXPECT_LE(bytes, kBytesPerSecond * (seconds + 2));
}

}  // namespace sepal
