#include "db/act/manifest/manifest_recovery.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/act/files/buffered_file_reader.h"
#include "db/act/files/guard.h"
#include "db/format/file_names.h"
#include "db/format/manifest_format.h"
#include "util/base/coding.h"
#include "util/base/hash.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

// The contents of a manifest, read without regard to the others.
struct Examined {
  std::string path;
  std::optional<ManifestHeader> header;
  uint64_t header_checksum = 0;
  bool foreign = false;  // its beginning is neither that of a Sepal manifest nor of one whose creation was cut off
  bool sealed = false;
  uint64_t seal_end = 0;
  bool sealed_behind = false;              // there is a seal after a damaged record
  bool cut_off = false;                    // everything in it is good: the file ends within the header or a record
  bool took_edits = false;                 // after the seal
  std::optional<FileNumber> continued_in;  // also if found only after a damaged record
  uint64_t synced_bytes = 0;               // from the greatest "synced" record, also after a damaged record
  uint64_t length_bytes = 0;               // up to the first damaged record
  uint64_t checksum = 0;                   // of the last good record
  absl::Status bad;                        // the damage there; ok: the file ends there

  bool PartOfChain() const { return sealed || continued_in.has_value(); }
  bool WasFinished() const { return PartOfChain() || synced_bytes > 0 || sealed_behind; }
};

struct Record {
  ManifestRecordKind kind = ManifestRecordKind::kEdit;
  uint64_t offset = 0;
  uint64_t checksum = 0;
  std::string_view payload;  // valid until the next record is read
};

// Reads records in order and verifies the chain of checksums.
class RecordReader {
 public:
  RecordReader(BufferedFileReader* window, uint64_t header_checksum) : window_(window), checksum_(header_checksum) {}
  // Goes on behind a record.
  RecordReader(BufferedFileReader* window, uint64_t offset, uint64_t checksum)
      : window_(window), offset_(offset), checksum_(checksum) {}

  uint64_t offset() const { return offset_; }
  uint64_t checksum() const { return checksum_; }
  // Whether the file has ended, perhaps within a record.
  bool at_end() const { return at_end_; }

  // Returns false at the end of the file, and at a damaged record (`*bad` says what is wrong).
  absl::StatusOr<bool> Next(Record* record, absl::Status* bad) {
    ASSIGN_OR_RETURN(std::string_view bytes, window_->At(offset_, kManifestRecordHeaderBytes));
    at_end_ = bytes.empty();
    if (at_end_) return false;
    const uint64_t rest = window_->size() - offset_;
    const uint64_t total = bytes.size() < kManifestRecordHeaderBytes
                               ? kManifestRecordHeaderBytes
                               : kManifestRecordHeaderBytes + uint64_t{DecodeFixed32(bytes.data())};
    if (total > rest) {
      at_end_ = true;
      *bad = Damaged(window_->path(), offset_, "manifest record", absl::StrFormat("%u bytes", total),
                     absl::StrFormat("%u bytes up to the end of the file", rest));
      return false;
    }
    ASSIGN_OR_RETURN(bytes, window_->At(offset_, total));
    if (bytes.size() < total) return absl::AbortedError(absl::StrFormat("%s became shorter", window_->path()));
    const uint64_t stored = DecodeFixed64(bytes.data() + 4);
    const uint64_t computed = Checksum64(bytes.substr(12), checksum_);
    if (stored != computed) {
      *bad = Damaged(window_->path(), offset_, "checksum of a manifest record", Hex64(stored), Hex64(computed));
      return false;
    }
    *record = {static_cast<ManifestRecordKind>(bytes[12]), offset_, stored, bytes.substr(kManifestRecordHeaderBytes)};
    checksum_ = stored;
    offset_ += total;
    return true;
  }

 private:
  BufferedFileReader* const window_;
  uint64_t offset_ = kManifestHeaderBytes;
  uint64_t checksum_;
  bool at_end_ = false;
};

absl::Status Impossible(const std::string& path, const Record& record) {
  return Damaged(
      path, record.offset,
      absl::StrFormat("manifest record of kind %d with a good checksum, out of place", static_cast<int>(record.kind)));
}

