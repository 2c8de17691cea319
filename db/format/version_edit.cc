#include "db/format/version_edit.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "db/format/fields.h"
#include "db/format/kept_options.h"
#include "db/format/system_row.h"
#include "db/format/version_edit_features.h"
#include "sepal/compaction_filter.h"
#include "util/base/coding.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

enum Tag : uint32_t {
  kDatabaseId = 2,
  kHashSeed = 4,
  kNextFileNumber = 6,
  kLastSequence = 8,
  kMinLogNumber = 10,
  kFamilyCreated = 12,
  kFamilyDropped = 14,
  kFlushedThrough = 16,
  kTableAdded = 18,
  kTableRemoved = 20,
  kLogClosed = 22,
  kFeatures = 24,
  kTableAddedWithFields = 26,
  kKeptOptions = 27,
  kFamilySchema = 28,
  kLogDirectory = 29,
  kSnapshotCreated = 30,
  kSnapshotDropped = 32,
  kClockFloor = 36,
  kHistoryFloor = 40,
};

enum SchemaTag : uint32_t { kMergeOperator = 2, kTtl = 4, kFilter = 6, kFilterEpochs = 8, kHistory = 10 };
enum TableTag : uint32_t { kSweptThrough = 2, kFilteredThrough = 3, kExpiredAt = 5, kValueLinks = 6 };

void PutInternalKey(std::string* out, const InternalKey& key) {
  PutVarint(out, key.user_key.size() + kTrailerBytes);
  AppendInternalKey(out, key.view());
}

void PutTable(std::string* out, const AddedTable& added) {
  const TableMetadata& t = added.table;
  PutVarint(out, added.family.value());
  PutVarint(out, static_cast<uint64_t>(added.level));
  PutVarint(out, t.number.value());
  PutVarint(out, t.run.value());
  PutVarint(out, t.size_bytes);
  PutFixed64(out, t.table_id);
  PutFixed64(out, t.footer_checksum);
  PutInternalKey(out, t.smallest);
  PutInternalKey(out, t.largest);
  PutVarint(out, t.lowest_sequence.value());
  PutVarint(out, t.highest_sequence.value());
  PutVarint(out, t.entries);
  PutVarint(out, t.tombstones);
  PutVarint(out, t.raw_bytes);
  PutVarint(out, t.creation_unix_micros);
}

int TakeLevel(Decoder* in) {
  const uint64_t level = in->Varint();
  if (level >= static_cast<uint64_t>(kMaxLevels)) in->Fail();
  return in->ok() ? static_cast<int>(level) : 0;
}

ColumnFamilyId TakeFamily(Decoder* in) { return ColumnFamilyId(in->Varint32()); }
FileNumber TakeFileNumber(Decoder* in) { return FileNumber(in->Varint()); }

SequenceNumber TakeSequence(Decoder* in) {
  const uint64_t value = in->Varint();
  if (value > kMaxSequenceNumber.value()) in->Fail();
  return SequenceNumber(in->ok() ? value : 0);
}

InternalKey TakeInternalKey(Decoder* in) {
  const std::optional<InternalKeyView> key = ParseInternalKey(in->LengthPrefixed());
  if (!key.has_value()) {
    in->Fail();
    return InternalKey();
  }
  return InternalKey(*key);
}

AddedTable TakeTable(Decoder* in) {
  AddedTable added;
  TableMetadata& t = added.table;
  added.family = TakeFamily(in);
  added.level = TakeLevel(in);
  t.number = TakeFileNumber(in);
  t.run = RunNumber(in->Varint());
  t.size_bytes = in->Varint();
  t.table_id = in->Fixed64();
  t.footer_checksum = in->Fixed64();
  t.smallest = TakeInternalKey(in);
  t.largest = TakeInternalKey(in);
  t.lowest_sequence = TakeSequence(in);
  t.highest_sequence = TakeSequence(in);
  t.entries = in->Varint();
  t.tombstones = in->Varint();
  t.raw_bytes = in->Varint();
  t.creation_unix_micros = in->Varint();
  return added;
}

