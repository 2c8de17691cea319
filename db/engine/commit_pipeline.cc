#include "db/engine/commit_pipeline.h"

#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/format/batch_format.h"
#include "sepal/db.h"
#include "util/hash.h"
#include "util/perf_times.h"
#include "util/status.h"

namespace sepal {

CommitPipeline::CommitPipeline(EngineState* state, Catalog* catalog, Background* background, WriteAheadLog* log,
                               SequenceNumber last)
    : state_(state), catalog_(catalog), background_(background), log_(log), last_(last) {
  state_->visible.store(last.value(), std::memory_order_release);
}

void CommitPipeline::AddFamily(FamilyRef family) {
  MutexLock lock(&commit_mutex_);
  std::shared_ptr<MemTable> active;
  {
    MutexLock state_lock(&state_->mutex);
    active = family->active();
  }
  const uint32_t id = family->id.value();
  targets_[id] = {std::move(family), std::move(active)};
}

void CommitPipeline::RemoveFamily(ColumnFamilyId id) {
  MutexLock lock(&commit_mutex_);
  targets_.erase(id.value());
}

absl::Status CommitPipeline::Prepare(std::string_view batch) {
  const uint64_t seed = catalog_->identity().hash_seed;
  prepared_.clear();
  BatchReader reader(batch);
  BatchEntry entry;
  while (reader.Next(&entry)) {
    const auto it = targets_.find(entry.family.value());
    if (it == targets_.end() || it->second.family->dropped.load(std::memory_order_relaxed)) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "column family %u of the batch was dropped or never made; nothing was written", entry.family.value()));
    }
    if (entry.key.size() > kMaxKeyBytes || entry.value.size() > kMaxValueBytes) {
      return absl::InvalidArgumentError(
          absl::StrFormat("key of %u or value of %u bytes: keys take at most %u bytes and values %u", entry.key.size(),
                          entry.value.size(), kMaxKeyBytes, kMaxValueBytes));
    }
    Target* const target = &it->second;
    const uint64_t hash = target->family->order.hashable() ? HashKey(entry.key, seed) : 0;
    target->active->PrefetchLookup(hash);  // where it will be inserted
    if (prepared_.size() < kMostPrepared) prepared_.push_back({entry, target, hash});
  }
  return reader.status();
}

absl::Status CommitPipeline::Write(std::string_view batch, bool sync) noexcept {
  LogPosition end;
  {
    TimedMutexLock lock(&commit_mutex_);
    if (state_->stopped.load(std::memory_order_acquire)) [[unlikely]]
      return state_->Error();
    if (closed_) return Closed();
    RETURN_IF_ERROR(Prepare(batch));
    const uint32_t count = BatchCount(batch);
    if (count == 0) return absl::OkStatus();
    RETURN_IF_ERROR(MakeRoom(batch.size()));
    const SequenceNumber first = last_.next();
    absl::StatusOr<LogPosition> appended = Append(first, batch, sync);
    if (!appended.ok()) [[unlikely]] {
      if (!log_->Failure().ok()) state_->Stop(appended.status(), "log");
      return appended.status();
    }
    end = *appended;
    Insert(batch, first);
    last_ = SequenceNumber(last_.value() + count);
    state_->visible.store(last_.value(), std::memory_order_release);
    SchedulePoint(&state_->visible);
    StatisticsImpl& statistics = state_->core->statistics;
    statistics.Add(Ticker::kWriteBatches);
    statistics.Add(Ticker::kWrites, count);
    statistics.Add(Ticker::kLogBytes, batch.size());
  }
  return sync ? SyncThrough(end) : absl::OkStatus();
}

absl::StatusOr<LogPosition> CommitPipeline::Append(SequenceNumber first, std::string_view batch, bool sync) {
  const PerfTimer timer(PerfPart::kLog);
  return log_->Append(first, batch, sync);
}

void CommitPipeline::Insert(std::string_view batch, SequenceNumber first) {
  SequenceNumber sequence = first;
  uint64_t user_bytes = 0;
  const auto insert = [&](const BatchEntry& entry, const Target& target, uint64_t hash) {
    target.active->Add(sequence, entry.kind, entry.key, entry.value, hash);
    sequence = sequence.next();
    user_bytes += entry.key.size() + entry.value.size();
  };
  if (prepared_.size() == BatchCount(batch)) {
    for (const Prepared& p : prepared_) insert(p.entry, *p.target, p.hash);
  } else {
    const uint64_t seed = catalog_->identity().hash_seed;
    BatchReader reader(batch);
    for (BatchEntry entry; reader.Next(&entry);) {
      const Target& target = targets_.find(entry.family.value())->second;
      insert(entry, target, target.family->order.hashable() ? HashKey(entry.key, seed) : 0);
    }
  }
  state_->core->statistics.Add(Ticker::kBytesWritten, user_bytes);
}

