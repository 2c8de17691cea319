#include "db/engine/open/opening.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/act/jobs/flush_job.h"
#include "db/act/log/remove_unused.h"
#include "db/act/log/resync_header.h"
#include "db/decide/pacing/obsolete_files.h"
#include "db/engine/core/check_options.h"
#include "db/engine/open/database_lock.h"
#include "db/engine/open/other_engines.h"
#include "db/format/batch_format.h"
#include "db/format/file_names.h"
#include "util/base/check.h"
#include "util/base/hash.h"
#include "util/base/random.h"
#include "util/base/status.h"
#include "util/thread/thread_pool.h"

namespace sepal {

namespace {

std::vector<std::string> Names(std::span<const DirectoryEntry> listing) {
  std::vector<std::string> names;
  for (const DirectoryEntry& entry : listing) names.push_back(entry.name);
  return names;
}

}  // namespace

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
  // After the logs: a family that they know and the manifest lacks is damage, and no mistake of the caller's.
  RETURN_IF_ERROR(CheckFamilies());
  RETURN_IF_ERROR(PublishFamilies());
  return options_.read_only ? absl::OkStatus() : StartWriting();
}

// The logs still hold what is in them. The next try would write them again beside these, until the disk is full.
void Opening::RemoveNewTables() {
  for (const FileNumber number : new_tables_) parts_.core->directory->Remove(TableFileName(number)).IgnoreError();
}

// What is mapped at once grows with the memory limit, and later there is nobody to be told.
absl::Status Opening::CheckAddressSpace() const {
  const size_t bytes = BlockCache::TableBytes(options_.memory_limit, tuning_.cached_block_bytes) +
                       MemTable::IndexBytes(tuning_.memtable_bytes);
  if (MappedMemory::WouldFit(bytes)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrFormat("memory_limit of %u bytes: the system refuses the %u bytes of address space that this limit "
                      "needs: lower it, or raise the process's limit of address space",
                      options_.memory_limit, bytes));
}

// Before anything is made, here or there.
absl::Status Opening::CheckLogDirectory() const {
  ASSIGN_OR_RETURN(const bool elsewhere, LogsLieElsewhere(world_.file_system, options_, path_));
  if (!elsewhere) return absl::OkStatus();
  const auto directory = world_.file_system->OpenDirectory(options_.log_directory, /*create=*/false);
  if (absl::IsNotFound(directory.status())) return absl::OkStatus();
  RETURN_IF_ERROR(directory.status());
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> listing, (*directory)->List());
  return CheckHoldsNoDatabase(listing, options_.log_directory);
}

// Destroying removes a directory between its making and its locking; it is made again then.
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
  std::unique_ptr<Directory> log_directory;
  ASSIGN_OR_RETURN(const bool elsewhere, LogsLieElsewhere(world_.file_system, options_, path_));
  if (elsewhere) {
    ASSIGN_OR_RETURN(log_directory, world_.file_system->OpenDirectory(options_.log_directory, create));
  }
  parts_.core =
      std::make_shared<Core>(world_, options_, tuning_, std::move(directory).value(), std::move(log_directory));
  parts_.state = std::make_unique<EngineState>(parts_.core, options_);
  return absl::OkStatus();
}

absl::Status Opening::TakeLock() {
  Directory* const directory = parts_.core->directory.get();
  // Nothing is made in a directory that holds no database.
  if (!options_.create_if_missing) {
    ASSIGN_OR_RETURN(const bool any, HoldsDatabaseFiles(directory));
    if (!any) {
      return absl::NotFoundError(
          absl::StrFormat("there is no database in %s; set create_if_missing to create one", path_));
    }
  }
  ASSIGN_OR_RETURN(parts_.state->directory_lock, LockDatabase(directory, parts_.core->separate_log_directory.get()));
  return absl::OkStatus();
}

