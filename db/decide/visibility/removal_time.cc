#include "db/decide/visibility/removal_time.h"

#include <algorithm>

namespace sepal {

namespace {

uint64_t Passed(RemovalTime::Clocks since, RemovalTime::Clocks now) {
  return now.monotonic_millis - std::min(now.monotonic_millis, since.monotonic_millis);
}

}  // namespace

uint64_t RemovalTime::OnLine(Clocks now) const { return line_.wall_millis + Passed(line_, now); }

uint64_t RemovalTime::Within(uint64_t most_ahead_millis, Clocks now) {
  At(now);
  return std::min(now.wall_millis, OnLine(now) + most_ahead_millis);
}

uint64_t RemovalTime::At(Clocks now) {
  const uint64_t passed = Passed(watched_, now);
  const uint64_t expected = watched_.wall_millis + passed;
  const bool agree = now.wall_millis + kToleranceMillis >= expected && expected + kToleranceMillis >= now.wall_millis;
  if (!agree) {
    watched_ = now;
  } else if (passed >= kAgreeMillis) {
    line_ = watched_ = now;
  }
  const uint64_t on_line = OnLine(now);
  doubts_ = now.wall_millis > on_line + kMostAheadMillis;
  return doubts_ ? on_line + kMostAheadMillis : now.wall_millis;
}

}  // namespace sepal
