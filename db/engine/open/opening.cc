#include "db/engine/open/opening.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/act/jobs/range_table.h"
#include "db/engine/catalog/manifest_families.h"
#include "db/engine/catalog/named_snapshots.h"
#include "db/engine/core/check_options.h"
#include "db/engine/core/shared_resources_impl.h"
#include "db/engine/open/database_lock.h"
#include "db/engine/open/other_engines.h"
#include "db/engine/open/range_tables.h"
#include "db/format/file_names.h"
#include "util/base/check.h"
#include "util/base/random.h"
#include "util/base/status.h"
#include "util/thread/thread_pool.h"

namespace sepal {

absl::StatusOr<DatabaseParts> Opening::Run() {
  const absl::Status status = Open();
  if (status.ok()) return std::move(parts_);
  if (!tables_may_be_listed_) RemoveNewTables();
  return status;
}

absl::Status Opening::Open() {
  RETURN_IF_ERROR(CheckOptions(options_));
  RETURN_IF_ERROR(CheckAddressSpace());
  world_ = World::From(options_.env);
  RETURN_IF_ERROR(CheckLogDirectory());
  RETURN_IF_ERROR(OpenAndLock());
  RETURN_IF_ERROR(RecoverCatalog());
  RETURN_IF_ERROR(CheckTables());
  if (!options_.read_only) RETURN_IF_ERROR(ChooseExecutor());
  RETURN_IF_ERROR(ReplayLogs());
  // Checked after the logs: a family that the logs know and the manifest lacks is damage, not a mistake of the caller.
  RETURN_IF_ERROR(CheckFamilies());
  RETURN_IF_ERROR(PublishFamilies());
  if (!options_.read_only) return StartWriting();
  if (tuning_.follow_period_micros > 0) RETURN_IF_ERROR(ChooseFollowersExecutor());
  // Tables and memtables keep the value files alive that they need.
  parts_.core->values.LetGo();
  return absl::OkStatus();
}

// The logs still hold these updates. If the tables stayed, each retry would write them again, until the disk is full.
void Opening::RemoveNewTables() {
  for (const FileNumber number : new_tables_) parts_.core->directory->Remove(TableFileName(number)).IgnoreError();
  RemoveNewValueFiles();
}

// Checked now, because the address space needed grows with the memory limit, and a later failure could not be reported.
absl::Status Opening::CheckAddressSpace() const {
  // The cache of shared memory exists already.
  const size_t cache_bytes =
      options_.shared != nullptr ? 0 : BlockCache::TableBytes(options_.memory_limit, tuning_.cached_block_bytes);
  const size_t bytes = cache_bytes + MemTable::IndexBytes(tuning_.memtable_bytes);
  if (MappedMemory::WouldFit(bytes)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrFormat("memory_limit of %u bytes: the system refuses the %u bytes of address space that this limit "
                      "needs: lower it, or raise the process's limit of address space",
                      options_.memory_limit, bytes));
}

// Checked before anything is created in either directory.
absl::Status Opening::CheckLogDirectory() const {
  ASSIGN_OR_RETURN(const bool elsewhere, LogsLieElsewhere(world_.file_system, options_, path_));
  if (!elsewhere) return absl::OkStatus();
  const auto directory = world_.file_system->OpenDirectory(options_.log_directory, /*create=*/false);
  if (absl::IsNotFound(directory.status())) return absl::OkStatus();
  RETURN_IF_ERROR(directory.status());
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> listing, (*directory)->List());
  return CheckHoldsNoDatabase(listing, options_.log_directory);
}

// Another process that destroys the database may remove the directory between its creation and its locking; then it is
// created again.
absl::Status Opening::OpenAndLock() {
  constexpr int kTries = 16;
  for (int tries = 0; tries < kTries; ++tries) {
    absl::Status status = OpenDirectories();
    if (status.ok() && !options_.read_only) status = TakeLock();
    if (!absl::IsNotFound(status) || !options_.create_if_missing) return status;
  }
  return absl::UnavailableError(
      absl::StrFormat("%s was made and is not there: others remove it, or it is a symbolic link to nothing", path_));
}

