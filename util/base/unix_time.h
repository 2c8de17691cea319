// Times of the wall clock as milliseconds since 1970, the form in which they are stored, and as text.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace sepal {

// A time before 1970 is 1970.
inline uint64_t MillisOf(std::chrono::system_clock::time_point time) {
  const auto millis = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return millis < 0 ? 0 : static_cast<uint64_t>(millis);
}

// A time that the clock cannot represent becomes its last one.
inline std::chrono::system_clock::time_point TimeOfMillis(uint64_t millis) {
  using Wall = std::chrono::system_clock;
  const auto most = std::chrono::floor<std::chrono::milliseconds>(Wall::time_point::max().time_since_epoch()).count();
  return Wall::time_point(std::chrono::milliseconds(std::min(millis, static_cast<uint64_t>(most))));
}

// ISO 8601, in UTC, to the millisecond.
inline std::string TimeText(std::chrono::system_clock::time_point time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromChrono(time), absl::UTCTimeZone());
}

}  // namespace sepal
