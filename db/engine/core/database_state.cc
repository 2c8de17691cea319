#include "db/engine/core/database_state.h"

#include <utility>

#include "util/base/check.h"
#include "util/base/status.h"

namespace sepal {

void EngineState::Stop(const absl::Status& status, std::string_view where) {
  SEPAL_CHECK(!status.ok());
  {
    StateLock lock(this);
    if (!error.ok()) return;
    error = Lasting(status, where);
    stopped.store(true, std::memory_order_release);
    core->deleter->Stop();  // the directory may belong to another process now
    NotifyChanged();
  }
  core->info_log.Write("error, writes are no longer accepted: %s: %s", where, status.ToString());
  Tell([&](EventListener& listener) { listener.OnError(where, status); });
}

absl::Status EngineState::CheckLock() {
  const absl::Status status = directory_lock->Check();
  if (!status.ok()) Stop(status, "lock");
  return status;
}

// The caller has removed the previous named snapshots from `named_snapshots`, because they hold the core, which must
// not be released by its own epochs. Snapshots that users still hold belong to the previous view, and stay with it.
void EngineState::PublishJointView(SequenceNumber sequence, std::span<const KeptSnapshot> named) {
  std::vector<JointView::Part> parts;
  parts.reserve(families.size());
  for (const auto& [id, family] : families) parts.push_back({family->id, family->current()});
  auto next = std::make_shared<const JointView>(sequence, std::move(parts));
  SEPAL_DCHECK(named_snapshots.empty());
  for (const KeptSnapshot& kept : named) {
    named_snapshots.emplace(kept.name, NamedSnapshotHold{kept, snapshots->Take(kept.sequence, core, next)});
  }
  visible.store(sequence.value(), std::memory_order_release);
  joint_view_.store(next.get(), std::memory_order_seq_cst);
  std::shared_ptr<const JointView> old = std::exchange(current_joint_view_, std::move(next));
  core->epochs.Defer([old = std::move(old)]() mutable { old.reset(); });
}

absl::Status EngineState::Error() const {
  StateLock lock(this);
  return error;
}

void EngineState::WaitForChange() {
  mutex_.AssertHeld();
  changed_.Wait(&mutex_);
}

void EngineState::WaitForChange(uint64_t micros) {
  mutex_.AssertHeld();
  changed_.WaitFor(&mutex_, micros);
}

std::vector<FamilyRef> EngineState::Families() const {
  std::vector<FamilyRef> all;
  all.reserve(families.size());
  for (const auto& [id, family] : families) all.push_back(family);
  return all;
}

SequenceNumber EngineState::OldestSnapshot() const {
  const std::optional<SequenceNumber> held = snapshots->Oldest();
  return held.has_value() ? *held : VisibleSequence();
}

uint64_t EngineState::ReadDemandNow() const {
  const StatisticsImpl& statistics = core->statistics;
  return ReadDemand({.level0_lookups = statistics.GetFilter(0).lookups,
                     .seeks = statistics.Get(Ticker::kSeeks),
                     .steps = statistics.Get(Ticker::kNexts) + statistics.Get(Ticker::kPrevs)});
}

VersionRef EngineState::VersionOf(const Family& family) const {
  StateLock lock(this);
  return family.version();
}

bool EngineState::AnyCompactionRuns() const {
  return Any([](const Family& family) REQUIRES_STATE_LOCK { return !family.running().empty(); });
}

bool EngineState::AllFlushed() const {
  return !Any([](const Family& family) REQUIRES_STATE_LOCK { return !family.immutables().empty(); });
}

bool EngineState::AnyFlushRuns() const {
  return Any([](const Family& family) REQUIRES_STATE_LOCK { return family.flushes_running() > 0; });
}

bool EngineState::FlushAtHand() const {
  int running = 0;
  for (const auto& [id, family] : families) {
    if (family->flushes_waiting() > 0 || family->AwaitsFlush()) return false;
    running += family->flushes_running();
  }
  return running < kFlushesAtATime;
}

bool EngineState::AllAtRest() {
  const SequenceNumber now = VisibleSequence();
  if (rested_at_ == now) return true;
  const auto restless = families.find(restless_);
  if (restless != families.end() && !restless->second->AtRest()) return false;
  for (const auto& [id, family] : families) {
    if (family->AtRest() || family->id == kSystemFamilyId) continue;  // no flush call covers the database's own rows
    restless_ = id;
    return false;
  }
  rested_at_ = now;
  return true;
}

size_t EngineState::MemtableBytes() const {
  size_t bytes = 0;
  for (const auto& [id, family] : families) bytes += family->ImmutableBytes() + family->active()->MemoryBytes();
  return bytes;
}

}  // namespace sepal
