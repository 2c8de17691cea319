// What a repair salvages from logs.
#include <algorithm>
#include <utility>

#include "db/act/jobs/range_table.h"
#include "db/act/log/log_salvage.h"
#include "db/doctor/repair.h"
#include "db/format/batch_format.h"
#include "db/format/file_names.h"
#include "util/base/status.h"

namespace sepal {

// If the manifest is damaged, the logs may hold updates that are long in tables, whose values may be gone; so a missing
// value does not end the logs then.
LogRecoveryOptions Repairing::HowToReadLogs(Replay* replay) {
  LogRecoveryOptions logs{.database_id = database_id_, .minimum = manifest_.min_log_number};
  if (manifest_.closed_log.has_value()) {
    logs.closed = LogEnd{manifest_.closed_log->number, manifest_.closed_log->length_bytes};
  }
  if (certain_ && manifest_.features.Has(Feature::kValueFiles)) {
    values_->Identify(database_id_);
    logs.look = [this, replay](SequenceNumber first, std::string_view batch) {
      return LookAtValues(replay, first, batch);
    };
  }
  return logs;
}

void Repairing::AddFamilies(Replay* replay) const {
  for (const auto& [id, family] : families_) {
    replay->AddFamily(id, family.order, family.flushed_through, family.version.get());
  }
}

absl::Status Repairing::CheckLogs(absl::Status* contradiction) {
  // If the manifest is damaged, families may be missing.
  Replay counted(
      {.next_file_number = certain_ ? manifest_.next_file_number : FileNumber(UINT64_MAX), .new_memtable = nullptr});
  AddFamilies(&counted);
  const LogSink count = [&](SequenceNumber first, std::string_view batch) {
    return counted.Count(first, batch).status();
  };
  absl::Status status = RecoverLogs(log_directory(), logs_, HowToReadLogs(&counted), count).status();
  logs_whole_ = status.ok();
  if (absl::IsDataLoss(status) && !counted.contradicts_manifest()) {
    std::vector<LogGap> gaps;
    status = SalvageLogs(log_directory(), logs_, HowToReadLogs(&counted), count, &gaps);
  }
  *contradiction = counted.contradicts_manifest() ? status : absl::OkStatus();
  return counted.contradicts_manifest() ? absl::OkStatus() : status;
}

absl::Status Repairing::ReplayLogs() {
  Replay replay(
      {.hash_seed = manifest_.hash_seed,
       .next_file_number = FileNumber(UINT64_MAX),
       .new_memtable =
           [this](const KeyOrder& order) {
             return std::make_shared<MemTable>(order, manifest_.hash_seed, tuning_.memtable_bytes,
                                               MemTable::Memory{.budget = &budget_}, /*indexed=*/false);
           },
       .flush = [this](ColumnFamilyId id,
                       const std::shared_ptr<const MemTable>& memtable) { return FlushReplayed(id, memtable); },
       .memtable_bytes = tuning_.memtable_bytes,
       .settle_reference = [this](ColumnFamilyId id, ValueKind kind, std::string_view key, std::string_view* value,
                                  std::string* settled) { return SettleLogged(id, kind, key, value, settled); },
       .snapshots = NamedSequences(),
       .history_floors = HistoryFloors()});
  AddFamilies(&replay);
  RETURN_IF_ERROR(ReadLogsInto(&replay));
  // It is not known which of the logs had the lost updates.
  for (size_t i = 0; lost_of_logs_ > 0 && i < logs_.size(); ++i) damaged_logs_.insert(logs_[i].name);
  RETURN_IF_ERROR(AddRings());
  RETURN_IF_ERROR(replay.Flush());
  report_->updates_from_logs = replay.updates() - lost_of_logs_;
  for (auto& [id, family] : families_) family.flushed_through = replay.families().at(id).flushed_through;
  return absl::OkStatus();
}

absl::Status Repairing::ReadLogsInto(Replay* replay) {
  const LogSink sink = [&](SequenceNumber first, std::string_view batch) {
    const SequenceNumber last(first.value() + std::max(BatchCount(batch), 1u) - 1);
    manifest_.last_sequence = std::max(manifest_.last_sequence, last);
    return replay->Take(first, batch);
  };
  if (logs_whole_) return RecoverLogs(log_directory(), logs_, HowToReadLogs(replay), sink).status();
  std::vector<LogGap> gaps;
  RETURN_IF_ERROR(SalvageLogs(log_directory(), logs_, HowToReadLogs(replay), sink, &gaps));
  for (const LogGap& gap : gaps) {
    const bool there =
        std::any_of(logs_.begin(), logs_.end(), [&](const LogFile& log) { return log.name == gap.name; });
    if (there) damaged_logs_.insert(gap.name);
    Drop({.file = gap.name, .begin_offset = gap.begin_offset, .end_offset = gap.end_offset, .reason = gap.reason});
  }
  return absl::OkStatus();
}

// A log that is put aside takes its ring along, which may hold its newest records: the ring that its header names or,
// if the header is damaged, each that it may have named.
absl::Status Repairing::AddRings() {
  ASSIGN_OR_RETURN(const std::vector<RingFile> rings, ListRings(log_directory()));
  for (const RingFile& ring : rings) {
    const bool goes = std::any_of(logs_.begin(), logs_.end(), [&](const LogFile& log) {
      if (!damaged_logs_.contains(log.name)) return false;
      return log.header.has_value() ? log.header->ring.number == ring.named : ring.named <= log.named;
    });
    if (goes) damaged_logs_.insert(ring.name);
  }
  return absl::OkStatus();
}

absl::Status Repairing::FlushReplayed(ColumnFamilyId id, const std::shared_ptr<const MemTable>& memtable) {
  if (dry_run_) return absl::OkStatus();
  FamilyState& family = families_.at(id);
  // If the manifest is damaged, a put in the log may also be in a table; only their merge sees everything that a single
  // delete must remove.
  const TableOutputContext context = OutputContext(family);
  const std::vector<SequenceNumber> standing =
      StandingThrough(NamedSequences(), family.schema.SettledThrough(memtable->LastSequence()));
  ASSIGN_OR_RETURN(
      const std::vector<TableMetadata> tables,
      FlushMemTablesAndRanges(
          {.context = context, .memtables = {&memtable, 1}, .snapshots = standing, .keeps_single_deletes = !certain_}));
  for (const TableMetadata& table : tables) family.tables.push_back({.family = id, .level = 0, .table = table});
  return absl::OkStatus();
}

}  // namespace sepal
