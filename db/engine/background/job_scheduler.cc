#include "db/engine/background/job_scheduler.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>

#include "db/format/value_file.h"
#include "util/base/status.h"

namespace sepal {

void JobScheduler::Schedule() {
  LookAtValues();
  const Look look = LookAtFamilies();
  gate_->Update(look.level0_runs, look.debt_bytes, collection_.get());
  SetPace(look);
  if (state_->closing || !state_->error.ok() || state_->pauses > 0) return;
  flushes_->Start(look.flushes);
  for (const FamilyRef* family : look.sketches) compactions_->StartSketches(*family);
  StartCompactions(look);
  slots_->GrantCompactionThreads();
}

// Values that a damaged table refers to cannot be moved, so they are no reason to slow writers.
std::set<FileNumber> JobScheduler::FilesOfTablesPutOff() const {
  std::set<FileNumber> files;
  for (const auto& [id, family] : state_->families) {
    for (const CompactionPutOff& put_off : family->put_off()) {
      for (const CompactionInput& in : put_off.plan->inputs) {
        for (const TableRef& table : in.tables) {
          for (const ValueLinks& links : table->metadata().value_links) files.insert(links.file);
        }
      }
    }
  }
  return files;
}

void JobScheduler::LookAtValues() {
  ValueStore& values = state_->core->values;
  const uint64_t changes = state_->value_space.changes() + values.ended_changes();
  if (changes == value_changes_) return;
  value_changes_ = changes;
  const auto& live = state_->value_space.live_bytes();
  const std::set<FileNumber> stuck = FilesOfTablesPutOff();
  std::vector<ValueFileFacts> files;
  for (const ValueStore::FileState& file : values.Files()) {
    const auto of_tables = live.find(file.number);
    if (of_tables == live.end() || file.ended_bytes == 0 || file.memtables > 0 || file.unreadable) continue;
    if (stuck.contains(file.number)) continue;
    const uint64_t header = std::min<uint64_t>(file.ended_bytes, kValueFileHeaderBytes);
    files.push_back({file.number, file.ended_bytes - header, of_tables->second});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  double least = std::numeric_limits<double>::max();
  for (const auto& [id, family] : state_->families) {
    if (family->version()->ValueBytes() > 0) least = std::min(least, family->policy.max_space_amplification);
  }
  auto next = std::make_shared<const ValueCollection>(
      PlanValueCollection(std::move(files), least, state_->core->tuning.value_file_bytes));
  const bool same_files = collection_ != nullptr && next->files == collection_->files;
  collection_ = std::move(next);
  if (same_files) return;
  // If nothing is to be moved, the families get no collection.
  const ValueCollectionRef told = collection_->files.empty() ? nullptr : collection_;
  for (const auto& [id, family] : state_->families) {
    const ValueCollectionRef& before = family->collection();
    if (before != told && (before != nullptr || family->version()->ValueBytes() > 0)) family->SetCollection(told);
  }
}

JobScheduler::Look JobScheduler::LookAtFamilies() {
  const uint64_t now = state_->ReadDemandNow();
  const uint64_t before = demand_weighed_.exchange(now, std::memory_order_relaxed);
  // A lower number means that the user has reset the statistics.
  const bool reset = now < before;
  const SequenceNumber oldest = state_->OldestSnapshot();
  const size_t users = state_->CountUserFamilies();
  Look look;
  uint64_t next = ReadWatch::kNever, next_seeks = ReadWatch::kNever;
  for (const auto& [id, family] : state_->families) {
    if (!family->need().has_value() || reset || now >= family->need()->NextDemand())
      family->FindNeed(before, now, users);
    const FamilyNeed& need = *family->need();
    look.level0_runs = std::max(look.level0_runs, need.level0_runs);
    look.debt_bytes = std::max(look.debt_bytes, need.debt_bytes);
    look.readers_wait = look.readers_wait || need.readers_wait;
    next = std::min(next, need.demand_due);
    next_seeks = std::min(next_seeks, need.seeks_due);
    if (need.flush) look.flushes.push_back(family);
    if (need.sketches) look.sketches.push_back(&family);
    if (!need.MayCompact(family->history.Due(oldest))) continue;
    look.candidates.push_back({.family = look.families.size(), .score = need.score});
    look.families.push_back(&family);
  }
  demand_due_.store(next, std::memory_order_relaxed);
  seeks_due_.store(next_seeks, std::memory_order_relaxed);
  return look;
}

void JobScheduler::SetPace(const Look& look) {
  BackgroundPace& pace = slots_->pace();
  pace.SetAwaited(look.readers_wait || waiting_ > 0);
  pace.SetThrottled(!gate_->current().unlimited());
  pace.SetCompactionsLag(gate_->current().compactions_lag);
  pace.SetResting(state_->AllAtRest());
  GrantEarlyFlushThreads();
}

void JobScheduler::GrantEarlyFlushThreads() {
  slots_->pace().SetFlushAwaited(waiting_ + waiting_for_flush_ > 0);
  slots_->GrantEarlyFlushThreads();
}

void JobScheduler::StartCompactions(const Look& look) {
  const CompactionSlots slots{.free = slots_->pace().threads() - state_->compaction_jobs,
                              .oldest_snapshot = state_->OldestSnapshot(),
                              .compactions_lag = gate_->current().compactions_lag,
                              .space_is_short = gate_->AnyWaitsForSpace()};
  const auto facts_of = [&](size_t family) {
    database_mutex.AssertHeld();
    return (*look.families[family])->Facts();
  };
  const CompactionChoice choice = ChooseCompactions(look.candidates, facts_of, slots);
  for (const CompactionChoice::Start& start : choice.starts) {
    compactions_->Start(*look.families[start.family], start.plan);
  }
  const uint64_t demand = demand_weighed_.load(std::memory_order_relaxed);
  for (const CompactionChoice::Idle& idle : choice.idle) {
    Family& family = **look.families[idle.family];
    if (!family.need().has_value()) family.FindNeed(demand, demand, state_->CountUserFamilies());
    family.NoteNothingToCompact(idle.held_by);
  }
}

void JobScheduler::OnReads(uint64_t reads) {
  const uint64_t before = heard_.fetch_add(reads, std::memory_order_relaxed);
  if (before / kReadsPerLook == (before + reads) / kReadsPerLook) return;
  const uint64_t now = state_->ReadDemandNow();
  // A lower number means that the user has reset the statistics, and needs must be computed anew.
  const bool reset = now < demand_weighed_.load(std::memory_order_relaxed);
  const uint64_t due =
      std::min(demand_due_.load(std::memory_order_relaxed), seeks_due_.load(std::memory_order_relaxed));
  if (!reset && now < due) return;
  StateLock lock(state_);
  Schedule();
}

absl::Status JobScheduler::WaitUntilIdle() {
  StateLock lock(state_);
  ++waiting_;
  Schedule();
  while (state_->error.ok() && !state_->closing && !NothingDue()) state_->WaitForChange();
  --waiting_;
  return state_->error;
}

bool JobScheduler::NothingDue() const {
  const auto range_waits = [](const Family& family) REQUIRES_STATE_LOCK { return family.ranges().waiting > 0; };
  return state_->jobs == 0 && state_->pauses == 0 && state_->AllFlushed() && !state_->Any(range_waits);
}

absl::Status JobScheduler::WaitForFlush(const FamilyRef& family) {
  StateLock lock(state_);
  const std::deque<ImmutableMemTable>& all = family->immutables();
  const std::shared_ptr<const MemTable> last = all.empty() ? nullptr : all.back().memtable;
  const auto waits = [&] {
    return std::any_of(all.begin(), all.end(),
                       [&](const ImmutableMemTable& immutable) { return immutable.memtable == last; });
  };
  RETURN_IF_ERROR(state_->error);
  if (last == nullptr) return family->CheckThere();
  ++waiting_for_flush_;
  GrantEarlyFlushThreads();
  while (state_->error.ok() && !state_->closing && waits()) state_->WaitForChange();
  --waiting_for_flush_;
  GrantEarlyFlushThreads();
  RETURN_IF_ERROR(state_->error);
  return waits() ? slots_->BeingClosed() : family->CheckThere();
}

}  // namespace sepal
