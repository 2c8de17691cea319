#include "db/engine/background/flush_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "db/act/jobs/flush_job.h"
#include "db/act/jobs/range_table.h"
#include "db/act/jobs/table_output.h"
#include "db/decide/compaction/droppable_tables.h"
#include "db/decide/writing/flush_groups.h"
#include "db/decide/writing/guard_budget.h"
#include "db/format/file_names.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

// Merges range tombstones with those of tables that hold less than twice as many. So the number of such tables is
// logarithmic, and so is the number of times that each delete is written.
RangeTombstonesRef MergeWithTables(const KeyOrder& order, const Version& version, RangeTombstonesRef ranges,
                                   Stripes stripes, std::vector<TableRef>* merged) {
  std::vector<TableRef> tables = version.range_tables();
  std::sort(tables.begin(), tables.end(), [](const TableRef& a, const TableRef& b) {
    return a->range_tombstones()->deletes() < b->range_tombstones()->deletes();
  });
  for (const TableRef& table : tables) {
    if (table->range_tombstones()->deletes() >= 2 * ranges->deletes()) break;
    ranges = RangeTombstones::Merge(order, *table->range_tombstones(), *ranges, stripes);
    merged->push_back(table);
  }
  return ranges;
}

absl::Status Dropped() { return absl::CancelledError("the column family was dropped"); }

bool Lists(const std::vector<TableRef>& tables, const TableRef& table) {
  return std::find(tables.begin(), tables.end(), table) != tables.end();
}

}  // namespace

// The memtables of one try. After it they are in tables, or wait again.
class FlushRunner::Taken {
 public:
  struct Part {
    FamilyRef family;
    std::vector<ImmutableMemTable> immutables;
  };

