// How many threads background work takes. Pure: times in, a number out.
//
// Writers that write as fast as they can wait for the background in the end, so it takes every core. Writers that come
// at their own pace would rather have a core to themselves: three threads on two cores take turns of some milliseconds,
// and a put that comes in the wrong one waits for as long. So while the memtables fill much more slowly than they are
// written, and nothing slows writers down, the background is *calm*: it takes one core less, and a merge steps aside
// while a flush runs.
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
  bool calm() const { return !throttled_ && work_micros_ > 0 && interval_micros_ / kCalmShare >= work_micros_; }
  // For one job; so many compactions run at a time.
  int threads() const { return calm() ? std::max(1, threads_ - 1) : threads_; }

 private:
  const int threads_;
  bool throttled_ = false;
  uint64_t began_ = 0;
  uint64_t interval_micros_ = 0;
  uint64_t work_micros_ = 0;
};

}  // namespace sepal