// Reported at the first opening with the option, rather than when another process holds the lock.
absl::Status Opening::CheckCanTakeOver(const Directory& directory) const {
  if (!options_.take_over || directory.capabilities().fences) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrFormat(
      "take_over: the file system of %s cannot keep another holder of its lock from writing; end the process that has "
      "the database open, and open it without take_over",
      directory.path()));
}

absl::Status Opening::OpenDirectories() {
  const bool create = options_.create_if_missing;
  absl::StatusOr<std::unique_ptr<Directory>> directory = world_.file_system->OpenDirectory(path_, create);
  if (absl::IsNotFound(directory.status())) {
    return absl::NotFoundError(absl::StrFormat(
        "there is no database in %s: the directory is missing; set create_if_missing to create one", path_));
  }
  RETURN_IF_ERROR(directory.status());
  if (options_.direct_reads && !(*directory)->capabilities().direct_reads) {
    return absl::UnimplementedError(
        absl::StrFormat("direct_reads: the file system of %s does not support direct reads; turn the option off, or "
                        "use another file system",
                        path_));
  }
  RETURN_IF_ERROR(CheckNotForeign(directory->get(), path_));
  RETURN_IF_ERROR(CheckCanTakeOver(**directory));
  std::unique_ptr<Directory> log_directory;
  ASSIGN_OR_RETURN(const bool elsewhere, LogsLieElsewhere(world_.file_system, options_, path_));
  if (elsewhere) {
    ASSIGN_OR_RETURN(log_directory, world_.file_system->OpenDirectory(options_.log_directory, create));
    RETURN_IF_ERROR(CheckCanTakeOver(*log_directory));
  }
  parts_.core =
      std::make_shared<Core>(world_, options_, tuning_, std::move(directory).value(), std::move(log_directory));
  parts_.state = std::make_unique<EngineState>(parts_.core, options_);
  return absl::OkStatus();
}

absl::Status Opening::TakeLock() {
  Directory* const directory = parts_.core->directory.get();
  // Nothing is created in a directory that holds no database.
  if (!options_.create_if_missing) {
    ASSIGN_OR_RETURN(const bool any, HoldsDatabaseFiles(directory));
    if (!any) {
      return absl::NotFoundError(
          absl::StrFormat("there is no database in %s; set create_if_missing to create one", path_));
    }
  }
  ASSIGN_OR_RETURN(parts_.state->directory_lock,
                   LockDatabase(directory, parts_.core->separate_log_directory.get(),
                                options_.take_over ? LockRequest::kTakeOver : LockRequest::kIfFree));
  return absl::OkStatus();
}

// Called when this opening can no longer be refused because of what it finds, so that a refused one leaves the owner's
// `LOG` alone.
absl::Status Opening::GuardAndStartInfoLog() {
  if (options_.read_only) return absl::OkStatus();
  // The guard comes before anything else is written.
  RETURN_IF_ERROR(EnsureGuard(parts_.core->directory.get(), path_));
  if (options_.info_log) {
    parts_.core->info_log.Start(parts_.core->directory.get(), world_.clock, tuning_.info_log_bytes);
    if (const std::string notice = world_.file_system->Notice(); !notice.empty()) {
      parts_.core->info_log.Write("%s", notice);
    }
  }
  return absl::OkStatus();
}

// --- what the manifest says ---

