#include "db/engine/write/commit_pipeline.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/strings/str_format.h"
#include "db/decide/visibility/visibility.h"
#include "db/engine/write/delete_range_in_memtable.h"
#include "db/engine/write/insert_entry.h"
#include "db/format/system_row.h"
#include "sepal/db.h"
#include "util/base/hash.h"
#include "util/base/status.h"
#include "util/stats/perf_times.h"

namespace sepal {
namespace {

// Without the log the batch is not atomic, because each family's memtable is flushed separately.
absl::Status NotWholeWithoutLog() {
  return absl::InvalidArgumentError(
      "disable_wal: the batch has updates of several column families, and only the log can keep it atomic: split it, "
      "or write it with the log; nothing was written");
}

}  // namespace

absl::Status CommitPipeline::NoSequenceNumbersLeft(SequenceNumber last) {
  return absl::ResourceExhaustedError(
      absl::StrFormat("the last sequence number is %u of at most %u, and the batch needs more than are left: copy the "
                      "data into a new database to continue; nothing was written",
                      last.value(), kMaxSequenceNumber.value()));
}

CommitPipeline::CommitPipeline(EngineState* state, WriteGate* gate, Catalog* catalog, JobScheduler* scheduler,
                               WriteAheadLog* log, SequenceNumber last)
    : state_(state),
      gate_(gate),
      catalog_(catalog),
      scheduler_(scheduler),
      log_(log),
      commit_mutex_(&state->core->commit_mutex),
      bytes_per_look_(state->core->BytesPerLook()),
      far_(state->core->log_directory()->capabilities().remote),
      last_(last) {
  state_->visible.store(last.value(), std::memory_order_release);
}

void CommitPipeline::AddFamily(FamilyRef family) {
  MutexLock lock(commit_mutex_);
  std::shared_ptr<MemTable> active;
  {
    StateLock state_lock(state_);
    active = family->active();
  }
  const uint32_t id = family->id.value();
  targets_[id] = {std::move(family), std::move(active)};
}

void CommitPipeline::RemoveFamily(ColumnFamilyId id) {
  MutexLock lock(commit_mutex_);
  targets_.erase(id.value());
}

absl::Status CommitPipeline::Prepare(std::string_view batch) {
  const uint64_t seed = catalog_->identity().hash_seed;
  prepared_count_ = 0;
  several_families_ = false;
  needs_ = {};
  BatchReader reader(batch);
  for (Prepared* next = prepared_.data(); reader.Next(&next->entry); next = &prepared_[prepared_count_]) {
    const BatchEntry& entry = next->entry;
    const auto it = targets_.find(entry.family.value());
    if (it == targets_.end() || it->second.family->dropped()) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "column family %u of the batch was dropped or never created; nothing was written", entry.family.value()));
    }
    if (entry.key.size() > kMaxShortKeyBytes || entry.value.size() > kMaxValueBytes) [[unlikely]] {
      RETURN_IF_ERROR(CheckEntrySize(entry.key.size(), entry.value.size()));
      needs_ |= Feature::kLongKeys;
    }
    Target* const target = &it->second;
    if (NeedsMergeOperator(entry.kind) && target->family->merge_operator_name.empty()) [[unlikely]]
      return HasNoMergeOperator(*target->family);
    if (IsRangeDelete(entry.kind)) [[unlikely]] {
      needs_ |= Feature::kRangeDeletes;
      RETURN_IF_ERROR(CheckRange(*target->family, entry));
      // If ranges overlap, one fragment begins where another ends, so that the end becomes a key of a table.
      if (entry.value.size() > kMaxShortKeyBytes + 1) needs_ |= Feature::kLongKeys;
    }
    several_families_ |= prepared_count_ > 0 && prepared_.front().target != target;
    const uint64_t hash = target->family->order.hashable() ? HashKey(entry.key, seed) : 0;
    if (prepared_count_ == kMostPrepared) {
      target->active->PrefetchLookup(hash);
      continue;
    }
    next->target = target;
    next->hash = hash;
    next->hint = target->active->PrefetchAdd(entry.key, hash);
    ++prepared_count_;
  }
  return reader.status();
}

