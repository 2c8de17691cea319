// Information about the whole database: properties, sizes, consistency, checksums.
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "db/act/jobs/verify_values.h"
#include "db/decide/compaction/live_bytes.h"
#include "db/engine/catalog/named_snapshots.h"
#include "db/engine/face/engine.h"
#include "db/engine/face/values_text.h"
#include "db/format/file_names.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/base/unix_time.h"

namespace sepal {

namespace {

LevelProperties PropertiesOfLevel(const Version& version, const CompactionPolicy& policy, int level) {
  LevelProperties properties{.runs = static_cast<uint64_t>(version.NumRuns(level)),
                             .tables = static_cast<uint64_t>(version.NumTables(level)),
                             .bytes = version.Bytes(level),
                             .compaction_score = CompactionScore(version, policy, level)};
  for (const RunRef& run : version.level(level)) {
    properties.entries += run->entries();
    properties.tombstones += run->tombstones();
  }
  return properties;
}

std::string LevelsText(const Version& version, const CompactionPolicy& policy) {
  std::string out = "level  runs  tables         size      entries  tombstones   score\n";
  for (int level = 0; level < kMaxLevels; ++level) {
    if (version.NumRuns(level) == 0) continue;
    const LevelProperties at = PropertiesOfLevel(version, policy, level);
    out += absl::StrFormat("%5d %5d %7d %12s %12u %11u %7.2f\n", level, at.runs, at.tables, HumanBytes(at.bytes),
                           at.entries, at.tombstones, at.compaction_score);
  }
  return out;
}

std::string TablesText(const Version& version, ColumnFamilyId id) {
  std::string out;
  for (const AddedTable& added : version.Contents(id)) {
    out += absl::StrFormat("level %d %s\n", added.level, ToString(added.table));
  }
  return out;
}

// For tables that are not open, reports the filters that the options ask for.
std::string FiltersText(const Version& version, const FilterPolicy& policy, const StatisticsImpl& statistics) {
  std::string out = absl::StrFormat("expected false positive rate: %.5f\n", policy.ExpectedRate());
  out +=
      "level  tables  filter bytes  expected rate  observed rate     lookups  guard said no   lane said no  "
      "reads saved  blocks searched  false positives\n";
  for (int level = 0; level < kMaxLevels; ++level) {
    const LevelFilterStatistics filter = statistics.GetFilter(level);
    if (filter.lookups == 0 && version.NumTables(level) == 0) continue;
    double entries = 0, passed = 0, bytes = 0;
    for (const RunRef& run : version.level(level)) {
      for (const TableRef& table : run->tables()) {
        const auto count = static_cast<double>(table->metadata().entries);
        const TableReader* reader = table->reader();
        entries += count;
        passed += count * (reader != nullptr ? reader->properties().expected_filter_rate : policy.ExpectedRate());
        bytes += reader != nullptr
                     ? static_cast<double>(reader->properties().guard_bytes + reader->properties().lane_bytes)
                     : count * (policy.lane_bits_per_key + policy.guard_bits_per_key) / 8;
      }
    }
    absl::StrAppendFormat(&out, "%5d %7d %13.0f %14.5f %14.5f %11u %14u %14u %12u %16u %16u\n", level,
                          version.NumTables(level), bytes, entries > 0 ? passed / entries : 1.0, filter.ObservedRate(),
                          filter.lookups, filter.guard_rejections, filter.lane_rejections,
                          filter.guard_rejections + filter.lane_rejections, filter.blocks_searched,
                          filter.false_positives);
  }
  return out;
}

std::string PutOffText(const Family& family) REQUIRES_STATE_LOCK {
  std::string out;
  for (const CompactionPutOff& put_off : family.put_off()) {
    absl::StrAppendFormat(&out, "%s: %s\n", ToString(*put_off.plan), put_off.damage.ToString());
  }
  return out;
}

std::string OptionsText(const Family& family, const Core& core) {
  return absl::StrFormat(
      "memory_limit: %s\nbackground_bytes_per_second: %s\ncomparator: %s\nblock_bytes: %u\n"
      "filter: %.1f lane and %.1f guard bits a key\n%s%s\n",
      HumanBytes(core.budget.limit_bytes()),
      core.rate_limiter.bytes_per_second() == 0 ? "no limit" : std::to_string(core.rate_limiter.bytes_per_second()),
      family.order.comparator()->Name(), family.options.block_bytes, family.options.filter_policy.lane_bits_per_key,
      family.options.filter_policy.guard_bits_per_key, core.tuning.ToString(), ToString(family.policy));
}

std::string LogText(const WriteAheadLog& log) {
  const LogPosition durable = log.Durable();  // read before the end, so that it is not greater
  return absl::StrFormat("records are written %s\nfiles: %d of %s\nnot durable: %s\n", log.ModeText(),
                         log.Live().size(), HumanBytes(log.LiveBytes()),
                         HumanBytes(log.End().value() - durable.value()));
}

uint64_t EntriesEstimate(const ReadView& view) {
  // The writer may count on between the two loads, so tombstones are read first.
  const uint64_t tombstones = view.active->TombstoneCount();
  const uint64_t all = view.active->EntryCount();
  uint64_t entries = all - std::min(all, tombstones);
  for (const auto& memtable : view.immutables) entries += memtable->EntryCount();
  for (const TableRef& table : view.version->Tables()) {
    const TableMetadata& metadata = table->metadata();
    if (HoldsRangeTombstones(metadata)) continue;
    entries += metadata.entries - std::min(metadata.entries, 2 * metadata.tombstones);
  }
  return entries;
}

uint64_t OperandsInMemtables(const ReadView& view) {
  uint64_t operands = view.active->OperandCount();
  for (const auto& memtable : view.immutables) operands += memtable->OperandCount();
  return operands;
}

std::string MergeChainsText(const Family& family, const ReadView& view) {
  return absl::StrFormat("longest chain that a read combined: %u operands\noperands in memtables: %u\n",
                         family.longest_merge_chain(), OperandsInMemtables(view));
}

uint64_t BlockCacheBytes(const MemoryBudget& budget) {
  return budget.used(MemoryPart::kDataBlocks) + budget.used(MemoryPart::kLeafPages) + budget.used(MemoryPart::kGuards);
}

std::string ClockText(const ExpiryClock::Reading& reading) {
  std::string text = absl::StrFormat(
      "wall clock      %s\nkeys expire by  %s\nremoved up to   %s\n", TimeText(TimeOfMillis(reading.wall_millis)),
      TimeText(TimeOfMillis(reading.now_millis)), TimeText(TimeOfMillis(reading.removal_millis)));
  if (reading.now_millis > reading.wall_millis) {
    text += "the wall clock was set back: time stands still until it has caught up, or AcceptClock is called\n";
  }
  if (reading.removal_millis < std::min(reading.now_millis, reading.wall_millis)) {
    text +=
        "the wall clock jumped ahead: removals wait until it has kept pace for ten minutes, or AcceptClock is called\n";
  }
  return text;
}

constexpr std::string_view kPrefix = "sepal.";
constexpr std::string_view kFilesAtLevel = "num-files-at-level";

}  // namespace

std::optional<std::string> Engine::GetProperty(const ColumnFamily& handle, std::string_view name) {
  absl::StatusOr<FamilyRef> resolved = ResolveShared(handle);
  if (!resolved.ok() || !name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  if (name == "prometheus") return PrometheusPage();
  if (name == "scrub") return read_only_ ? std::string() : background_->scrubber()->ToString();
  if (name == "follow") return read_only_ ? follower_->ToString() : std::string();
  if (name == "expires") return std::string(core_->expiry.in_use() || core_->expiry.any_ttl() ? "1" : "0");
  if (name == "clock") return ClockText(core_->expiry.Read());
  if (name == "transactions") return read_only_ ? std::string() : transactions_->ListOpen();
  if (name == "prepared-transactions") return PreparedText();
  if (name == "history") return HistoryText(**resolved);
  const Family& family = **resolved;
  std::optional<HeldView> view;
  CompactionPolicy policy;
  bool sketches_sought = false;
  {
    StateLock lock(state_.get());
    if (std::optional<std::string> text = PropertyOfState(family, name)) return text;
    view.emplace(core_, family.current());
    policy = PolicyNow(family.Facts());
    sketches_sought = family.sketches_sought();
  }
  // Reads of all tables are made without a lock.
  const Version& version = *(*view)->version;
  const auto levels = [&] { return LevelsText(version, policy); };
  const auto filters = [&] { return FiltersText(version, family.options.filter_policy, core_->statistics); };
  if (name == "stats") return levels() + core_->statistics.ToString() + filters();
  if (name == "levels") return levels();
  if (name == "filters") return filters();
  if (name == "sstables") return TablesText(version, family.id);
  if (name == "memory") return core_->budget.ToString();
  if (name == "num-runs") return std::to_string(version.NumRuns());
  if (name == "num-entries") return std::to_string(EntriesEstimate(**view));
  if (name == "total-table-bytes") return std::to_string(version.Bytes());
  if (name == "estimated-live-bytes") return std::to_string(EstimatedLiveBytes(version));
  if (name == "block-cache-bytes") return std::to_string(BlockCacheBytes(core_->budget));
  if (name == "merge-chains") return MergeChainsText(family, **view);
  if (name == "compaction-debt-bytes") return std::to_string(CompactionDebtBytes(version, policy, sketches_sought));
  if (name.starts_with(kFilesAtLevel)) {
    int level = -1;
    if (!absl::SimpleAtoi(ToAbsl(name.substr(kFilesAtLevel.size())), &level)) return std::nullopt;
    if (level < 0 || level >= kMaxLevels) return std::nullopt;
    return std::to_string(version.NumTables(level));
  }
  return std::nullopt;
}

absl::StatusOr<Properties> Engine::GetProperties(const ColumnFamily& handle) {
  ASSIGN_OR_RETURN(const FamilyRef family, ResolveShared(handle));
  Properties properties;
  std::optional<HeldView> view;
  CompactionPolicy policy;
  bool sketches_sought = false;
  {
    StateLock lock(state_.get());
    RETURN_IF_ERROR(family->CheckThere());
    properties.memtable_bytes = family->ImmutableBytes() + family->active()->MemoryBytes();
    properties.last_sequence = state_->VisibleSequence().value();
    properties.background_error = state_->error;
    view.emplace(core_, family->current());
    policy = PolicyNow(family->Facts());
    sketches_sought = family->sketches_sought();
  }
  const Version& version = *(*view)->version;
  for (int level = 0; level < kMaxLevels; ++level) {
    properties.levels[static_cast<size_t>(level)] = PropertiesOfLevel(version, policy, level);
  }
  properties.runs = static_cast<uint64_t>(version.NumRuns());
  properties.entries = EntriesEstimate(**view);
  properties.table_bytes = version.Bytes();
  properties.longest_merge_chain = family->longest_merge_chain();
  properties.memtable_operands = OperandsInMemtables(**view);
  properties.live_bytes = EstimatedLiveBytes(version);
  properties.compaction_debt_bytes = CompactionDebtBytes(version, policy, sketches_sought);
  properties.block_cache_bytes = BlockCacheBytes(core_->budget);
  return properties;
}

// The properties that need the database mutex.
std::optional<std::string> Engine::PropertyOfState(const Family& family, std::string_view name) const {
  if (name == "log") return log_ == nullptr ? std::string() : LogText(*log_);
  if (name == "values") return ValuesText(*state_);
  if (name == "options") return OptionsText(family, *core_);
  if (name == "snapshots") return state_->snapshots->ToString() + NamedSnapshotsText(*state_);
  if (name == "filter-epoch") {
    const FilterEpochsRef& epochs = family.filter_history.current();
    return epochs == nullptr ? std::string() : epochs->list.back().epoch;
  }
  if (name == "memtable-bytes") return std::to_string(family.ImmutableBytes() + family.active()->MemoryBytes());
  if (name == "last-sequence") return ToString(state_->VisibleSequence());
  if (name == "background-error") return state_->error.ToString();
  if (name == "compactions-put-off") return PutOffText(family);
  return std::nullopt;
}

absl::StatusOr<HeldView> Engine::Hold(const Family& family) const {
  StateLock lock(state_.get());
  RETURN_IF_ERROR(family.CheckThere());
  return HeldView(core_, family.current());
}

std::vector<std::pair<FamilyRef, HeldView>> Engine::HoldAll() const {
  std::vector<std::pair<FamilyRef, HeldView>> views;
  StateLock lock(state_.get());
  for (const FamilyRef& family : state_->Families()) views.emplace_back(family, HeldView(core_, family->current()));
  return views;
}

absl::StatusOr<std::vector<uint64_t>> Engine::GetApproximateSizes(const ColumnFamily& handle,
                                                                  std::span<const Range> ranges) {
  ASSIGN_OR_RETURN(const FamilyRef family, ResolveShared(handle));
  ASSIGN_OR_RETURN(const HeldView view, Hold(*family));
  FamilyTableOpener opener = core_->Opener(family->order);
  std::vector<uint64_t> sizes(ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto& [begin, end] = ranges[i];
    uint64_t& size = sizes[i];
    if (!family->order.Less(begin, end)) continue;
    size += view->active->ApproximateBytes(begin, end);
    for (const auto& memtable : view->immutables) size += memtable->ApproximateBytes(begin, end);
    for (const LevelRun& level_run : view->version->runs()) {
      for (const TableRef& table : level_run.run->Overlapping({begin, end})) {
        const bool from_start = !family->order.Less(table->metadata().smallest.user_key, begin);
        const bool to_end = family->order.Less(table->metadata().largest.user_key, end);
        if (from_start && to_end) {
          size += table->metadata().size_bytes;
          continue;
        }
        ASSIGN_OR_RETURN(const TableReader* reader, table->OpenReader(&opener));
        ASSIGN_OR_RETURN(const uint64_t first, reader->ApproximateOffset(begin));
        ASSIGN_OR_RETURN(const uint64_t last, reader->ApproximateOffset(end));
        size += last > first ? last - first : 0;
      }
    }
  }
  return sizes;
}

absl::Status Engine::CheckConsistency() {
  RETURN_IF_ERROR(CheckOpen());
  const std::vector<std::pair<FamilyRef, HeldView>> views = HoldAll();
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> listing, core_->directory->List());
  absl::flat_hash_map<std::string, uint64_t> sizes;
  for (const DirectoryEntry& entry : listing) sizes[entry.name] = entry.size_bytes;
  for (const auto& [family, view] : views) {
    RETURN_IF_ERROR(view->version->Check());
    for (const TableRef& table : view->version->Tables()) {
      const std::string name = TableFileName(table->number());
      const auto it = sizes.find(name);
      if (it == sizes.end() && core_->read_only) {
        return absl::AbortedError(absl::StrFormat(
            "%s/%s: the writer has removed the table since this view was opened; open it again", core_->path, name));
      }
      if (it == sizes.end()) return Damaged(core_->path + "/" + name, 0, "the table is missing");
      if (it->second != table->metadata().size_bytes) {
        return Damaged(core_->path + "/" + name, 0, "size of the table", std::to_string(table->metadata().size_bytes),
                       std::to_string(it->second));
      }
    }
    for (const auto& memtable : view->immutables) RETURN_IF_ERROR(memtable->Check());
  }
  return absl::OkStatus();
}

absl::Status Engine::VerifyChecksums(const VerifyChecksumsOptions& options) {
  RETURN_IF_ERROR(CheckOpen());
  const std::vector<std::pair<FamilyRef, HeldView>> views = HoldAll();
  VerifyProgress progress;
  for (const auto& [family, view] : views) {
    for (const TableRef& table : view->version->Tables()) {
      ++progress.tables;
      progress.bytes += table->metadata().size_bytes;
    }
  }
  absl::Status first;
  for (const auto& [family, view] : views) {
    // If the reader is open, its root, properties and footer are in memory and would not be read again.
    FamilyTableOpener opener({core_->directory.get(), /*cache=*/nullptr, &core_->budget, &core_->statistics,
                              core_->read_only, core_->read_mode},
                             family->order);
    for (const TableRef& table : view->version->Tables()) {
      if (options.progress && !options.progress(progress))
        return absl::CancelledError("the verification was cancelled");
      const absl::StatusOr<std::shared_ptr<TableReader>> reader = opener.OpenTable(table->metadata());
      const auto on_damage = [&](const absl::Status& damage) {
        if (options.on_damage) options.on_damage(damage);
      };
      absl::Status status = reader.ok() ? (*reader)->Verify() : reader.status();
      if (!status.ok()) on_damage(status);
      if (status.ok()) status = VerifyValues(*reader, table->metadata().value_links, &core_->values, on_damage);
      if (!status.ok()) {
        ++progress.tables_damaged;
        KeepFirst(&first, status);
      }
      ++progress.tables_done;
      progress.bytes_done += table->metadata().size_bytes;
    }
  }
  if (options.progress) options.progress(progress);
  return first;
}

}  // namespace sepal