ColumnFamilyCreation TakeFamilyCreation(Decoder* in) {
  ColumnFamilyCreation created;
  created.id = TakeFamily(in);
  created.name = in->LengthPrefixed();
  created.comparator_name = in->LengthPrefixed();
  const uint8_t identical = in->Byte();
  if (identical > 1) in->Fail();
  created.equal_means_identical = identical == 1;
  // The database's own family, and no other, has that name.
  if ((created.id == kSystemFamilyId) != (created.name == kSystemFamilyName)) in->Fail();
  return created;
}

// Reads a field that may occur at most once in an edit.
template <class T>
void SetOnce(std::optional<T>* target, T value, Decoder* in) {
  if (target->has_value()) in->Fail();
  *target = std::move(value);
}

std::vector<ValueLinks> TakeValueLinks(Decoder* in) {
  std::vector<ValueLinks> all;
  do {
    ValueLinks& links = all.emplace_back();
    links.file = TakeFileNumber(in);
    links.values = in->Varint();
    links.bytes = in->Varint();
    const FileNumber before = all.size() > 1 ? all[all.size() - 2].file : FileNumber(0);
    if (links.file <= before || links.values == 0) in->Fail();
  } while (in->ok() && in->remaining() > 0);
  return all;
}

void PutValueLinks(std::string* out, const std::vector<ValueLinks>& all) {
  for (const ValueLinks& links : all) {
    PutVarint(out, links.file.value());
    PutVarint(out, links.values);
    PutVarint(out, links.bytes);
  }
}

absl::Status TakeTableWithFields(Decoder* in, VersionEdit* edit) {
  AddedTable& added = edit->added_tables.emplace_back(TakeTable(in));
  return TakeFields("added table", in->Bytes(in->remaining()),
                    [&](uint32_t tag, Decoder* field) -> absl::StatusOr<bool> {
                      SequenceNumber* const into = tag == kSweptThrough      ? &added.table.swept_through
                                                   : tag == kFilteredThrough ? &added.table.filtered_through
                                                                             : nullptr;
                      if (into != nullptr) *into = TakeSequence(field);
                      if (tag == kExpiredAt) added.table.expired_at_millis = field->Varint();
                      if (tag == kValueLinks) added.table.value_links = TakeValueLinks(field);
                      return into != nullptr || tag == kExpiredAt || tag == kValueLinks;
                    });
}

bool HasFields(const TableMetadata& table) {
  return table.swept_through > SequenceNumber(0) || table.filtered_through > SequenceNumber(0) ||
         table.expired_at_millis > 0 || !table.value_links.empty();
}

void PutTableWithFields(std::string* out, const AddedTable& added) {
  PutTable(out, added);
  FieldWriter fields(out);
  const TableMetadata& t = added.table;
  if (t.swept_through > SequenceNumber(0))
    fields.Field(kSweptThrough, [&](std::string* f) { PutVarint(f, t.swept_through.value()); });
  if (t.filtered_through > SequenceNumber(0))
    fields.Field(kFilteredThrough, [&](std::string* f) { PutVarint(f, t.filtered_through.value()); });
  if (t.expired_at_millis > 0) fields.Field(kExpiredAt, [&](std::string* f) { PutVarint(f, t.expired_at_millis); });
  if (!t.value_links.empty()) fields.Field(kValueLinks, [&](std::string* f) { PutValueLinks(f, t.value_links); });
}

// Reads the rest of a field: fields of which none need be known.
absl::Status SkipFields(std::string_view whole, Decoder* in) {
  return TakeFields(whole, in->Bytes(in->remaining()),
                    [](uint32_t, Decoder*) -> absl::StatusOr<bool> { return false; });
}

absl::Status TakeKeptOptions(Decoder* in, VersionEdit* edit) {
  KeptOptions& kept = edit->kept_options.emplace_back();
  kept.family = TakeFamily(in);
  kept.fields = in->Bytes(in->remaining());
  return DecodeKeptOptions(kept.fields).status();
}

