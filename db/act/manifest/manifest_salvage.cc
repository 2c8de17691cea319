#include "db/act/manifest/manifest_salvage.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "db/act/files/buffered_file_reader.h"
#include "db/format/file_names.h"
#include "db/format/manifest_format.h"
#include "util/base/coding.h"
#include "util/base/hash.h"
#include "util/base/status.h"

namespace sepal {
namespace {

class ManifestSalvage {
 public:
  ManifestSalvage(BufferedFileReader* window, std::string_view header)
      : window_(window),
        header_checksum_(ManifestHeaderChecksum(header)),
        computed_(Checksum64(header.substr(0, kManifestHeaderBytes - 8), 0)) {}

  absl::StatusOr<std::vector<VersionEdit>> Run() {
    uint64_t offset = kManifestHeaderBytes;
    uint64_t seed = header_checksum_;
    while (offset < window_->size()) {
      ASSIGN_OR_RETURN(std::optional<uint64_t> next, Take(offset, &seed));
      if (!next.has_value()) {
        ASSIGN_OR_RETURN(next, Resume(offset, &seed));
      }
      if (!next.has_value()) break;
      offset = *next;
    }
    return std::move(edits_);
  }

 private:
  // Returns the offset after the record at `offset` if it is intact, and keeps its edit.
  absl::StatusOr<std::optional<uint64_t>> Take(uint64_t offset, uint64_t* seed) {
    ASSIGN_OR_RETURN(std::string_view bytes, window_->At(offset, kManifestRecordHeaderBytes));
    if (bytes.size() < kManifestRecordHeaderBytes) return std::nullopt;
    const uint64_t total = kManifestRecordHeaderBytes + uint64_t{DecodeFixed32(bytes.data())};
    if (total > window_->size() - offset) return std::nullopt;
    ASSIGN_OR_RETURN(bytes, window_->At(offset, total));
    if (bytes.size() < total) return std::nullopt;
    const uint64_t stored = DecodeFixed64(bytes.data() + 4);
    if (Checksum64(bytes.substr(12), *seed) != stored) return std::nullopt;
    *seed = stored;
    if (static_cast<ManifestRecordKind>(bytes[12]) == ManifestRecordKind::kEdit) {
      absl::StatusOr<VersionEdit> edit = VersionEdit::Decode(bytes.substr(kManifestRecordHeaderBytes));
      if (absl::IsFailedPrecondition(edit.status())) return edit.status();  // a newer library's, not damage
      if (edit.ok()) edits_.push_back(*std::move(edit));
    }
    return offset + total;
  }

  // After a bad record, finds the next offset from which the chain of checksums can be followed: after that record if
  // its length and checksum are right, or after a control record, which can be verified alone.
  absl::StatusOr<std::optional<uint64_t>> Resume(uint64_t bad, uint64_t* seed) {
    constexpr uint64_t kControlBytes = kManifestRecordHeaderBytes + kManifestControlBytes;
    ASSIGN_OR_RETURN(std::string_view bytes, window_->At(bad, kManifestRecordHeaderBytes));
    if (bytes.size() == kManifestRecordHeaderBytes) {
      const uint64_t after = bad + kManifestRecordHeaderBytes + DecodeFixed32(bytes.data());
      uint64_t next_seed = DecodeFixed64(bytes.data() + 4);
      if (after < window_->size()) {
        ASSIGN_OR_RETURN(const std::optional<uint64_t> next, Take(after, &next_seed));
        if (next.has_value()) {
          *seed = next_seed;
          return next;
        }
      }
    }
    for (uint64_t offset = bad + 1; offset + kControlBytes <= window_->size(); ++offset) {
      ASSIGN_OR_RETURN(bytes, window_->At(offset, kControlBytes));
      if (bytes.size() < kControlBytes) break;
      if (DecodeFixed32(bytes.data()) != kManifestControlBytes) continue;
      const auto kind = static_cast<ManifestRecordKind>(bytes[12]);
      if (kind != ManifestRecordKind::kContinuedIn && kind != ManifestRecordKind::kSynced) continue;
      const std::string_view payload = bytes.substr(kManifestRecordHeaderBytes);
      if (!DecodeManifestControl(kind, payload, offset, header_checksum_).has_value() &&
          !DecodeManifestControl(kind, payload, offset, computed_).has_value()) {
        continue;
      }
      *seed = DecodeFixed64(bytes.data() + 4);
      return offset + kControlBytes;
    }
    return std::nullopt;
  }

  BufferedFileReader* const window_;
  const uint64_t header_checksum_;
  const uint64_t computed_;
  std::vector<VersionEdit> edits_;
};

void NoteWhatIsGone(const std::vector<VersionEdit>& edits, SalvagedManifest* manifest) {
  for (const VersionEdit& edit : edits) {
    for (const RemovedTable& table : edit.removed_tables) manifest->removed.insert(table.number);
    for (const AddedTable& added : edit.added_tables) manifest->removed.erase(added.table.number);
    manifest->dropped.insert(edit.dropped_families.begin(), edit.dropped_families.end());
  }
}

}  // namespace

absl::StatusOr<SalvagedManifest> SalvageManifest(Directory* directory) {
  SalvagedManifest result;
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, directory->List());
  std::vector<FileNumber> numbers;
  for (const DirectoryEntry& entry : entries) {
    const std::optional<ParsedFileName> parsed = ParseFileName(entry.name);
    if (parsed.has_value() && parsed->kind == FileKind::kManifest) numbers.push_back(parsed->number);
  }
  std::sort(numbers.begin(), numbers.end());
  if (!numbers.empty()) result.highest = numbers.back();
  for (const FileNumber number : numbers) {
    ASSIGN_OR_RETURN(BufferedFileReader window, BufferedFileReader::Open(directory, ManifestFileName(number)));
    ASSIGN_OR_RETURN(const std::string_view bytes, window.At(0, kManifestHeaderBytes));
    const std::string header(bytes);
    if (header.size() < kManifestHeaderBytes) continue;
    const absl::StatusOr<ManifestHeader> decoded = ManifestHeader::Decode(header, window.path());
    if (decoded.ok() && decoded->database_id != 0) result.database_id = decoded->database_id;
    ASSIGN_OR_RETURN(std::vector<VersionEdit> edits, ManifestSalvage(&window, header).Run());
    if (edits.empty()) continue;
    NoteWhatIsGone(result.edits, &result);
    result.edits = std::move(edits);
    result.name = ManifestFileName(number);
  }
  return result;
}

}  // namespace sepal
