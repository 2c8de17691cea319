#include "db/engine/core/family_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

namespace sepal {

absl::Status Family::CheckThere() const {
  if (!dropped.load(std::memory_order_acquire)) [[likely]]
    return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat("column family \"%s\" was dropped", name));
}

void Family::Publish(std::shared_ptr<MemTable> active, std::shared_ptr<const Version> version, EpochDomain* epochs) {
  std::vector<std::shared_ptr<const MemTable>> flushing;
  for (auto it = immutables.rbegin(); it != immutables.rend(); ++it) flushing.push_back(it->memtable);
  auto next = std::make_shared<const ReadView>(std::move(active), std::move(flushing), std::move(version));
  const ReadView* const seen = next.get();
  Replace(std::move(next), seen, epochs);
}

void Family::Withdraw(EpochDomain* epochs) {
  Replace(std::make_shared<const ReadView>(std::make_shared<MemTable>(order, 0, 0, MemTable::Memory{}),
                                           std::vector<std::shared_ptr<const MemTable>>(),
                                           std::make_shared<const Version>(order)),
          /*seen=*/nullptr, epochs);
}

void Family::Replace(std::shared_ptr<const ReadView> next, const ReadView* seen, EpochDomain* epochs) {
  view_.store(seen, std::memory_order_seq_cst);
  SchedulePoint(&view_);
  std::shared_ptr<const ReadView> old = std::exchange(current_, std::move(next));
  need.reset();
  if (old != nullptr) epochs->Defer([old = std::move(old)]() mutable { old.reset(); });
}

CompactionPolicy Family::PolicyNow() const {
  CompactionPolicy now = policy;
  if (level0_is_read) now.unread_runs = 0;
  return now;
}

bool Family::MergesLevel0() const {
  return std::any_of(running.begin(), running.end(), [](const auto& plan) { return plan->InputLevel() == 0; });
}

size_t Family::ImmutableBytes() const {
  size_t bytes = 0;
  for (const ImmutableMemTable& immutable : immutables) bytes += immutable.memtable->MemoryBytes();
  return bytes;
}

size_t Family::ImmutableDataBytes() const {
  size_t bytes = 0;
  for (const ImmutableMemTable& immutable : immutables) bytes += immutable.memtable->DataBytes();
  return bytes;
}

size_t Family::BytesAwaitingFlush() const {
  size_t bytes = 0;
  for (const ImmutableMemTable& immutable : immutables) {
    if (!immutable.run.has_value()) bytes += immutable.memtable->MemoryBytes();
  }
  return bytes;
}

bool Family::AwaitsFlush() const {
  return std::any_of(immutables.begin(), immutables.end(),
                     [](const ImmutableMemTable& immutable) { return !immutable.run.has_value(); });
}

std::vector<ImmutableMemTable> Family::TakeForFlush(RunNumber run) {
  const auto waits = [](const ImmutableMemTable& immutable) { return !immutable.run.has_value(); };
  const auto begin = std::find_if(immutables.begin(), immutables.end(), waits);
  const auto end = std::find_if_not(begin, immutables.end(), waits);
  for (auto it = begin; it != end; ++it) it->run = run;
  return {begin, end};
}

void Family::PutBack(RunNumber run) {
  for (ImmutableMemTable& immutable : immutables) {
    if (immutable.run == run) immutable.run.reset();
  }
}

CompactionPolicy PolicyFor(const ColumnFamilyOptions& options, const Tuning& tuning) {
  CompactionPolicy policy = MakeCompactionPolicy(options, tuning.memtable_bytes);
  policy.runs_per_level = tuning.runs_per_level;
  // Leveled is for those who scan.
  policy.unread_runs = policy.style == CompactionStyle::kLeveled ? 0 : tuning.unread_runs;
  if (tuning.fanout > 0) policy.fanout = tuning.fanout;
  policy.max_table_bytes = tuning.table_bytes;
  return policy;
}

}  // namespace sepal
