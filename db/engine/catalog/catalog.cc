#include "db/engine/catalog/catalog.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/engine/catalog/manifest_families.h"
#include "db/format/system_row.h"
#include "db/state/version/version_builder.h"
#include "util/base/hash.h"
#include "util/base/status.h"

namespace sepal {

ManifestReference Catalog::Reference() const {
  MutexLock lock(&reference_mutex_);
  return reference_;
}

void Catalog::NoteReference() {
  MutexLock lock(&reference_mutex_);
  reference_ = manifest_->Reference();
}

absl::StatusOr<ColumnFamilyId> Catalog::NewFamilyId() {
  const uint64_t number = NewFileNumber().value();
  const auto id = static_cast<uint32_t>(number);
  StateLock lock(state_);
  const bool fits = id == number && ColumnFamilyId(id) < kSystemFamilyId;
  if (fits && !state_->families.contains(id)) return ColumnFamilyId(id);
  return absl::FailedPreconditionError(
      absl::StrFormat("no column family can be created in %s: its id would be the next file number, %u, but ids are "
                      "below 2^32 and never reused. A foreign file with a large number in its name raises the numbers; "
                      "a new database starts them again",
                      state_->core->path, number));
}

void Catalog::SetManifest(std::unique_ptr<ManifestWriter> manifest, FileNumber min_log) {
  MutexLock lock(&edit_mutex_);
  min_log_ = min_log;
  manifest_ = std::move(manifest);
  snapshot_bytes_ = manifest_->size_bytes();
  NoteReference();
}

ManifestContents Catalog::Snapshot(std::optional<FileNumber> min_log) const {
  VersionEdit head;
  head.database_id = identity_.database_id;
  head.hash_seed = identity_.hash_seed;
  head.next_file_number = FileNumber(next_file_number_.load(std::memory_order_relaxed));
  head.last_sequence = state_->VisibleSequence();
  head.min_log_number = min_log;
  head.log_directory = identity_.log_directory;
  head.features = features();
  KeepClock(&head);
  for (const auto& [name, hold] : state_->named_snapshots) head.created_snapshots.push_back(hold.kept);
  std::vector<ManifestContents::Family> families;
  for (const FamilyRef& family : state_->Families()) {
    families.push_back({.id = family->id,
                        .description = DescribeFamily(*family, family->Schema(), family->flushed_through()),
                        .version = family->version()});
  }
  return {std::move(head), std::move(families)};
}

void Catalog::KeepClock(VersionEdit* edit) const {
  ExpiryClock& expiry = state_->core->expiry;
  if (expiry.in_use()) edit->features |= Feature::kExpiry;
  if (edit->features.Has(Feature::kExpiry)) edit->clock_floor = expiry.Floor();
}

// A job raises the floor before it drops anything, so what it dropped is below the floor recorded here.
void Catalog::KeepHistoryFloors(const std::vector<Change>& changes, VersionEdit* edit) {
  for (const Change& change : changes) {
    const FamilyHistory& history = change.family->history;
    if (history.on()) edit->history_floors.push_back({change.family->id, history.floor()});
  }
}

absl::StatusOr<std::vector<Catalog::Change>> Catalog::BuildVersions(const VersionEdit& edit) const {
  std::set<ColumnFamilyId> touched;
  for (const RemovedTable& table : edit.removed_tables) touched.insert(table.family);
  for (const AddedTable& table : edit.added_tables) touched.insert(table.family);
  for (const FlushedThrough& flushed : edit.flushed_through) touched.insert(flushed.family);

  std::vector<Change> changes;
  for (const ColumnFamilyId id : touched) {
    FamilyRef family;
    VersionRef base;
    {
      StateLock lock(state_);
      const auto it = state_->families.find(id.value());
      if (it == state_->families.end()) {
        return absl::FailedPreconditionError(absl::StrFormat("column family %u was dropped", id.value()));
      }
      family = it->second;
      base = family->version();
    }
    VersionBuilder builder(base, [this](TableMetadata table) { return state_->core->MakeTable(std::move(table)); });
    RETURN_IF_ERROR(builder.Apply(id, edit));
    ASSIGN_OR_RETURN(VersionRef version, builder.Build());
    changes.push_back({std::move(family), std::move(version), builder.RemovedTables()});
  }
  return changes;
}

absl::Status Catalog::Apply(VersionEdit edit, const std::function<void(VersionEdit*)>& complete,
                            const std::function<void()>& install) noexcept {
  MutexLock edit_lock(&edit_mutex_);
  {
    StateLock lock(state_);
    RETURN_IF_ERROR(state_->error);
    if (complete) complete(&edit);
  }
  edit.next_file_number = FileNumber(next_file_number_.load(std::memory_order_relaxed));
  edit.last_sequence = state_->VisibleSequence();
  KeepClock(&edit);
  ASSIGN_OR_RETURN(std::vector<Change> changes, BuildVersions(edit));
  KeepHistoryFloors(changes, &edit);
  RETURN_IF_ERROR(Write(edit));
  if (edit.clock_floor.has_value()) state_->core->expiry.NoteKept(*edit.clock_floor);
  min_log_ = edit.min_log_number.value_or(min_log_);
  {
    StateLock lock(state_);
    if (install) install();
    CountValues(edit, changes);
    for (Change& change : changes) {
      for (const TableRef& table : change.removed) table->MarkObsolete();
      change.family->SetVersion(std::move(change.version), &state_->core->epochs);
    }
    state_->NotifyChanged();
  }
  // A snapshot cannot record that the log was closed, and no edit follows the closing one.
  return edit.closed_log.has_value() ? absl::OkStatus() : RollIfLarge();
}

void Catalog::CountValues(const VersionEdit& edit, const std::vector<Change>& changes) {
  std::set<FileNumber> moved;  // tables that moved within the tree: removed and added by this edit
  for (const RemovedTable& table : edit.removed_tables) moved.insert(table.number);
  for (const AddedTable& added : edit.added_tables) {
    if (!moved.contains(added.table.number)) state_->value_space.Add(added.table);
  }
  for (const Change& change : changes) {
    for (const TableRef& table : change.removed) state_->value_space.Remove(table->metadata());
  }
}

absl::Status Catalog::Enable(Features features) {
  if (this->features().HasAll(features)) [[likely]]
    return absl::OkStatus();
  VersionEdit edit;
  edit.features = features;
  return Apply(std::move(edit), nullptr, [&] { features_.fetch_or(features.bits(), std::memory_order_release); });
}

absl::Status Catalog::SetFilterEpoch(Family* family, SequenceNumber sequence, std::string_view epoch) {
  std::vector<FilterEpoch> epochs;
  return Apply(
      VersionEdit{},
      [&](VersionEdit* edit) {
        database_mutex.AssertHeld();
        FamilySchema schema = family->Schema();
        const SequenceNumber settled = family->filter_history.settled();
        const SequenceNumber oldest = family->history.Limit(settled);  // read before the snapshots are, as jobs do
        schema.filter_epochs =
            WithEpoch(schema.filter_epochs, std::min(oldest, state_->OldestSnapshot()), {sequence, std::string(epoch)});
        epochs = schema.filter_epochs;
        edit->schemas.push_back(std::move(schema));
      },
      [&] {
        database_mutex.AssertHeld();
        family->SetFilterEpochs(std::move(epochs), &state_->core->epochs);
      });
}

absl::Status Catalog::Write(const VersionEdit& edit) {
  RETURN_IF_ERROR(state_->CheckLock());
  const absl::Status status = manifest_->AddEdit(edit);
  if (!status.ok() && !manifest_->failure().ok()) state_->Stop(status, "manifest");
  NoteReference();
  return status;
}

// A failure before the old manifest is touched is harmless: the next edit tries again.
absl::Status Catalog::RollIfLarge() {
  const uint64_t limit = std::max(state_->core->tuning.manifest_limit_bytes, 4 * snapshot_bytes_);
  if (manifest_->size_bytes() <= limit) return absl::OkStatus();
  const FileNumber number = NewFileNumber();
  ManifestContents snapshot = [this, min_log = min_log_] {
    StateLock lock(state_);
    return Snapshot(min_log);
  }();
  absl::StatusOr<std::unique_ptr<ManifestWriter>> rolled =
      ManifestWriter::Create(state_->core->directory.get(), number, identity_.database_id, &snapshot, manifest_.get());
  if (!rolled.ok()) {
    state_->core->info_log.Write("manifest %u could not be created: %s", number.value(), rolled.status().ToString());
    return absl::OkStatus();
  }
  superseded_.push_back(manifest_->number());
  manifest_ = std::move(rolled).value();
  snapshot_bytes_ = manifest_->size_bytes();
  NoteReference();
  const absl::Status removed = RemoveManifests(state_->core->directory.get(), &superseded_);
  if (!removed.ok()) state_->core->info_log.Write("obsolete manifests could not be removed: %s", removed.ToString());
  return absl::OkStatus();
}

TableOutputContext Catalog::OutputContext(const Family& family) {
  Core& core = *state_->core;
  TableOutputContext context;
  context.directory = core.directory.get();
  context.budget = &core.budget;
  context.buffers = &core.table_buffers;
  context.tuning = core.tuning;
  context.options = &family.options;
  context.order = family.order;
  context.family_name = family.name;
  context.family_id = family.id.value();
  context.database_id = identity_.database_id;
  context.hash_seed = identity_.hash_seed;
  context.now_unix_micros = core.world.clock->UnixMicros();
  context.expired_through_millis = core.expiry.RemovalMillis();
  context.new_file_number = [this] { return NewFileNumber(); };
  // The seed is mixed with a number that is never reused, so that table ids differ even under a fixed seed.
  context.new_table_id = [this] {
    return Mix64(state_->core->world.random_seed ^ Mix64(identity_.database_id + NewFileNumber().value()));
  };
  return context;
}

void Catalog::Follow(FileNumber next_file_number, Features features) {
  uint64_t next = next_file_number_.load(std::memory_order_relaxed);
  while (next < next_file_number.value() && !next_file_number_.compare_exchange_weak(next, next_file_number.value())) {
  }
  features_.fetch_or(features.bits(), std::memory_order_release);
}

absl::Status Catalog::Close() {
  MutexLock lock(&edit_mutex_);
  return manifest_->Close();
}

}  // namespace sepal