// Once it is certain that this opening is not refused for what it finds: the `LOG` of a refused one's owner stays.
void Opening::StartInfoLog() {
  if (!options_.info_log || options_.read_only) return;
  parts_.core->info_log.Start(parts_.core->directory.get(), world_.clock, tuning_.info_log_bytes);
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
                                              [this](VersionEdit&& edit) { return TakeEdit(std::move(edit)); }));
  RETURN_IF_ERROR(described_.Resolve());
  RETURN_IF_ERROR(CheckNoLogWasBegun());
  if (manifest_.found) {
    if (options_.error_if_exists) {
      return absl::AlreadyExistsError(absl::StrFormat("there is a database in %s, and error_if_exists is set", path_));
    }
    identity_.database_id = manifest_.database_id;
    RETURN_IF_ERROR(CheckPlaceOfLogs());
    StartInfoLog();
    if (!manifest_.torn.empty()) {
      parts_.core->info_log.Write("the manifest has a torn end; what was never acknowledged is dropped: %s",
                                  manifest_.torn);
    }
  } else {
    if (!options_.create_if_missing) {
      return absl::NotFoundError(
          absl::StrFormat("there is no database in %s; set create_if_missing to create one", path_));
    }
    StartInfoLog();
    RETURN_IF_ERROR(DescribeNew());
    // What is left over of another making is removed for good before anything is made: numbers begin anew.
    parts_.catalog = std::make_unique<Catalog>(parts_.state.get(), identity_, kFirstManifest);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(PassNumbersOfFiles());
  parts_.catalog = std::make_unique<Catalog>(parts_.state.get(), identity_, next_file_number_);
  return absl::OkStatus();
}

absl::Status Opening::CheckPlaceOfLogs() {
  ASSIGN_OR_RETURN(const std::string place,
                   LogDirectoryOf(world_.file_system, path_, options_.log_directory, kept_logs_));
  if (place == options_.log_directory) return absl::OkStatus();
  logs_elsewhere_ = place;
  return absl::FailedPreconditionError(absl::StrFormat("the logs of the database in %s lie in %s", path_, place));
}

