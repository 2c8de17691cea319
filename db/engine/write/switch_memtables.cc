// The switch of memtables: when, for which families, and its changes in memory.
#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "db/engine/write/commit_pipeline.h"
#include "db/engine/write/insert_entry.h"
#include "db/format/system_row.h"
#include "util/base/status.h"

namespace sepal {
namespace {

// The number of logs that a family with few writes may keep, whatever their size, because each log has space reserved.
constexpr size_t kMostLogsOfAFamily = 16;

}  // namespace

size_t CommitPipeline::ActiveBytes() const {
  const bool shared = state_->core->member != nullptr;  // where many families have almost no data
  size_t bytes = 0;
  for (const auto& [id, of] : targets_) {
    if (shared && of.active->empty()) continue;
    bytes += CountedBytes(*of.active);
  }
  return bytes;
}

// The active memtables share one budget. Over it, those that need the oldest logs are switched until half of it is
// free: with many families, small groups take turns, and no family has a log of its own. The same is done when a family
// with few writes keeps so many logs that, with those of memtables being flushed, they would exceed their limit. If
// only one family is written to, and in key order, it is switched earlier, provided that there is space for the log.
absl::Status CommitPipeline::SwitchFullMemtables() {
  const Tuning& tuning = state_->core->tuning;
  const size_t active = ActiveBytes();
  MemtableGroup::Member* const member = state_->core->member.get();
  const bool for_others = member != nullptr && member->Report(active);
  // A flush frees only the memory of entries.
  const size_t fixed = member != nullptr ? 0 : MemTable::FixedBytes();
  size_t bytes = active - std::min(active, fixed * targets_.size());
  const size_t full = state_->core->MemtableShareOf(targets_.size()).entry_bytes;
  const EarlySwitch early = EarlySwitchDue();
  if (bytes >= full / 2 || early.soon) RETURN_IF_ERROR(PrepareSwitch());
  gate_->LookAtMemory();
  ReleaseSuperseded();
  if (for_others) return Switch(TargetsByAge());
  if (early.now) {
    const absl::Status status = Switch(TargetsByAge(), /*early=*/true);
    if (!absl::IsResourceExhausted(status)) return status;
  }
  if (bytes < full && log_->LiveBytes() <= tuning.log_limit_bytes / 2) [[likely]]
    return absl::OkStatus();
  const std::vector<Target*> by_age = TargetsByAge();
  const std::vector<LiveLog> live = log_->Live();
  const size_t room = bytes < full ? full : full / 2;
  size_t chosen = 0;
  while (chosen < by_age.size() && (bytes > room || HoldsTooMuchLog(*by_age[chosen], live))) {
    bytes -= std::min(bytes, CountedBytes(*by_age[chosen++]->active) - fixed);
  }
  return Switch(std::span(by_age).first(chosen));
}

const CommitPipeline::Target* CommitPipeline::OnlyOneWritten() const {
  const Target* written = nullptr;
  for (const auto& [id, target] : targets_) {
    if (target.active->empty() || id == kSystemFamilyId.value()) continue;
    if (std::exchange(written, &target) != nullptr) return nullptr;
  }
  return written;
}

CommitPipeline::EarlySwitch CommitPipeline::EarlySwitchDue() const {
  const Tuning& tuning = state_->core->tuning;
  const Target* const written = tuning.early_flushes ? OnlyOneWritten() : nullptr;
  if (written == nullptr || !written->active->InOrder()) return {};
  const MemtableFill fill{written->active->MemoryBytes(), written->active->DataBytes()};
  const MemtableFill soon{2 * fill.memory_bytes, 2 * fill.data_bytes};
  StateLock lock(state_);
  const std::optional<LastFlush>& last = written->family->last_flush();
  return {.soon = EnoughInOrder(tuning.memtable_bytes, soon, last),
          .now = state_->FlushAtHand() && EnoughInOrder(tuning.memtable_bytes, fill, last)};
}

absl::Status CommitPipeline::PrepareSwitch() {
  state_->core->PrepareMemTable(targets_.size());
  return PrepareLog();
}

absl::Status CommitPipeline::PrepareLog() {
  if (!log_->WantsNextFile()) return absl::OkStatus();
  RETURN_IF_ERROR(state_->CheckLock());
  log_->PrepareNextFile(catalog_->NewFileNumber());
  return absl::OkStatus();
}

// A failure here is ignored, because it recurs and is reported when the log is needed.
void CommitPipeline::BeginPreparing() {
  if (!far_) return;
  MutexLock lock(commit_mutex_);
  PrepareLog().IgnoreError();
}

void CommitPipeline::AwaitNextLog() {
  if (!far_) return;
  std::function<void()> await;
  {
    MutexLock lock(commit_mutex_);
    await = log_->NextFileAwaiter();
  }
  if (await != nullptr) await();
}

absl::StatusOr<FileNumber> CommitPipeline::NewLog() {
  const PerfTimer timer(PerfPart::kLog);
  return log_->Rotate(catalog_->NewFileNumber(), catalog_->Reference());
}

std::vector<CommitPipeline::Target*> CommitPipeline::TargetsByAge() {
  // Ordered by id last, so that the result does not depend on the map's order.
  std::vector<std::tuple<FileNumber, size_t, uint32_t, Target*>> ranks;
  {
    StateLock lock(state_);
    for (auto& [id, target] : targets_) {
      if (target.active->empty()) continue;
      ranks.emplace_back(target.family->active_first_log(), ~target.active->MemoryBytes(), id, &target);
    }
  }
  std::sort(ranks.begin(), ranks.end());
  std::vector<Target*> by_age;
  by_age.reserve(ranks.size());
  for (const auto& rank : ranks) by_age.push_back(std::get<Target*>(rank));
  return by_age;
}

bool CommitPipeline::HoldsTooMuchLog(const Target& target, std::span<const LiveLog> live) const {
  FileNumber first;
  {
    StateLock lock(state_);
    first = target.family->active_first_log();
  }
  uint64_t bytes = 0;
  size_t logs = 0;
  for (const LiveLog& log : live) {
    if (log.number < first) continue;
    bytes += log.size_bytes;
    ++logs;
  }
  return bytes > state_->core->tuning.log_limit_bytes / 2 || logs > kMostLogsOfAFamily;
}

absl::Status CommitPipeline::Switch(std::span<Target* const> targets, bool early) {
  if (targets.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(state_->CheckLock());
  const LogPosition log_end = log_->End();
  const absl::StatusOr<FileNumber> next_log = NewLog();
  if (!next_log.ok()) {
    if (!log_->Failure().ok()) state_->Stop(next_log.status(), "log");
    if (absl::IsResourceExhausted(next_log.status())) state_->core->AskToRemoveUnusedFiles();
    return next_log.status();
  }
  Replace(targets, log_end, *next_log, early);
  if (far_) PrepareLog().IgnoreError();
  return absl::OkStatus();
}

void CommitPipeline::Replace(std::span<Target* const> targets, LogPosition log_end, FileNumber log, bool early) {
  Core& core = *state_->core;
  std::vector<std::shared_ptr<MemTable>> fresh;
  for (const Target* target : targets) {
    fresh.push_back(core.NewMemTable(target->family->order, catalog_->identity().hash_seed, targets_.size()));
  }
  StateLock lock(state_);
  for (size_t i = 0; i < targets.size(); ++i) {
    Family& family = *targets[i]->family;
    // Nothing would flush a dropped family. RemoveFamily follows.
    if (family.dropped()) continue;
    family.SwitchMemtable(
        {.log_end = log_end, .log_last = last_, .unlogged = std::exchange(targets[i]->unlogged, false), .early = early},
        fresh[i], &core.epochs);
    targets[i]->active = std::move(fresh[i]);
  }
  for (auto& [id, other] : targets_) {
    if (!other.active->empty() || other.family->dropped()) continue;
    other.family->BeginLog(log, &state_->log_pins);
  }
  if (core.member != nullptr) core.member->Switched(ActiveBytes());
  scheduler_->Schedule();
}

absl::Status CommitPipeline::SwitchMemtable(const FamilyRef& family) noexcept {
  MutexLock lock(commit_mutex_);
  if (state_->stopped.load(std::memory_order_acquire)) return state_->Error();
  if (closed_) return Closed();
  const auto it = targets_.find(family->id.value());
  if (it == targets_.end() || it->second.active->empty()) return absl::OkStatus();
  std::vector<Target*> chosen = {&it->second};
  const std::vector<LiveLog> live = log_->Live();
  if (live.size() >= kMostLogsOfAFamily) {
    for (Target* const other : TargetsByAge()) {
      if (other != chosen.front() && HoldsTooMuchLog(*other, live)) chosen.push_back(other);
    }
  }
  return Switch(chosen);
}

absl::Status CommitPipeline::SwitchAll(const std::function<void(SequenceNumber last)>& look) noexcept {
  MutexLock lock(commit_mutex_);
  if (state_->stopped.load(std::memory_order_acquire)) return state_->Error();
  if (closed_) return Closed();
  RETURN_IF_ERROR(Switch(TargetsByAge()));
  look(last_);
  return absl::OkStatus();
}

}  // namespace sepal