  // Takes all families' memtables in one moment, so that of two jobs one is later in every family, and the earlier one
  // waits for it in none.
  Taken(FlushRunner* runner, std::span<const FamilyRef> families) : state_(runner->state_) {
    StateLock lock(state_);
    run = RunNumber(runner->catalog_->NewFileNumber().value());
    for (const FamilyRef& family : families) {
      // A family gets a job of its own if it has grown much since the job was scheduled, as the others need not wait
      // for it; or if it has range tombstones, as they are written under a lock of their family. A memtable whose flush
      // has failed for good is not tried again.
      const bool alone = family->RangesAwaitFlush() || family->BytesAwaitingFlush() > kLittleToFlush;
      const bool gives_up = !state_->error.ok() || (families.size() > 1 && alone);
      parts.push_back({family, family->TakeForFlush(run, gives_up)});
    }
  }
  ~Taken() {
    // Released first, because a writer that lacks memory waits for these as long as a flush runs.
    for (Part& part : parts) part.immutables.clear();
    StateLock lock(state_);
    for (Part& part : parts) part.family->PutBack(run);
    state_->NotifyChanged();
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  RunNumber run;  // the same in each family
  std::vector<Part> parts;

 private:
  EngineState* const state_;
};

std::vector<std::shared_ptr<FlushRunner::Job>> FlushRunner::JobsFor(std::span<const FamilyRef> families,
                                                                    bool together) {
  std::vector<FlushCandidate> candidates;
  for (const FamilyRef& family : families) {
    candidates.push_back({family->BytesAwaitingFlush(), !together || family->RangesAwaitFlush()});
    family->ScheduleFlush();
  }
  std::vector<std::shared_ptr<Job>> jobs;
  for (const std::vector<size_t>& group : GroupFlushes(candidates)) {
    jobs.push_back(std::make_shared<Job>(Job{.families = {}, .tries = slots_->NewTries()}));
    for (const size_t i : group) jobs.back()->families.push_back(families[i]);
  }
  return jobs;
}

void FlushRunner::Start(std::span<const FamilyRef> families) {
  for (const std::shared_ptr<Job>& job : JobsFor(families, /*together=*/true)) {
    slots_->StartInTries(Executor::Priority::kFlush, [this, job] { return Continue(job.get()); });
  }
}

void FlushRunner::Begin(Job* job) {
  job->begun = true;
  for (const FamilyRef& family : job->families) {
    const FlushEvent event{.column_family = family->name};
    state_->Tell([&](EventListener& listener) { listener.OnFlushBegin(event); });
  }
  job->began_micros = state_->core->world.clock->MonotonicMicros();
  StateLock lock(state_);
  for (const FamilyRef& family : job->families) job->bytes += family->BytesAwaitingFlush();
  slots_->pace().BeginFlush(job->began_micros);
  job->calm = slots_->pace().calm();
}

bool FlushRunner::Continue(Job* job) {
  if (!job->begun) Begin(job);
  const auto overtaken = [](const Flushed& flushed) { return flushed.overtaken; };
  const auto flush = [&]() -> absl::Status {
    do {
      job->flushed.clear();
      ASSIGN_OR_RETURN(job->flushed, TryFlush(*job));
    } while (std::any_of(job->flushed.begin(), job->flushed.end(), overtaken));
    return absl::OkStatus();
  };
  const auto retry = [&] {
    return slots_->RetryWhileDiskFull(BackgroundWork::kFlush, job->families, job->bytes, /*progress=*/nullptr,
                                      &job->tries, flush);
  };
  std::optional<absl::Status> ended;
  if (job->families.size() > 1) {
    // The job of several families does not wait: single families may find enough space or descriptors.
    const bool in_thread = std::exchange(job->tries.in_thread, false);
    ended = retry();
    job->tries.in_thread = in_thread;
    if (!ended.has_value()) SplitUp(job);
  }
  if (!ended.has_value()) ended = retry();
  if (!ended.has_value()) return false;
  job->status = *std::move(ended);
  Conclude(job);
  return true;
}

void FlushRunner::SplitUp(Job* job) {
  StateLock lock(state_);
  const auto keep = [](Job* of, const FamilyRef& family) REQUIRES_STATE_LOCK {
    of->families = {family};
    of->bytes = family->BytesAwaitingFlush();
  };
  const std::vector<FamilyRef> families = std::move(job->families);
  keep(job, families.front());
  for (const FamilyRef& family : std::span(families).subspan(1)) {
    const auto single = std::make_shared<Job>(
        Job{.tries = slots_->NewTries(), .begun = true, .began_micros = job->began_micros, .calm = job->calm});
    keep(single.get(), family);
    slots_->StartInTries(Executor::Priority::kFlush, [this, single] { return Continue(single.get()); });
  }
}

uint64_t FlushRunner::Tell(const Job& job, uint64_t micros) {
  uint64_t bytes = 0, entries = 0, first_table = 0;
  for (size_t i = 0; i < job.families.size(); ++i) {
    FlushEvent event{.column_family = job.families[i]->name, .micros = micros, .status = job.status};
    if (job.status.ok()) {
      event.status = job.flushed[i].left_out;
      for (const TableMetadata& table : job.flushed[i].tables) {
        event.entries += table.entries;
        event.bytes_written += table.size_bytes;
      }
      if (!job.flushed[i].tables.empty()) event.file_number = job.flushed[i].tables.front().number.value();
    }
    bytes += event.bytes_written;
    entries += event.entries;
    if (first_table == 0) first_table = event.file_number;
    state_->Tell([&](EventListener& listener) { listener.OnFlushEnd(event); });
  }
  const std::string what = job.families.size() == 1 ? Printable(job.families.front()->name)
                                                    : absl::StrFormat("%u column families", job.families.size());
  state_->core->info_log.Write("flush of %s: from table %u on, %u entries, %u bytes in %u us: %s", what, first_table,
                               entries, bytes, micros, job.status.ToString());
  return bytes;
}

void FlushRunner::Conclude(Job* job) {
  const uint64_t micros = state_->core->world.clock->MonotonicMicros() - job->began_micros;
  StatisticsImpl& statistics = state_->core->statistics;
  statistics.Add(Ticker::kFlushes, job->families.size());
  statistics.Add(Ticker::kFlushBytes, Tell(*job, micros));
  statistics.Record(Histogram::kFlushMicros, micros);
  {
    StateLock lock(state_);
    for (size_t i = 0; i < job->families.size(); ++i) {
      const bool wrote =
          !job->flushed.empty() && job->flushed[i].left_out.ok() && job->flushed[i].volume.data_bytes > 0;
      job->families[i]->EndFlush(wrote ? std::optional(job->flushed[i].volume) : std::nullopt);
      if (wrote) slots_->pace().EndFlush(micros, job->flushed[i].threads);
    }
  }
  if (job->status.ok()) {
    for (size_t i = 0; i < job->families.size(); ++i) {
      if (job->flushed[i].left_out.ok()) table_dropper_.Drop(job->families[i]);
    }
  }
  slots_->StopOnFailure(job->families, job->status, "flush");
}

absl::StatusOr<std::vector<FlushRunner::Flushed>> FlushRunner::TryFlush(const Job& job) {
  // Memtables are taken only inside the section, so that a flush that waits for its turn never waits for one that a
  // pause holds back.
  const PauseGate::Section section(pause_, job.calm ? PauseGate::Work::kFirstFlush : PauseGate::Work::kFlush);
  const Taken taken(this, job.families);
  absl::StatusOr<std::vector<Flushed>> flushed = Flush(taken);
  // Checked before another flush may take the memtables, because a flush that has failed for good is not tried again.
  if (!absl::IsResourceExhausted(flushed.status())) slots_->StopOnFailure(job.families, flushed.status(), "flush");
  return flushed;
}

absl::StatusOr<std::vector<FlushRunner::Flushed>> FlushRunner::Flush(const Taken& taken) {
  std::vector<Flushed> all(taken.parts.size());
  bool any = false;
  for (size_t i = 0; i < all.size(); ++i) {
    any = any || !taken.parts[i].immutables.empty();
    if (!taken.parts[i].immutables.empty()) continue;
    all[i].left_out = absl::CancelledError("no memtable is left: another flush took it, or the family was dropped");
  }
  if (!any) {
    RETURN_IF_ERROR(state_->Error());
    return all.front().left_out;
  }
  RETURN_IF_ERROR(WriteTables(taken, &all));
  absl::Status status = AwaitTurn(taken, &all);
  const bool overtaken = std::any_of(all.begin(), all.end(), [](const Flushed& each) { return each.overtaken; });
  if (status.ok() && !overtaken) status = Finish(taken, &all);
  for (const Flushed& flushed : all) {
    slots_->DiscardIfRefused(status, flushed.tables);
    if (flushed.range_table.has_value()) slots_->DiscardIfRefused(status, {*flushed.range_table});
    if (status.ok() && (overtaken || !flushed.left_out.ok())) RemoveTablesOf(flushed);
  }
  RETURN_IF_ERROR(status);
  return all;
}

absl::Status FlushRunner::WriteTables(const Taken& taken, std::vector<Flushed>* all) {
  // The values that tables refer to must be durable first.
  RETURN_IF_ERROR(state_->core->values.fresh().Sync());
  UnsyncedFiles unsynced;
  UnsyncedFiles* const later = taken.parts.size() > 1 ? &unsynced : nullptr;
  absl::Status status;
  bool any = false;
  for (size_t i = 0; i < all->size() && status.ok(); ++i) {
    const Taken::Part& part = taken.parts[i];
    if (!part.immutables.empty()) status = WriteTables(*part.family, part.immutables, taken.run, later, &(*all)[i]);
    any = any || !(*all)[i].tables.empty();
  }
  if (status.ok() && later != nullptr) status = SyncTables(state_->core->directory.get(), std::move(unsynced));
  if (status.ok() && any) status = state_->core->directory->Sync();
  if (status.ok()) return status;
  for (const Flushed& flushed : *all) RemoveTablesOf(flushed);
  return status;
}

void FlushRunner::RemoveTablesOf(const Flushed& flushed) {
  RemoveTables(state_->core->directory.get(), nullptr, flushed.tables);
  if (!flushed.range_table.has_value()) return;
  RemoveTables(state_->core->directory.get(), nullptr, {*flushed.range_table});
}

absl::Status FlushRunner::WriteTables(const Family& family, std::span<const ImmutableMemTable> immutables,
                                      RunNumber run, UnsyncedFiles* unsynced, Flushed* flushed) {
  std::vector<std::shared_ptr<const MemTable>> memtables;
  uint64_t entries = 0;
  bool early = true;
  flushed->snapshots = snapshots_->ForJob(family);
  for (const ImmutableMemTable& immutable : immutables) {
    SEPAL_DCHECK(!immutable.memtable->MayLackVersionsFor(flushed->snapshots));
    memtables.push_back(immutable.memtable);
    entries += immutable.memtable->EntryCount();
    flushed->volume.data_bytes += immutable.memtable->DataBytes();
    early = early && immutable.early;
  }
  flushed->ranges = RangesOf(family.order, memtables, flushed->snapshots);
  const ImmutableMemTable& last = immutables.back();
  bool others_wait = unsynced != nullptr;
  int most_threads = 1;
  std::unique_ptr<const StripeFilter> filter;
  {
    StateLock lock(state_);
    // The limit is the log's last update rather than the memtables' own, whose batch may continue in another family.
    others_wait = others_wait || OthersWaitBefore(family, last.log_last);
    filter = family.FilterForJob(flushed->snapshots);
    most_threads = slots_->pace().threads();
    flushed->threads = early ? slots_->pace().early_flush_threads() : most_threads;
  }
  // Tables must not hold updates that follow one that the log could still lose. If no other family has older updates in
  // memory, they cannot.
  if (others_wait) RETURN_IF_ERROR(log_->Sync(last.log_end));
  TableOutputContext context = catalog_->OutputContext(family);
  context.pacing = state_->core->PacingFor(Executor::Priority::kFlush);
  context.unsynced = unsynced;
  context.guard_bits_per_key =
      GuardBitsOfFlush(family.options.filter_policy.guard_bits_per_key, *state_->VersionOf(family), entries);
  const auto threads = [&] { return early ? slots_->early_flush_threads() : most_threads; };
  ASSIGN_OR_RETURN(flushed->tables, FlushMemTables({.context = context,
                                                    .memtables = memtables,
                                                    .snapshots = flushed->snapshots,
                                                    .ranges = flushed->ranges.get(),
                                                    .filter = filter.get(),
                                                    .executor = unsynced == nullptr ? slots_->executor() : nullptr,
                                                    .max_threads = most_threads,
                                                    .threads = threads}));
  // Runs are ordered by when their memtables were taken, not by when a file was created.
  for (TableMetadata& table : flushed->tables) table.run = run;
  return absl::OkStatus();
}

absl::Status FlushRunner::WriteRanges(const Family& family, Flushed* flushed) {
  const VersionRef version = state_->VersionOf(family);
  RangeTombstonesRef all =
      MergeWithTables(family.order, *version, flushed->ranges, flushed->snapshots, &flushed->merged_range_tables);
  all = RangeTombstones::Filter(family.order, *all, [&](const auto& fragment, SequenceNumber sequence) {
    return !CoversNothing(*version, fragment, sequence, flushed->tables);
  });
  if (all == nullptr) return absl::OkStatus();
  TableOutputContext context = catalog_->OutputContext(family);
  context.pacing = state_->core->PacingFor(Executor::Priority::kFlush);
  ASSIGN_OR_RETURN(flushed->range_table, WriteRangeTable(context, all));
  return state_->core->directory->Sync();
}

absl::Status FlushRunner::AwaitTurn(const Taken& taken, std::vector<Flushed>* all) {
  StateLock lock(state_);
  for (size_t i = 0; i < all->size(); ++i) {
    if (taken.parts[i].immutables.empty()) continue;
    const Family& family = *taken.parts[i].family;
    const std::deque<ImmutableMemTable>& waiting = family.immutables();
    while (!waiting.empty() && waiting.front().run.has_value() && *waiting.front().run < taken.run) {
      state_->WaitForChange();
    }
    RETURN_IF_ERROR(state_->error);
    if (waiting.empty()) {
      (*all)[i].left_out = Dropped();
    } else {
      (*all)[i].overtaken = waiting.front().run != taken.run || taken.run <= family.newest_flushed();
    }
  }
  return absl::OkStatus();
}

absl::Status FlushRunner::Finish(const Taken& taken, std::vector<Flushed>* all) {
  Flushed& first = all->front();
  if (first.ranges == nullptr) return Install(taken, all);
  SEPAL_CHECK(all->size() == 1);
  Family& family = *taken.parts.front().family;
  const MutexLock lock(family.range_deletes.tables_mutex());
  RETURN_IF_ERROR(WriteRanges(family, &first));
  return Install(taken, all);
}

void FlushRunner::AddTo(VersionEdit* edit, const Family& family, SequenceNumber through, const Flushed& flushed) const {
  for (const TableMetadata& table : flushed.tables) {
    edit->added_tables.push_back({.family = family.id, .level = 0, .table = table});
  }
  if (flushed.range_table.has_value()) {
    edit->added_tables.push_back({.family = family.id, .level = 0, .table = *flushed.range_table});
  }
  for (const TableRef& table : flushed.merged_range_tables) {
    if (!Lists(family.version()->range_tables(), table)) continue;  // the family is being dropped
    edit->removed_tables.push_back({.family = family.id, .level = 0, .number = table->number()});
  }
  edit->flushed_through.push_back({.family = family.id, .sequence = through});
}

absl::Status FlushRunner::Install(const Taken& taken, std::vector<Flushed>* all) {
  // Logs after this one may be missing after a loss of power.
  ASSIGN_OR_RETURN(const FileNumber newest_log, log_->BeginFile());
  FileNumber minimum;
  const auto last_of = [](const Taken::Part& part) { return part.immutables.back().memtable->LastSequence(); };
  RETURN_IF_ERROR(catalog_->Apply(
      VersionEdit{},
      [&](VersionEdit* edit) {
        database_mutex.AssertHeld();
        std::vector<FileNumber> pins;  // of these memtables, which the edit releases
        for (size_t i = 0; i < all->size(); ++i) {
          Flushed& flushed = (*all)[i];
          const Taken::Part& part = taken.parts[i];
          if (!flushed.left_out.ok()) continue;
          if (part.family->dropped()) {
            flushed.left_out = Dropped();
            continue;
          }
          AddTo(edit, *part.family, last_of(part), flushed);
          for (const ImmutableMemTable& immutable : part.immutables) pins.push_back(immutable.first_log);
        }
        // If all families are gone, nothing has pinned `newest_log`, and another edit may have made it obsolete.
        if (pins.empty()) return;
        minimum = std::min(state_->log_pins.OldestWithout(pins), newest_log);
        edit->min_log_number = minimum;
      },
      [&] {
        database_mutex.AssertHeld();
        for (size_t i = 0; i < all->size(); ++i) {
          Flushed& flushed = (*all)[i];
          if (!flushed.left_out.ok()) continue;
          const Taken::Part& part = taken.parts[i];
          Family& family = *part.family;
          family.InstallFlush(part.immutables.size(), last_of(part), taken.run, &state_->log_pins);
          flushed.volume.data_bytes_behind = family.ImmutableDataBytes() + family.active()->DataBytes();
        }
      }));
  RemoveOldLogs(minimum);
  return absl::OkStatus();
}

bool FlushRunner::OthersWaitBefore(const Family& family, SequenceNumber through) const {
  const auto waits = [through](const MemTable& memtable) {
    return !memtable.empty() && memtable.FirstSequence() <= through;
  };
  for (const auto& [id, other] : state_->families) {
    if (other.get() == &family) continue;
    if (waits(*other->active())) return true;
    for (const ImmutableMemTable& immutable : other->immutables()) {
      if (waits(*immutable.memtable)) return true;
    }
  }
  return false;
}

void FlushRunner::RemoveOldLogs(FileNumber minimum) {
  const std::vector<LiveLog> live = log_->Live();
  log_->ForgetBefore(minimum);
  std::vector<std::string> names;
  for (const LiveLog& log : live) {
    if (log.number < minimum && log.number != live.back().number) names.push_back(LogFileName(log.number));
  }
  if (names.empty()) return;
  const auto remove = [this](const std::vector<std::string>& old) {
    for (const std::string& name : old) {
      const absl::Status removed = state_->core->log_directory()->Remove(name);
      if (!removed.ok()) state_->core->info_log.Write("an obsolete log could not be removed: %s", removed.ToString());
    }
  };
  {
    StateLock lock(state_);
    // A calm background wakes no second thread, which would take a core from a writer for some milliseconds. The
    // removal is not queued either if work waits for space, nor behind compactions, which may take long.
    if (!state_->closing && !slots_->pace().calm() && !gate_->AnyWaitsForSpace()) {
      const Executor::Priority priority =
          state_->AnyCompactionRuns() ? Executor::Priority::kFlush : Executor::Priority::kCompaction;
      slots_->Start(priority, [remove, names = std::move(names)] { remove(names); });
      return;
    }
  }
  remove(names);
}

std::vector<FamilyRef> FlushRunner::UnloggedFamilies() const {
  std::vector<FamilyRef> unlogged;
  for (const auto& [id, family] : state_->families) {
    const std::deque<ImmutableMemTable>& all = family->immutables();
    if (std::any_of(all.begin(), all.end(), [](const ImmutableMemTable& each) { return each.unlogged; })) {
      unlogged.push_back(family);
    }
  }
  return unlogged;
}

absl::Status FlushRunner::FlushUnlogged() {
  absl::Status why;
  // The second round flushes each family by itself, so that one without space does not prevent the others.
  for (const bool together : {true, false}) {
    std::vector<std::shared_ptr<Job>> jobs;
    {
      StateLock lock(state_);
      if (!together && !state_->error.ok()) break;
      jobs = JobsFor(UnloggedFamilies(), together);
      for (size_t i = 0; i < jobs.size(); ++i) slots_->Begin();
    }
    if (jobs.empty()) return absl::OkStatus();
    for (const std::shared_ptr<Job>& job : jobs) {
      job->tries = {};  // waits in this thread
      (void)Continue(job.get());
      KeepFirst(&why, job->status);
      slots_->End();
    }
  }
  StateLock lock(state_);
  KeepFirst(&why, state_->error);
  std::string names;
  for (const FamilyRef& family : UnloggedFamilies()) absl::StrAppend(&names, names.empty() ? "" : ", ", family->name);
  if (names.empty()) return absl::OkStatus();
  return absl::Status(absl::IsCancelled(why) ? absl::StatusCode::kResourceExhausted : why.code(),
                      absl::StrFormat("%s: writes with disable_wal to column families %s are lost: %s",
                                      state_->core->path, names, why.message()));
}

}  // namespace sepal
