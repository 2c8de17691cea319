// How an opening becomes the writer of the database: a new log, a new manifest, and the removal of old files.
#include <algorithm>
#include <utility>

#include "db/act/log/remove_unused.h"
#include "db/act/log/resync_header.h"
#include "db/decide/pacing/stray_files.h"
#include "db/decide/writing/log_space.h"
#include "db/engine/open/opening.h"
#include "db/format/file_names.h"
#include "util/base/status.h"

namespace sepal {

namespace {

std::vector<std::string> Names(std::span<const DirectoryEntry> listing) {
  std::vector<std::string> names;
  for (const DirectoryEntry& entry : listing) names.push_back(entry.name);
  return names;
}

}  // namespace

absl::Status Opening::StartWriting() {
  RETURN_IF_ERROR(manifest_.found ? StartExisting() : StartNew());
  LetValueFilesGo();
  RemoveStrayFiles();
  parts_.core->info_log.Write("opened %s: last sequence %u, %u batches replayed; log records are written %s", path_,
                              LastSequence().value(), logs_.batches, parts_.log->ModeText());
  return absl::OkStatus();
}

absl::Status Opening::RemoveLeftOverLogs() {
  RETURN_IF_ERROR(RemoveUnusedLogs(parts_.core->log_directory(), log_files_, logs_));
  return RemoveLeftOverRings();
}

// The last header of a log that was closed in order is durable already.
absl::Status Opening::MakeLastHeaderSure() const {
  const bool closed =
      state_.closed_log.has_value() && !logs_.logs.empty() && logs_.logs.back().number == state_.closed_log->number;
  return closed ? absl::OkStatus() : MakeLastHeaderDurable(parts_.core->log_directory(), logs_);
}

// Removes the rings of failed openings, which would take the space that this one needs.
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
  RETURN_IF_ERROR(RemoveLeftOverLogs());
  ManifestContents snapshot = [&] {
    StateLock lock(&state);
    return parts_.catalog->Snapshot(/*min_log=*/std::nullopt);
  }();
  ASSIGN_OR_RETURN(
      std::unique_ptr<ManifestWriter> manifest,
      ManifestWriter::Create(core.directory.get(), kFirstManifest, identity_.database_id, &snapshot, nullptr));
  const FileNumber log = parts_.catalog->NewFileNumber();
  RETURN_IF_ERROR(StartLog(log, manifest->Reference()));
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
  // A failed sync may have lost the link to the last manifest, which can still be read. Once the older ones are
  // removed, the chain needs no link.
  RETURN_IF_ERROR(RemoveManifestsBefore(core.directory.get(), listing_.others, manifest_.number));
  // This also syncs what an earlier opening removed, if its sync failed.
  RETURN_IF_ERROR(core.directory->Sync());
  ASSIGN_OR_RETURN(const std::unique_ptr<ManifestWriter> old, ManifestWriter::Reopen(core.directory.get(), manifest_));
  RETURN_IF_ERROR(MakeLastHeaderSure());
  const FileNumber log = parts_.catalog->NewFileNumber();
  RETURN_IF_ERROR(StartLog(log, old->Reference()));
  const FileNumber number = parts_.catalog->NewFileNumber();
  ManifestContents snapshot = [&] {
    StateLock lock(&state);
    StartFamiliesAt(log);
    return parts_.catalog->Snapshot(log);
  }();
  absl::StatusOr<std::unique_ptr<ManifestWriter>> manifest =
      ManifestWriter::Create(core.directory.get(), number, identity_.database_id, &snapshot, old.get());
  // If the old manifest can still be written, the new one was removed for good.
  tables_may_be_listed_ = manifest.ok() || !old->failure().ok();
  RETURN_IF_ERROR(manifest.status());
  parts_.catalog->SetManifest(*std::move(manifest), log);
  // The removal is not synced: if the old manifest reappears, it names its successor, and the next opening removes it.
  const absl::Status removed = core.directory->Remove(ManifestFileName(manifest_.number));
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

absl::Status Opening::StartLog(FileNumber number, ManifestReference manifest) {
  LogStart start = logs_.Next(number, LastSequence(), manifest);
  start.carried = replay_->kept();
  ASSIGN_OR_RETURN(parts_.log, WriteAheadLog::Create(parts_.core->log_directory(), MakeLogOptions(), start));
  return absl::OkStatus();
}

LogOptions Opening::MakeLogOptions() const {
  LogOptions options;
  options.database_id = identity_.database_id;
  options.random_seed = world_.random_seed;
  options.allocation_step_bytes = tuning_.log_allocation_bytes;
  options.max_fragment_bytes = tuning_.log_fragment_bytes;
  Directory* const directory = parts_.core->log_directory();
  const Capabilities capabilities = directory->capabilities();
  options.ring_bytes = capabilities.map && capabilities.allocate ? tuning_.log_ring_bytes : 0;
  options.in_order = !capabilities.outlives_process;
  // A file system that cannot tell is taken to have enough.
  if (const absl::StatusOr<uint64_t> free = directory->FreeBytes(); free.ok()) {
    const LogSpace fits = FitLogSpace({options.ring_bytes, options.allocation_step_bytes}, *free, kLogHeaderBytes);
    options.ring_bytes = fits.ring_bytes;
    options.allocation_step_bytes = fits.step_bytes;
  }
  options.budget = &parts_.core->budget;
  options.tasks = parts_.preparing.get();
  options.clock = world_.clock;
  Core* const core = parts_.core.get();
  EngineState* const state = parts_.state.get();
  options.referred = {.due = [core] { return core->values.fresh().HasUnsynced(); },
                      .sync = [core] { return core->values.fresh().Sync(); },
                      .executor = parts_.executor};
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
  for (const auto& [id, family] : families_) family->BeginLog(log, &parts_.state->log_pins);
}

// Files that stay are found again at the next opening.
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
