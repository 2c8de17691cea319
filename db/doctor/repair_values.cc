// What a repair does about values in value files (rescued_values.h).
#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/act/jobs/verify_values.h"
#include "db/doctor/repair.h"
#include "db/format/file_names.h"
#include "util/base/hash.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

// The number of lost values of a table that are reported by key; the rest are reported together.
constexpr uint64_t kMostLostByKey = 1000;
constexpr std::string_view kALoggedUpdate = "an update of the logs";
constexpr uint64_t kValueBytesBetweenProgress = uint64_t{16} << 20;

}  // namespace

void Repairing::StartValues() {
  values_->Start({.deleter = nullptr,
                  .new_file_number = [this] { return NewFileNumber(); },
                  .new_file_id = [this] { return Mix64(world_.random_seed ^ Mix64(next_file_number_)); },
                  .file_bytes = tuning_.value_file_bytes,
                  .step_bytes = tuning_.log_allocation_bytes});
}

absl::StatusOr<bool> Repairing::IsWhole(const std::shared_ptr<TableReader>& table, bool refers) {
  const absl::Status verified = table->Verify();
  if (absl::IsDataLoss(verified)) return false;
  RETURN_IF_ERROR(verified);
  if (!refers) return true;
  return ValuesAreThere(table);
}

absl::StatusOr<bool> Repairing::ValuesAreThere(const std::shared_ptr<TableReader>& table) {
  values_->Identify(database_id_);
  std::set<FileNumber> files;
  absl::Status bad;
  const absl::Status status = CheckValues(table, values_->store(),
                                          {.go_on =
                                               [&](const ValueReference& reference) {
                                                 files.insert(reference.file);
                                                 NoteFeaturesOf(reference);
                                                 AdvanceByValue(reference.stored_bytes);
                                                 return true;
                                               },
                                           .bad =
                                               [&](std::string_view, const ValueReference*, const absl::Status& why) {
                                                 bad = why;
                                                 return why;
                                               }});
  if (absl::IsDataLoss(bad)) return false;
  RETURN_IF_ERROR(status);
  for (const FileNumber file : files) values_->NoteUsed(file);
  return true;
}

void Repairing::NoteFeaturesOf(const ValueReference& reference) {
  if (reference.chunked) manifest_.features |= Feature::kChunkedValues;
  if (reference.compressed()) manifest_.features |= Feature::kCompressedValues;
}

absl::StatusOr<bool> Repairing::SettleReference(const FamilyState& family, ValueKind kind, std::string_view key,
                                                std::string_view where, std::string_view* value, std::string* settled) {
  values_->Identify(database_id_);
  const std::optional<ValueReference> reference = ReferenceOf(kind, *value);
  absl::Status why = absl::DataLossError("what is no reference to a value");
  RescuedValues::Place place = RescuedValues::Place::kNowhere;
  if (reference.has_value()) {
    NoteFeaturesOf(*reference);
    ASSIGN_OR_RETURN(place, values_->Find(*reference, &why));
    AdvanceByValue(reference->stored_bytes);
  }
  switch (place) {
    case RescuedValues::Place::kThere:
      values_->NoteUsed(reference->file);
      return true;
    case RescuedValues::Place::kElsewhere: {
      if (dry_run_) return true;
      ASSIGN_OR_RETURN(const ValueReference copy, values_->Copy());
      *settled = WithSameExpiry(kind, *value, EncodeValueReference(copy));
      *value = *settled;
      return true;
    }
    case RescuedValues::Place::kNowhere:
      DropValue(family, key, where, reference, why);
      return false;
  }
  return false;
}