absl::Status Opening::RecoverCatalog() {
  Directory* const directory = parts_.core->directory.get();
  Directory* const logs = parts_.core->separate_log_directory.get();
  ASSIGN_OR_RETURN(listing_, ListSortedOut(directory));
  if (logs != nullptr) {
    ASSIGN_OR_RETURN(log_listing_, logs->List());
    identity_.log_directory = PlacesToKeep(world_.file_system, options_.log_directory, path_);
  }
  ASSIGN_OR_RETURN(log_files_, ListLogs(parts_.core->log_directory(), ListingOfLogs()));
  RETURN_IF_ERROR(ListAgain());
  const bool other_files = !listing_.tables.empty() || (logs != nullptr && !log_files_.empty());
  ASSIGN_OR_RETURN(manifest_, RecoverManifest(directory, listing_.others, NewestManifest(log_files_), other_files,
                                              [this](VersionEdit&& edit) {
                                                kept_logs_.TakeEdit(edit);
                                                return state_.Take(std::move(edit));
                                              }));
  RETURN_IF_ERROR(MakeFamilies());
  RETURN_IF_ERROR(CheckNoLogWasBegun());
  if (manifest_.found) {
    if (options_.error_if_exists) {
      return absl::AlreadyExistsError(absl::StrFormat("there is a database in %s, and error_if_exists is set", path_));
    }
    identity_.database_id = manifest_.database_id;
    identity_.hash_seed = state_.hash_seed;
    identity_.features = state_.features;
    if (state_.features.Has(Feature::kExpiry)) parts_.core->expiry.Restore(state_.clock_floor);
    RestoreSnapshots();
    RETURN_IF_ERROR(CheckPlaceOfLogs());
    RETURN_IF_ERROR(GuardAndStartInfoLog());
    if (!manifest_.torn.empty()) {
      parts_.core->info_log.Write("the manifest has a torn end; what was never acknowledged is dropped: %s",
                                  manifest_.torn);
    }
  } else {
    if (!options_.create_if_missing) {
      return absl::NotFoundError(
          absl::StrFormat("there is no database in %s; set create_if_missing to create one", path_));
    }
    // The files of an earlier, unfinished creation are durably removed first, because file numbers start again. They
    // are removed before the guard is made, because an unfinished guard counts as Sepal's only where no file may be
    // another engine's.
    RETURN_IF_ERROR(RemoveDurably(directory, manifest_.leftovers));
    RETURN_IF_ERROR(GuardAndStartInfoLog());
    RETURN_IF_ERROR(DescribeNew());
    parts_.catalog = std::make_unique<Catalog>(parts_.state.get(), identity_, kFirstManifest);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(PassNumbersOfFiles());
  parts_.catalog = std::make_unique<Catalog>(parts_.state.get(), identity_, next_file_number_);
  return absl::OkStatus();
}

// Snapshots are restored before anything is written that could omit what they see. A writer's first manifest omits
// expired ones.
void Opening::RestoreSnapshots() {
  if (state_.snapshots.empty()) return;
  EngineState& state = *parts_.state;
  const uint64_t now = options_.read_only ? 0 : UnixMillis(world_.clock);
  for (const auto& [name, kept] : state_.snapshots) {
    if (!SnapshotHasExpired(kept, now)) HoldSnapshot(&state, kept, state.snapshots->Take(kept.sequence, parts_.core));
  }
}

absl::Status Opening::CheckPlaceOfLogs() {
  ASSIGN_OR_RETURN(const std::string place,
                   LogDirectoryOf(world_.file_system, path_, options_.log_directory, kept_logs_));
  if (place == options_.log_directory) return absl::OkStatus();
  logs_elsewhere_ = place;
  return absl::FailedPreconditionError(absl::StrFormat("the logs of the database in %s lie in %s", path_, place));
}

absl::Status Opening::PassNumbersOfFiles() {
  next_file_number_ = state_.next_file_number;
  const auto pass = [this](FileNumber number) {
    if (number.value() < kFileNumbersEnd) next_file_number_ = std::max(next_file_number_, number.next());
  };
  for (const LogFile& log : log_files_) pass(log.named);
  ASSIGN_OR_RETURN(const std::vector<RingFile> rings, ListRings(parts_.core->log_directory(), ListingOfLogs()));
  pass(NewestNumber(rings));
  for (const ListedTable& table : listing_.tables) pass(table.number);
  for (const DirectoryEntry& entry : listing_.others) {
    if (const std::optional<ParsedFileName> parsed = ParseFileName(entry.name)) pass(parsed->number);
  }
  return absl::OkStatus();
}

// Beside a live writer, files that the manifest names may be newer than the listing.
absl::Status Opening::ListAgain() {
  if (!options_.read_only) return absl::OkStatus();
  ASSIGN_OR_RETURN(listing_, ListSortedOut(parts_.core->directory.get()));
  return absl::OkStatus();
}

std::span<const DirectoryEntry> Opening::ListingOfLogs() const {
  return parts_.core->separate_log_directory != nullptr ? log_listing_ : listing_.others;
}

// Beside a live writer, the manifest may name tables that hold one family's part of a batch, while the other part lies
// in a log that was created after the listing. The same goes for what a named snapshot sees.
absl::Status Opening::CheckNoLogWasBegun() const {
  const bool single = state_.families.size() < 2 && state_.snapshots.empty();
  if (!options_.read_only || single) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<LogFile> now, ListLogs(parts_.core->log_directory()));
  for (const LogFile& log : now) {
    const bool listed = std::any_of(log_files_.begin(), log_files_.end(),
                                    [&](const LogFile& before) { return before.name == log.name; });
    if (log.header.has_value() && !listed) {
      return absl::AbortedError(absl::StrFormat("%s: %s was created meanwhile; open it again", path_, log.name));
    }
  }
  return absl::OkStatus();
}