// Inlined into its only caller, which saves 40 instructions per put.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline absl::Status CommitPipeline::Commit(std::string_view batch,
                                                                        const WriteOptions& options, CommitTerms* terms,
                                                                        LogPosition* end, Aftermath* aftermath) {
  TimedMutexLock lock(commit_mutex_);
  if (state_->stopped.load(std::memory_order_acquire)) [[unlikely]]
    return state_->Error();
  if (closed_) return Closed();
  if (terms != nullptr) {
    terms->outcome = Allows(*terms, LocksInUse());
    if (terms->outcome != CommitOutcome::kWritten) return absl::OkStatus();
  } else if (LocksInUse()) [[unlikely]] {
    return absl::Status(absl::StatusCode::kAborted, {});
  }
  if (state_->core->time_marks.in_use()) [[unlikely]]
    RETURN_IF_ERROR(MarkTime());
  RETURN_IF_ERROR(Prepare(batch));
  if (needs_ != Features()) [[unlikely]] {
    if (!catalog_->features().HasAll(needs_)) {
      aftermath->enable = needs_;
      return absl::OkStatus();
    }
    aftermath->collect = needs_.Has(Feature::kRangeDeletes);
  }
  const uint32_t count = BatchCount(batch);
  if (count > kMaxSequenceNumber.value() - last_.value()) return NoSequenceNumbersLeft(last_);
  if (options.disable_wal && several_families_) return NotWholeWithoutLog();
  RETURN_IF_ERROR(MakeRoom(batch.size()));
  if (views_renewed_) [[unlikely]] {
    views_renewed_ = false;
    aftermath->collect = true;
  }
  const SequenceNumber first = last_.next();
  if (options.disable_wal) {
    prepared_.front().target->unlogged = true;
  } else {
    ASSIGN_OR_RETURN(*end, Append(first, batch));
  }
  Insert(batch, first);
  last_ = SequenceNumber(last_.value() + count);
  state_->visible.store(last_.value(), std::memory_order_release);
  SchedulePoint(&state_->visible);
  if (!watches_.empty()) [[unlikely]]
    TellWatches(batch, terms != nullptr ? terms->watch : nullptr);
  FlushBehind(batch.size());
  StatisticsImpl& statistics = state_->core->statistics;
  statistics.Add(Ticker::kWriteBatches);
  statistics.Add(Ticker::kWrites, count);
  return absl::OkStatus();
}

CommitOutcome CommitPipeline::Allows(const CommitTerms& terms, bool locks) const {
  if (locks && !terms.locked) return CommitOutcome::kMustLock;
  return terms.watch != nullptr ? terms.watch->Decide() : CommitOutcome::kWritten;
}

absl::Status CommitPipeline::Write(std::string_view batch, const WriteOptions& options, WriteGate::Pass* pass,
                                   CommitTerms* terms) noexcept {
  if (BatchCount(batch) == 0) [[unlikely]]
    return WriteNothing(options.sync, terms);
  LogPosition end;
  Aftermath aftermath;
  RETURN_IF_ERROR(Commit(batch, options, terms, &end, &aftermath));
  if (aftermath.enable != Features()) [[unlikely]] {
    RETURN_IF_ERROR(catalog_->Enable(aftermath.enable));
    return Write(batch, options, pass, terms);
  }
  if (terms != nullptr && terms->outcome != CommitOutcome::kWritten) return absl::OkStatus();
  if (aftermath.collect) [[unlikely]]
    state_->core->epochs.Collect();
  if (!options.sync) return absl::OkStatus();
  pass->End();  // others need not wait for the disk too
  return SyncThrough(end);
}

