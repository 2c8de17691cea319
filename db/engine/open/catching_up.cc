#include "db/engine/open/catching_up.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#include "db/act/files/directory_listing.h"
#include "db/act/files/fd_limited_directory.h"
#include "db/engine/catalog/manifest_families.h"
#include "db/engine/open/missing_value.h"
#include "db/engine/open/range_tables.h"
#include "db/engine/write/delete_range_in_memtable.h"
#include "db/format/file_names.h"
#include "db/format/value_reference.h"
#include "util/base/status.h"

namespace sepal {

namespace {

// Looking behind the end of the logs goes over the whole ring byte by byte, and finds nothing but damage.
constexpr uint64_t kLookBehindMicros = 1'000'000;

// What takes the place of the tables' shared objects while a manifest is read anew: those that are there.
struct KnownTables {
  absl::flat_hash_map<FileNumber, TableRef> by_number;
  bool contradicted = false;
};

bool SameTable(const TableMetadata& a, const TableMetadata& b) {
  return a.table_id == b.table_id && a.size_bytes == b.size_bytes && a.footer_checksum == b.footer_checksum;
}

TableFactory MakerOfTables(Core* core, std::shared_ptr<KnownTables> known) {
  return [core, known = std::move(known)](TableMetadata table) {
    const auto there = known->by_number.find(table.number);
    if (there == known->by_number.end()) return core->MakeTable(std::move(table));
    known->contradicted |= !SameTable(there->second->metadata(), table);
    return there->second;
  };
}

absl::Status AnotherDatabase(const Core& core) {
  return absl::FailedPreconditionError(absl::StrFormat(
      "%s holds another database, or another state of it, than when it was opened: open it again", core.path));
}

// What goes through a ring may be begun without a byte in its file, but not far away.
bool IsBegun(const LogFile& log) {
  return log.header.has_value() || !absl::IsDataLoss(log.problem) || log.has_bytes.value_or(true);
}

// The epochs of a filter that readers may need: the writer has forgotten those that none of its own does.
std::vector<FilterEpoch> JoinEpochs(const FilterEpochsRef& before, const std::vector<FilterEpoch>& now) {
  if (before == nullptr) return now;
  std::vector<FilterEpoch> all = before->list;
  std::erase_if(all, [&](const FilterEpoch& epoch) { return epoch.sequence >= now.front().sequence; });
  all.insert(all.end(), now.begin(), now.end());
  return all;
}

}  // namespace

CatchingUp::CatchingUp(Core* core, EngineState* state, Catalog* catalog, ReaderHistory* history,
                       std::optional<ReaderPosition> from)
    : core_(core),
      state_(state),
      catalog_(catalog),
      history_(history),
      next_(std::move(from)),
      edits_before_(next_.has_value() ? next_->manifest.edits : 0) {
  StateLock lock(state_);
  history_->visible = std::max(history_->visible, state_->VisibleSequence());
  for (const auto& [id, family] : state_->families) {
    before_.emplace(family->id, Part{family, family->version(), family->flushed_through(), family->active()});
  }
}

absl::StatusOr<ReaderPosition> CatchingUp::Run() {
  RETURN_IF_ERROR(TakeManifest());
  RETURN_IF_ERROR(TakeFamilies());
  RETURN_IF_ERROR(TakeVersions());
  // Iterators remember no deleted keys meanwhile.
  MutexLock lock(&core_->commit_mutex);
  RETURN_IF_ERROR(TakeLogs());
  const bool changed = anew_ || replayed_anew_ || batches_ > 0 || next_->manifest.edits != edits_before_;
  if (changed) {
    if (replayed_anew_) ForgetDeadRanges();
    Publish();
  }
  return *std::move(next_);
}

// --- what the manifest says ---

absl::Status CatchingUp::TakeManifest() {
  if (!next_.has_value()) return ReadManifest();
  ASSIGN_OR_RETURN(const bool whole,
                   ContinueManifest(core_->directory.get(), &next_->manifest,
                                    [this](VersionEdit&& edit) { return next_->state.Take(std::move(edit)); }));
  return whole ? absl::OkStatus() : ReadManifest();
}

absl::Status CatchingUp::ReadManifest() {
  Directory* const directory = core_->directory.get();
  // First: what their headers say of the manifest is older than they are.
  ASSIGN_OR_RETURN(const std::vector<LogFile> logs, ListLogs(core_->log_directory()));
  ASSIGN_OR_RETURN(const DirectoryListing listing, ListSortedOut(directory));
  const bool other_files = !listing.tables.empty() || (core_->separate_log_directory != nullptr && !logs.empty());
  const auto known = std::make_shared<KnownTables>();
  for (const auto& [id, part] : before_) {
    for (const TableRef& table : part.version->Tables()) known->by_number.emplace(table->number(), table);
  }
  ReaderPosition read{
      .manifest = {}, .state = ManifestState(MakerOfTables(core_, known)), .place = {}, .log_files = {}};
  if (next_.has_value()) read.place = next_->place;
  ASSIGN_OR_RETURN(read.manifest,
                   RecoverManifest(directory, listing.others, NewestManifest(logs), other_files,
                                   [&](VersionEdit&& edit) { return read.state.Take(std::move(edit)); }));
  if (!read.manifest.found) {
    return absl::NotFoundError(absl::StrFormat("there is no database in %s any more", core_->path));
  }
  if (known->contradicted) return AnotherDatabase(*core_);
  known->by_number.clear();
  next_ = std::move(read);
  anew_ = true;
  return CheckIdentity();
}

absl::Status CatchingUp::CheckIdentity() const {
  const Catalog::Identity& identity = catalog_->identity();
  const bool same = next_->manifest.database_id == identity.database_id &&
                    next_->state.hash_seed == identity.hash_seed && next_->manifest.number >= history_->manifest;
  return same ? absl::OkStatus() : AnotherDatabase(*core_);
}

absl::Status CatchingUp::TakeFamilies() {
  for (auto& [id, described] : next_->state.families) {
    Part& part = parts_[id];
    const auto before = before_.find(id);
    if (before == before_.end()) {
      ASSIGN_OR_RETURN(part.family, MakeFamily(state_->options, core_, id, described, SequenceNumber(0)));
    } else {
      part.family = before->second.family;
      RETURN_IF_ERROR(CheckIsFamily(*part.family, core_->path, described));
    }
    if (anew_ || before == before_.end()) described.tables.OrderBy(part.family->order);
    part.flushed_through = described.flushed_through;
  }
  if (!parts_.contains(ColumnFamilyId(0))) {
    return absl::DataLossError(absl::StrFormat("%s: the manifest has no default column family", core_->path));
  }
  return absl::OkStatus();
}

absl::Status CatchingUp::TakeVersions() {
  const TableFactory make_table = MakerOfTables(core_, std::make_shared<KnownTables>());
  for (auto& [id, described] : next_->state.families) {
    Part& part = parts_.at(id);
    const auto before = before_.find(id);
    const VersionRef had = before != before_.end() ? before->second.version : nullptr;
    ASSIGN_OR_RETURN(VersionRef version, described.tables.Build());
    part.version = had;
    if (version == had) continue;
    ASSIGN_OR_RETURN(part.version, LoadRangeTombstones(core_, std::move(version)));
    RETURN_IF_ERROR(OpenTables(*part.version));
    if (had != nullptr) NoteGone(*had, described.tables, *part.version);
    described.tables = VersionBuilder(part.version, make_table);
  }
  return absl::OkStatus();
}

void CatchingUp::NoteGone(const Version& had, const VersionBuilder& builder, const Version& now) {
  for (const TableRef& table : anew_ ? had.Tables() : builder.RemovedTables()) {
    if (now.numbers().Find(table->number()) == nullptr) gone_.push_back(table);
  }
}

// The newest runs first.
absl::Status CatchingUp::OpenTables(const Version& version) {
  FamilyTableOpener opener = core_->Opener(version.order());
  constexpr size_t kAtOnce = 16;  // of a store far away, whose answers come together
  for (const LevelRun& level_run : version.runs()) {
    const TableRange tables = level_run.run->tables();
    for (size_t begin = 0; begin < tables.size(); begin += kAtOnce) {
      const size_t end = std::min(begin + kAtOnce, tables.size());
      size_t open = opened_;
      for (size_t i = begin; i < end; ++i) {
        const size_t more = FilesOf(*tables[i]);
        if (open + more > MostOpen()) continue;
        open += more;
        tables[i]->Ask(&opener);
      }
      for (size_t i = begin; i < end; ++i) RETURN_IF_ERROR(OpenTable(*tables[i], &opener));
    }
  }
  return absl::OkStatus();
}

size_t CatchingUp::FilesOf(const TableFile& table) { return 1 + table.metadata().value_links.size(); }

size_t CatchingUp::MostOpen() const {
  return FdLimitedDirectory::ShareOf(core_->world.file_system->MaxOpenFiles()) / 2;
}

// Damage is found by the reads that meet it.
absl::Status CatchingUp::OpenTable(const TableFile& table, TableOpener* opener) {
  if (opened_ + FilesOf(table) > MostOpen()) return absl::OkStatus();
  ++opened_;
  const absl::Status opened = table.OpenReader(opener).status();
  if (absl::IsAborted(opened)) return opened;
  for (const ValueLinks& links : table.metadata().value_links) {
    ++opened_;
    const absl::Status values = core_->values.OpenNow(links.file);
    if (absl::IsAborted(values)) return values;
  }
  return absl::OkStatus();
}

// --- what the logs hold ---

absl::Status CatchingUp::TakeLogs() {
  const bool may_go_on = MayGoOn();
  ASSIGN_OR_RETURN(const std::vector<LogFile> logs, FindLogs(may_go_on));
  if (may_go_on) {
    ASSIGN_OR_RETURN(const bool went_on, ReplayLogs(logs, next_->place));
    if (went_on) return absl::OkStatus();
  }
  replayed_anew_ = true;
  return ReplayLogs(logs, std::nullopt).status();
}

absl::StatusOr<std::vector<LogFile>> CatchingUp::FindLogs(bool goes_on) {
  Directory* const directory = core_->log_directory();
  std::optional<LogWindow> ahead;
  if (goes_on) ahead = {next_->place->log, next_->place->offset};
  if (goes_on && MayKnowLogs()) {
    absl::StatusOr<std::vector<LogFile>> known = ListLogs(directory, next_->log_files, ahead);
    if (known.ok() && !known->empty() && !IsBegun(known->back())) return known;
    if (!known.ok() && !absl::IsNotFound(known.status())) return known.status();
  }
  ASSIGN_OR_RETURN(next_->log_files, directory->List());
  std::erase_if(next_->log_files, [](const DirectoryEntry& entry) {
    const std::optional<ParsedFileName> parsed = ParseFileName(entry.name);
    return !parsed.has_value() || (parsed->kind != FileKind::kLog && parsed->kind != FileKind::kLogRing);
  });
  return ListLogs(directory, next_->log_files, ahead);
}

// A writer begins logs in the order in which it made them, so that none follows one that is not begun. Another writer
// removes that one, and writes a manifest before it serves anybody.
bool CatchingUp::MayKnowLogs() const {
  return core_->log_directory()->capabilities().remote && !anew_ && next_->manifest.edits == edits_before_;
}

// A family that is new may have updates in what was read before it was known. Below what was visible once, stripes of
// range tombstones are not known (RangeDeletes).
bool CatchingUp::MayGoOn() const {
  if (!next_->place.has_value() || state_->VisibleSequence() < history_->visible) return false;
  if (HasNewSnapshotBelowVisible()) return false;
  return std::all_of(parts_.begin(), parts_.end(), [this](const auto& entry) {
    const auto before = before_.find(entry.first);
    return before != before_.end() && before->second.flushed_through == entry.second.flushed_through;
  });
}

// Returns whether the manifest has a new named snapshot below the last sequence number that was read from the logs,
// because its edit was still being written then. The replay has joined range tombstones across it, so it could show
// keys that were deleted before it.
bool CatchingUp::HasNewSnapshotBelowVisible() const {
  StateLock lock(state_);
  return std::any_of(next_->state.snapshots.begin(), next_->state.snapshots.end(), [this](const auto& entry) {
    database_mutex.AssertHeld();
    if (entry.second.sequence >= history_->visible) return false;
    const auto known = state_->named_snapshots.find(entry.first);  // a name may be used again
    return known == state_->named_snapshots.end() || known->second.kept.sequence != entry.second.sequence;
  });
}

absl::StatusOr<bool> CatchingUp::ReplayLogs(const std::vector<LogFile>& logs, std::optional<LogPlace> from) {
  const bool goes_on = from.has_value();
  Replay replay(HowToReplay(goes_on));
  for (auto& [id, part] : parts_) {
    part.memtable = goes_on ? before_.at(id).memtable : nullptr;
    replay.AddFamily(id, part.family->order, part.flushed_through, part.version.get(), part.memtable);
  }
  const ManifestState& state = next_->state;
  const uint64_t now = core_->world.clock->MonotonicMicros();
  const bool looks_behind = !goes_on || now - history_->looked_behind_micros >= kLookBehindMicros;
  LogRecoveryOptions options{.database_id = next_->manifest.database_id,
                             .minimum = state.min_log_number,
                             .from = from,
                             .look_behind_the_end = looks_behind};
  // Nearby, where a file may go at any time, a look at what there is now is cheap.
  if (core_->log_directory()->capabilities().remote) options.listing = next_->log_files;
  if (state.closed_log.has_value()) options.closed = LogEnd{state.closed_log->number, state.closed_log->length_bytes};
  if (state.features.Has(Feature::kValueFiles)) {
    options.look = [&](SequenceNumber first, std::string_view batch) { return CheckValues(&replay, first, batch); };
  }
  const auto take = [&](SequenceNumber first, std::string_view batch) {
    core_->commit_mutex.AssertHeld();
    if (goes_on && batches_ == 0) ForgetDeadRanges();
    ++batches_;
    return replay.Take(first, batch);
  };
  ASSIGN_OR_RETURN(const LogRecovery read, RecoverLogs(core_->log_directory(), logs, options, take));
  if (!read.goes_on) return false;
  if (looks_behind) history_->looked_behind_micros = now;
  for (auto& [id, part] : parts_) {
    part.memtable = replay.families().at(id).memtable;
    if (part.memtable == nullptr) {
      part.memtable = core_->NewMemTable(part.family->order, state.hash_seed, parts_.size());
    }
  }
  next_->place = read.place;
  visible_ = std::max(state.last_sequence, read.last_sequence);
  return true;
}

Replay::Options CatchingUp::HowToReplay(bool goes_on) {
  Replay::Options replay;
  replay.hash_seed = next_->state.hash_seed;
  replay.next_file_number = next_->state.next_file_number;
  for (const auto& [name, kept] : next_->state.snapshots) replay.snapshots.push_back(kept.sequence);
  std::sort(replay.snapshots.begin(), replay.snapshots.end());
  for (const auto& [id, family] : next_->state.families) {
    if (family.schema.history_millis > 0) replay.history_floors.emplace(id, family.schema.history_floor);
  }
  replay.on_reference = [this](MemTable* memtable, std::string_view reference) { HoldValue(memtable, reference); };
  replay.new_memtable = [this](const KeyOrder& order) {
    return core_->NewMemTable(order, next_->state.hash_seed, parts_.size());
  };
  if (!goes_on) return replay;
  replay.delete_range = [this](ColumnFamilyId id, MemTable* memtable, SequenceNumber sequence,
                               const BatchEntry& entry) {
    DeleteRangeInMemTable(state_, parts_.at(id).family.get(), memtable, sequence, entry);
  };
  return replay;
}

// A record whose value is not there is one that is not there whole.
absl::Status CatchingUp::CheckValues(Replay* replay, SequenceNumber first, std::string_view batch) {
  absl::Status status;
  std::string stored;
  replay->VisitReferences(first, batch, [&](const BatchEntry& entry) {
    const std::optional<ValueReference> reference = ReferenceOf(entry.kind, entry.value);
    if (!status.ok() || !reference.has_value()) return;
    status =
        reference->chunked ? core_->values.CheckChunkSums(*reference) : core_->values.ReadStored(*reference, &stored);
  });
  return JudgeMissingValue(status, core_->directory.get(), next_->manifest);
}

void CatchingUp::HoldValue(MemTable* memtable, std::string_view bytes) {
  const std::optional<ValueReference> reference = ParseValueReference(bytes);
  if (!reference.has_value()) return;
  const bool held = memtable->HoldsValues(reference->file);
  core_->values.HoldFor(memtable, *reference);
  if (!held) core_->values.OpenNow(reference->file).IgnoreError();
}

// --- what readers see ---

void CatchingUp::ForgetDeadRanges() {
  for (const auto& [id, part] : parts_) part.family->dead_ranges.Forget();
}

void CatchingUp::Publish() {
  const ManifestState& now = next_->state;
  if (now.features.Has(Feature::kExpiry)) core_->expiry.Follow(now.clock_floor);
  catalog_->Follow(now.next_file_number, now.features);
  std::vector<KeptSnapshot> named;
  for (const auto& [name, kept] : now.snapshots) named.push_back(kept);
  decltype(state_->named_snapshots) old_names;  // goes after the lock: releases take locks
  StateLock lock(state_);
  old_names.swap(state_->named_snapshots);
  // Before no view is found of them.
  for (const auto& [id, part] : before_) {
    if (parts_.contains(id)) continue;
    state_->families.erase(id.value());
    state_->value_space.RemoveAll(*part.version);
    part.family->Drop(&state_->log_pins, &core_->epochs);
  }
  for (const auto& [id, part] : parts_) PublishFamily(id, part);
  state_->PublishJointView(visible_, named);
  for (const TableRef& table : gone_) table->MarkObsolete();
  history_->manifest = next_->manifest.number;
}

void CatchingUp::PublishFamily(ColumnFamilyId id, const Part& part) {
  const auto before = before_.find(id);
  const bool is_new = before == before_.end();
  const FamilySchema& schema = next_->state.families.at(id).schema;
  part.family->history.Follow(schema);
  const std::vector<FilterEpoch>& epochs = schema.filter_epochs;
  if (!epochs.empty()) {
    std::vector<FilterEpoch> all = JoinEpochs(part.family->filter_history.current(), epochs);
    const FilterEpochsRef& had = part.family->filter_history.current();
    if (had == nullptr || had->list != all) part.family->SetFilterEpochs(std::move(all), &core_->epochs);
  }
  if (!is_new && before->second.version == part.version && before->second.memtable == part.memtable) return;
  if (!is_new) state_->value_space.RemoveAll(*before->second.version);
  state_->value_space.AddAll(*part.version);
  part.family->Adopt(part.memtable, part.version, part.flushed_through, &core_->epochs);
  state_->families[id.value()] = part.family;
}

}  // namespace sepal
