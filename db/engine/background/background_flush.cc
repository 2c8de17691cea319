// Flushes: of one family several at a time, each of memtables that no other has taken, installed in the order of their
// age.
#include <algorithm>
#include <deque>
#include <utility>

#include "db/act/jobs/flush_job.h"
#include "db/act/jobs/table_output.h"
#include "db/decide/writing/guard_budget.h"
#include "db/engine/background/background.h"
#include "db/format/file_names.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

// The memtables that a flush has taken, for one try. Behind it they are in tables, or wait again.
class Background::Taken {
 public:
  Taken(Background* background, const FamilyRef& family) : state_(background->state_), family_(family) {
    StateLock lock(state_);
    --family_->flushes_waiting;
    ++family_->flushes_running;
    family_->need.reset();
    run = RunNumber(background->catalog_->NewFileNumber().value());
    // Whose flush has failed for good, that memtable is not tried again.
    if (state_->error.ok()) immutables = family_->TakeForFlush(run);
  }
  ~Taken() {
    StateLock lock(state_);
    family_->PutBack(run);
    --family_->flushes_running;
    ++family_->flushes_waiting;
    family_->need.reset();
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

void Background::ScheduleFlush(const FamilyRef& family) {
  family->need->flush = false;
  ++family->flushes_waiting;
  StartJob(Executor::Priority::kFlush, [this, family] { (void)RunFlush(family); });
}

absl::Status Background::RunFlush(const FamilyRef& family) {
  FlushEvent event{.column_family = family->name};
  state_->Tell([&](EventListener& listener) { listener.OnFlushBegin(event); });
  const uint64_t began = state_->core->world.clock->MonotonicMicros();
  uint64_t bytes = 0;
  bool calm = false;
  {
    StateLock lock(state_);
    bytes = family->BytesAwaitingFlush();
    pace_.BeginFlush(began);
    calm = pace_.calm();
  }
  FlushDone done;
  event.status = RetryWhileDiskFull(BackgroundWork::kFlush, *family, bytes, /*progress=*/nullptr, [&] {
    absl::Status status;
    do {
      status = TryFlush(family, calm, &event, &done);
    } while (done.again);
    return status;
  });
  event.micros = state_->core->world.clock->MonotonicMicros() - began;
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
    --family->flushes_waiting;
    family->need.reset();
    if (done.volume.data_bytes > 0) {
      family->last_flush = done.volume;
      pace_.EndFlush(event.micros, done.threads);
    }
  }
  Judge(*family, event.status, "flush");
  return event.status;
}

absl::Status Background::TryFlush(const FamilyRef& family, bool goes_first, FlushEvent* event, FlushDone* done) {
  // Memtables are taken inside the section alone: who waits for their turn waits for nobody whom a pause holds back.
  const PauseGate::FlushSection section(&pause_, goes_first);
  const Taken taken(this, family);
  absl::Status status = Flush(family, taken, event, done);
  // Before another flush may take them: what has failed for good is not tried again.
  if (!absl::IsResourceExhausted(status)) Judge(*family, status, "flush");
  return status;
}

absl::Status Background::Flush(const FamilyRef& family, const Taken& taken, FlushEvent* event, FlushDone* done) {
  *done = {};  // of a try before
  event->entries = event->bytes_written = 0;
  if (taken.immutables.empty()) {
    RETURN_IF_ERROR(state_->Error());
    return absl::CancelledError("no memtable is left: another flush took it, or the column family was dropped");
  }
  ASSIGN_OR_RETURN(std::vector<TableMetadata> tables, WriteTables(family, taken, done));
  const absl::StatusOr<bool> turn = AwaitTurn(*family, taken.run);
  if (turn.ok() && !*turn) {
    RemoveTables(state_->core->directory.get(), nullptr, tables);
    *done = {.again = true};
    return absl::OkStatus();
  }
  const absl::Status installed = !turn.ok() ? turn.status() : Install(family, taken, tables, done);
  if (!installed.ok()) {
    DiscardIfRefused(installed, tables);
    return installed;
  }
  for (const TableMetadata& table : tables) {
    event->entries += table.entries;
    event->bytes_written += table.size_bytes;
  }
  if (!tables.empty()) event->file_number = tables.front().number.value();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TableMetadata>> Background::WriteTables(const FamilyRef& family, const Taken& taken,
                                                                   FlushDone* done) {
  std::vector<std::shared_ptr<const MemTable>> memtables;
  uint64_t entries = 0;
  bool early = true;
  for (const ImmutableMemTable& immutable : taken.immutables) {
    memtables.push_back(immutable.memtable);
    entries += immutable.memtable->EntryCount();
    done->volume.data_bytes += immutable.memtable->DataBytes();
    early = early && immutable.early;
  }
  const ImmutableMemTable& last = taken.immutables.back();
  bool others_wait = false;
  int most_threads = 1;
  {
    StateLock lock(state_);
    // Not up to the memtables' own last entry: its batch may go on in another family.
    others_wait = OthersWaitBefore(*family, last.log_last);
    most_threads = pace_.threads();
    done->threads = early ? pace_.early_flush_threads() : most_threads;
  }
  // Tables must not hold what comes after an update that the log could still lose. Where these memtables are all that
  // there is up to here, nothing does.
  if (others_wait) RETURN_IF_ERROR(log_->Sync(last.log_end));
  TableOutputContext context = catalog_->OutputContext(*family);
  context.pacing = state_->core->PacingFor(Executor::Priority::kFlush);
  context.guard_bits_per_key =
      GuardBitsOfFlush(family->options.filter_policy.guard_bits_per_key, *VersionNow(*family), entries);
  const auto threads = [&] { return early ? early_flush_threads_.load(std::memory_order_relaxed) : most_threads; };
  ASSIGN_OR_RETURN(std::vector<TableMetadata> tables, FlushMemTables({.context = context,
                                                                      .memtables = memtables,
                                                                      .snapshots = Snapshots(),
                                                                      .executor = executor_,
                                                                      .max_threads = most_threads,
                                                                      .threads = threads}));
  // The order of runs is that in which memtables were taken, whoever makes a file first.
  for (TableMetadata& table : tables) table.run = taken.run;
  if (tables.empty()) return tables;
  const absl::Status synced = state_->core->directory->Sync();
  if (!synced.ok()) {
    RemoveTables(state_->core->directory.get(), nullptr, tables);
    return synced;
  }
  return tables;
}

absl::StatusOr<bool> Background::AwaitTurn(const Family& family, RunNumber run) {
  StateLock lock(state_);
  const std::deque<ImmutableMemTable>& all = family.immutables;
  while (!all.empty() && all.front().run.has_value() && *all.front().run < run) state_->WaitForChange();
  RETURN_IF_ERROR(state_->error);
  if (all.empty()) return absl::CancelledError("the column family was dropped");
  return all.front().run == run && run > family.newest_flushed;
}

absl::Status Background::Install(const FamilyRef& family, const Taken& taken, const std::vector<TableMetadata>& tables,
                                 FlushDone* done) {
  VersionEdit edit;
  for (const TableMetadata& table : tables) {
    edit.added_tables.push_back({.family = family->id, .level = 0, .table = table});
  }
  const SequenceNumber through = taken.immutables.back().memtable->LastSequence();
  edit.flushed_through.push_back({.family = family->id, .sequence = through});
  // Later logs may not be there after a loss of power.
  ASSIGN_OR_RETURN(const FileNumber newest_log, log_->BeginFile());
  FileNumber minimum;
  const size_t count = taken.immutables.size();
  RETURN_IF_ERROR(catalog_->Apply(
      std::move(edit),
      [&](VersionEdit* complete) {
        database_mutex.AssertHeld();
        if (family->immutables.size() < count) return;  // dropped meanwhile
        std::vector<FileNumber> pins;                   // of these memtables, which will be gone
        for (const ImmutableMemTable& immutable : taken.immutables) pins.push_back(immutable.first_log);
        minimum = std::min(catalog_->log_pins()->OldestWithout(pins), newest_log);
        complete->min_log_number = minimum;
      },
      [&] {
        database_mutex.AssertHeld();
        for (size_t i = 0; i < count; ++i) {
          catalog_->log_pins()->Release(&family->immutables.front().first_log);
          family->immutables.pop_front();
        }
        family->flushed_through = through;
        family->newest_flushed = taken.run;
        done->volume.data_bytes_behind = family->ImmutableDataBytes() + family->active()->DataBytes();
      }));
  RemoveOldLogs(minimum);
  return absl::OkStatus();
}

bool Background::OthersWaitBefore(const Family& family, SequenceNumber through) const {
  const auto waits = [through](const MemTable& memtable) {
    return !memtable.empty() && memtable.FirstSequence() <= through;
  };
  for (const auto& [id, other] : state_->families) {
    if (other.get() == &family) continue;
    if (waits(*other->active())) return true;
    for (const ImmutableMemTable& immutable : other->immutables) {
      if (waits(*immutable.memtable)) return true;
    }
  }
  return false;
}

bool Background::AnyMerges() const {
  return std::any_of(state_->families.begin(), state_->families.end(),
                     [](const auto& family) { return !family.second->running.empty(); });
}

void Background::RemoveOldLogs(FileNumber minimum) {
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
    // A calm background wakes no second thread, which would take a writer's core for some milliseconds. Where somebody
    // waits for space, or merges may have all threads for long, it is not put behind them.
    if (!state_->closing && !pace_.calm() && !gate_->AnyWaitsForSpace()) {
      const Executor::Priority priority = AnyMerges() ? Executor::Priority::kFlush : Executor::Priority::kCompaction;
      StartJob(priority, [remove, names = std::move(names)] { remove(names); });
      return;
    }
  }
  remove(names);
}

}  // namespace sepal