absl::Status CommitPipeline::WriteNothing(bool sync, CommitTerms* terms) noexcept {
  RETURN_IF_ERROR(state_->Error());
  {
    MutexLock lock(commit_mutex_);
    if (closed_) return Closed();
    if (terms != nullptr) terms->outcome = Allows(*terms, /*locks=*/false);
    if (terms != nullptr && terms->outcome != CommitOutcome::kWritten) return absl::OkStatus();
  }
  return sync ? Sync() : absl::OkStatus();
}

CommitPipeline::WatchHold::WatchHold(CommitPipeline* pipeline, CommitCheck* check)
    : pipeline_(pipeline), watch_(check) {
  MutexLock lock(pipeline_->commit_mutex_);
  pipeline_->watches_.push_back(&watch_);
}

CommitPipeline::WatchHold::~WatchHold() {
  MutexLock lock(pipeline_->commit_mutex_);
  std::erase(pipeline_->watches_, &watch_);
}

void CommitPipeline::TellWatches(std::string_view batch, const CommitWatch* own) {
  if (watches_.size() == 1 && watches_.front() == own) return;
  BatchReader reader(batch);
  for (BatchEntry entry; reader.Next(&entry);) {
    for (CommitWatch* watch : watches_) {
      if (watch != own) watch->Note(entry);
    }
  }
}

void CommitPipeline::BeginLocks() {
  lock_users_.fetch_add(1, std::memory_order_relaxed);
  // Writers that saw no locks hold the mutex until they have committed.
  MutexLock lock(commit_mutex_);
}

absl::StatusOr<LogPosition> CommitPipeline::Append(SequenceNumber first, std::string_view batch) {
  const PerfTimer timer(PerfPart::kLog);
  absl::StatusOr<LogPosition> end = log_->Append(first, batch);
  if (end.ok()) [[likely]] {
    state_->core->statistics.Add(Ticker::kLogBytes, batch.size());
  } else if (!log_->Failure().ok()) {
    state_->Stop(end.status(), "log");
  } else if (absl::IsResourceExhausted(end.status())) {
    state_->core->AskToRemoveUnusedFiles();
  }
  return end;
}

void CommitPipeline::Insert(std::string_view batch, SequenceNumber first) {
  SequenceNumber sequence = first;
  uint64_t user_bytes = 0;
  size_t separated = 0;
  const auto insert = [&](const BatchEntry& entry, const Target& target, uint64_t hash, const InsertHint& hint) {
    DeadRanges& dead_ranges = target.family->dead_ranges;
    if (dead_ranges.any() && MeaningOf(PackTrailer(sequence, entry.kind)) != Meaning::kAbsent) [[unlikely]]
      dead_ranges.Cut(entry.key);
    if (NeedsMergeOperator(entry.kind)) [[unlikely]] {
      AddOperand(*target.family, target.active.get(), sequence, entry, hash, hint);
    } else if (IsRangeDelete(entry.kind)) [[unlikely]] {
      DeleteRangeInMemTable(state_, target.family.get(), target.active.get(), sequence, entry);
    } else if (IsReference(entry.kind)) [[unlikely]] {
      const ValueReference added =
          AddReference(&state_->core->values, target.active.get(), sequence, entry, hash, hint);
      separated += added.chunked ? 0 : added.stored_bytes;
      user_bytes += added.value_bytes() - entry.value.size();
    } else {
      target.active->Add(sequence, entry.kind, entry.key, entry.value, hash, hint);
    }
    sequence = sequence.next();
    user_bytes += entry.key.size() + entry.value.size();
  };
  if (prepared_count_ == BatchCount(batch)) {
    for (const Prepared& p : std::span(prepared_).first(prepared_count_)) insert(p.entry, *p.target, p.hash, p.hint);
  } else {
    const uint64_t seed = catalog_->identity().hash_seed;
    BatchReader reader(batch);
    for (BatchEntry entry; reader.Next(&entry);) {
      const Target& target = targets_.find(entry.family.value())->second;
      insert(entry, target, target.family->order.hashable() ? HashKey(entry.key, seed) : 0, {});
    }
  }
  unchecked_bytes_ += separated / kSeparatedShare;
  state_->core->statistics.Add(Ticker::kBytesWritten, user_bytes);
}