absl::Status CommitPipeline::SyncThrough(LogPosition position) noexcept {
  const PerfTimer timer(PerfPart::kSync);
  const absl::Status status = log_->Sync(position);
  if (!status.ok()) state_->Stop(status, "log");
  return status;
}

absl::Status CommitPipeline::Sync() noexcept { return SyncThrough(log_->End()); }

// The active memtables share one budget. Over it, the one that needs the oldest log is switched; so it is when the logs
// have grown past their limit because a family that is hardly written to holds on to an old one.
absl::Status CommitPipeline::MakeRoom(size_t batch_bytes) {
  unchecked_bytes_ += batch_bytes;
  const Tuning& tuning = state_->core->tuning;
  if (unchecked_bytes_ < tuning.memtable_bytes / 64) [[likely]]
    return absl::OkStatus();
  unchecked_bytes_ = 0;
  size_t bytes = 0;
  for (const auto& [id, target] : targets_) bytes += target.active->MemoryBytes();
  if (bytes < tuning.memtable_bytes && log_->LiveBytes() <= tuning.log_limit_bytes) return absl::OkStatus();
  Target* oldest = OldestTarget();
  return oldest != nullptr ? Switch(oldest) : absl::OkStatus();
}

CommitPipeline::Target* CommitPipeline::OldestTarget() {
  Target* oldest = nullptr;
  MutexLock lock(&state_->mutex);
  for (auto& [id, target] : targets_) {
    if (target.active->empty()) continue;
    // By id at last, so that the order of the map does not count.
    const auto rank = [](const Target& t) {
      return std::tuple(t.family->active_first_log.value(), ~t.active->MemoryBytes(), t.family->id.value());
    };
    if (oldest == nullptr || rank(target) < rank(*oldest)) oldest = &target;
  }
  return oldest;
}

absl::Status CommitPipeline::NewLog(FileNumber number) {
  const PerfTimer timer(PerfPart::kLog);
  return log_->Rotate(number, catalog_->Reference());
}

absl::Status CommitPipeline::Switch(Target* target) {
  RETURN_IF_ERROR(state_->CheckLock());
  const LogPosition log_end = log_->End();
  const FileNumber next_log = catalog_->NewFileNumber();
  const absl::Status rotated = NewLog(next_log);
  if (!rotated.ok()) {
    if (!log_->Failure().ok()) state_->Stop(rotated, "log");
    return rotated;
  }
  Core& core = *state_->core;
  std::shared_ptr<MemTable> fresh = core.NewMemTable(target->family->order, catalog_->identity().hash_seed);
  MutexLock lock(&state_->mutex);
  Family& family = *target->family;
  family.immutables.push_back(
      {.memtable = target->active, .log_end = log_end, .log_last = last_, .first_log = family.active_first_log});
  family.Publish(fresh, family.version(), &core.epochs);
  target->active = std::move(fresh);
  for (auto& [id, other] : targets_) {
    if (other.active->empty()) other.family->active_first_log = next_log;
  }
  background_->Schedule();
  return absl::OkStatus();
}

void CommitPipeline::Close() {
  MutexLock lock(&commit_mutex_);
  closed_ = true;
}

absl::Status CommitPipeline::Closed() const {
  return absl::FailedPreconditionError(absl::StrFormat("the database in %s is closed", state_->core->path));
}

absl::Status CommitPipeline::SwitchMemtable(const FamilyRef& family) noexcept {
  MutexLock lock(&commit_mutex_);
  if (state_->stopped.load(std::memory_order_acquire)) return state_->Error();
  if (closed_) return Closed();
  const auto it = targets_.find(family->id.value());
  if (it == targets_.end() || it->second.active->empty()) return absl::OkStatus();
  return Switch(&it->second);
}

absl::Status CommitPipeline::SwitchAll(const std::function<void(SequenceNumber last)>& look) noexcept {
  MutexLock lock(&commit_mutex_);
  if (state_->stopped.load(std::memory_order_acquire)) return state_->Error();
  if (closed_) return Closed();
  for (auto& [id, target] : targets_) {
    if (!target.active->empty()) RETURN_IF_ERROR(Switch(&target));
  }
  look(last_);
  return absl::OkStatus();
}

}  // namespace sepal