TableFactory Opening::MakeTable() const {
  return [this](TableMetadata table) { return parts_.core->MakeTable(std::move(table)); };
}

absl::Status Opening::DescribeNew() {
  Random random(world_.random_seed);
  identity_.database_id = random.Next();
  identity_.hash_seed = random.Next();
  RETURN_IF_ERROR(AddFamily(ColumnFamilyId(0), kDefaultColumnFamilyName,
                            OptionsByName(options_, kDefaultColumnFamilyName).comparator));
  return MakeFamilies();
}

absl::Status Opening::AddFamily(ColumnFamilyId id, std::string_view name, const Comparator* comparator) {
  return state_.CreateFamily(CreationOf(id, name, *comparator));
}

absl::Status Opening::MakeFamilies() {
  for (auto& [id, described] : state_.families) {
    if (families_.contains(id)) continue;
    ASSIGN_OR_RETURN(FamilyRef family, MakeFamily(options_, parts_.core.get(), id, described, state_.last_sequence));
    described.tables.OrderBy(family->order);
    families_.emplace(id, std::move(family));
  }
  return absl::OkStatus();
}

absl::Status Opening::CheckFamilies() const {
  if (!state_.families.contains(ColumnFamilyId(0))) {
    return absl::DataLossError(absl::StrFormat("%s: the manifest has no default column family", path_));
  }
  const std::vector<ColumnFamilyDescriptor> missing = MissingFamilies(options_, state_.families);
  if (missing.empty() || options_.create_if_missing) return absl::OkStatus();
  return absl::NotFoundError(absl::StrFormat(
      "there is no column family \"%s\" in %s; create it with CreateColumnFamily, or set create_if_missing",
      missing.front().name, path_));
}

absl::Status Opening::AddMissingFamilies() {
  for (const ColumnFamilyDescriptor& descriptor : MissingFamilies(options_, state_.families)) {
    ASSIGN_OR_RETURN(const ColumnFamilyId id, parts_.catalog->NewFamilyId());
    RETURN_IF_ERROR(AddFamily(id, descriptor.name, descriptor.options.comparator));
  }
  return MakeFamilies();
}

// Checks that every table that the manifest names exists with its size; its contents are checked when they are read.
absl::Status Opening::CheckTables() {
  RETURN_IF_ERROR(ListAgain());
  HoldValueFiles();
  std::vector<bool> named(listing_.tables.size());
  replay_.emplace(HowToReplay());
  for (auto& [id, described] : state_.families) {
    ASSIGN_OR_RETURN(VersionRef version, described.tables.Build());
    RETURN_IF_ERROR(CheckTablesOf(*version, &named));
    ASSIGN_OR_RETURN(version, LoadRangeTombstones(parts_.core.get(), std::move(version)));
    replay_->AddFamily(id, families_.at(id)->order, described.flushed_through, version.get());
    // What the logs bring is added to this version.
    described.tables = VersionBuilder(version, MakeTable());
  }
  for (size_t i = 0; i < named.size(); ++i) {
    if (!named[i]) stray_tables_.push_back(listing_.tables[i].number);
  }
  return absl::OkStatus();
}

