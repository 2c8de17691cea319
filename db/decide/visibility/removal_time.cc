#include "db/decide/visibility/removal_time.h"

namespace sepal {

uint64_t RemovalTime::At(Clocks now) {
  const uint64_t passed = now.monotonic_millis - watched_.monotonic_millis;
  const uint64_t expected = watched_.wall_millis + passed;
  const bool agree = now.wall_millis + kToleranceMillis >= expected && expected + kToleranceMillis >= now.wall_millis;
  if (!agree) {
    watched_ = now;
  } else if (passed >= kAgreeMillis) {
    line_ = watched_ = now;
  }
  const uint64_t on_line = line_.wall_millis + (now.monotonic_millis - line_.monotonic_millis);
  doubts_ = now.wall_millis > on_line + kMostAheadMillis;
  return doubts_ ? on_line + kMostAheadMillis : now.wall_millis;
}

}  // namespace sepal
