#include "db/engine/core/family_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/decide/compaction/level_targets.h"
#include "util/thread/sync.h"

namespace sepal {

namespace {

bool Waits(const ImmutableMemTable& immutable) { return !immutable.run.has_value(); }

bool GoesIntoLastLevel(const CompactionPlan& plan, const Version& version) {
  return plan.kind == CompactionPlan::Kind::kRewrite && plan.InputLevel() < plan.output_level &&
         plan.output_level >= LastLevel(version);
}

}  // namespace

absl::Status Family::CheckThere() const {
  if (!dropped()) [[likely]]
    return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat("column family \"%s\" was dropped", name));
}

void Family::SetFilterEpochs(std::vector<FilterEpoch> epochs, EpochDomain* domain) {
  filter_history.Publish(std::make_shared<const FilterEpochs>(std::move(epochs)), domain);
  reads_ask_more_.store(true, std::memory_order_relaxed);
}

std::unique_ptr<const StripeFilter> Family::FilterForJob(std::span<const SequenceNumber> snapshots) const {
  if (options.compaction_filter == nullptr || !merge_operator_name.empty()) return nullptr;
  const FilterEpochsRef& epochs = filter_history.current();
  if (epochs == nullptr) return nullptr;
  return std::make_unique<const StripeFilter>(options.compaction_filter, epochs, snapshots);
}

FamilySchema Family::Schema() const {
  FamilySchema schema{.family = id,
                      .merge_operator = merge_operator_name,
                      .ttl_millis = static_cast<uint64_t>(options.ttl.count()),
                      .filter = filter_name,
                      .history_millis = history.millis()};
  if (schema.history_millis > 0) {
    schema.history_floor = history.floor();
    schema.history_begun = history.begun();
  }
  if (filter_history.current() != nullptr) schema.filter_epochs = filter_history.current()->list;
  return schema;
}

// --- memtables and tables ---

void Family::Open(std::shared_ptr<MemTable> active, std::shared_ptr<const Version> version,
                  SequenceNumber flushed_through, EpochDomain* epochs) {
  flushed_through_ = flushed_through;
  if (history.on()) active->UseSkips();
  if (active->range_tombstones() != nullptr || !version->range_tombstones().empty()) BeginRangeDeletes();
  Publish(std::move(active), std::move(version), epochs);
}

void Family::Adopt(std::shared_ptr<MemTable> active, std::shared_ptr<const Version> version,
                   SequenceNumber flushed_through, EpochDomain* epochs) {
  std::erase_if(views_, [](const auto& life) { return life->over.load(std::memory_order_acquire); });
  Open(std::move(active), std::move(version), flushed_through, epochs);
}

void Family::SwitchMemtable(ImmutableMemTable immutable, std::shared_ptr<MemTable> fresh, EpochDomain* epochs) {
  immutable.memtable = active();
  immutable.first_log = std::exchange(active_first_log_, FileNumber());
  immutables_.push_back(std::move(immutable));
  if (history.on()) fresh->UseSkips();
  Publish(std::move(fresh), version(), epochs);
}

void Family::SetVersion(std::shared_ptr<const Version> version, EpochDomain* epochs) {
  Publish(active(), std::move(version), epochs);
}

void Family::Drop(LogPins* pins, EpochDomain* epochs) {
  dropped_.store(true, std::memory_order_release);
  for (const TableRef& table : version()->Tables()) table->MarkObsolete();
  for (ImmutableMemTable& immutable : immutables_) pins->Release(&immutable.first_log);
  pins->Release(&active_first_log_);
  immutables_.clear();
  put_off_.clear();
  Replace(std::make_shared<const ReadView>(std::make_shared<MemTable>(order, 0, 0, MemTable::Memory{}),
                                           std::vector<std::shared_ptr<const MemTable>>(),
                                           std::make_shared<const Version>(order), NewViewLife({})),
          /*seen=*/nullptr, epochs);
}

MemTableReaders Family::RenewView(SequenceNumber visible, EpochDomain* epochs) {
  MemTableReaders readers{.settled = current_->life->since, .replaced_view = current_->life->number};
  std::erase_if(views_, [](const auto& life) { return life->over.load(std::memory_order_acquire); });
  for (const auto& life : views_) readers.settled = std::min(readers.settled, life->since);
  readers.oldest_view = views_.front()->number;
  // A renewed view makes no work due, so the need is kept.
  std::optional<FamilyNeed> need = std::move(need_);
  Publish(active(), version(), epochs, visible);
  need_ = std::move(need);
  return readers;
}