std::vector<FilterEpoch> TakeFilterEpochs(Decoder* in) {
  std::vector<FilterEpoch> epochs;
  while (in->ok() && in->remaining() > 0) {
    FilterEpoch& epoch = epochs.emplace_back();
    epoch.sequence = TakeSequence(in);
    epoch.epoch = in->LengthPrefixed();
    const bool ascends = epochs.size() == 1 || epochs[epochs.size() - 2].sequence < epoch.sequence;
    if (!ascends || epoch.epoch.size() > kMaxFilterEpochBytes) in->Fail();
  }
  return epochs;
}

void TakeHistory(Decoder* in, FamilySchema* schema) {
  schema->history_millis = in->Varint();
  schema->history_floor = TakeSequence(in);
  schema->history_begun = TakeSequence(in);
  if (schema->history_millis == 0 || schema->history_floor < schema->history_begun) in->Fail();
}

absl::Status TakeSchema(Decoder* in, VersionEdit* edit) {
  FamilySchema schema{.family = TakeFamily(in)};
  RETURN_IF_ERROR(TakeFields("schema of a column family", in->Bytes(in->remaining()),
                             [&](uint32_t tag, Decoder* field) -> absl::StatusOr<bool> {
                               switch (tag) {
                                 case kMergeOperator:
                                   schema.merge_operator = field->Bytes(field->remaining());
                                   return true;
                                 case kTtl:
                                   schema.ttl_millis = field->Varint();
                                   return true;
                                 case kFilter:
                                   schema.filter = field->Bytes(field->remaining());
                                   return true;
                                 case kFilterEpochs:
                                   schema.filter_epochs = TakeFilterEpochs(field);
                                   return true;
                                 case kHistory:
                                   TakeHistory(field, &schema);
                                   return true;
                               }
                               return false;
                             }));
  if (!schema.empty()) edit->schemas.push_back(std::move(schema));
  return absl::OkStatus();
}

absl::Status TakeLogDirectory(Decoder* in, VersionEdit* edit) {
  KeptLogDirectory kept;
  kept.logs = in->LengthPrefixed();
  kept.database = in->LengthPrefixed();
  SetOnce(&edit->log_directory, std::move(kept), in);
  return SkipFields("log directory", in);
}

RemovedTable TakeRemovedTable(Decoder* in) {
  const ColumnFamilyId family = TakeFamily(in);
  const int level = TakeLevel(in);
  return {family, level, TakeFileNumber(in)};
}

absl::Status TakeSnapshot(uint32_t tag, Decoder* in, VersionEdit* edit) {
  if (tag == kSnapshotDropped) {
    edit->dropped_snapshots.emplace_back(in->LengthPrefixed());
    return absl::OkStatus();
  }
  KeptSnapshot& kept = edit->created_snapshots.emplace_back();
  kept.name = in->LengthPrefixed();
  kept.sequence = TakeSequence(in);
  kept.created_millis = in->Varint();
  kept.expires_millis = in->Varint();
  return SkipFields("named snapshot", in);
}

void PutSnapshots(const VersionEdit& edit, FieldWriter* w) {
  for (const std::string& name : edit.dropped_snapshots) {
    w->Field(kSnapshotDropped, [&](std::string* f) { PutLengthPrefixed(f, name); });
  }
  for (const KeptSnapshot& kept : edit.created_snapshots) {
    w->Field(kSnapshotCreated, [&](std::string* f) {
      PutLengthPrefixed(f, kept.name);
      PutVarint(f, kept.sequence.value());
      PutVarint(f, kept.created_millis);
      PutVarint(f, kept.expires_millis);
    });
  }
}

ClockFloor TakeClockFloor(Decoder* in) {
  const uint64_t now = in->Varint();
  return {now, in->Varint()};
}