absl::Status CommitPipeline::SyncThrough(LogPosition position) noexcept {
  const PerfTimer timer(PerfPart::kSync);
  const absl::Status status = log_->Sync(position);
  if (!status.ok()) state_->Stop(status, "log");
  return status;
}

absl::Status CommitPipeline::SetFilterEpoch(const FamilyRef& family, std::string_view epoch) noexcept {
  // The history must be durable before its filter epoch is. The sync is made without the commit lock, unless others
  // keep writing without a pause.
  constexpr int kTries = 16;
  for (int tries = 0; tries < kTries; ++tries) {
    RETURN_IF_ERROR(Sync());
    MutexLock lock(commit_mutex_);
    RETURN_IF_ERROR(CheckForEpoch(*family));
    if (log_->Durable() >= log_->End()) return SetEpoch(family.get(), epoch);
  }
  MutexLock lock(commit_mutex_);
  RETURN_IF_ERROR(CheckForEpoch(*family));
  // Synced first, so that the log's sync finds nothing to do and waits for no helper; a simulation cannot wait with a
  // lock held.
  RETURN_IF_ERROR(state_->core->values.fresh().Sync());
  RETURN_IF_ERROR(Sync());
  return SetEpoch(family.get(), epoch);
}

absl::Status CommitPipeline::CheckForEpoch(const Family& family) {
  if (state_->stopped.load(std::memory_order_acquire)) return state_->Error();
  if (closed_) return Closed();
  RETURN_IF_ERROR(family.CheckThere());
  if (state_->core->time_marks.in_use()) RETURN_IF_ERROR(MarkTime());  // so that the epoch has a time of its own
  return last_ == kMaxSequenceNumber ? NoSequenceNumbersLeft(last_) : absl::OkStatus();
}

absl::Status CommitPipeline::SetEpoch(Family* family, std::string_view epoch) {
  const SequenceNumber sequence = last_.next();
  RETURN_IF_ERROR(catalog_->SetFilterEpoch(family, sequence, epoch));
  last_ = sequence;
  state_->visible.store(last_.value(), std::memory_order_release);
  SchedulePoint(&state_->visible);
  state_->core->epochs.Defer(family->filter_history.Settler(sequence));
  state_->core->epochs.Collect();
  return absl::OkStatus();
}

absl::Status CommitPipeline::Sync() noexcept { return SyncThrough(log_->End()); }

absl::Status CommitPipeline::MakeRoom(size_t batch_bytes) {
  unchecked_bytes_ += batch_bytes;
  if (unchecked_bytes_ < bytes_per_look_) [[likely]]
    return absl::OkStatus();
  RETURN_IF_ERROR(SwitchFullMemtables());
  // Left as it is on failure, so that the next write tries again and no memtable outgrows its limits.
  unchecked_bytes_ = 0;
  return absl::OkStatus();
}

// A large batch may fill several memtables, so it is not kept in memory until the next write.
void CommitPipeline::FlushBehind(size_t batch_bytes) {
  const Core& core = *state_->core;
  if (!core.large_batches || batch_bytes < core.tuning.memtable_bytes / 4) [[likely]]
    return;
  // The batch itself is written; if the switch failed, the next write tries again and reports the failure.
  unchecked_bytes_ = SwitchFullMemtables().ok() ? 0 : batch_bytes;
}

void CommitPipeline::Close() noexcept {
  MutexLock lock(commit_mutex_);
  closed_ = true;
  std::vector<Target*> unlogged = TargetsByAge();
  std::erase_if(unlogged, [](const Target* target) { return !target->unlogged; });
  // Nothing is appended any more, so no new log is needed, for which there may be no space.
  if (!unlogged.empty()) Replace(unlogged, log_->End(), log_->Live().back().number);
}

absl::Status CommitPipeline::Closed() const {
  return absl::FailedPreconditionError(absl::StrFormat("the database in %s is closed", state_->core->path));
}

}  // namespace sepal