std::shared_ptr<ViewLife> Family::NewViewLife(SequenceNumber since) {
  views_.push_back(std::make_shared<ViewLife>(++views_made_, since));
  return views_.back();
}

void Family::Publish(std::shared_ptr<MemTable> active, std::shared_ptr<const Version> version, EpochDomain* epochs,
                     SequenceNumber since) {
  std::vector<std::shared_ptr<const MemTable>> flushing;
  for (auto it = immutables_.rbegin(); it != immutables_.rend(); ++it) flushing.push_back(it->memtable);
  auto next =
      std::make_shared<const ReadView>(std::move(active), std::move(flushing), std::move(version), NewViewLife(since));
  const ReadView* const seen = next.get();
  Replace(std::move(next), seen, epochs);
}

void Family::Replace(std::shared_ptr<const ReadView> next, const ReadView* seen, EpochDomain* epochs) {
  view_.store(seen, std::memory_order_seq_cst);
  SchedulePoint(&view_);
  std::shared_ptr<const ReadView> old = std::exchange(current_, std::move(next));
  need_.reset();
  if (old != nullptr) epochs->Defer([old = std::move(old)]() mutable { old.reset(); });
}

size_t Family::ImmutableBytes() const {
  size_t bytes = 0;
  for (const ImmutableMemTable& immutable : immutables_) bytes += immutable.memtable->MemoryBytes();
  return bytes;
}

size_t Family::ImmutableDataBytes() const {
  size_t bytes = 0;
  for (const ImmutableMemTable& immutable : immutables_) bytes += immutable.memtable->DataBytes();
  return bytes;
}

// --- flushes ---

bool Family::AwaitsFlush() const { return std::any_of(immutables_.begin(), immutables_.end(), Waits); }

size_t Family::BytesAwaitingFlush() const {
  // A table's bytes besides keys and values: for each entry, and for the table itself.
  constexpr size_t kEntryBytes = 16;
  constexpr size_t kTableBytes = 4096;
  size_t bytes = 0;
  for (const ImmutableMemTable& immutable : immutables_) {
    if (!Waits(immutable)) continue;
    bytes += immutable.memtable->DataBytes() + immutable.memtable->EntryCount() * kEntryBytes + kTableBytes;
  }
  return bytes;
}

bool Family::RangesAwaitFlush() const {
  return std::any_of(immutables_.begin(), immutables_.end(), [](const ImmutableMemTable& immutable) {
    return Waits(immutable) && immutable.memtable->range_tombstones() != nullptr;
  });
}

void Family::ScheduleFlush() {
  ++flushes_waiting_;
  need_.reset();
}

std::vector<ImmutableMemTable> Family::TakeForFlush(RunNumber run, bool gives_up) {
  --flushes_waiting_;
  ++flushes_running_;
  need_.reset();
  if (gives_up) return {};
  const auto begin = std::find_if(immutables_.begin(), immutables_.end(), Waits);
  const auto end = std::find_if_not(begin, immutables_.end(), Waits);
  for (auto it = begin; it != end; ++it) it->run = run;
  return {begin, end};
}

void Family::InstallFlush(size_t count, SequenceNumber through, RunNumber run, LogPins* pins) {
  for (size_t i = 0; i < count; ++i) {
    pins->Release(&immutables_.front().first_log);
    immutables_.pop_front();
  }
  flushed_through_ = through;
  newest_flushed_ = run;
  need_.reset();
}

void Family::PutBack(RunNumber run) {
  for (ImmutableMemTable& immutable : immutables_) {
    if (immutable.run == run) immutable.run.reset();
  }
  --flushes_running_;
  ++flushes_waiting_;
  need_.reset();
}

void Family::EndFlush(const std::optional<LastFlush>& written) {
  --flushes_waiting_;
  if (written.has_value()) last_flush_ = written;
  need_.reset();
}

// --- compactions ---