// The progress of a family.
void TakeMark(uint32_t tag, Decoder* in, VersionEdit* edit) {
  const ColumnFamilyId family = TakeFamily(in);
  const SequenceNumber sequence = TakeSequence(in);
  if (tag == kFlushedThrough) {
    edit->flushed_through.push_back({family, sequence});
  } else {
    edit->history_floors.push_back({family, sequence});
  }
}

ClosedLog TakeClosedLog(Decoder* in) {
  const FileNumber number = TakeFileNumber(in);
  return {number, in->Varint()};
}

absl::StatusOr<bool> Took(const absl::Status& status) {
  if (!status.ok()) return status;
  return true;
}

// Returns false for an unknown tag.
absl::StatusOr<bool> TakeField(uint32_t tag, Decoder* in, VersionEdit* edit) {
  switch (tag) {
    case kDatabaseId:
      SetOnce(&edit->database_id, in->Fixed64(), in);
      return true;
    case kHashSeed:
      SetOnce(&edit->hash_seed, in->Fixed64(), in);
      return true;
    case kNextFileNumber:
      SetOnce(&edit->next_file_number, TakeFileNumber(in), in);
      return true;
    case kLastSequence:
      SetOnce(&edit->last_sequence, TakeSequence(in), in);
      return true;
    case kMinLogNumber:
      SetOnce(&edit->min_log_number, TakeFileNumber(in), in);
      return true;
    case kFamilyCreated:
      edit->created_families.push_back(TakeFamilyCreation(in));
      return true;
    case kFamilyDropped:
      edit->dropped_families.push_back(TakeFamily(in));
      return true;
    case kTableAdded:
      edit->added_tables.push_back(TakeTable(in));
      return true;
    case kTableRemoved:
      edit->removed_tables.push_back(TakeRemovedTable(in));
      return true;
    case kLogClosed:
      SetOnce(&edit->closed_log, TakeClosedLog(in), in);
      return true;
    case kFeatures:
      RETURN_IF_ERROR(TakeFeatures(in->Varint(), edit));
      return true;
    case kTableAddedWithFields:
      return Took(TakeTableWithFields(in, edit));
    case kKeptOptions:
      return Took(TakeKeptOptions(in, edit));
    case kFamilySchema:
      return Took(TakeSchema(in, edit));
    case kLogDirectory:
      return Took(TakeLogDirectory(in, edit));
    case kSnapshotCreated:
    case kSnapshotDropped:
      RETURN_IF_ERROR(TakeSnapshot(tag, in, edit));
      return true;
    case kClockFloor:
      SetOnce(&edit->clock_floor, TakeClockFloor(in), in);
      return true;
    case kFlushedThrough:
    case kHistoryFloor:
      TakeMark(tag, in, edit);
      return true;
  }
  return false;
}

void PutSchema(std::string* out, const FamilySchema& schema) {
  PutVarint(out, schema.family.value());
  FieldWriter fields(out);
  if (!schema.merge_operator.empty()) {
    fields.Field(kMergeOperator, [&](std::string* name) { *name += schema.merge_operator; });
  }
  if (schema.ttl_millis > 0) fields.Field(kTtl, [&](std::string* ttl) { PutVarint(ttl, schema.ttl_millis); });
  if (!schema.filter.empty()) fields.Field(kFilter, [&](std::string* name) { *name += schema.filter; });
  if (!schema.filter_epochs.empty()) {
    fields.Field(kFilterEpochs, [&](std::string* f) {
      for (const FilterEpoch& epoch : schema.filter_epochs) {
        PutVarint(f, epoch.sequence.value());
        PutLengthPrefixed(f, epoch.epoch);
      }
    });
  }
  if (schema.history_millis == 0) return;
  fields.Field(kHistory, [&](std::string* f) {
    PutVarint(f, schema.history_millis);
    PutVarint(f, schema.history_floor.value());
    PutVarint(f, schema.history_begun.value());
  });
}