// Takes one good record into account; `records` is the number of records before it, `previous` the checksum before it.
absl::Status TakeRecord(const Record& record, uint64_t records, uint64_t previous, Examined* m) {
  switch (record.kind) {
    case ManifestRecordKind::kEdit:
      m->took_edits |= m->sealed;
      return absl::OkStatus();
    case ManifestRecordKind::kSeal: {
      const std::optional<ManifestSeal> seal = DecodeManifestSeal(record.payload);
      if (m->sealed || !seal || seal->records != records || seal->checksum != previous) break;
      m->sealed = true;
      m->seal_end = record.offset + kManifestRecordHeaderBytes + record.payload.size();
      return absl::OkStatus();
    }
    case ManifestRecordKind::kContinuedIn: {
      const std::optional<uint64_t> next =
          DecodeManifestControl(record.kind, record.payload, record.offset, m->header_checksum);
      if (!m->sealed || !next || *next <= m->header->number.value()) break;
      m->continued_in = FileNumber(*next);
      return absl::OkStatus();
    }
    case ManifestRecordKind::kSynced: {
      const std::optional<uint64_t> synced =
          DecodeManifestControl(record.kind, record.payload, record.offset, m->header_checksum);
      if (!m->sealed || !synced || *synced > record.offset) break;
      m->synced_bytes = std::max(m->synced_bytes, *synced);
      return absl::OkStatus();
    }
  }
  return Impossible(m->path, record);
}

// A seal contains the checksum with which its own begins, so it can be recognised without the records before it.
bool IsSeal(std::string_view record) {
  const std::string_view payload = record.substr(kManifestRecordHeaderBytes);
  const std::optional<ManifestSeal> seal = DecodeManifestSeal(payload);
  return seal && DecodeFixed64(record.data() + 4) == Checksum64(record.substr(12), seal->checksum);
}

// Looks for control records and a seal from `begin` on, at every byte.
absl::Status FindWitnesses(BufferedFileReader* window, uint64_t begin, uint64_t header_checksum, Examined* m) {
  constexpr uint64_t kBytes = kManifestRecordHeaderBytes + kManifestControlBytes;
  for (uint64_t offset = begin; offset + kBytes <= window->size(); ++offset) {
    ASSIGN_OR_RETURN(const std::string_view bytes, window->At(offset, kBytes));
    if (bytes.size() < kBytes) break;
    if (DecodeFixed32(bytes.data()) != kManifestControlBytes) continue;
    const auto kind = static_cast<ManifestRecordKind>(bytes[12]);
    m->sealed_behind |= kind == ManifestRecordKind::kSeal && IsSeal(bytes);
    if (kind != ManifestRecordKind::kContinuedIn && kind != ManifestRecordKind::kSynced) continue;
    const std::optional<uint64_t> value =
        DecodeManifestControl(kind, bytes.substr(kManifestRecordHeaderBytes), offset, header_checksum);
    if (!value) continue;
    if (kind == ManifestRecordKind::kSynced) {
      m->synced_bytes = std::max(m->synced_bytes, *value);
    } else {
      m->continued_in = FileNumber(*value);
    }
  }
  return absl::OkStatus();
}

absl::Status ReadRecords(BufferedFileReader* window, Examined* m) {
  RecordReader reader(window, m->header_checksum);
  Record record;
  for (uint64_t records = 0;; ++records) {
    m->length_bytes = reader.offset();
    m->checksum = reader.checksum();
    ASSIGN_OR_RETURN(const bool more, reader.Next(&record, &m->bad));
    if (!more) break;
    RETURN_IF_ERROR(TakeRecord(record, records, m->checksum, m));
    if (m->continued_in.has_value()) return absl::OkStatus();
  }
  m->cut_off = reader.at_end();
  if (!m->bad.ok()) RETURN_IF_ERROR(FindWitnesses(window, m->length_bytes, m->header_checksum, m));
  m->took_edits |= m->sealed && m->synced_bytes > m->seal_end;
  return absl::OkStatus();
}

// A first sector whose writing was cut off is empty, or zeros, or a part of what it should be.
bool IsForeign(std::string_view head) {
  std::string magic;
  PutFixed64(&magic, kManifestMagic);
  const std::string_view start = head.substr(0, magic.size());
  return !std::string_view(magic).starts_with(start) && start.find_first_not_of('\0') != std::string_view::npos;
}

