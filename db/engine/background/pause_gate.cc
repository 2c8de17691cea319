#include "db/engine/background/pause_gate.h"

namespace sepal {

void PauseGate::Pause() {
  StateLock lock(state_);
  ++state_->pauses;
  UpdateHeld();
  state_->NotifyChanged();  // wakes writers that a large batch holds back (write_gate.h)
  while (inside_ > 0 && state_->pauses > 0 && !state_->closing) state_->WaitForChange();
}

absl::Status PauseGate::Continue() {
  if (state_->pauses == 0) return absl::FailedPreconditionError("background work is not paused");
  --state_->pauses;
  UpdateHeld();
  state_->NotifyChanged();
  return absl::OkStatus();
}

void PauseGate::Enter(Work work) {
  StateLock lock(state_);
  const bool yields = work == Work::kOther;
  while ((state_->pauses > 0 || (yields && first_ > 0)) && !state_->closing) state_->WaitForChange();
  ++inside_;
  if (work != Work::kFirstFlush) return;
  ++first_;
  UpdateHeld();
}

void PauseGate::Leave(Work work) {
  StateLock lock(state_);
  --inside_;
  const bool first = work == Work::kFirstFlush;
  if (first) --first_;
  UpdateHeld();
  if (first || state_->pauses > 0) state_->NotifyChanged();
}

void PauseGate::UpdateHeld() { held_.store(state_->pauses > 0 || first_ > 0, std::memory_order_relaxed); }

}  // namespace sepal