absl::Status Opening::PassNumbersOfFiles() {
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

// Beside a live writer: what the manifest names may be younger than the listing.
absl::Status Opening::ListAgain() {
  if (!options_.read_only) return absl::OkStatus();
  ASSIGN_OR_RETURN(listing_, ListSortedOut(parts_.core->directory.get()));
  return absl::OkStatus();
}

std::span<const DirectoryEntry> Opening::ListingOfLogs() const {
  return parts_.core->separate_log_directory != nullptr ? log_listing_ : listing_.others;
}

// Beside a live writer: of a batch in several families the manifest may name tables that hold one part, while the other
// lies in a log that was begun after the listing.
absl::Status Opening::CheckNoLogWasBegun() const {
  if (!options_.read_only || described_.all().size() < 2) return absl::OkStatus();
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

absl::Status Opening::TakeEdit(VersionEdit&& edit) {
  kept_logs_.TakeEdit(edit);
  if (edit.hash_seed.has_value()) identity_.hash_seed = *edit.hash_seed;
  if (edit.next_file_number.has_value()) {
    manifest_next_file_number_ = std::max(manifest_next_file_number_, *edit.next_file_number);
    next_file_number_ = std::max(next_file_number_, *edit.next_file_number);
  }
  if (edit.last_sequence.has_value()) last_sequence_ = std::max(last_sequence_, *edit.last_sequence);
  if (edit.min_log_number.has_value()) min_log_number_ = *edit.min_log_number;
  if (edit.closed_log.has_value()) closed_log_ = edit.closed_log;
  return described_.TakeEdit(std::move(edit), MakeTableFactory());
}

TableFactory Opening::MakeTableFactory() const {
  return [deleter = parts_.core->deleter](TableMetadata table) -> TableRef {
    return std::make_shared<const TableFile>(std::move(table), deleter);
  };
}

absl::Status Opening::DescribeNew() {
  Random random(world_.random_seed);
  identity_.database_id = random.Next();
  identity_.hash_seed = random.Next();
  RETURN_IF_ERROR(AddFamily(ColumnFamilyId(0), kDefaultColumnFamilyName,
                            OptionsByName(options_, kDefaultColumnFamilyName).comparator));
  return described_.Resolve();
}

absl::Status Opening::AddFamily(ColumnFamilyId id, std::string_view name, const Comparator* comparator) {
  return described_.Add(CreationOf(id, name, *comparator), MakeTableFactory());
}

absl::Status Opening::CheckFamilies() const {
  if (!described_.all().contains(ColumnFamilyId(0))) {
    return absl::DataLossError(absl::StrFormat("%s: the manifest has no default column family", path_));
  }
  const std::vector<ColumnFamilyDescriptor> missing = described_.Missing();
  if (missing.empty() || options_.create_if_missing) return absl::OkStatus();
  return absl::NotFoundError(absl::StrFormat(
      "there is no column family \"%s\" in %s; create it with CreateColumnFamily, or set create_if_missing",
      missing.front().name, path_));
}

absl::Status Opening::AddMissingFamilies() {
  for (const ColumnFamilyDescriptor& descriptor : described_.Missing()) {
    ASSIGN_OR_RETURN(const ColumnFamilyId id, parts_.catalog->NewFamilyId());
    RETURN_IF_ERROR(AddFamily(id, descriptor.name, descriptor.options.comparator));
  }
  return described_.Resolve();
}

// Every table that the manifest names must be there with its size; what is in it is checked when it is read.
absl::Status Opening::CheckTables() {
  RETURN_IF_ERROR(ListAgain());
  std::vector<bool> named(listing_.tables.size());
  for (auto& [id, described] : described_.all()) {
    ASSIGN_OR_RETURN(const VersionRef version, described.tables.Build());
    RETURN_IF_ERROR(CheckTablesOf(*version, &named));
    // What the logs bring goes on from here.
    described.tables = VersionBuilder(version, MakeTableFactory());
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
  }
  return absl::OkStatus();
}

// --- what the logs hold ---

std::shared_ptr<MemTable> Opening::NewMemTable(const Family& family) const {
  return parts_.core->NewMemTable(family.order, identity_.hash_seed, described_.all().size());
}

absl::Status Opening::ChooseExecutor() {
  parts_.executor = world_.executor;
  if (parts_.executor == nullptr) {
    // One more than flush is there for what writers need meanwhile.
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

absl::Status Opening::ReplayLogs() {
  LogRecoveryOptions recovery;
  recovery.database_id = identity_.database_id;
  recovery.minimum = min_log_number_;
  if (closed_log_.has_value()) recovery.closed = LogEnd{closed_log_->number, closed_log_->length_bytes};
  ASSIGN_OR_RETURN(
      logs_, RecoverLogs(parts_.core->log_directory(), log_files_, recovery,
                         [this](SequenceNumber first, std::string_view batch) { return ReplayBatch(first, batch); }));
  last_sequence_ = std::max(last_sequence_, logs_.last_sequence);
  if (!logs_.torn.empty()) {
    parts_.core->info_log.Write(
        "the logs have a torn end; %u bytes that were never acknowledged as durable are dropped: %s",
        logs_.dropped_bytes, logs_.torn);
  }
  return absl::OkStatus();
}

absl::Status Opening::ReplayBatch(SequenceNumber first, std::string_view batch) {
  RETURN_IF_ERROR(CheckBatch(batch));
  BatchReader reader(batch);
  BatchEntry entry;
  in_batch_.clear();
  for (SequenceNumber sequence = first; reader.Next(&entry); sequence = sequence.next()) {
    const auto it = described_.all().find(entry.family);
    if (it == described_.all().end()) {
      // A family that was dropped has a number that the manifest knows to be used.
      if (FileNumber(entry.family.value()) < manifest_next_file_number_) continue;
      return absl::DataLossError(
          absl::StrFormat("%s: the log holds updates of column family %u, whose creation is not in the manifest: the "
                          "manifest's end is missing",
                          path_, entry.family.value()));
    }
    if (sequence <= it->second.flushed_through) continue;
    DescribedFamily* const described = &it->second;
    Replay(sequence, entry, described);
    if (in_batch_.empty() || in_batch_.back() != described) in_batch_.push_back(described);
  }
  if (options_.read_only) return absl::OkStatus();
  // Between batches, so that the mark of a family never splits one.
  for (DescribedFamily* const described : in_batch_) {
    if (described->replayed != nullptr && described->replayed->MemoryBytes() >= tuning_.memtable_bytes) {
      RETURN_IF_ERROR(FlushReplayed(described));
    }
  }
  return absl::OkStatus();
}

// A view for readers needs each entry in its place. A writer flushes all of them first.
void Opening::Replay(SequenceNumber sequence, const BatchEntry& entry, DescribedFamily* described) {
  const KeyOrder& order = described->family->order;
  if (options_.read_only) {
    if (described->replayed == nullptr) described->replayed = NewMemTable(*described->family);
    const uint64_t hash = order.hashable() ? HashKey(entry.key, identity_.hash_seed) : 0;
    described->replayed->Add(sequence, entry.kind, entry.key, entry.value, hash);
    return;
  }
  if (described->replayed == nullptr) {
    described->replayed = parts_.core->NewMemTableToFlush(order, identity_.hash_seed);
  }
  described->replayed->Collect(sequence, entry.kind, entry.key, entry.value);
}

absl::Status Opening::FlushReplayed(DescribedFamily* described) {
  if (described->replayed == nullptr) return absl::OkStatus();
  described->replayed->Arrange();
  const std::shared_ptr<const MemTable> memtable = std::exchange(described->replayed, nullptr);
  const SequenceNumber through = memtable->LastSequence();
  const TableOutputContext context = parts_.catalog->OutputContext(*described->family);
  ASSIGN_OR_RETURN(const std::vector<TableMetadata> tables,
                   FlushMemTables({.context = context,
                                   .memtables = {&memtable, 1},
                                   .snapshots = {through},
                                   .executor = parts_.executor,
                                   .max_threads = parts_.executor->CompactionConcurrency()}));
  described->flushed_through = through;
  if (tables.empty()) return absl::OkStatus();
  VersionEdit edit;
  for (const TableMetadata& table : tables) {
    new_tables_.push_back(table.number);
    edit.added_tables.push_back({.family = described->family->id, .level = 0, .table = table});
  }
  return described->tables.Apply(described->family->id, edit);
}

absl::Status Opening::PublishFamilies() {
  if (!options_.read_only) {
    if (!manifest_.found) SEPAL_CHECK(parts_.catalog->NewFileNumber() == kFirstManifest);
    RETURN_IF_ERROR(AddMissingFamilies());
    for (auto& [id, described] : described_.all()) RETURN_IF_ERROR(FlushReplayed(&described));
    if (!new_tables_.empty()) RETURN_IF_ERROR(parts_.core->directory->Sync());
  }
  EngineState& state = *parts_.state;
  StateLock lock(&state);
  for (auto& [id, described] : described_.all()) {
    ASSIGN_OR_RETURN(VersionRef version, described.tables.Build());
    std::shared_ptr<MemTable> active =
        described.replayed != nullptr ? std::move(described.replayed) : NewMemTable(*described.family);
    described.family->Open(std::move(active), std::move(version), described.flushed_through, &parts_.core->epochs);
    state.families[id.value()] = described.family;
  }
  parts_.last_sequence = last_sequence_;
  state.visible.store(last_sequence_.value(), std::memory_order_release);
  return absl::OkStatus();
}

// --- becoming the writer ---

absl::Status Opening::StartWriting() {
  RETURN_IF_ERROR(manifest_.found ? StartExisting() : StartNew());
  RemoveStrayFiles();
  parts_.core->info_log.Write("opened %s: last sequence %u, %u batches replayed; log records are written %s", path_,
                              last_sequence_.value(), logs_.batches, parts_.log->ModeText());
  return absl::OkStatus();
}

absl::Status Opening::RemoveLeftOverLogs() {
  RETURN_IF_ERROR(RemoveUnusedLogs(parts_.core->log_directory(), log_files_, logs_));
  return RemoveLeftOverRings();
}

// One that was closed in order is.
absl::Status Opening::MakeLastHeaderSure() const {
  const bool closed = closed_log_.has_value() && !logs_.logs.empty() && logs_.logs.back().number == closed_log_->number;
  return closed ? absl::OkStatus() : MakeLastHeaderDurable(parts_.core->log_directory(), logs_);
}

// Those of openings that failed, which else would take the space that this one needs.
absl::Status Opening::RemoveLeftOverRings() const {
  Directory* const directory = parts_.core->log_directory();
  ASSIGN_OR_RETURN(const std::vector<RingFile> rings, ListRings(directory, ListingOfLogs()));
  std::vector<std::string> left_over;
  for (const RingFile& ring : rings) {
    const bool named = std::any_of(log_files_.begin(), log_files_.end(), [&](const LogFile& log) {
      const bool unused = std::find(logs_.leftovers.begin(), logs_.leftovers.end(), log.name) != logs_.leftovers.end();
      return !unused && log.header.has_value() && log.header->ring.number == ring.named;
    });
    if (!named) left_over.push_back(ring.name);
  }
  return left_over.empty() ? absl::OkStatus() : RemoveDurably(directory, left_over);
}

absl::Status Opening::StartNew() {
  Core& core = *parts_.core;
  EngineState& state = *parts_.state;
  RETURN_IF_ERROR(RemoveDurably(core.directory.get(), manifest_.leftovers));
  RETURN_IF_ERROR(RemoveLeftOverLogs());
  CatalogSnapshot snapshot = [&] {
    StateLock lock(&state);
    return parts_.catalog->Snapshot(/*min_log=*/std::nullopt);
  }();
  ASSIGN_OR_RETURN(
      std::unique_ptr<ManifestWriter> manifest,
      ManifestWriter::Create(core.directory.get(), kFirstManifest, identity_.database_id, &snapshot, nullptr));
  const FileNumber log = parts_.catalog->NewFileNumber();
  ASSIGN_OR_RETURN(parts_.log, WriteAheadLog::Create(core.log_directory(), MakeLogOptions(),
                                                     logs_.Next(log, last_sequence_, manifest->Reference())));
  parts_.catalog->SetManifest(std::move(manifest), FileNumber());
  VersionEdit edit;
  edit.min_log_number = log;
  return parts_.catalog->Apply(std::move(edit), nullptr, [&] {
    database_mutex.AssertHeld();
    StartFamiliesAt(log);
  });
}

absl::Status Opening::StartExisting() {
  Core& core = *parts_.core;
  EngineState& state = *parts_.state;
  RETURN_IF_ERROR(RemoveDurably(core.directory.get(), manifest_.leftovers));
  RETURN_IF_ERROR(RemoveLeftOverLogs());
  // A failed sync may have lost the link to the last manifest, which is still read. Without those before it the chain
  // needs no link.
  RETURN_IF_ERROR(RemoveManifestsBefore(core.directory.get(), listing_.others, manifest_.number));
  // Also what an opening before this one removed, whose sync failed.
  RETURN_IF_ERROR(core.directory->Sync());
  ASSIGN_OR_RETURN(const std::unique_ptr<ManifestWriter> old, ManifestWriter::Reopen(core.directory.get(), manifest_));
  RETURN_IF_ERROR(MakeLastHeaderSure());
  const FileNumber log = parts_.catalog->NewFileNumber();
  ASSIGN_OR_RETURN(parts_.log, WriteAheadLog::Create(core.log_directory(), MakeLogOptions(),
                                                     logs_.Next(log, last_sequence_, old->Reference())));
  const FileNumber number = parts_.catalog->NewFileNumber();
  CatalogSnapshot snapshot = [&] {
    StateLock lock(&state);
    StartFamiliesAt(log);
    return parts_.catalog->Snapshot(log);
  }();
  absl::StatusOr<std::unique_ptr<ManifestWriter>> manifest =
      ManifestWriter::Create(core.directory.get(), number, identity_.database_id, &snapshot, old.get());
  // Where the old one has not failed, the new one is gone for good.
  tables_may_be_listed_ = manifest.ok() || !old->failure().ok();
  RETURN_IF_ERROR(manifest.status());
  parts_.catalog->SetManifest(*std::move(manifest), log);
  return RemoveManifestsBefore(core.directory.get(), listing_.others, number);
}

LogOptions Opening::MakeLogOptions() const {
  LogOptions options;
  options.database_id = identity_.database_id;
  options.random_seed = world_.random_seed;
  options.allocation_step_bytes = tuning_.log_allocation_bytes;
  options.max_fragment_bytes = tuning_.log_fragment_bytes;
  const Capabilities capabilities = parts_.core->log_directory()->capabilities();
  options.ring_bytes = capabilities.map && capabilities.allocate ? tuning_.log_ring_bytes : 0;
  options.budget = &parts_.core->budget;
  options.tasks = parts_.preparing.get();
  options.clock = world_.clock;
  Core* const core = parts_.core.get();
  EngineState* const state = parts_.state.get();
  options.on_sync = [core, state](std::string_view path, uint64_t micros) {
    core->statistics.Add(Ticker::kLogSyncs);
    core->statistics.Record(Histogram::kSyncMicros, micros);
    if (micros < core->tuning.slow_disk_micros) return;
    core->info_log.Write("a sync of %s took %u us", path, micros);
    const SlowDiskEvent event{.path = std::string(path), .operation = "sync", .micros = micros};
    state->Tell([&](EventListener& listener) { listener.OnSlowDisk(event); });
  };
  return options;
}

void Opening::StartFamiliesAt(FileNumber log) {
  for (auto& [id, described] : described_.all()) described.family->BeginLog(log, &parts_.state->log_pins);
}

// What is left over is found again when the database is next opened.
void Opening::RemoveStrayFiles() {
  Core& core = *parts_.core;
  LiveFiles live;
  live.min_log_number = parts_.log->Live().front().number;
  live.ring_number = parts_.log->RingNumber();
  live.manifest_number = parts_.catalog->Reference().number;
  const auto remove = [&](Directory* directory, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      core.info_log.Write("removing %s, which nothing refers to", name);
      directory->Remove(name).IgnoreError();
    }
  };
  std::vector<std::string> tables;
  for (const FileNumber number : stray_tables_) tables.push_back(TableFileName(number));
  remove(core.directory.get(), tables);
  remove(core.directory.get(), ObsoleteFiles(Names(listing_.others), live));
  if (core.separate_log_directory == nullptr) return;
  remove(core.separate_log_directory.get(), ObsoleteLogs(Names(log_listing_), live));
}

}  // namespace sepal
