// Up to which time what has expired may be removed for good.
//
// Readers believe the wall clock at once, so that nothing is returned too late; but what is removed does not come back
// when a wrong clock is set right. So removals go by a line: a time that was known to be right, and the monotonic clock
// from there on. The wall clock may run ahead of the line by an hour. Further ahead, it is believed once it has kept
// pace with the monotonic clock for ten minutes; the line begins anew there. A wall clock behind the line is believed:
// less is removed then.
//
// A clock that is read late, beside another thread's look, does no harm.
//
// Pure. Not safe for concurrent use.
#pragma once

#include <cstdint>

namespace sepal {

class RemovalTime {
 public:
  static constexpr uint64_t kMostAheadMillis = uint64_t{60} * 60 * 1000;
  static constexpr uint64_t kAgreeMillis = uint64_t{10} * 60 * 1000;
  // By how much both clocks may differ in that time.
  static constexpr uint64_t kToleranceMillis = uint64_t{5} * 1000;

  struct Clocks {
    uint64_t wall_millis = 0;
    uint64_t monotonic_millis = 0;
  };

  // `right`: a wall time that has been reached for certain, now that both clocks show `now`.
  RemovalTime(uint64_t right_millis, Clocks now) : line_{right_millis, now.monotonic_millis}, watched_(now) {}

  // Believes the wall clock from `now` on, whatever it showed before.
  void Accept(Clocks now) {
    line_ = watched_ = now;
    doubts_ = false;
  }

  // The time up to which removals may go, now that both clocks show `now`.
  uint64_t At(Clocks now);
  // As At, where the wall clock may run ahead of the line by so much instead.
  uint64_t Within(uint64_t most_ahead_millis, Clocks now);
  // Whether the wall clock ran too far ahead when it was last looked at.
  bool doubts() const { return doubts_; }

 private:
  uint64_t OnLine(Clocks now) const;

  Clocks line_;
  Clocks watched_;  // since when they agree
  bool doubts_ = false;
};

}  // namespace sepal
