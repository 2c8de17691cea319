// Whether those who wait for a sync of the log sleep, or take turns at the processors until it is over.
//
// Where many more callers wait than there are processors, durable puts are bound by sending callers to sleep and waking
// them, one after another, while the disk has nothing to do. A caller that gives its processor to the next one instead
// looks again when its turn comes, and nobody has to wake it. That keeps the processors busy for as long as a sync
// takes, so it is done only where they would be busy for most of the time anyway: with more than `kCallersPerProcessor`
// callers for each, and syncs that are short. Other programs, and the engine's own merges, lose nothing: a thread that
// has something to do is given the processor at once. But who waits loses, by being last in the queue; so after a turn
// that came late all sleep for a while, twice as long as the time before where turns came late again soon.
//
// (RocksDB's write threads yield too, each for 100 us, whatever their number.)
//
// One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sepal {

class SyncTurns {
 public:
  static constexpr int kCallersPerProcessor = 2;
  static constexpr uint64_t kLongestSyncMicros = 1000;
  // A processor that was away for longer went to somebody who has more to do than to look.
  static constexpr uint64_t kLateMicros = 1000;
  static constexpr uint64_t kShortestPauseMicros = 10'000;
  static constexpr uint64_t kLongestPauseMicros = 5'120'000;

  // With 0 processors all sleep.
  explicit SyncTurns(int processors) : processors_(processors) {}

  // For how long one of `callers` takes turns before it sleeps, if syncs take `sync_micros`; 0: it sleeps at once.
  uint64_t MicrosToTake(int callers, uint64_t sync_micros, uint64_t now) const {
    if (processors_ == 0 || callers <= kCallersPerProcessor * processors_) return 0;
    if (Paused(now)) return 0;
    return sync_micros > kLongestSyncMicros ? 0 : 4 * sync_micros;
  }

  // A turn came late. Several that waited for the same processor may say so.
  void ComeLate(uint64_t now) {
    if (Paused(now)) return;
    const bool again = now - std::min(now, paused_since_) < 2 * pause_;
    pause_ = again ? std::min(2 * pause_, kLongestPauseMicros) : kShortestPauseMicros;
    paused_since_ = now;
  }

 private:
  // Not after a clock that jumped back.
  bool Paused(uint64_t now) const { return now >= paused_since_ && now - paused_since_ < pause_; }

  int processors_;
  uint64_t paused_since_ = 0;
  uint64_t pause_ = 0;
};

}  // namespace sepal
