#include "db/format/version_edit.h"

#include "absl/strings/str_format.h"
#include "util/base/coding.h"
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
};

// Writes fields through one scratch buffer, since a field's length comes before its bytes.
class FieldWriter {
 public:
  explicit FieldWriter(std::string* out) : out_(out) {}
  // What `fill` appends becomes the field `tag`.
  template <class Fill>
  void Field(Tag tag, Fill fill) {
    field_.clear();
    fill(&field_);
    PutVarint(out_, tag);
    PutLengthPrefixed(out_, field_);
  }

 private:
  std::string* out_;
  std::string field_;
};

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
  return created;
}

// A field that an edit has at most once.
template <class T>
void SetOnce(std::optional<T>* target, T value, Decoder* in) {
  if (target->has_value()) in->Fail();
  *target = value;
}

// False for a tag that this reader does not know.
bool TakeField(uint32_t tag, Decoder* in, VersionEdit* edit) {
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
    case kFlushedThrough: {
      const ColumnFamilyId family = TakeFamily(in);
      edit->flushed_through.push_back({family, TakeSequence(in)});
      return true;
    }
    case kTableAdded:
      edit->added_tables.push_back(TakeTable(in));
      return true;
    case kTableRemoved: {
      const ColumnFamilyId family = TakeFamily(in);
      const int level = TakeLevel(in);
      edit->removed_tables.push_back({family, level, TakeFileNumber(in)});
      return true;
    }
    case kLogClosed: {
      const FileNumber number = TakeFileNumber(in);
      SetOnce(&edit->closed_log, ClosedLog{number, in->Varint()}, in);
      return true;
    }
  }
  return false;
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
    w.Field(kTableAdded, [&](std::string* f) { PutTable(f, added); });
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
}

std::string VersionEdit::Encode() const {
  std::string bytes;
  EncodeTo(&bytes);
  return bytes;
}

absl::StatusOr<VersionEdit> VersionEdit::Decode(std::string_view bytes) {
  VersionEdit edit;
  Decoder in(bytes);
  while (!in.empty()) {
    const size_t offset = bytes.size() - in.remaining();
    const uint32_t tag = in.Varint32();
    Decoder field(in.LengthPrefixed());
    if (!in.ok()) return absl::DataLossError(absl::StrFormat("version edit: offset %u: a field is cut short", offset));
    if (!TakeField(tag, &field, &edit)) {
      if (tag % 2 != 0) continue;
      return absl::FailedPreconditionError(absl::StrFormat(
          "version edit: unknown field %u: the database was written by a newer version of the library", tag));
    }
    if (!field.Done())
      return absl::DataLossError(absl::StrFormat("version edit: offset %u: bad field %u", offset, tag));
  }
  return edit;
}

std::string ToString(const VersionEdit& edit) {
  std::string s;
  if (edit.database_id) s += absl::StrFormat("database id %s\n", Hex64(*edit.database_id));
  if (edit.hash_seed) s += absl::StrFormat("hash seed %s\n", Hex64(*edit.hash_seed));
  if (edit.next_file_number) s += absl::StrFormat("next file number %u\n", edit.next_file_number->value());
  if (edit.last_sequence) s += absl::StrFormat("last sequence %u\n", edit.last_sequence->value());
  if (edit.min_log_number) s += absl::StrFormat("minimum log number %u\n", edit.min_log_number->value());
  for (const ColumnFamilyCreation& created : edit.created_families) {
    s += absl::StrFormat("create column family %u \"%s\", comparator %s%s\n", created.id.value(),
                         Printable(created.name), Printable(created.comparator_name),
                         created.equal_means_identical ? "" : " (equal keys may differ)");
  }
  for (const ColumnFamilyId dropped : edit.dropped_families) {
    s += absl::StrFormat("drop column family %u\n", dropped.value());
  }
  for (const FlushedThrough& flushed : edit.flushed_through) {
    s += absl::StrFormat("family %u flushed through %u\n", flushed.family.value(), flushed.sequence.value());
  }
  for (const RemovedTable& removed : edit.removed_tables) {
    s += absl::StrFormat("family %u level %d remove table %06u\n", removed.family.value(), removed.level,
                         removed.number.value());
  }
  for (const AddedTable& added : edit.added_tables) {
    s += absl::StrFormat("family %u level %d add %s\n", added.family.value(), added.level, ToString(added.table));
  }
  if (edit.closed_log) {
    s += absl::StrFormat("log %06u closed at %u bytes\n", edit.closed_log->number.value(),
                         edit.closed_log->length_bytes);
  }
  return s;
}

}  // namespace sepal
