#include "db/engine/pause_gate.h"

namespace sepal {

void PauseGate::Pause() {
  MutexLock lock(&state_->mutex);
  ++state_->pauses;
  paused_.store(true, std::memory_order_relaxed);
  while (inside_ > 0 && state_->pauses > 0 && !state_->closing) state_->changed.Wait(&state_->mutex);
}

absl::Status PauseGate::Continue() {
  state_->mutex.AssertHeld();
  if (state_->pauses == 0) return absl::FailedPreconditionError("background work is not paused");
  --state_->pauses;
  paused_.store(state_->pauses > 0, std::memory_order_relaxed);
  state_->changed.NotifyAll();
  return absl::OkStatus();
}

void PauseGate::Enter() {
  MutexLock lock(&state_->mutex);
  while (state_->pauses > 0 && !state_->closing) state_->changed.Wait(&state_->mutex);
  ++inside_;
}

void PauseGate::Leave() {
  MutexLock lock(&state_->mutex);
  --inside_;
  if (state_->pauses > 0) state_->changed.NotifyAll();
}

}  // namespace sepal