absl::Status Opening::CheckTablesOf(const Version& version, std::vector<bool>* named) const {
  ListedTableFinder finder(listing_.tables);
  for (const TableNumbers::Entry& entry : version.numbers().Entries()) {
    const size_t found = finder.Find(entry.number);
    const auto name = [&] { return path_ + "/" + TableFileName(entry.number); };
    if (found == named->size()) {
      return Damaged(name(), 0, "a table of the database", "a file", "none; restore it from a backup");
    }
    const uint64_t expected = entry.table->metadata().size_bytes;
    const uint64_t actual = listing_.tables[found].size_bytes;
    if (actual != expected) {
      return Damaged(name(), 0, "size of the table", std::to_string(expected), std::to_string(actual));
    }
    (*named)[found] = true;
    RETURN_IF_ERROR(CheckLinksOf(entry.table->metadata()));
  }
  return absl::OkStatus();
}

// --- what the logs hold ---

std::shared_ptr<MemTable> Opening::NewMemTable(const KeyOrder& order) const {
  return parts_.core->NewMemTable(order, identity_.hash_seed, state_.families.size());
}

// A read-only view needs all entries in memory, in memtables that can be searched.
Replay::Options Opening::HowToReplay() {
  Replay::Options replay;
  replay.hash_seed = identity_.hash_seed;
  replay.next_file_number = state_.next_file_number;
  replay.snapshots = parts_.state->snapshots->Sequences();
  for (const auto& [id, family] : families_) {
    if (family->history.on()) replay.history_floors.emplace(id, family->history.floor());
  }
  replay.on_reference = [this](MemTable* memtable, std::string_view reference) { HoldValue(memtable, reference); };
  if (options_.read_only) {
    replay.new_memtable = [this](const KeyOrder& order) { return NewMemTable(order); };
    return replay;
  }
  replay.keep_bytes = tuning_.memtable_bytes / tuning_.carried_log_divisor;
  replay.new_memtable = [this](const KeyOrder& order) {
    return parts_.core->NewMemTableToFlush(order, identity_.hash_seed);
  };
  replay.flush = [this](ColumnFamilyId id, const std::shared_ptr<const MemTable>& memtable) {
    return FlushReplayed(id, memtable);
  };
  replay.memtable_bytes = tuning_.memtable_bytes;
  return replay;
}

absl::Status Opening::ChooseExecutor() {
  parts_.executor = world_.executor;
  if (options_.shared != nullptr) {
    parts_.own_executor =
        std::make_unique<FairExecutor::Client>(SharedResourcesAccess::Of(*options_.shared).fair.get());
    parts_.executor = parts_.own_executor.get();
  } else if (parts_.executor == nullptr) {
    // One thread more than flushes use, to prepare what writers need meanwhile.
    auto pool = std::make_unique<ThreadPool>(kFlushesAtATime + 1, tuning_.compaction_threads,
                                             /*scrubs=*/tuning_.scrub_period_micros > 0);
    RETURN_IF_ERROR(pool->Check());
    if (pool->CompactionConcurrency() < tuning_.compaction_threads) {
      parts_.core->info_log.Write("of %d compaction threads the system grants %d", tuning_.compaction_threads,
                                  pool->CompactionConcurrency());
    }
    parts_.executor = pool.get();
    parts_.own_executor = std::move(pool);
  }
  parts_.preparing = std::make_shared<TaskGroup>(parts_.executor, Executor::Priority::kFlush);
  parts_.core->PrepareBy(parts_.preparing);
  return absl::OkStatus();
}

absl::Status Opening::ChooseFollowersExecutor() {
  parts_.executor = world_.executor;
  if (parts_.executor != nullptr) return absl::OkStatus();
  auto pool = std::make_unique<ThreadPool>(/*flush_threads=*/0, /*compaction_threads=*/0, /*scrubs=*/true);
  RETURN_IF_ERROR(pool->Check());
  parts_.executor = pool.get();
  parts_.own_executor = std::move(pool);
  return absl::OkStatus();
}