absl::StatusOr<Examined> Examine(Directory* directory, FileNumber number) {
  ASSIGN_OR_RETURN(BufferedFileReader window, BufferedFileReader::Open(directory, ManifestFileName(number)));
  ASSIGN_OR_RETURN(const std::string_view bytes, window.At(0, kManifestHeaderBytes));
  const std::string head(bytes);
  Examined m;
  m.path = window.path();
  absl::StatusOr<ManifestHeader> header = ManifestHeader::Decode(head, m.path);
  if (header.ok() && header->number != number) {
    header = Damaged(m.path, 16, "number in the manifest header", ToString(number), ToString(header->number));
  }
  if (header.ok()) {
    m.header = *header;
    m.header_checksum = ManifestHeaderChecksum(head);
    RETURN_IF_ERROR(ReadRecords(&window, &m));
    return m;
  }
  if (!absl::IsDataLoss(header.status())) return header.status();
  m.bad = header.status();
  m.foreign = IsForeign(head);
  m.cut_off = head.size() < kManifestHeaderBytes && !m.foreign;
  if (head.size() < kManifestHeaderBytes) return m;
  // Either the header's checksum is damaged, or what it covers.
  RETURN_IF_ERROR(FindWitnesses(&window, kManifestHeaderBytes, ManifestHeaderChecksum(head), &m));
  RETURN_IF_ERROR(FindWitnesses(&window, kManifestHeaderBytes,
                                Checksum64(std::string_view(head).substr(0, kManifestHeaderBytes - 8), 0), &m));
  return m;
}

class ChainFinder {
 public:
  ChainFinder(Directory* directory, ManifestReference floor, bool other_files, ManifestRecovery* result)
      : directory_(directory), floor_(floor), other_files_(other_files), result_(result) {}

  // Returns the last manifest of the chain; null if there is no database.
  absl::StatusOr<const Examined*> Find(std::span<const DirectoryEntry> listing) {
    RETURN_IF_ERROR(ExamineAll(listing));
    const auto start = std::find_if(manifests_.begin(), manifests_.end(),
                                    [](const auto& entry) { return entry.second.PartOfChain(); });
    if (start == manifests_.end()) return NoDatabase();
    FileNumber number = start->first;
    const Examined* m = &start->second;
    while (m->continued_in.has_value()) {
      result_->older.push_back(number);
      // Manifests are removed in ascending order, and only once a later one is sealed. A missing link between an older
      // manifest and a sealed one therefore only means that the removal of the older one was not durable (a sync of the
      // directory had failed), not that anything is lost.
      const auto newest = NewestSealed();
      if (newest->first > *m->continued_in && !manifests_.contains(*m->continued_in)) {
        number = newest->first;
        m = &newest->second;
        continue;
      }
      ASSIGN_OR_RETURN(const Examined* next, Successor(number, *m));
      number = *m->continued_in;
      m = next;
    }
    RETURN_IF_ERROR(CheckOthers(number, *m));
    RETURN_IF_ERROR(CheckEnd(number, *m));
    return m;
  }

 private:
  absl::Status ExamineAll(std::span<const DirectoryEntry> listing) {
    for (const DirectoryEntry& entry : listing) {
      const std::optional<ParsedFileName> parsed = ParseFileName(entry.name);
      strangers_ |= !parsed.has_value();
      if (!parsed.has_value()) continue;
      other_files_ |= parsed->kind == FileKind::kTable || parsed->kind == FileKind::kLog;
      if (parsed->kind != FileKind::kManifest) continue;
      ASSIGN_OR_RETURN(manifests_[parsed->number], Examine(directory_, parsed->number));
    }
    return absl::OkStatus();
  }

  // There is one.
  std::map<FileNumber, Examined>::const_iterator NewestSealed() const {
    auto newest = manifests_.end();
    for (auto it = manifests_.begin(); it != manifests_.end(); ++it) {
      if (it->second.sealed || newest == manifests_.end()) newest = it;
    }
    return newest;
  }

  absl::StatusOr<const Examined*> NoDatabase() {
    for (const auto& [number, m] : manifests_) {
      if (other_files_ || (m.foreign && !MayBeFirst(number)) || m.synced_bytes > 0 || floor_.number > FileNumber(0)) {
        if (!m.bad.ok()) return m.bad;
        return Damaged(m.path, m.length_bytes, "a manifest without its seal");
      }
      result_->leftovers.push_back(ManifestFileName(number));
    }
    if (!other_files_) return nullptr;
    return absl::DataLossError(absl::StrFormat("%s: there are tables or logs, but no manifest", directory_->path()));
  }

