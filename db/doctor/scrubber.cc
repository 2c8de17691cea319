// Reads every table from time to time, with the values in value files that it refers to, bypassing the caches, and
// checks them, so that damage in data that is never read is found while there still are backups. It stops nothing and
// repairs nothing; it reports to listeners, the info log and the statistics.
//
// It is one long task on the executor. A pass takes the tables that exist at its beginning, starting with a random one,
// so that a process that is restarted often does not always read the same tables; it is spread evenly over the period,
// and the next pass begins with the next period. It holds one table at a time, so that others can be deleted. It obeys
// the rate limiter, with lower priority than all other work, and steps aside while background work is paused.
//
// Safe for concurrent use.
#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/act/files/table_files.h"
#include "db/act/jobs/verify_values.h"
#include "db/engine/background/periodic_task.h"
#include "db/format/file_names.h"
#include "util/base/random.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

// The bytes read between two checks of the time.
constexpr uint64_t kScrubPieceBytes = uint64_t{1} << 20;

// The errors of a damaged table and a failing disk. Any other, such as too many open files or a missing permission,
// says nothing of the table.
bool IsDamage(const absl::Status& status) { return absl::IsDataLoss(status) || absl::IsInternal(status); }

std::string KeysText(const DamageEvent& damage) {
  if (!damage.after.has_value() && !damage.through.has_value()) return "all its keys";
  return absl::StrFormat("keys after %s through %s", damage.after.has_value() ? Printable(*damage.after) : "the first",
                         damage.through.has_value() ? Printable(*damage.through) : "the last");
}

// A value's event names its value file, and its status names the key.
std::string DamageText(const DamageEvent& damage, bool is_value) {
  const FileNumber number(damage.file_number);
  return absl::StrFormat("%s of %s, %u bytes at %u, %s%s", is_value ? ValueFileName(number) : TableFileName(number),
                         Printable(damage.column_family), damage.bytes, damage.offset,
                         is_value ? "" : KeysText(damage) + ": ", damage.status.ToString());
}

uint64_t BytesToRead(const TableMetadata& table) {
  uint64_t bytes = table.size_bytes;
  for (const ValueLinks& links : table.value_links) bytes += links.bytes;
  return bytes;
}

class Scrubber final : public PeriodicTask {
 public:
  Scrubber(EngineState* state, PauseGate* pause, Executor* executor)
      : state_(state), pause_(pause), executor_(executor) {}

  void Start() override EXCLUDES_STATE_LOCK;
  void Stop() override EXCLUDES_STATE_LOCK;
  std::string ToString() const override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Due {
    std::weak_ptr<const TableFile> table;
    uint64_t number;
    uint64_t bytes;
    std::string family;
    KeyOrder order;
  };
  struct TableDamage {
    uint64_t blocks = 0;
    uint64_t values = 0;
    std::string first;
  };
  class Visit;

  uint64_t Now() const { return state_->core->world.clock->MonotonicMicros(); }
  void Run() EXCLUDES_STATE_LOCK;
  void Pass(uint64_t began_micros) ABSL_LOCKS_EXCLUDED(database_mutex, mutex_);
  std::vector<Due> List() const EXCLUDES_STATE_LOCK;
  // Returns false if the task must end. Returns early if `while_needed`, which may be null, is no longer needed.
  bool WaitUntil(uint64_t micros, const TableFile* while_needed = nullptr) EXCLUDES_STATE_LOCK;
  void ForgetOthers(const std::vector<Due>& tables) ABSL_LOCKS_EXCLUDED(mutex_);

  EngineState* const state_;
  PauseGate* const pause_;
  Executor* const executor_;
  std::atomic<bool> stop_{false};
  bool running_ ABSL_GUARDED_BY(database_mutex) = false;

  // A leaf lock.
  mutable Mutex mutex_;
  std::map<uint64_t, TableDamage> damage_ ABSL_GUARDED_BY(mutex_);  // by the table's number
  uint64_t tables_ ABSL_GUARDED_BY(mutex_) = 0, tables_done_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The check of one table.
class Scrubber::Visit {
 public:
  // Belongs to the pass that began at `began` and has done `done_bytes` so far.
  Visit(Scrubber* scrubber, const Due& due, uint64_t began, double micros_per_byte, uint64_t done_bytes)
      : scrubber_(scrubber),
        core_(*scrubber->state_->core),
        due_(due),
        began_(began),
        micros_per_byte_(micros_per_byte),
        done_bytes_(done_bytes) {}

  void Run(const TableFile& table) {
    table_ = &table;
    const PauseGate::Section section(scrubber_->pause_);
    const absl::StatusOr<std::shared_ptr<TableReader>> reader = Open();
    if (!reader.ok()) {
      Damage({.handle = {}, .after = {}, .through = {}, .status = reader.status()});
    } else {
      whole_ = (*reader)
                   ->Scrub([this](uint64_t bytes) { return GoOn(bytes); },
                           [this](const TableReader::Gap& gap) { Damage(gap); })
                   .ok();
      if (whole_ && damage_.blocks == 0 && !table.metadata().value_links.empty()) CheckItsValues(*reader);
    }
    Note();
  }

