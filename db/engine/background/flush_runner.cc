#include "db/engine/background/flush_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "db/act/jobs/flush_job.h"
#include "db/act/jobs/range_table.h"
#include "db/act/jobs/table_output.h"
#include "db/decide/compaction/droppable_tables.h"
#include "db/decide/writing/guard_budget.h"
#include "db/format/file_names.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

// Together with those of tables that hold less than twice as many, so that there is a logarithmic number of tables, and
// each delete is written as often.
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

bool Lists(const std::vector<TableRef>& tables, const TableRef& table) {
  return std::find(tables.begin(), tables.end(), table) != tables.end();
}

}  // namespace

// After the try they are in tables, or wait again.
class FlushRunner::Taken {
 public:
  Taken(FlushRunner* runner, const FamilyRef& family) : state_(runner->state_), family_(family) {
    StateLock lock(state_);
    run = RunNumber(runner->catalog_->NewFileNumber().value());
    // A memtable whose flush has failed for good is not tried again.
    immutables = family_->TakeForFlush(run, /*gives_up=*/!state_->error.ok());
  }
  ~Taken() {
    // First: as long as a flush runs, a writer that lacks memory waits for what it holds.
    immutables.clear();
    StateLock lock(state_);
    family_->PutBack(run);
    state_->NotifyChanged();
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  RunNumber run;
  std::vector<ImmutableMemTable> immutables;

 private:
  EngineState* const state_;
  const FamilyRef family_;
};

void FlushRunner::Start(const FamilyRef& family) {
  family->ScheduleFlush();
  slots_->StartInTries(Executor::Priority::kFlush,
                       [this, family, job = std::make_shared<Job>(Job{.tries = slots_->NewTries()})] {
                         return Continue(family, job.get());
                       });
}

void FlushRunner::Begin(const Family& family, Job* job) {
  job->begun = true;
  job->event.column_family = family.name;
  state_->Tell([&](EventListener& listener) { listener.OnFlushBegin(job->event); });
  job->began_micros = state_->core->world.clock->MonotonicMicros();
  StateLock lock(state_);
  job->bytes = family.BytesAwaitingFlush();
  slots_->pace().BeginFlush(job->began_micros);
  job->calm = slots_->pace().calm();
}

bool FlushRunner::Continue(const FamilyRef& family, Job* job) {
  if (!job->begun) Begin(*family, job);
  const auto flush = [&]() -> absl::Status {
    do {
      ASSIGN_OR_RETURN(job->flushed, TryFlush(family, job->calm));
    } while (job->flushed.overtaken);
    return absl::OkStatus();
  };
  std::optional<absl::Status> ended = slots_->RetryWhileDiskFull(BackgroundWork::kFlush, *family, job->bytes,
                                                                 /*progress=*/nullptr, &job->tries, flush);
  if (!ended.has_value()) return false;
  job->event.status = *std::move(ended);
  Conclude(family, job);
  return true;
}

void FlushRunner::Conclude(const FamilyRef& family, Job* job) {
  const Flushed& flushed = job->flushed;
  FlushEvent& event = job->event;
  for (const TableMetadata& table : flushed.tables) {
    event.entries += table.entries;
    event.bytes_written += table.size_bytes;
  }
  if (!flushed.tables.empty()) event.file_number = flushed.tables.front().number.value();
  event.micros = state_->core->world.clock->MonotonicMicros() - job->began_micros;
  StatisticsImpl& statistics = state_->core->statistics;
  statistics.Add(Ticker::kFlushes);
  statistics.Add(Ticker::kFlushBytes, event.bytes_written);
  statistics.Record(Histogram::kFlushMicros, event.micros);
  state_->core->info_log.Write("flush of %s: from table %u on, %u entries, %u bytes in %u us: %s",
                               Printable(family->name), event.file_number, event.entries, event.bytes_written,
                               event.micros, event.status.ToString());
  state_->Tell([&](EventListener& listener) { listener.OnFlushEnd(event); });
  {
    StateLock lock(state_);
    const bool wrote = flushed.volume.data_bytes > 0;
    family->EndFlush(wrote ? std::optional(flushed.volume) : std::nullopt);
    if (wrote) slots_->pace().EndFlush(event.micros, flushed.threads);
  }
  if (event.status.ok()) table_dropper_.Drop(family);
  slots_->Judge(*family, event.status, "flush");
}

absl::StatusOr<FlushRunner::Flushed> FlushRunner::TryFlush(const FamilyRef& family, bool goes_first) {
  // Memtables are taken inside the section alone: a flush that waits for its turn waits for none that a pause holds
  // back.
  const PauseGate::Section section(pause_, goes_first ? PauseGate::Work::kFirstFlush : PauseGate::Work::kFlush);
  const Taken taken(this, family);
  absl::StatusOr<Flushed> flushed = Flush(family, taken);
  // Before another flush may take them: what has failed for good is not tried again.
  if (!absl::IsResourceExhausted(flushed.status())) slots_->Judge(*family, flushed.status(), "flush");
  return flushed;
}

absl::StatusOr<FlushRunner::Flushed> FlushRunner::Flush(const FamilyRef& family, const Taken& taken) {
  if (taken.immutables.empty()) {
    RETURN_IF_ERROR(state_->Error());
    return absl::CancelledError("no memtable is left: another flush took it, or the column family was dropped");
  }
  ASSIGN_OR_RETURN(Flushed flushed, WriteTables(family, taken));
  const absl::StatusOr<bool> turn = AwaitTurn(*family, taken.run);
  if (turn.ok() && !*turn) {
    RemoveTables(state_->core->directory.get(), nullptr, flushed.tables);
    return Flushed{.overtaken = true};
  }
  const absl::StatusOr<uint64_t> behind = turn.ok() ? Finish(family, taken, &flushed) : turn.status();
  slots_->DiscardIfRefused(behind.status(), flushed.tables);
  if (flushed.range_table.has_value()) slots_->DiscardIfRefused(behind.status(), {*flushed.range_table});
  ASSIGN_OR_RETURN(flushed.volume.data_bytes_behind, behind);
  return flushed;
}

absl::StatusOr<FlushRunner::Flushed> FlushRunner::WriteTables(const FamilyRef& family, const Taken& taken) {
  // Tables must not refer to values that a loss of power could take.
  RETURN_IF_ERROR(state_->core->values.fresh().Sync());
  Flushed flushed;
  std::vector<std::shared_ptr<const MemTable>> memtables;
  uint64_t entries = 0;
  bool early = true;
  flushed.snapshots = snapshots_->ForJob(*family);
  for (const ImmutableMemTable& immutable : taken.immutables) {
    memtables.push_back(immutable.memtable);
    entries += immutable.memtable->EntryCount();
    flushed.volume.data_bytes += immutable.memtable->DataBytes();
    early = early && immutable.early;
  }
  flushed.ranges = RangesOf(family->order, memtables, flushed.snapshots);
  const ImmutableMemTable& last = taken.immutables.back();
  bool others_wait = false;
  int most_threads = 1;
  std::unique_ptr<const StripeFilter> filter;
  {
    StateLock lock(state_);
    // Not up to the memtables' own last entry: its batch may go on in another family.
    others_wait = OthersWaitBefore(*family, last.log_last);
    filter = family->FilterForJob(flushed.snapshots);
    most_threads = slots_->pace().threads();
    flushed.threads = early ? slots_->pace().early_flush_threads() : most_threads;
  }
  // Tables must not hold what comes after an update that the log could still lose. Where these memtables are all that
  // there is up to here, nothing does.
  if (others_wait) RETURN_IF_ERROR(log_->Sync(last.log_end));
  TableOutputContext context = catalog_->OutputContext(*family);
  context.pacing = state_->core->PacingFor(Executor::Priority::kFlush);
  context.guard_bits_per_key =
      GuardBitsOfFlush(family->options.filter_policy.guard_bits_per_key, *state_->VersionOf(*family), entries);
  const auto threads = [&] { return early ? slots_->early_flush_threads() : most_threads; };
  ASSIGN_OR_RETURN(flushed.tables, FlushMemTables({.context = context,
                                                   .memtables = memtables,
                                                   .snapshots = flushed.snapshots,
                                                   .ranges = flushed.ranges.get(),
                                                   .filter = filter.get(),
                                                   .executor = slots_->executor(),
                                                   .max_threads = most_threads,
                                                   .threads = threads}));
  // The order of runs is that in which memtables were taken, whichever flush makes a file first.
  for (TableMetadata& table : flushed.tables) table.run = taken.run;
  if (flushed.tables.empty()) return flushed;
  const absl::Status synced = state_->core->directory->Sync();
  if (!synced.ok()) {
    RemoveTables(state_->core->directory.get(), nullptr, flushed.tables);
    return synced;
  }
  return flushed;
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

absl::StatusOr<bool> FlushRunner::AwaitTurn(const Family& family, RunNumber run) {
  StateLock lock(state_);
  const std::deque<ImmutableMemTable>& all = family.immutables();
  while (!all.empty() && all.front().run.has_value() && *all.front().run < run) state_->WaitForChange();
  RETURN_IF_ERROR(state_->error);
  if (all.empty()) return absl::CancelledError("the column family was dropped");
  return all.front().run == run && run > family.newest_flushed();
}

absl::StatusOr<uint64_t> FlushRunner::Finish(const FamilyRef& family, const Taken& taken, Flushed* flushed) {
  if (flushed->ranges == nullptr) return Install(family, taken, *flushed);
  const MutexLock lock(family->range_deletes.tables_mutex());
  RETURN_IF_ERROR(WriteRanges(*family, flushed));
  return Install(family, taken, *flushed);
}

absl::StatusOr<uint64_t> FlushRunner::Install(const FamilyRef& family, const Taken& taken, const Flushed& flushed) {
  VersionEdit edit;
  for (const TableMetadata& table : flushed.tables) {
    edit.added_tables.push_back({.family = family->id, .level = 0, .table = table});
  }
  if (flushed.range_table.has_value()) {
    edit.added_tables.push_back({.family = family->id, .level = 0, .table = *flushed.range_table});
  }
  const SequenceNumber through = taken.immutables.back().memtable->LastSequence();
  edit.flushed_through.push_back({.family = family->id, .sequence = through});
  // Later logs may not be there after a loss of power.
  ASSIGN_OR_RETURN(const FileNumber newest_log, log_->BeginFile());
  FileNumber minimum;
  uint64_t behind = 0;
  const size_t count = taken.immutables.size();
  RETURN_IF_ERROR(catalog_->Apply(
      std::move(edit),
      [&](VersionEdit* complete) {
        database_mutex.AssertHeld();
        if (family->immutables().size() < count) return;  // dropped meanwhile
        std::vector<FileNumber> pins;                     // of these memtables, which will be gone
        for (const ImmutableMemTable& immutable : taken.immutables) pins.push_back(immutable.first_log);
        minimum = std::min(state_->log_pins.OldestWithout(pins), newest_log);
        complete->min_log_number = minimum;
        for (const TableRef& table : flushed.merged_range_tables) {
          if (!Lists(family->version()->range_tables(), table)) continue;  // the family is being dropped
          complete->removed_tables.push_back({.family = family->id, .level = 0, .number = table->number()});
        }
      },
      [&] {
        database_mutex.AssertHeld();
        family->InstallFlush(count, through, taken.run, &state_->log_pins);
        behind = family->ImmutableDataBytes() + family->active()->DataBytes();
      }));
  RemoveOldLogs(minimum);
  return behind;
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
    // A calm background wakes no second thread, which would take a writer's core for some milliseconds. Where work
    // waits for space, or compactions may have all threads for long, it is not put behind them.
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
  std::vector<FamilyRef> families;
  {
    StateLock lock(state_);
    families = UnloggedFamilies();
    if (families.empty()) return absl::OkStatus();
  }
  absl::Status why;
  for (const FamilyRef& family : families) {
    {
      StateLock lock(state_);
      if (!state_->error.ok()) break;
      slots_->Begin();
      family->ScheduleFlush();
    }
    Job job;
    (void)Continue(family, &job);  // waits in this thread
    KeepFirst(&why, job.event.status);
    slots_->End();
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