  // Whether a file without a manifest's beginning, in a directory without tables or logs, may be what a power loss left
  // of a database's first manifest: if nothing was synced, the disk may hold anything. Manifests of other programs come
  // with files that Sepal never creates, or with another CURRENT.
  bool MayBeFirst(FileNumber number) const {
    if (number != kFirstManifest || manifests_.size() != 1 || strangers_) return false;
    const absl::StatusOr<GuardState> guard = ReadGuard(directory_);
    return guard.ok() && *guard != GuardState::kForeign;
  }

  absl::StatusOr<const Examined*> Successor(FileNumber own_number, const Examined& m) {
    const FileNumber number = *m.continued_in;
    if (number <= own_number) {
      return Damaged(m.path, m.length_bytes, "the manifest continues in an earlier one");
    }
    auto it = manifests_.find(number);
    if (it == manifests_.end()) {
      // It was created or removed since the directory was listed.
      absl::StatusOr<Examined> next = Examine(directory_, number);
      if (absl::IsNotFound(next.status())) {
        return Damaged(absl::StrFormat("%s/%s", directory_->path(), ManifestFileName(number)), 0,
                       absl::StrFormat("the manifest in which %s continues is missing", m.path));
      }
      RETURN_IF_ERROR(next.status());
      it = manifests_.emplace(number, *std::move(next)).first;
    }
    const Examined& next = it->second;
    if (next.continued_in.has_value()) return &next;
    if (!next.sealed) {
      return next.bad.ok() ? Damaged(next.path, next.length_bytes, "a manifest without its seal") : next.bad;
    }
    if (m.header.has_value() && m.header->database_id != next.header->database_id) {
      return Damaged(next.path, 24, "database id of the manifest", Hex64(m.header->database_id),
                     Hex64(next.header->database_id));
    }
    return &next;
  }

  // In manifests off the chain nothing may ever have been acknowledged. A manifest that was created but never used has
  // the same state as the last one of the chain.
  absl::Status CheckOthers(FileNumber last, const Examined& end) {
    for (const auto& [number, m] : manifests_) {
      const bool on_chain =
          number == last || std::find(result_->older.begin(), result_->older.end(), number) != result_->older.end();
      if (on_chain) continue;
      const bool witnessed = m.synced_bytes > 0 && !m.sealed;
      // If a link is missing, this manifest was skipped: its successor is the last one, is checked here, or was
      // removed.
      const bool superseded = m.continued_in.has_value() && *m.continued_in <= last;
      const bool was_in_use = number < last ? m.synced_bytes > 0 && !superseded : m.took_edits || witnessed;
      if (was_in_use) {
        if (!end.bad.ok() && number > last) return end.bad;
        if (!m.bad.ok()) return m.bad;
        return Damaged(
            m.path, m.length_bytes,
            absl::StrFormat("the manifest was in use, but no other manifest continues in it (the last one is %s)",
                            end.path));
      }
      result_->leftovers.push_back(ManifestFileName(number));
    }
    return absl::OkStatus();
  }

  absl::Status CheckEnd(FileNumber number, const Examined& m) const {
    if (floor_.number > number) {
      return Damaged(absl::StrFormat("%s/%s", directory_->path(), ManifestFileName(floor_.number)), 0,
                     absl::StrFormat("a log names this manifest, but the last one is %s", m.path));
    }
    const uint64_t durable = floor_.number == number ? std::max(floor_.durable_bytes, m.synced_bytes) : m.synced_bytes;
    if (durable <= m.length_bytes) return absl::OkStatus();
    if (!m.bad.ok())
      return Annotate(m.bad, absl::StrFormat("damage in the first %u bytes, which were synced", durable));
    return Damaged(m.path, m.length_bytes, "manifest", absl::StrFormat("at least %u bytes", durable),
                   absl::StrFormat("%u", m.length_bytes));
  }

  Directory* const directory_;
  const ManifestReference floor_;
  bool other_files_;
  bool strangers_ = false;  // files with names that Sepal never uses
  ManifestRecovery* const result_;
  std::map<FileNumber, Examined> manifests_;
};