void Family::BeginCompaction(PlanRef plan, bool of_range) {
  running_.push_back(std::move(plan));
  if (of_range) {
    ++ranges_.running;
  } else if (ranges_.waiting > 0) {
    ++ranges_.plans_passed;
  }
  need_.reset();
}

void Family::EndCompaction(const PlanRef& plan, uint64_t demand, bool of_range) {
  if (of_range) --ranges_.running;
  if (plan->InputLevel() == 0) reads_.Satisfy(demand);
  if (GoesIntoLastLevel(*plan, *version())) tree_reads_.Satisfy(demand);
  running_.erase(std::find(running_.begin(), running_.end(), plan));
  need_.reset();
}

void Family::DeferCompaction(PlanRef plan, absl::Status damage) {
  put_off_.push_back({std::move(plan), std::move(damage)});
  need_.reset();
}

void Family::EndRangeWait() {
  if (--ranges_.waiting == 0) ranges_.plans_passed = 0;
}

// --- sketches ---

void Family::BeginSketches() {
  sketches_running_ = true;
  need_.reset();
}

void Family::EndSketches() {
  sketches_sought_ = true;
  need_.reset();
}

// --- values in files of their own ---

void Family::SetCollection(ValueCollectionRef collection) {
  collection_ = std::move(collection);
  need_.reset();
}

// --- what is due ---

FamilyFacts Family::Facts() const {
  return {.version = version().get(),
          .policy = &policy,
          .level0_is_read = reads_.due(),
          .tree_is_read = tree_reads_.due(),
          .running = running_,
          .put_off = put_off_,
          .ranges = ranges_,
          .memtable_waits = AwaitsFlush(),
          .flushes_waiting = flushes_waiting_,
          .flushes_running = flushes_running_,
          .flushed = last_flush_.has_value(),
          .at_rest = AtRest(),
          .sketches_running = sketches_running_,
          .sketches_sought = sketches_sought_,
          .values = collection_.get(),
          .history_floor = history.on() ? std::optional(history.Due(kMaxSequenceNumber)) : std::nullopt};
}

void Family::FindNeed(uint64_t before, uint64_t now, size_t families) {
  const auto any_runs = [this](const auto& matches)
                            REQUIRES_STATE_LOCK { return std::any_of(running_.begin(), running_.end(), matches); };
  const Version& version = *this->version();
  const uint64_t level0 = reads_.Weigh({.runs = version.NumRuns(0),
                                        .price = PriceOfLevel0(version.Entries(0)),
                                        .few_runs = policy.runs_per_level,
                                        .taken = any_runs([](const PlanRef& plan) { return plan->InputLevel() == 0; })},
                                       before, now);
  const bool may_be_one = last_flush_.has_value() && put_off_.empty() && MayCompactForReaders(version, policy);
  const uint64_t tree =
      tree_reads_.Weigh({.runs = may_be_one ? version.NumRuns() : 0,
                         .price = families * PriceOfTree(version.Entries()),
                         .few_runs = 2,
                         .taken = any_runs([&](const PlanRef& plan) { return GoesIntoLastLevel(*plan, version); })},
                        before, now);
  need_ = sepal::FindNeed(Facts());
  need_->demand_due = level0;
  need_->seeks_due = tree;
}

void Family::NoteNothingToCompact(std::optional<SequenceNumber> held_by) {
  need_->may_compact = false;
  need_->held_by = held_by;
}

CompactionPolicy PolicyFor(const ColumnFamilyOptions& options, const Tuning& tuning) {
  CompactionPolicy policy = MakeCompactionPolicy(options, tuning.memtable_bytes);
  policy.runs_per_level = tuning.runs_per_level;
  // Leveled is chosen for fast scans, so it allows no unread runs.
  policy.unread_runs = policy.style == CompactionStyle::kLeveled ? 0 : tuning.unread_runs;
  if (tuning.fanout > 0) policy.fanout = tuning.fanout;
  policy.max_table_bytes = tuning.table_bytes;
  return policy;
}

absl::Status HasNoMergeOperator(const Family& family) {
  return absl::InvalidArgumentError(
      absl::StrFormat("column family \"%s\" has no merge operator: open it with ColumnFamilyOptions::merge_operator, "
                      "or make one with sepal family create --merge-operator; "
                      "nothing was written",
                      family.name));
}

}  // namespace sepal
