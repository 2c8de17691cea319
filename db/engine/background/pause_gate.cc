#include "db/engine/background/pause_gate.h"

namespace sepal {

void PauseGate::Pause() {
  StateLock lock(state_);
  ++state_->pauses;
  UpdateHeld();
  state_->NotifyChanged();  // writers that a large batch holds back (write_gate.h)
  while (inside_ > 0 && state_->pauses > 0 && !state_->closing) state_->WaitForChange();
}

absl::Status PauseGate::Continue() {
  if (state_->pauses == 0) return absl::FailedPreconditionError("background work is not paused");
  --state_->pauses;
  UpdateHeld();
  state_->NotifyChanged();
  return absl::OkStatus();
}

void PauseGate::Enter() {
  StateLock lock(state_);
  while ((state_->pauses > 0 || first_ > 0) && !state_->closing) state_->WaitForChange();
  ++inside_;
}

void PauseGate::Leave() {
  StateLock lock(state_);
  --inside_;
  if (state_->pauses > 0) state_->NotifyChanged();
}

void PauseGate::EnterFlush(bool goes_first) {
  StateLock lock(state_);
  while (state_->pauses > 0 && !state_->closing) state_->WaitForChange();
  ++inside_;
  if (!goes_first) return;
  ++first_;
  UpdateHeld();
}

void PauseGate::LeaveFlush(bool goes_first) {
  StateLock lock(state_);
  --inside_;
  if (goes_first) --first_;
  UpdateHeld();
  if (goes_first || state_->pauses > 0) state_->NotifyChanged();
}

void PauseGate::UpdateHeld() { held_.store(state_->pauses > 0 || first_ > 0, std::memory_order_relaxed); }

}  // namespace sepal
