// Decides which calls share a sync of the log, and how long a sync waits for more of them. Pure: times and counts in, a
// time out.
//
// A sync serves the calls that arrived while the previous one ran. The callers that it releases write their next update
// at once, and arrive a few microseconds too late for the next sync, which the others begin: two threads would sync in
// turn, each alone. So a sync waits until there are as many calls as when the previous one ended, counting those that
// it served and those that came too late for it; but at most for half the duration of recent syncs, and for
// kMostMicros. (This is the commit delay that other systems have as a setting, but measured.)
//
// A sync does not wait repeatedly for callers that stay away: after a wait that made a sync serve fewer calls per time
// than without it, the next syncs do not wait, twice as many each time, up to `kMostSkipped`.
//
// One thread at a time.
#pragma once

#include <cstdint>

namespace sepal {

class SyncGroup {
 public:
  static constexpr int kMostSkipped = 64;
  // The limit of a wait, because a single slow sync, or a clock that jumps, is no reason to wait longer.
  static constexpr uint64_t kMostMicros = 5000;

  // A call has arrived that no sync serves yet, or has joined the one under way.
  void Arrive() { ++waiting_; }
  void Join() { ++carried_; }

  // Returns whether a call waits for more calls.
  bool gathering() const { return until_ != 0; }
  // Called when no sync is under way, and there is a call to serve. Returns how long a sync that begins now should wait
  // for more; 0 if it should not.
  uint64_t WaitMicros(uint64_t now);
  // Ends the wait, as when the clock stands still.
  void StopWaiting() { until_ = since_; }
  // Begin: a sync begins, and serves all calls that are there. End: it has ended.
  void Begin(uint64_t now);
  void End(uint64_t now);

 private:
  // Evaluates the wait that ends.
  void EndWait(uint64_t now);

  int waiting_ = 0;
  int carried_ = 0;           // by the sync under way
  int expected_ = 0;          // the number of calls when it ended
  uint64_t began_ = 0;        // when the sync began
  uint64_t sync_micros_ = 0;  // the duration of recent syncs
  // The end and the beginning of the wait; 0 if there is none.
  uint64_t until_ = 0;
  uint64_t since_ = 0;
  int waiting_then_ = 0;
  int skip_ = 0;       // the number of syncs that do not wait
  int skip_next_ = 1;  // the same after the next useless wait
};

}  // namespace sepal