absl::Status Opening::ReplayLogs() {
  LogRecoveryOptions recovery;
  recovery.database_id = identity_.database_id;
  recovery.minimum = state_.min_log_number;
  if (state_.closed_log.has_value())
    recovery.closed = LogEnd{state_.closed_log->number, state_.closed_log->length_bytes};
  if (!options_.read_only) StartValues();
  LogSink sink = [this](SequenceNumber first, std::string_view batch) { return replay_->Take(first, batch); };
  if (state_.features.Has(Feature::kValueFiles))
    recovery.look = [this](SequenceNumber first, std::string_view batch) { return CheckValuesOf(first, batch); };
  if (state_.features.Has(Feature::kValueFiles) && !options_.read_only) sink = WithCopies(std::move(sink));
  ASSIGN_OR_RETURN(logs_, RecoverLogs(parts_.core->log_directory(), log_files_, recovery, sink));
  if (!logs_.torn.empty()) {
    parts_.core->info_log.Write(
        "the logs have a torn end; %u bytes that were never acknowledged as durable are dropped: %s",
        logs_.dropped_bytes, logs_.torn);
  }
  return parts_.core->values.fresh().Sync();
}

absl::Status Opening::FlushReplayed(ColumnFamilyId id, const std::shared_ptr<const MemTable>& memtable) {
  const TableOutputContext context = parts_.catalog->OutputContext(*families_.at(id));
  const std::vector<SequenceNumber> standing =
      StandingThrough(parts_.state->snapshots->Sequences(), families_.at(id)->history.Limit(memtable->LastSequence()));
  ASSIGN_OR_RETURN(const std::vector<TableMetadata> tables,
                   FlushMemTablesAndRanges({.context = context,
                                            .memtables = {&memtable, 1},
                                            .snapshots = standing,
                                            .executor = parts_.executor,
                                            .max_threads = parts_.executor->CompactionConcurrency()}));
  VersionEdit edit;
  for (const TableMetadata& table : tables) {
    new_tables_.push_back(table.number);
    edit.added_tables.push_back({.family = id, .level = 0, .table = table});
  }
  return state_.families.at(id).tables.Apply(id, edit);
}

// For a writer: replayed updates are in tables, or in memtables and go to the new log.
absl::Status Opening::FinishReplay() {
  if (!manifest_.found) SEPAL_CHECK(parts_.catalog->NewFileNumber() == kFirstManifest);
  RETURN_IF_ERROR(AddMissingFamilies());
  RETURN_IF_ERROR(replay_->Flush());
  replay_->InsertKept([this](const KeyOrder& order) { return NewMemTable(order); });
  return new_tables_.empty() ? absl::OkStatus() : parts_.core->directory->Sync();
}

absl::Status Opening::PublishFamilies() {
  if (!options_.read_only) RETURN_IF_ERROR(FinishReplay());
  EngineState& state = *parts_.state;
  StateLock lock(&state);
  for (const auto& [id, family] : families_) {
    ASSIGN_OR_RETURN(VersionRef version, state_.families.at(id).tables.Build());
    const auto replayed = replay_->families().find(id);
    const bool made = replayed == replay_->families().end();  // created by this opening
    std::shared_ptr<MemTable> active = made ? nullptr : replayed->second.memtable;
    if (active == nullptr) active = NewMemTable(family->order);
    const SequenceNumber flushed_through = made ? SequenceNumber() : replayed->second.flushed_through;
    state.value_space.AddAll(*version);
    family->Open(std::move(active), std::move(version), flushed_through, &parts_.core->epochs);
    std::vector<FilterEpoch>& epochs = state_.families.at(id).schema.filter_epochs;
    if (!epochs.empty()) family->SetFilterEpochs(std::move(epochs), &parts_.core->epochs);
    state.families[id.value()] = family;
  }
  parts_.last_sequence = LastSequence();
  state.visible.store(LastSequence().value(), std::memory_order_release);
  return absl::OkStatus();
}

}  // namespace sepal
