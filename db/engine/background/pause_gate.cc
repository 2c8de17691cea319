#include "db/engine/background/pause_gate.h"

namespace sepal {

void PauseGate::Pause() {
  MutexLock lock(&state_->mutex);
  ++state_->pauses;
  UpdateHeld();
  state_->changed.NotifyAll();  // writers that a large batch holds back (write_gate.h)
  while (inside_ > 0 && state_->pauses > 0 && !state_->closing) state_->changed.Wait(&state_->mutex);
}

absl::Status PauseGate::Continue() {
  state_->mutex.AssertHeld();
  if (state_->pauses == 0) return absl::FailedPreconditionError("background work is not paused");
  --state_->pauses;
  UpdateHeld();
  state_->changed.NotifyAll();
  return absl::OkStatus();
}

void PauseGate::Enter() {
  MutexLock lock(&state_->mutex);
  while ((state_->pauses > 0 || first_ > 0) && !state_->closing) state_->changed.Wait(&state_->mutex);
  ++inside_;
}

void PauseGate::Leave() {
  MutexLock lock(&state_->mutex);
  --inside_;
  if (state_->pauses > 0) state_->changed.NotifyAll();
}

void PauseGate::EnterFlush(bool goes_first) {
  MutexLock lock(&state_->mutex);
  while (state_->pauses > 0 && !state_->closing) state_->changed.Wait(&state_->mutex);
  ++inside_;
  if (!goes_first) return;
  ++first_;
  UpdateHeld();
}

void PauseGate::LeaveFlush(bool goes_first) {
  MutexLock lock(&state_->mutex);
  --inside_;
  if (goes_first) --first_;
  UpdateHeld();
  if (goes_first || state_->pauses > 0) state_->changed.NotifyAll();
}

void PauseGate::UpdateHeld() { held_.store(state_->pauses > 0 || first_ > 0, std::memory_order_relaxed); }

}  // namespace sepal
