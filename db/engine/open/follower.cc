// One long piece of work on the executor, which mostly waits. The period counts from the end of a call, so that one
// that takes longer than the period leaves the processor to others.
//
// Safe for concurrent use.
#include "db/engine/open/follower.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>

#include "absl/strings/str_format.h"

namespace sepal {
namespace {

// A call after one that failed reads everything anew.
constexpr uint64_t kLongestWaitMicros = 1'000'000;

class Follower final : public PeriodicTask {
 public:
  Follower(EngineState* state, LiveReader* reader, Executor* executor)
      : state_(state), reader_(reader), executor_(executor) {}

  void Start() override EXCLUDES_STATE_LOCK {
    if (Period() == 0) return;
    {
      StateLock lock(state_);
      running_ = true;
    }
    executor_->Schedule(Executor::Priority::kScrub, [this] { Run(); });
  }

  void Stop() override EXCLUDES_STATE_LOCK {
    stop_.store(true, std::memory_order_relaxed);
    StateLock lock(state_);
    state_->NotifyChanged();
    while (running_) state_->WaitForChange();
  }

  std::string ToString() const override ABSL_LOCKS_EXCLUDED(mutex_) {
    if (Period() == 0) return "off\n";
    MutexLock lock(&mutex_);
    const std::string view = shown_.has_value()
                                 ? absl::StrFormat("has all that was written %u ms ago", (Now() - *shown_) / 1000)
                                 : "is that of the opening";
    return absl::StrFormat("period: %u ms\nthe view %s\ncalls: %u, failed: %u\nlast call: %s\n", Period() / 1000, view,
                           state_->core->statistics.Get(Ticker::kCatchUps),
                           state_->core->statistics.Get(Ticker::kCatchUpFailures), last_.ToString());
  }

 private:
  uint64_t Period() const { return state_->core->tuning.follow_period_micros; }
  uint64_t Now() const { return state_->core->world.clock->MonotonicMicros(); }

  void Run() EXCLUDES_STATE_LOCK {
    uint64_t wait = Period();
    while (WaitFor(wait)) {
      const uint64_t began = Now();
      const absl::Status status = reader_->CatchUp();
      Note(status, began);
      wait = status.ok() ? Period() : std::max(Period(), std::min(wait * 2, kLongestWaitMicros));
    }
    StateLock lock(state_);
    running_ = false;
    state_->NotifyChanged();
  }

  // False if it is to end.
  bool WaitFor(uint64_t micros) EXCLUDES_STATE_LOCK {
    const uint64_t end = Now() + micros;
    StateLock lock(state_);
    while (!stop_.load(std::memory_order_relaxed)) {
      const uint64_t now = Now();
      if (now >= end) return true;
      state_->WaitForChange(end - now);
    }
    return false;
  }

  // Of a row of the same failures the first is told.
  void Note(const absl::Status& status, uint64_t began) ABSL_LOCKS_EXCLUDED(mutex_) {
    bool news;
    {
      MutexLock lock(&mutex_);
      news = status.code() != last_.code();
      last_ = status;
      if (status.ok()) shown_ = began;
    }
    if (news && !status.ok()) {
      state_->Tell([&](EventListener& listener) { listener.OnError("following the writer", status); });
    }
  }

  EngineState* const state_;
  LiveReader* const reader_;
  Executor* const executor_;
  std::atomic<bool> stop_{false};
  bool running_ ABSL_GUARDED_BY(database_mutex) = false;

  // A leaf lock.
  mutable Mutex mutex_;
  absl::Status last_ ABSL_GUARDED_BY(mutex_);
  std::optional<uint64_t> shown_ ABSL_GUARDED_BY(mutex_);  // when the last call that succeeded began
};

}  // namespace

std::unique_ptr<PeriodicTask> MakeFollower(EngineState* state, LiveReader* reader, Executor* executor) {
  return std::make_unique<Follower>(state, reader, executor);
}

}  // namespace sepal
