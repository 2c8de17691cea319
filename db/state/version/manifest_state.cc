#include "db/state/version/manifest_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/format/file_names.h"
#include "util/base/status.h"

namespace sepal {

ManifestState::ManifestState()
    : ManifestState(
          [](TableMetadata table) { return std::make_shared<const TableFile>(std::move(table), /*sink=*/nullptr); }) {}

absl::Status ManifestState::Take(VersionEdit&& edit) {
  TakeNumbers(edit);
  for (const ColumnFamilyCreation& creation : edit.created_families) RETURN_IF_ERROR(CreateFamily(creation));
  for (KeptOptions& kept : edit.kept_options) {
    const auto it = families.find(kept.family);
    if (it != families.end()) it->second.kept_options = std::move(kept.fields);
  }
  for (FamilySchema& schema : edit.schemas) {
    const auto it = families.find(schema.family);
    if (it == families.end()) continue;
    it->second.schema = std::move(schema);
  }
  for (const ColumnFamilyId id : edit.dropped_families) families.erase(id);
  for (const HistoryFloor& floor : edit.history_floors) {
    const auto it = families.find(floor.family);
    if (it == families.end() || it->second.schema.history_millis == 0) continue;
    it->second.schema.history_floor = std::max(it->second.schema.history_floor, floor.sequence);
  }
  for (const FlushedThrough& flushed : edit.flushed_through) {
    const auto it = families.find(flushed.family);
    if (it != families.end()) it->second.flushed_through = flushed.sequence;
  }
  for (const RemovedTable& removed : edit.removed_tables) {
    const auto it = families.find(removed.family);
    if (it != families.end()) RETURN_IF_ERROR(it->second.tables.Remove(removed));
  }
  for (AddedTable& added : edit.added_tables) {
    const auto it = families.find(added.family);
    if (it != families.end()) RETURN_IF_ERROR(it->second.tables.Add(std::move(added)));
  }
  return absl::OkStatus();
}

// Ignores a number that no file can have.
void ManifestState::TakeNumbers(const VersionEdit& edit) {
  hash_seed = edit.hash_seed.value_or(hash_seed);
  features |= edit.features;
  if (edit.next_file_number.has_value() && edit.next_file_number->value() < kFileNumbersEnd) {
    next_file_number = std::max(next_file_number, *edit.next_file_number);
  }
  last_sequence = std::max(last_sequence, edit.last_sequence.value_or(last_sequence));
  for (const FamilySchema& schema : edit.schemas) {
    // A filter epoch has a sequence number of its own, which is in no log.
    if (!schema.filter_epochs.empty()) last_sequence = std::max(last_sequence, schema.filter_epochs.back().sequence);
  }
  TakeSnapshots(edit);
  min_log_number = edit.min_log_number.value_or(min_log_number);
  if (edit.closed_log.has_value()) closed_log = edit.closed_log;
  clock_floor = edit.clock_floor.value_or(clock_floor);
}

// A later snapshot replaces an earlier one of the same name. Sequence numbers that a snapshot sees are never reused.
void ManifestState::TakeSnapshots(const VersionEdit& edit) {
  for (const std::string& name : edit.dropped_snapshots) snapshots.erase(name);
  for (const KeptSnapshot& kept : edit.created_snapshots) {
    snapshots.insert_or_assign(kept.name, kept);
    last_sequence = std::max(last_sequence, kept.sequence);
  }
}

absl::Status ManifestState::CreateFamily(const ColumnFamilyCreation& creation) {
  const auto [it, added] = families.emplace(creation.id, ManifestFamily{.creation = creation,
                                                                        .kept_options = {},
                                                                        .schema = {.family = creation.id},
                                                                        .flushed_through = {},
                                                                        .tables = VersionBuilder(make_table_)});
  if (added) return absl::OkStatus();
  return absl::DataLossError(absl::StrFormat("the manifest creates column family %u twice, as \"%s\" and as \"%s\"",
                                             creation.id.value(), it->second.creation.name, creation.name));
}

}  // namespace sepal
