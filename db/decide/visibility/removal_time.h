// The time up to which expired entries may be removed for good.
//
// Readers trust the wall clock immediately, so that nothing is returned too late; but removed entries do not return
// when a wrong clock is corrected. So removals follow a line: a time that was known to be right, continued by the
// monotonic clock. The wall clock may be an hour ahead of the line. If it is further ahead, it is trusted once it has
// kept pace with the monotonic clock for ten minutes; the line then restarts there. A wall clock behind the line is
// trusted: less is removed then.
//
// It does no harm if a clock is read before another thread's look and used after it.
//
// Pure. Not safe for concurrent use.
#pragma once

#include <cstdint>

namespace sepal {

class RemovalTime {
 public:
  static constexpr uint64_t kMostAheadMillis = uint64_t{60} * 60 * 1000;
  static constexpr uint64_t kAgreeMillis = uint64_t{10} * 60 * 1000;
  // The largest difference of both clocks in that time.
  static constexpr uint64_t kToleranceMillis = uint64_t{5} * 1000;

  struct Clocks {
    uint64_t wall_millis = 0;
    uint64_t monotonic_millis = 0;
  };

  // `right_millis`: a wall time that has certainly been reached, when both clocks show `now`.
  RemovalTime(uint64_t right_millis, Clocks now) : line_{right_millis, now.monotonic_millis}, watched_(now) {}

  // Trusts the wall clock from `now` on, whatever it showed before.
  void Accept(Clocks now) {
    line_ = watched_ = now;
    doubts_ = false;
  }

  // Returns the time up to which entries may be removed, when both clocks show `now`.
  uint64_t At(Clocks now);
  // The same, if the wall clock may be ahead of the line by `most_ahead_millis` instead.
  uint64_t Within(uint64_t most_ahead_millis, Clocks now);
  // Returns whether the wall clock was too far ahead at the last call.
  bool doubts() const { return doubts_; }

 private:
  uint64_t OnLine(Clocks now) const;

  Clocks line_;
  Clocks watched_;  // since when they agree
  bool doubts_ = false;
};

}  // namespace sepal