 private:
  // Bypasses every cache, if the file system can, so that nothing that others read is evicted; the reads are not
  // counted among theirs.
  absl::StatusOr<std::shared_ptr<TableReader>> Open() const {
    const auto open = [this](ReadMode mode) {
      FamilyTableOpener opener(
          {core_.directory.get(), /*cache=*/nullptr, &core_.budget, /*statistics=*/nullptr, false, mode}, due_.order);
      return opener.OpenTable(table_->metadata());
    };
    if (!core_.directory->capabilities().direct_reads) return open(ReadMode::kBuffered);
    absl::StatusOr<std::shared_ptr<TableReader>> reader = open(ReadMode::kDirect);
    return reader.ok() || IsDamage(reader.status()) ? std::move(reader) : open(ReadMode::kBuffered);
  }

  bool GoOn(uint64_t bytes) {
    TakeFromLimiter(bytes);
    core_.statistics.Add(Ticker::kScrubBytes, bytes);
    done_bytes_ += bytes;
    piece_bytes_ += bytes;
    if (piece_bytes_ >= kScrubPieceBytes) {
      piece_bytes_ = 0;
      scrubber_->pause_->Leave();
      scrubber_->WaitUntil(began_ + static_cast<uint64_t>(static_cast<double>(done_bytes_) * micros_per_byte_), table_);
      scrubber_->pause_->Enter();
    } else {
      scrubber_->pause_->StepAside();
    }
    return !scrubber_->stop_.load(std::memory_order_relaxed) && !table_->obsolete();
  }

  // Takes small amounts, so that flushes never wait for a large one.
  void TakeFromLimiter(uint64_t bytes) {
    if (core_.rate_limiter.bytes_per_second() == 0) return;
    for (uint64_t left = bytes; left > 0 && !scrubber_->stop_.load(std::memory_order_relaxed);) {
      const uint64_t piece = std::min(left, kScrubPieceBytes);
      core_.rate_limiter.Take(piece, Executor::Priority::kScrub);
      left -= piece;
    }
  }

  // Called for an intact table. The value files exist as long as the table does.
  void CheckItsValues(std::shared_ptr<const TableReader> reader) {
    const bool direct = core_.directory->capabilities().direct_reads;
    ValueStore past_caches(core_.directory.get(), false, /*cache=*/nullptr,
                           direct ? ReadMode::kDirect : ReadMode::kBuffered);
    past_caches.Identify(core_.values.database_id());
    const auto bad = [&](std::string_view key, const ValueReference* reference, const absl::Status& why) {
      DamageValue(key, reference, why);
      return absl::OkStatus();
    };
    const absl::Status read = CheckValues(
        std::move(reader), &past_caches,
        {.go_on = [this](const ValueReference& reference) { return GoOn(reference.stored_bytes); }, .bad = bad});
    if (absl::IsCancelled(read)) whole_ = false;
    if (!read.ok() && !absl::IsCancelled(read)) Skip(read);
  }

  void DamageValue(std::string_view key, const ValueReference* reference, const absl::Status& why) {
    if (!IsDamage(why)) return Skip(why);
    DamageEvent event{.column_family = due_.family, .file_number = due_.number, .status = why};
    if (reference != nullptr) {
      event.file_number = reference->file.value();
      event.offset = reference->offset;
      event.bytes = reference->stored_bytes;
    }
    event.after = event.through = std::string(key);
    ++damage_.values;
    Tell(event, DamageText(event, /*is_value=*/reference != nullptr));
  }

  void Skip(const absl::Status& why) {
    passed_over_ = true;
    core_.info_log.Write("scrubbing skips %s: %s", table_name(), why.ToString());
  }

  void Damage(const TableReader::Gap& gap) {
    if (!IsDamage(gap.status)) return Skip(gap.status);
    DamageEvent event{.column_family = due_.family,
                      .file_number = due_.number,
                      .offset = gap.handle.offset,
                      .bytes = gap.handle.size,
                      .status = gap.status};
    if (gap.after.has_value()) event.after = gap.after->user_key;
    if (gap.through.has_value()) event.through = gap.through->user_key;
    ++damage_.blocks;
    Tell(event, DamageText(event, /*is_value=*/false));
  }

  void Tell(const DamageEvent& event, std::string text) {
    core_.statistics.Add(Ticker::kScrubDamage);
    core_.info_log.Write("scrubbing found damage: %s", text);
    // Outside of the section, because the listener may pause background work, or take long.
    scrubber_->pause_->Leave();
    scrubber_->state_->Tell([&](EventListener& listener) { listener.OnDamage(event); });
    scrubber_->pause_->Enter();
    if (damage_.first.empty()) damage_.first = std::move(text);
  }

  void Note() {
    MutexLock lock(&scrubber_->mutex_);
    if (damage_.blocks + damage_.values > 0) {
      scrubber_->damage_[due_.number] = std::move(damage_);
    } else if (whole_ && !passed_over_) {
      scrubber_->damage_.erase(due_.number);
    }
  }

  std::string table_name() const { return TableFileName(FileNumber(due_.number)); }