// The meaning of data: features, the clock, snapshots, schemas and floors of histories.
void PutMeaning(const VersionEdit& edit, FieldWriter* w) {
  if (const Features features = FeaturesOf(edit); features != Features()) {
    w->Field(kFeatures, [&](std::string* f) { PutVarint(f, features.bits()); });
  }
  if (edit.clock_floor) {
    w->Field(kClockFloor, [&](std::string* f) {
      PutVarint(f, edit.clock_floor->now_millis);
      PutVarint(f, edit.clock_floor->removed_millis);
    });
  }
  PutSnapshots(edit, w);
  for (const FamilySchema& schema : edit.schemas) {
    w->Field(kFamilySchema, [&](std::string* f) { PutSchema(f, schema); });
  }
  for (const HistoryFloor& floor : edit.history_floors) {
    w->Field(kHistoryFloor, [&](std::string* f) {
      PutVarint(f, floor.family.value());
      PutVarint(f, floor.sequence.value());
    });
  }
}

}  // namespace

void VersionEdit::EncodeTo(std::string* out) const {
  FieldWriter w(out);
  if (database_id) w.Field(kDatabaseId, [&](std::string* f) { PutFixed64(f, *database_id); });
  if (hash_seed) w.Field(kHashSeed, [&](std::string* f) { PutFixed64(f, *hash_seed); });
  if (next_file_number) w.Field(kNextFileNumber, [&](std::string* f) { PutVarint(f, next_file_number->value()); });
  if (last_sequence) w.Field(kLastSequence, [&](std::string* f) { PutVarint(f, last_sequence->value()); });
  if (min_log_number) w.Field(kMinLogNumber, [&](std::string* f) { PutVarint(f, min_log_number->value()); });
  for (const ColumnFamilyCreation& created : created_families) {
    w.Field(kFamilyCreated, [&](std::string* f) {
      PutVarint(f, created.id.value());
      PutLengthPrefixed(f, created.name);
      PutLengthPrefixed(f, created.comparator_name);
      f->push_back(created.equal_means_identical ? 1 : 0);
    });
  }
  for (const KeptOptions& kept : kept_options) {
    w.Field(kKeptOptions, [&](std::string* f) {
      PutVarint(f, kept.family.value());
      *f += kept.fields;
    });
  }
  PutMeaning(*this, &w);
  for (const ColumnFamilyId dropped : dropped_families) {
    w.Field(kFamilyDropped, [&](std::string* f) { PutVarint(f, dropped.value()); });
  }
  for (const FlushedThrough& flushed : flushed_through) {
    w.Field(kFlushedThrough, [&](std::string* f) {
      PutVarint(f, flushed.family.value());
      PutVarint(f, flushed.sequence.value());
    });
  }
  for (const AddedTable& added : added_tables) {
    if (HasFields(added.table)) {
      w.Field(kTableAddedWithFields, [&](std::string* f) { PutTableWithFields(f, added); });
    } else {
      w.Field(kTableAdded, [&](std::string* f) { PutTable(f, added); });
    }
  }
  for (const RemovedTable& removed : removed_tables) {
    w.Field(kTableRemoved, [&](std::string* f) {
      PutVarint(f, removed.family.value());
      PutVarint(f, static_cast<uint64_t>(removed.level));
      PutVarint(f, removed.number.value());
    });
  }
  if (closed_log) {
    w.Field(kLogClosed, [&](std::string* f) {
      PutVarint(f, closed_log->number.value());
      PutVarint(f, closed_log->length_bytes);
    });
  }
  if (log_directory) {
    w.Field(kLogDirectory, [&](std::string* f) {
      PutLengthPrefixed(f, log_directory->logs);
      PutLengthPrefixed(f, log_directory->database);
    });
  }
}

std::string VersionEdit::Encode() const {
  std::string bytes;
  EncodeTo(&bytes);
  return bytes;
}

absl::StatusOr<VersionEdit> VersionEdit::Decode(std::string_view bytes) {
  VersionEdit edit;
  RETURN_IF_ERROR(
      TakeFields("version edit", bytes, [&](uint32_t tag, Decoder* in) { return TakeField(tag, in, &edit); }));
  return edit;
}

}  // namespace sepal
