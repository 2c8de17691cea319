#include "db/decide/pacing/schedule.h"

#include <algorithm>
#include <utility>

#include "db/decide/compaction/level_targets.h"

namespace sepal {

namespace {

// The picker checks only tables of the last level for snapshots that read below them.
bool MayBeHeldBySnapshots(const Version& version, SequenceNumber oldest) {
  const int deepest = version.DeepestLevel();
  if (deepest < 1) return false;
  const std::vector<RunRef>& runs = version.level(deepest);
  return std::any_of(runs.begin(), runs.end(),
                     [oldest](const RunRef& run) { return run->highest_sequence() > oldest; });
}

// Returns the score of the fullest level from which no compaction takes tables yet.
double FreeScore(const FamilyFacts& facts) {
  const CompactionPolicy policy = PolicyNow(facts);
  double score = 0;
  for (int level = 0; level <= facts.version->DeepestLevel(); ++level) {
    const bool taken = std::any_of(facts.running.begin(), facts.running.end(),
                                   [level](const PlanRef& plan) { return plan->InputLevel() == level; });
    if (!taken) score = std::max(score, CompactionScore(*facts.version, policy, level));
  }
  return score;
}

// Orders a heap of families that wait for a slot; the next one is at the top.
bool IsLater(const CompactionCandidate& a, const CompactionCandidate& b) {
  return a.score != b.score ? a.score < b.score : a.family > b.family;
}

}  // namespace

CompactionPolicy PolicyNow(const FamilyFacts& facts) {
  CompactionPolicy now = *facts.policy;
  if (facts.level0_is_read) now.unread_runs = 0;
  if (facts.history_floor.has_value()) now.all_live_above = *facts.history_floor;
  return now;
}

FamilyNeed FindNeed(const FamilyFacts& facts) {
  const Version& version = *facts.version;
  const CompactionPolicy policy = PolicyNow(facts);
  FamilyNeed need;
  need.level0_runs = version.NumRuns(0) - policy.unread_runs;
  need.debt_bytes = CompactionDebtBytes(version, policy, facts.sketches_sought);
  need.readers_wait = facts.level0_is_read && version.NumRuns(0) > 2 * policy.runs_per_level;
  need.flush = facts.memtable_waits && facts.flushes_waiting == 0 && facts.flushes_running < kFlushesAtATime;
  need.sketches = !facts.sketches_sought && !facts.sketches_running && facts.flushed &&
                  (MayExceedSpace(version, *facts.policy) || MayShadowValues(version, *facts.policy));
  need.score = FreeScore(facts);
  return need;
}

PickerInput MakePickerInput(const FamilyFacts& facts, SequenceNumber oldest_snapshot,
                            std::vector<const CompactionPlan*>* held) {
  for (const PlanRef& plan : facts.running) held->push_back(plan.get());
  for (const CompactionPutOff& put_off : facts.put_off) held->push_back(put_off.plan.get());
  return {.version = facts.version,
          .policy = PolicyNow(facts),
          .running = *held,
          .oldest_snapshot = facts.OldestReader(oldest_snapshot),
          .at_rest = facts.flushed && facts.at_rest,
          .is_read = facts.flushed && facts.tree_is_read,
          .sketches_sought = facts.sketches_sought,
          .values = facts.values};
}

bool IsHeldBack(const RangeCalls& ranges, const CompactionSlots& slots) {
  constexpr int kMostThatPass = 8;
  const bool may_pass = slots.compactions_lag && ranges.plans_passed < kMostThatPass;
  return ranges.waiting > 0 && ranges.running == 0 && !slots.space_is_short && !may_pass;
}

CompactionChoice ChooseCompactions(std::vector<CompactionCandidate> candidates,
                                   const std::function<FamilyFacts(size_t family)>& facts_of,
                                   const CompactionSlots& slots) {
  CompactionChoice choice;
  const auto slot_is_free = [&] { return static_cast<int>(choice.starts.size()) < slots.free; };
  while (!candidates.empty() && slot_is_free()) {
    std::vector<CompactionCandidate> again;
    std::make_heap(candidates.begin(), candidates.end(), IsLater);
    while (!candidates.empty() && slot_is_free()) {
      std::pop_heap(candidates.begin(), candidates.end(), IsLater);
      const size_t family = candidates.back().family;
      candidates.pop_back();
      FamilyFacts facts = facts_of(family);
      std::vector<PlanRef> running(facts.running.begin(), facts.running.end());
      for (const CompactionChoice::Start& start : choice.starts) {
        if (start.family != family) continue;
        running.push_back(start.plan);
        if (facts.ranges.waiting > 0) ++facts.ranges.plans_passed;
      }
      facts.running = running;
      if (IsHeldBack(facts.ranges, slots)) continue;
      std::vector<const CompactionPlan*> held;
      CompactionPlan plan = PickCompaction(MakePickerInput(facts, slots.oldest_snapshot, &held));
      if (plan.nothing()) {
        const SequenceNumber oldest = facts.OldestReader(slots.oldest_snapshot);
        const bool may_change = MayBeHeldBySnapshots(*facts.version, oldest);
        choice.idle.push_back({family, may_change ? std::optional(oldest) : std::nullopt});
        continue;
      }
      running.push_back(std::make_shared<const CompactionPlan>(std::move(plan)));
      choice.starts.push_back({family, running.back()});
      facts.running = running;
      again.push_back({family, FreeScore(facts)});
    }
    candidates = std::move(again);
  }
  return choice;
}

}  // namespace sepal
