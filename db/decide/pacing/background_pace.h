// How many threads background work takes. Pure: times in, a number out.
//
// Writers that write as fast as they can wait for flushes in the end, so that a flush takes every core. A compaction
// leaves them one as long as it does not slow them down: it has time until the next one is due, and where it took all,
// writers would stop and go. It takes all where somebody waits for it, as readers do that have come to many runs, and
// users may that have stopped writing.
//
// Writers that come at their own pace would rather have a core to themselves: three threads on two cores take turns of
// some milliseconds, and a put that comes in the wrong one waits for as long. So while the memtables fill much more
// slowly than they are written, and nothing slows writers down, the background is *calm*: all of it takes one core
// less, and a compaction steps aside while a flush runs.
//
// One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sepal {

class BackgroundPace {
 public:
  // Calm while a flush works for at most one such part of the time between it and the one before.
  static constexpr uint64_t kCalmShare = 8;

  // `threads`: as many as there are cores for it.
  explicit BackgroundPace(int threads) : threads_(threads) {}

  void BeginFlush(uint64_t now) {
    interval_micros_ = began_ == 0 ? 0 : now - std::min(now, began_);
    began_ = now;
  }
  // It took `micros` with `threads` threads.
  void EndFlush(uint64_t micros, int threads) { work_micros_ = micros * static_cast<uint64_t>(std::max(1, threads)); }

  // Whether writers are slowed down: memtables fill slowly for the background's sake then.
  void SetThrottled(bool throttled) { throttled_ = throttled; }
  // Whether that is since compactions lag behind.
  void SetCompactionsLag(bool lag) { compactions_lag_ = lag; }
  // Whether nobody writes, and everything is in tables.
  void SetResting(bool resting) { resting_ = resting; }
  // Whether readers have come to more runs than would have been left for them, or somebody waits for all that is due.
  void SetAwaited(bool awaited) { awaited_ = awaited; }
  // Whether somebody waits for a flush to end.
  void SetFlushAwaited(bool awaited) { flush_awaited_ = awaited; }
  bool calm() const { return !throttled_ && work_micros_ > 0 && interval_micros_ / kCalmShare >= work_micros_; }
  // For a flush; so many compactions run at a time.
  int threads() const { return calm() ? OneLess() : threads_; }
  // For a flush of what came in order, beside which the next one begins, unless somebody waits for it.
  int early_flush_threads() const { return flush_awaited_ ? threads() : std::max(1, threads() / 2); }
  // For all compactions together, but that each has one.
  int compaction_threads() const { return compactions_lag_ || awaited_ || resting_ ? threads_ : OneLess(); }

 private:
  int OneLess() const { return std::max(1, threads_ - 1); }

  const int threads_;
  bool throttled_ = false;
  bool compactions_lag_ = false;
  bool resting_ = false;
  bool awaited_ = false;
  bool flush_awaited_ = false;
  uint64_t began_ = 0;
  uint64_t interval_micros_ = 0;
  uint64_t work_micros_ = 0;
};

}  // namespace sepal
