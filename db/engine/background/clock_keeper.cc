#include "db/engine/background/clock_keeper.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "util/base/unix_time.h"

namespace sepal {

ClockKeeper::ClockKeeper(EngineState* state, Catalog* catalog, PauseGate* pause, Executor* executor)
    : state_(state),
      catalog_(catalog),
      pause_(pause),
      executor_(executor),
      tasks_(executor, Executor::Priority::kFlush),
      task_(&tasks_, [this] { Keep(); }),
      link_(std::make_shared<Link>()),
      kept_at_micros_(state->core->world.clock->MonotonicMicros()) {
  {
    MutexLock lock(&link_->mutex);
    link_->keeper = this;
  }
  ExpiryClock& clock = state_->core->expiry;
  clock.TellDoubts([this](const ExpiryClock::Doubt& doubt) { TellDoubt(doubt); });
  clock.AskAtUse([link = link_] {
    MutexLock lock(&link->mutex);
    if (link->keeper != nullptr) link->keeper->Arm();
  });
}

void ClockKeeper::Stop() {
  {
    MutexLock lock(&link_->mutex);
    link_->keeper = nullptr;
  }
  tasks_.Close();
}

void ClockKeeper::Arm() {
  if (armed_.exchange(true)) return;
  const uint64_t now = state_->core->world.clock->MonotonicMicros();
  const uint64_t due = kept_at_micros_.load(std::memory_order_relaxed) + kPeriodMicros;
  if (now >= due) return task_.Ask();
  const auto ask = [link = link_] {
    MutexLock lock(&link->mutex);
    if (link->keeper != nullptr) link->keeper->task_.Ask();
  };
  if (executor_->ScheduleAfter(Executor::Priority::kFlush, due - now, ask)) return;
  armed_.store(false);
  state_->core->expiry.AskAfter((due - now) / 1000);  // a later use asks again
}

void ClockKeeper::Keep() {
  ExpiryClock& clock = state_->core->expiry;
  armed_.store(false);
  kept_at_micros_.store(state_->core->world.clock->MonotonicMicros(), std::memory_order_relaxed);
  // Done outside of the section, because a listener may take long.
  const bool in_doubt = clock.in_use() && clock.LookAtWall();
  // Does not wait for the end of a pause, because others may need the thread.
  bool paused;
  {
    StateLock lock(state_);
    paused = state_->pauses > 0;
  }
  if (!paused) {
    const PauseGate::Section section(pause_);
    {
      StateLock lock(state_);
      if (state_->closing || !state_->error.ok()) return;
    }
    if (clock.in_use() && clock.Lags()) {
      const absl::Status kept = catalog_->Apply({}, nullptr, nullptr);
      if (!kept.ok()) state_->core->info_log.Write("the clock of keys that expire was not kept: %s", kept.ToString());
    }
  }
  if (!paused) clock.AskAgain();
  if (in_doubt || paused) Arm();
}

void ClockKeeper::TellDoubt(const ExpiryClock::Doubt& doubt) const {
  ClockDoubtEvent event{.in_doubt = doubt.in_doubt,
                        .wall_time = TimeOfMillis(doubt.wall_millis),
                        .removal_time = TimeOfMillis(doubt.removal_millis)};
  const std::string wall = TimeText(event.wall_time), removal = TimeText(event.removal_time);
  event.message =
      doubt.in_doubt
          ? absl::StrFormat(
                "the wall clock shows %s, further ahead than the monotonic clock accounts for: it jumped, or the "
                "database was closed meanwhile. Keys expire by it, but what has expired is removed only up to %s until "
                "both clocks have kept pace for ten minutes. If the wall clock is right, DB::AcceptClock or `sepal db "
                "clock --accept` says so",
                wall, removal)
          : absl::StrFormat(
                "the wall clock is no longer in doubt: it shows %s, and what has expired is removed up to %s", wall,
                removal);
  state_->core->info_log.Write(std::string_view(event.message));
  state_->Tell([&](EventListener& listener) { listener.OnClockDoubt(event); });
}

}  // namespace sepal