absl::Status DeliverEdit(const std::string& path, const Record& record, const EditSink& sink) {
  absl::StatusOr<VersionEdit> edit = VersionEdit::Decode(record.payload);
  const absl::Status taken = edit.ok() ? sink(*std::move(edit)) : edit.status();
  const bool damaged = !edit.ok() || absl::IsDataLoss(taken);
  return damaged ? Annotate(taken, absl::StrFormat("%s: offset %u", path, record.offset)) : taken;
}

absl::Status DeliverEdits(Directory* directory, const Examined& m, ManifestRecovery* result, const EditSink& sink) {
  ASSIGN_OR_RETURN(BufferedFileReader window, BufferedFileReader::Open(directory, ManifestFileName(m.header->number)));
  RecordReader reader(&window, m.header_checksum);
  while (reader.offset() < m.length_bytes) {
    Record record;
    absl::Status bad;
    ASSIGN_OR_RETURN(const bool more, reader.Next(&record, &bad));
    RETURN_IF_ERROR(bad);
    if (!more) return absl::AbortedError(absl::StrFormat("%s became shorter", m.path));
    if (record.kind != ManifestRecordKind::kEdit) continue;
    RETURN_IF_ERROR(DeliverEdit(m.path, record, sink));
    ++result->edits;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ManifestRecovery> RecoverManifest(Directory* directory, ManifestReference floor, bool other_files,
                                                 const EditSink& sink) {
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> listing, directory->List());
  return RecoverManifest(directory, listing, floor, other_files, sink);
}

absl::StatusOr<ManifestRecovery> RecoverManifest(Directory* directory, std::span<const DirectoryEntry> listing,
                                                 ManifestReference floor, bool other_files, const EditSink& sink) {
  ManifestRecovery result;
  ChainFinder finder(directory, floor, other_files, &result);
  ASSIGN_OR_RETURN(const Examined* last, finder.Find(listing));
  if (last == nullptr) return result;
  result.found = true;
  result.number = last->header->number;
  result.database_id = last->header->database_id;
  result.length_bytes = last->length_bytes;
  result.checksum = last->checksum;
  result.header_checksum = last->header_checksum;
  if (!last->bad.ok()) result.torn = std::string(ToStd(last->bad.message()));
  RETURN_IF_ERROR(DeliverEdits(directory, *last, &result, sink));
  return result;
}

absl::StatusOr<bool> ContinueManifest(Directory* directory, ManifestRecovery* known, const EditSink& sink) {
  absl::StatusOr<BufferedFileReader> window = BufferedFileReader::Open(directory, ManifestFileName(known->number));
  if (absl::IsNotFound(window.status())) return false;
  RETURN_IF_ERROR(window.status());
  RecordReader reader(&*window, known->length_bytes, known->checksum);
  for (;;) {
    Record record;
    absl::Status bad;
    ASSIGN_OR_RETURN(const bool more, reader.Next(&record, &bad));
    if (!more) return bad.ok() && window->size() >= known->length_bytes;
    if (record.kind == ManifestRecordKind::kEdit) {
      RETURN_IF_ERROR(DeliverEdit(window->path(), record, sink));
      ++known->edits;
    } else if (record.kind != ManifestRecordKind::kSynced) {
      return false;
    }
    known->length_bytes = reader.offset();
    known->checksum = reader.checksum();
  }
}

absl::StatusOr<bool> ManifestHasGoneOn(Directory* directory, const ManifestRecovery& known) {
  ManifestRecovery now = known;
  ASSIGN_OR_RETURN(const bool whole, ContinueManifest(directory, &now, [](VersionEdit&&) { return absl::OkStatus(); }));
  if (now.length_bytes != known.length_bytes || (!whole && known.torn.empty())) return true;
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> listing, directory->List());
  return std::ranges::any_of(listing, [&](const DirectoryEntry& entry) {
    const std::optional<ParsedFileName> parsed = ParseFileName(entry.name);
    return parsed.has_value() && parsed->kind == FileKind::kManifest && parsed->number > known.number;
  });
}

absl::StatusOr<bool> MayHoldFinishedManifest(Directory* directory) {
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> listing, directory->List());
  for (const DirectoryEntry& entry : listing) {
    const std::optional<ParsedFileName> parsed = ParseFileName(entry.name);
    if (!parsed.has_value() || parsed->kind != FileKind::kManifest) continue;
    ASSIGN_OR_RETURN(const Examined m, Examine(directory, parsed->number));
    if (m.WasFinished() || !m.cut_off) return true;
  }
  return false;
}

}  // namespace sepal
