// Whether those who wait for a sync of the log sleep, or take turns at the processors until it is over.
//
// Where many more callers wait than there are processors, durable puts are bound by sending callers to sleep and waking
// them, one after another, while the disk has nothing to do. A caller that gives its processor to the next one instead
// looks again when its turn comes, and nobody has to wake it. That keeps the processors busy for as long as a sync
// takes, so it is done only where they would be busy for most of the time anyway: with more than `kCallersPerProcessor`
// callers for each, and syncs that are short. Whoever else has something to do is given the processor; but then the
// next turn comes late, and puts wait for it where a sleeper would have been woken at once. So after a late turn all
// sleep for a while, and for twice as long each time that turns come late as soon as they are taken again.
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
  // A late turn so soon after a pause makes the next one longer.
  static constexpr uint64_t kSoonMicros = 100'000;
  static constexpr uint64_t kLongestPauseMicros = 5'120'000;

  // With 0 processors all sleep.
  explicit SyncTurns(int processors) : processors_(processors) {}

  // For how long one of `callers` takes turns before it sleeps, if syncs take `sync_micros`; 0: it sleeps at once.
  uint64_t MicrosToTake(int callers, uint64_t sync_micros, uint64_t now) const {
    if (processors_ == 0 || callers <= kCallersPerProcessor * processors_) return 0;
    if (Paused(now)) return 0;
    return sync_micros > kLongestSyncMicros ? 0 : 4 * sync_micros;
  }

  // A turn came late, of a wait that began then. Waits from before the last pause's end say nothing new.
  void ComeLate(uint64_t began, uint64_t now) {
    const uint64_t resumed = paused_since_ + pause_;
    const bool clock_went_back = now < paused_since_;
    if (began < resumed && !clock_went_back) return;
    const bool again = pause_ != 0 && !clock_went_back && now - resumed < kSoonMicros;
    pause_ = again ? std::min(2 * pause_, kLongestPauseMicros) : kShortestPauseMicros;
    paused_since_ = now;
  }

 private:
  // Not after a clock that went back.
  bool Paused(uint64_t now) const { return now >= paused_since_ && now - paused_since_ < pause_; }

  int processors_;
  uint64_t paused_since_ = 0;
  uint64_t pause_ = 0;
};

}  // namespace sepal
