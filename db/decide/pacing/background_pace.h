// How many threads background work uses. Pure: times in, a number out.
//
// Writers at full speed eventually wait for flushes, so a flush uses every core. Compactions leave one core to writers
// as long as that does not slow them down: a compaction has time until the next one is due, and if it used all cores,
// writers would stop and go. Compactions use all cores if something waits for them: readers that meet many runs, or
// users that have stopped writing.
//
// Slower writers prefer to have a core to themselves: three threads on two cores take turns of some milliseconds, and a
// put that comes at the wrong time waits as long. So while memtables fill much more slowly than they are flushed, and
// nothing slows writers down, the background is *calm*: it uses one core less, and a compaction steps aside while a
// flush runs.
//
// One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sepal {

class BackgroundPace {
 public:
  // The background is calm if a flush works for at most this part of the interval between it and the previous one.
  static constexpr uint64_t kCalmShare = 8;

  // `threads`: the number of cores for background work.
  explicit BackgroundPace(int threads) : threads_(threads) {}

  void BeginFlush(uint64_t now) {
    interval_micros_ = began_ == 0 ? 0 : now - std::min(now, began_);
    began_ = now;
  }
  // Notes that a flush took `micros` with `threads` threads.
  void EndFlush(uint64_t micros, int threads) { work_micros_ = micros * static_cast<uint64_t>(std::max(1, threads)); }

  // Whether writers are slowed down; then memtables fill slowly because of the background.
  void SetThrottled(bool throttled) { throttled_ = throttled; }
  // Whether they are slowed because compactions lag behind.
  void SetCompactionsLag(bool lag) { compactions_lag_ = lag; }
  // Whether there are no writes, and everything is in tables.
  void SetResting(bool resting) { resting_ = resting; }
  // Whether readers meet more runs than is intended, or a caller waits for everything that is due.
  void SetAwaited(bool awaited) { awaited_ = awaited; }
  // Whether a caller waits for a flush to end.
  void SetFlushAwaited(bool awaited) { flush_awaited_ = awaited; }
  bool calm() const { return !throttled_ && work_micros_ > 0 && interval_micros_ / kCalmShare >= work_micros_; }
  // The threads of a flush, and the number of compactions that run at a time.
  int threads() const { return calm() ? OneLess() : threads_; }
  // The threads of an early flush of data in key order, during which the next one begins, unless a caller waits for it.
  int early_flush_threads() const { return flush_awaited_ ? threads() : std::max(1, threads() / 2); }
  // The threads of all compactions together; each has at least one.
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
