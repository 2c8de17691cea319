// Which calls share a sync of the log, and how long a sync waits for more of them. Pure: times and counts in, a time
// out.
//
// A sync carries the calls that came while the one before it ran. The callers that it lets go write their next update
// at once, and come a few microseconds too late for the next sync, which the others begin: two threads would sync in
// turn, each alone. So a sync waits until as many calls are there as there were when the one before it ended, those
// that it carried and those that came too late for it; but no longer than half of what syncs took lately, and
// kMostMicros. (The delay of a commit for its siblings, which other systems have as a setting, is measured here.)
//
// A caller that stays away is not waited for time and again: after a wait that let a sync carry less, for its time,
// than it would have without, twice as many syncs as after the one before do not wait, up to `kMostSkipped`.
//
// One thread at a time.
#pragma once

#include <cstdint>

namespace sepal {

class SyncGroup {
 public:
  static constexpr int kMostSkipped = 64;
  // A disk that hangs for once, or a clock that jumps, is no reason to wait.
  static constexpr uint64_t kMostMicros = 5000;

  // A call came that no sync carries yet, or that the one under way does.
  void Arrive() { ++waiting_; }
  void Join() { ++carried_; }

  // Whether a call waits for more calls.
  bool gathering() const { return until_ != 0; }
  // No sync is under way, and there is a call to carry. How long one that begins now should wait for more; 0: not at
  // all.
  uint64_t WaitMicros(uint64_t now);
  // The wait is over, as when the clock stands still.
  void StopWaiting() { until_ = since_; }
  // A sync begins, and carries all calls that are there. Then it ends.
  void Begin(uint64_t now);
  void End(uint64_t now);

 private:
  // Judges the wait that ends.
  void EndWait(uint64_t now);

  int waiting_ = 0;
  int carried_ = 0;           // by the sync under way
  int expected_ = 0;          // when it ended
  uint64_t began_ = 0;        // the sync
  uint64_t sync_micros_ = 0;  // what one takes, of the last few
  // The wait; 0: there is none.
  uint64_t until_ = 0;
  uint64_t since_ = 0;
  int waiting_then_ = 0;
  int skip_ = 0;       // so many syncs do not wait
  int skip_next_ = 1;  // if the next wait is in vain
};

}  // namespace sepal