// What only the logs refer to may not be on the disk, unless the database was closed, or it is a chunked value.
absl::StatusOr<bool> Repairing::SettleLogged(ColumnFamilyId id, ValueKind kind, std::string_view key,
                                             std::string_view* value, std::string* settled) {
  const uint64_t lost_before = std::exchange(lost_of_table_, lost_of_logs_);
  const absl::StatusOr<bool> taken = SettleReference(families_.at(id), kind, key, kALoggedUpdate, value, settled);
  lost_of_logs_ = std::exchange(lost_of_table_, lost_before);
  RETURN_IF_ERROR(taken.status());
  manifest_.features |= Feature::kValueFiles;
  const std::optional<ValueReference> reference = ReferenceOf(kind, *value);
  const bool chunked = reference.has_value() && reference->chunked;
  const bool durable = chunked || (certain_ && manifest_.closed_log.has_value());
  if (!*taken || !settled->empty() || durable || dry_run_) return *taken;
  ASSIGN_OR_RETURN(const ValueReference copy, values_->Copy());
  *settled = WithSameExpiry(kind, *value, EncodeValueReference(copy));
  *value = *settled;
  return true;
}

void Repairing::DropValue(const FamilyState& family, std::string_view key, std::string_view where,
                          const std::optional<ValueReference>& reference, const absl::Status& why) {
  const std::string file = reference.has_value() ? ValueFileName(reference->file) : std::string(where);
  std::vector<DroppedData>& dropped = report_->dropped;
  if (++lost_of_table_ > kMostLostByKey && where != kALoggedUpdate && dropped.back().file == file) {
    dropped.back().last_key = key;
    dropped.back().begin_offset = dropped.back().end_offset = 0;
    return;
  }
  DroppedData lost{.file = file,
                   .column_family = family.creation.name,
                   .first_key = std::string(key),
                   .last_key = std::string(key),
                   .reason = absl::StrFormat("%s; %s refers to it", ToStd(why.message()), where)};
  if (reference.has_value()) {
    lost.begin_offset = reference->offset;
    lost.end_offset = reference->offset + reference->stored_bytes;
  }
  Drop(std::move(lost));
}

absl::Status Repairing::LookAtValues(Replay* replay, SequenceNumber first, std::string_view batch) {
  absl::Status looked;
  replay->VisitReferences(first, batch, [&](const BatchEntry& entry) {
    const std::optional<ValueReference> reference = ReferenceOf(entry.kind, entry.value);
    if (!looked.ok() || !reference.has_value()) return;
    absl::Status why;
    const absl::Status found = values_->Find(*reference, &why).status();
    looked = found.ok() ? why : found;
  });
  return looked;
}

void Repairing::AdvanceByValue(uint64_t bytes) {
  unreported_bytes_ += bytes;
  if (unreported_bytes_ >= kValueBytesBetweenProgress) Advance(std::exchange(unreported_bytes_, 0));
}

// --- which files stay ---

std::set<FileNumber> Repairing::LiveValueFiles() const {
  std::set<FileNumber> live;
  for (const auto& [id, family] : families_) {
    for (const AddedTable& added : family.tables) {
      for (const ValueLinks& links : added.table.value_links) live.insert(links.file);
    }
  }
  return live;
}

std::vector<std::string> Repairing::ValueFilesToPutAside() const {
  const std::set<FileNumber> live = LiveValueFiles();
  std::vector<std::string> names;
  for (const auto& [number, bytes] : values_->files()) {
    const bool gave_all = values_->IsUsed(number) && !values_->IsDamaged(number);
    // A dry run knows nothing of tables to be merged except for what is in them.
    const bool stays = dry_run_ ? values_->IsUsed(number) : live.contains(number);
    if (!gave_all && !stays) names.push_back(ValueFileName(number));
  }
  return names;
}

// Links the file, which costs no space, or copies it if links are not supported.
absl::Status Repairing::LinkAside(const std::string& name, Directory* lost) {
  std::string target = name;
  absl::Status linked = directory_->Link(name, *lost, target);
  for (int copy = 1; absl::IsAlreadyExists(linked); ++copy) {
    target = absl::StrFormat("%s.%d", name, copy);
    linked = directory_->Link(name, *lost, target);
  }
  if (!linked.ok()) return CopyAside(directory_.get(), name, lost);
  report_->put_aside.push_back(std::move(target));
  return absl::OkStatus();
}

}  // namespace sepal
