#include "db/engine/background/snapshot_watch.h"

#include <algorithm>

namespace sepal {

SnapshotWatch::SnapshotWatch(EngineState* state, JobSlots* slots) : state_(state), slots_(slots) {
  state_->snapshots->SetListener([this] { HearOfRelease(); });
  // Jobs of earlier openings may have kept versions for named snapshots. No other thread uses the database yet.
  if (state_->named_snapshots.empty()) return;
  kept_for_ = state_->snapshots->Sequences().back();
  kept_for_any_.store(true, std::memory_order_relaxed);
}

std::vector<SequenceNumber> SnapshotWatch::ForJob(const Family& family) {
  const SequenceNumber settled = family.history.GiveUp(state_->VisibleSequence());
  std::vector<SequenceNumber> snapshots = state_->snapshots->SequencesFor(family.id);
  if (!snapshots.empty()) {
    // If they are released before this is noted, the end of the job finds what is due.
    StateLock lock(state_);
    kept_for_ = std::max(kept_for_.value_or(snapshots.back()), snapshots.back());
    kept_for_any_.store(true, std::memory_order_relaxed);
  }
  if (family.history.on()) return StandingThrough(snapshots, settled);
  if (snapshots.empty() || snapshots.back() < settled) snapshots.push_back(settled);
  return snapshots;
}

void SnapshotWatch::HearOfRelease() {
  if (!kept_for_any_.load(std::memory_order_relaxed)) return;
  StateLock lock(state_);
  if (!kept_for_.has_value()) return;
  slots_->Schedule();
  const std::optional<SequenceNumber> left = state_->snapshots->Oldest();
  if (left.has_value() && *left <= *kept_for_) return;
  kept_for_.reset();
  kept_for_any_.store(false, std::memory_order_relaxed);
}

}  // namespace sepal
