// Looks for what is due. A look asks of each family what the last one found there (Family::need), and of those families
// alone of which something has changed what they need now: a database of many families has little to do with most.
#include <algorithm>
#include <utility>

#include "db/decide/compaction/level_targets.h"
#include "db/decide/pacing/read_demand.h"
#include "db/engine/background/background.h"
#include "util/base/check.h"

namespace sepal {

namespace {

// All but `demand_due`, and before the picker was asked.
FamilyNeed FoundIn(const Family& family) {
  const Version& version = *family.version();
  const CompactionPolicy policy = family.PolicyNow();
  FamilyNeed need;
  need.level0_runs = version.NumRuns(0) - policy.unread_runs;
  need.debt_bytes = CompactionDebtBytes(version, policy, family.sketches_sought);
  need.readers_wait = family.level0_is_read && version.NumRuns(0) > 2 * policy.runs_per_level;
  need.flush = family.AwaitsFlush() && family.MayBeginFlush();
  // Who adds nothing should not set off a merge for the sake of space.
  need.sketches = !family.sketches_sought && !family.sketches_running && family.last_flush.has_value() &&
                  MayExceedSpace(version, family.policy);
  for (int level = 0; level <= version.DeepestLevel(); ++level) {
    const bool taken = std::any_of(family.running.begin(), family.running.end(),
                                   [level](const auto& plan) { return plan->InputLevel() == level; });
    if (!taken) need.score = std::max(need.score, CompactionScore(version, policy, level));
  }
  return need;
}

// The picker asks whether a snapshot looks below a table of the last level, and of no other.
bool MayBeHeldBySnapshots(const Version& version, SequenceNumber oldest) {
  const int deepest = version.DeepestLevel();
  if (deepest < 1) return false;
  const std::vector<RunRef>& runs = version.level(deepest);
  return std::any_of(runs.begin(), runs.end(),
                     [oldest](const RunRef& run) { return run->highest_sequence() > oldest; });
}

bool MayMerge(const FamilyNeed& need, SequenceNumber oldest) {
  return need.may_merge || (need.held_by.has_value() && *need.held_by != oldest);
}

}  // namespace

void Background::Schedule() {
  database_mutex.AssertHeld();
  Look look = LookAtFamilies();
  gate_->Update(look.level0_runs, look.debt_bytes);
  pace_.SetAwaited(look.readers_wait || waiting_ > 0);
  pace_.SetThrottled(!gate_->current().unlimited());
  pace_.SetCompactionsLag(gate_->current().compactions_lag);
  pace_.SetResting(AllAtRest());
  SetEarlyFlushThreads();
  if (state_->closing || !state_->error.ok() || state_->pauses > 0) return;
  for (const FamilyRef* family : look.jobs) {
    if ((*family)->need->flush) ScheduleFlush(*family);
    if ((*family)->need->sketches) ScheduleSketches(*family);
  }
  ScheduleCompactions(std::move(look.merges));
  const int others = std::max(0, state_->compaction_jobs - 1);
  merge_threads_.store(std::max(1, pace_.merge_threads() - others), std::memory_order_relaxed);
}

Background::Look Background::LookAtFamilies() {
  const uint64_t now = DemandNow();
  const uint64_t before = demand_weighed_.exchange(now, std::memory_order_relaxed);
  // Less than before: the user has set the counts back to zero.
  const bool reset = now < before;
  const SequenceNumber oldest = OldestSnapshot();
  Look look;
  uint64_t next = FamilyNeed::kNoDemand;
  for (const auto& [id, family] : state_->families) {
    if (!family->need.has_value() || reset || now >= family->need->demand_due) FindNeed(family.get(), before, now);
    SEPAL_DCHECK(NeedHolds(*family, oldest));
    const FamilyNeed& need = *family->need;
    look.level0_runs = std::max(look.level0_runs, need.level0_runs);
    look.debt_bytes = std::max(look.debt_bytes, need.debt_bytes);
    look.readers_wait = look.readers_wait || need.readers_wait;
    next = std::min(next, need.demand_due);
    if (need.flush || need.sketches) look.jobs.push_back(&family);
    if (MayMerge(need, oldest)) look.merges.push_back(&family);
  }
  demand_due_.store(next, std::memory_order_relaxed);
  return look;
}

void Background::FindNeed(Family* family, uint64_t before, uint64_t now) {
  const uint64_t demand_due = WeighReads(family, before, now);
  family->need = FoundIn(*family);
  family->need->demand_due = demand_due;
}

uint64_t Background::WeighReads(Family* family, uint64_t before, uint64_t now) {
  // What readers have asked for holds until they have it.
  const bool holds = family->MergesLevel0();
  const Version& version = *family->version();
  if (std::exchange(family->few_runs, !holds && version.NumRuns(0) < family->policy.runs_per_level)) {
    family->demand_before = before;
  }
  if (holds) return FamilyNeed::kNoDemand;
  // Less than before: the user has set the counts back to zero.
  if (family->few_runs || family->demand_before.value_or(0) > now) family->demand_before = now;
  const uint64_t due =
      family->demand_before.has_value() ? DemandThatMerges(*family->demand_before, version.Entries(0)) : 0;
  family->level0_is_read = !family->few_runs && now >= due;
  return family->few_runs || now >= due ? FamilyNeed::kNoDemand : due;
}

bool Background::NeedHolds(const Family& family, SequenceNumber oldest) const {
  const FamilyNeed found = FoundIn(family);
  const FamilyNeed& kept = *family.need;
  const bool same = kept.level0_runs == found.level0_runs && kept.debt_bytes == found.debt_bytes &&
                    kept.readers_wait == found.readers_wait && kept.flush == found.flush &&
                    kept.sketches == found.sketches && kept.score == found.score;
  // While sketches are being read, what was read does not count yet.
  if (!same || MayMerge(kept, oldest) || (family.sketches_running && !family.sketches_sought)) return same;
  std::vector<const CompactionPlan*> running;
  PickerInput input = MakePickerInput(family, &running);
  input.oldest_snapshot = oldest;
  return PickCompaction(input).nothing();
}

uint64_t Background::DemandNow() const {
  const StatisticsImpl& statistics = state_->core->statistics;
  return ReadDemand({.level0_lookups = statistics.GetFilter(0).lookups,
                     .seeks = statistics.Get(Ticker::kSeeks),
                     .steps = statistics.Get(Ticker::kNexts) + statistics.Get(Ticker::kPrevs)});
}

void Background::HearReaders(uint64_t reads) {
  const uint64_t before = heard_.fetch_add(reads, std::memory_order_relaxed);
  if (before / kReadsPerLook == (before + reads) / kReadsPerLook) return;
  const uint64_t now = DemandNow();
  // Less than before: the user has set the counts back to zero, and what is due has to be found anew.
  const bool reset = now < demand_weighed_.load(std::memory_order_relaxed);
  if (!reset && now < demand_due_.load(std::memory_order_relaxed)) return;
  StateLock lock(state_);
  Schedule();
}

void Background::SetEarlyFlushThreads() {
  pace_.SetFlushAwaited(waiting_ + waiting_for_flush_ > 0);
  early_flush_threads_.store(pace_.early_flush_threads(), std::memory_order_relaxed);
}

SequenceNumber Background::OldestSnapshot() const {
  const std::optional<SequenceNumber> held = state_->snapshots->Oldest();
  return held.has_value() ? *held : state_->VisibleSequence();
}

PickerInput Background::MakePickerInput(const Family& family, std::vector<const CompactionPlan*>* running) const {
  for (const PlanRef& plan : family.running) running->push_back(plan.get());
  for (const CompactionPutOff& put_off : family.put_off) running->push_back(put_off.plan.get());
  return {.version = family.version().get(),
          .policy = family.PolicyNow(),
          .running = *running,
          .oldest_snapshot = OldestSnapshot(),
          // Who only looks at a database, or adds little, should not set off a merge by opening it.
          .at_rest = family.last_flush.has_value() && family.AtRest(),
          .sketches_sought = family.sketches_sought};
}

void Background::ScheduleSketches(const FamilyRef& family) {
  family->need->sketches = false;
  family->sketches_running = true;
  StartJob(Executor::Priority::kCompaction,
           [this, family, version = family->version()] { LearnSketches(family.get(), *version); });
}

void Background::ScheduleCompactions(std::vector<const FamilyRef*> families) {
  const int most_compactions = pace_.threads();
  const auto later = [](const FamilyRef* a, const FamilyRef* b) {
    const double score = (*a)->need->score;
    const double other = (*b)->need->score;
    return score != other ? score < other : (*a)->id > (*b)->id;
  };
  const uint64_t demand = demand_weighed_.load(std::memory_order_relaxed);
  while (!families.empty() && state_->compaction_jobs < most_compactions) {
    std::vector<const FamilyRef*> again;
    std::make_heap(families.begin(), families.end(), later);
    while (!families.empty() && state_->compaction_jobs < most_compactions) {
      std::pop_heap(families.begin(), families.end(), later);
      if (ScheduleCompaction(*families.back())) again.push_back(families.back());
      families.pop_back();
    }
    for (const FamilyRef* family : again) FindNeed(family->get(), demand, demand);
    families = std::move(again);
  }
}

bool Background::ScheduleCompaction(const FamilyRef& family) {
  if (IsHeldBack(*family)) return false;
  std::vector<const CompactionPlan*> running;
  const PickerInput input = MakePickerInput(*family, &running);
  CompactionPlan picked = PickCompaction(input);
  if (picked.nothing()) {
    const bool held = MayBeHeldBySnapshots(*input.version, input.oldest_snapshot);
    family->need->may_merge = false;
    family->need->held_by = held ? std::optional(input.oldest_snapshot) : std::nullopt;
    return false;
  }
  auto plan = std::make_shared<const CompactionPlan>(std::move(picked));
  const RunNumber run = Adopt(family.get(), plan);
  ++state_->compaction_jobs;
  if (family->ranges_waiting > 0) ++family->plans_passed;
  StartJob(Executor::Priority::kCompaction,
           [this, family, plan = std::move(plan), run] { RunCompactionJob(family, plan, run); });
  return true;
}

bool Background::NothingDue() const {
  return state_->jobs == 0 && state_->pauses == 0 && state_->AllFlushed() &&
         std::none_of(state_->families.begin(), state_->families.end(),
                      [](const auto& entry) { return entry.second->ranges_waiting > 0; });
}

bool Background::AllAtRest() {
  const SequenceNumber visible = state_->VisibleSequence();
  if (rested_at_ == visible) return true;
  const auto restless = state_->families.find(restless_);
  if (restless != state_->families.end() && !restless->second->AtRest()) return false;
  for (const auto& [id, family] : state_->families) {
    if (family->AtRest()) continue;
    restless_ = id;
    return false;
  }
  rested_at_ = visible;
  return true;
}

}  // namespace sepal
