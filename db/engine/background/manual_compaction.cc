#include "db/engine/background/manual_compaction.h"

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "db/decide/compaction/compaction_picker.h"
#include "db/decide/compaction/droppable_tables.h"
#include "db/decide/pacing/schedule.h"
#include "db/engine/background/range_progress.h"
#include "util/base/status.h"

namespace sepal {
namespace {

// The bytes of the tables that the call may rewrite.
uint64_t BytesOf(const Version& version, const CompactRangeOptions& options) {
  uint64_t bytes = 0;
  for (const LevelRun& r : version.runs()) {
    for (const TableRef& table : r.run->Overlapping({options.begin, options.end})) {
      if (!options.covered_only || MayHoldCovered(version, table->metadata())) bytes += table->metadata().size_bytes;
    }
  }
  return bytes;
}

SequenceNumber FilterEpochOf(const EngineState* state, const Family& family) {
  StateLock lock(state);
  const SequenceNumber oldest = family.history.Due(state->OldestSnapshot());
  const std::unique_ptr<const StripeFilter> filter = family.FilterForJob({&oldest, 1});
  return filter != nullptr ? filter->newest() : SequenceNumber(0);
}

class ManualCompaction {
 public:
  ManualCompaction(EngineState* state, JobSlots* slots, CompactionRunner* compactions, FamilyRef family,
                   const CompactRangeOptions& options, FileNumber first_new_file)
      : state_(state),
        slots_(slots),
        compactions_(compactions),
        family_(std::move(family)),
        call_{.keys = {options.begin, options.end},
              .first_new_file = first_new_file,
              .last_sequence = state->VisibleSequence(),
              .filter_epoch = FilterEpochOf(state, *family_),
              .every_table = family_->options.context_filter != nullptr,
              .covered_only = options.covered_only},
        progress_(options.progress, BytesOf(*state->VersionOf(*family_), options), state->core->world.clock) {}
  ManualCompaction(const ManualCompaction&) = delete;
  ManualCompaction& operator=(const ManualCompaction&) = delete;
  ~ManualCompaction() {
    if (!waits_) return;
    StateLock lock(state_);
    EndWait();
  }

  absl::Status Run() EXCLUDES_STATE_LOCK {
    if (!progress_.Tell()) return absl::CancelledError("the compaction was cancelled before it began");
    while (true) {
      ASSIGN_OR_RETURN(std::optional<Step> step, NextStep());
      if (!step.has_value()) {
        if (!progress_.Tell()) return absl::CancelledError("the compaction was cancelled");
        continue;
      }
      if (step->plan == nullptr) break;
      RETURN_IF_ERROR(CarryOut(*std::move(step)));
    }
    progress_.TellEnd();
    return filter_status_;
  }

 private:
  struct Step {
    PlanRef plan;  // adopted; null if nothing is left to do
    RunNumber run;
  };

  // Unset if something was in the way, and has changed since.
  absl::StatusOr<std::optional<Step>> NextStep() EXCLUDES_STATE_LOCK {
    StateLock lock(state_);
    RETURN_IF_ERROR(state_->error);
    if (state_->closing) return slots_->BeingClosed();
    RETURN_IF_ERROR(family_->CheckThere());
    std::vector<const CompactionPlan*> held;
    const PickerInput input = MakePickerInput(family_->Facts(), state_->OldestSnapshot(), &held);
    RangeStep planned = PlanRange(input, call_);
    if (planned.blocked) {
      RETURN_IF_ERROR(DamageInTheWay(input));
      BeginWait();
    }
    if (planned.blocked || state_->pauses > 0) {
      AwaitChange();
      return std::nullopt;
    }
    Step step;
    if (!planned.plan.nothing()) {
      step.plan = std::make_shared<const CompactionPlan>(std::move(planned.plan));
      step.run = compactions_->Adopt(family_.get(), step.plan, /*of_range=*/true);
      slots_->Begin();
      call_.brought_down = true;
    }
    EndWait();
    return step;
  }

  absl::Status CarryOut(Step step) EXCLUDES_STATE_LOCK {
    progress_.BeginPlan(step.plan->InputBytes(), step.plan->InputEntries());
    const absl::Status status = compactions_->Run(family_, step.plan, step.run, &progress_, &filter_status_);
    step.plan.reset();  // so that the job finds its inputs unused when it ends, and removes them
    slots_->End();
    if (!status.ok()) RETURN_IF_ERROR(family_->CheckThere());
    return status;
  }

  // Returns the damage that blocks the call's next step for good; ok if there is none.
  absl::Status DamageInTheWay(PickerInput input) const REQUIRES_STATE_LOCK {
    for (const CompactionPutOff& put_off : family_->put_off()) {
      const CompactionPlan* const held = put_off.plan.get();
      input.running = std::span(&held, 1);
      if (PlanRange(input, call_).blocked) return put_off.damage;
    }
    return absl::OkStatus();
  }

  // Waits for a change; only briefly if progress is to be reported.
  void AwaitChange() REQUIRES_STATE_LOCK {
    constexpr uint64_t kTellAfterMicros = 250'000;
    if (progress_.wanted()) {
      state_->WaitForChange(kTellAfterMicros);
    } else {
      state_->WaitForChange();
    }
  }

  // Between BeginWait and EndWait the background begins no plan in the family.
  void BeginWait() REQUIRES_STATE_LOCK {
    if (!std::exchange(waits_, true)) family_->BeginRangeWait();
  }
  void EndWait() REQUIRES_STATE_LOCK {
    if (!std::exchange(waits_, false)) return;
    family_->EndRangeWait();
    slots_->Schedule();
    state_->NotifyChanged();
  }

  EngineState* const state_;
  JobSlots* const slots_;
  CompactionRunner* const compactions_;
  const FamilyRef family_;
  RangeCall call_;
  absl::Status filter_status_;  // of the context filter; the range is compacted nevertheless
  RangeProgress progress_;
  bool waits_ = false;
};

}  // namespace

absl::Status CompactRange(EngineState* state, JobSlots* slots, CompactionRunner* compactions, const FamilyRef& family,
                          const CompactRangeOptions& options, FileNumber first_new_file) {
  return ManualCompaction(state, slots, compactions, family, options, first_new_file).Run();
}

}  // namespace sepal