  Scrubber* const scrubber_;
  Core& core_;
  const Due& due_;
  const uint64_t began_;
  const double micros_per_byte_;
  uint64_t done_bytes_;
  uint64_t piece_bytes_ = 0;
  const TableFile* table_ = nullptr;
  bool whole_ = false;        // read to its end
  bool passed_over_ = false;  // skipped data that could not be read for reasons other than damage
  TableDamage damage_;
};

void Scrubber::Start() {
  if (state_->core->tuning.scrub_period_micros == 0) return;
  {
    StateLock lock(state_);
    running_ = true;
  }
  executor_->Schedule(Executor::Priority::kScrub, [this] { Run(); });
}

void Scrubber::Stop() {
  stop_.store(true, std::memory_order_relaxed);
  StateLock lock(state_);
  state_->NotifyChanged();
  while (running_) state_->WaitForChange();
}

void Scrubber::Run() {
  while (!stop_.load(std::memory_order_relaxed)) {
    const uint64_t began = Now();
    Pass(began);
    if (!WaitUntil(began + state_->core->tuning.scrub_period_micros)) break;
  }
  StateLock lock(state_);
  running_ = false;
  state_->NotifyChanged();
}

bool Scrubber::WaitUntil(uint64_t micros, const TableFile* while_needed) {
  StateLock lock(state_);
  while (!stop_.load(std::memory_order_relaxed)) {
    if (while_needed != nullptr && while_needed->obsolete()) return true;
    const uint64_t now = Now();
    if (now >= micros) return true;
    state_->WaitForChange(micros - now);
  }
  return false;
}

std::vector<Scrubber::Due> Scrubber::List() const {
  std::vector<std::pair<FamilyRef, VersionRef>> versions;
  {
    StateLock lock(state_);
    for (const FamilyRef& family : state_->Families()) versions.emplace_back(family, family->version());
  }
  std::vector<Due> due;
  for (const auto& [family, version] : versions) {
    for (const TableRef& table : version->Tables()) {
      due.push_back({.table = table,
                     .number = table->number().value(),
                     .bytes = BytesToRead(table->metadata()),
                     .family = family->name,
                     .order = family->order});
    }
  }
  return due;
}

void Scrubber::ForgetOthers(const std::vector<Due>& tables) {
  MutexLock lock(&mutex_);
  tables_ = tables.size();
  tables_done_ = 0;
  std::erase_if(damage_, [&](const auto& damaged) {
    return std::none_of(tables.begin(), tables.end(), [&](const Due& due) { return due.number == damaged.first; });
  });
}

void Scrubber::Pass(uint64_t began_micros) {
  std::vector<Due> due = List();
  ForgetOthers(due);
  uint64_t bytes = 0, done = 0;
  for (const Due& each : due) bytes += each.bytes;
  if (!due.empty()) {
    Random random(state_->core->world.random_seed ^ began_micros);
    std::rotate(due.begin(), due.begin() + static_cast<ptrdiff_t>(random.Uniform(due.size())), due.end());
  }
  const double micros_per_byte =
      bytes == 0 ? 0 : static_cast<double>(state_->core->tuning.scrub_period_micros) / static_cast<double>(bytes);
  for (const Due& each : due) {
    if (!WaitUntil(began_micros + static_cast<uint64_t>(static_cast<double>(done) * micros_per_byte))) return;
    if (const TableRef table = each.table.lock(); table != nullptr && !table->obsolete()) {
      Visit(this, each, began_micros, micros_per_byte, done).Run(*table);
    }
    // Removes tables whose last owner was this pass.
    state_->core->RemoveUnusedFiles();
    done += each.bytes;
    MutexLock lock(&mutex_);
    ++tables_done_;
  }
  if (stop_.load(std::memory_order_relaxed)) return;
  state_->core->statistics.Add(Ticker::kScrubPasses);
  size_t damaged;
  {
    MutexLock lock(&mutex_);
    damaged = damage_.size();
  }
  state_->core->info_log.Write("scrubbing has read all %u tables, %u bytes: %u are damaged", due.size(), bytes,
                               damaged);
}

std::string Scrubber::ToString() const {
  MutexLock lock(&mutex_);
  std::string out =
      absl::StrFormat("period: %u s\nthis pass: %u of %u tables\npasses: %u\nbytes: %u\ndamaged tables: %u\n",
                      state_->core->tuning.scrub_period_micros / 1'000'000, tables_done_, tables_,
                      state_->core->statistics.Get(Ticker::kScrubPasses),
                      state_->core->statistics.Get(Ticker::kScrubBytes), damage_.size());
  for (const auto& [number, damage] : damage_) {
    const bool blocks = damage.blocks > 0;
    absl::StrAppendFormat(&out, "%u damaged %s in %s\n", blocks ? damage.blocks : damage.values,
                          blocks ? "blocks" : "values", damage.first);
  }
  return out;
}

}  // namespace

std::unique_ptr<PeriodicTask> MakeScrubber(EngineState* state, PauseGate* pause, Executor* executor) {
  return std::make_unique<Scrubber>(state, pause, executor);
}

}  // namespace sepal
