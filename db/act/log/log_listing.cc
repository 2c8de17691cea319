#include "db/act/log/log_listing.h"

#include <algorithm>
#include <utility>

#include "db/act/files/buffered_file_reader.h"
#include "db/act/log/log_reader.h"
#include "db/format/file_names.h"
#include "util/base/status.h"

namespace sepal {
namespace {

// Whether a ring says that log `number` was begun, and is the last one that was: the following log names each earlier
// one.
absl::StatusOr<bool> GoesThroughARing(Directory* directory, FileNumber number) {
  ASSIGN_OR_RETURN(const std::vector<RingFile> rings, ListRings(directory));
  return std::any_of(rings.begin(), rings.end(), [&](const RingFile& ring) {
    return ring.header.has_value() && ring.header->newest_log == number;
  });
}

}  // namespace

absl::StatusOr<LogFile> ReadLogHeader(Directory* directory, const std::string& name, FileNumber named) {
  ASSIGN_OR_RETURN(BufferedFileReader window, BufferedFileReader::Open(directory, name, kLogHeaderBytes));
  ASSIGN_OR_RETURN(const std::string_view bytes, window.At(0, kLogHeaderBytes));
  absl::StatusOr<LogHeader> header = LogHeader::Decode(bytes, window.path());
  LogFile log{.name = name, .named = named, .header = std::nullopt, .problem = header.status()};
  if (header.ok()) log.header = *std::move(header);
  return log;
}

absl::StatusOr<bool> HoldsNoRecord(Directory* directory, const LogFile& log) {
  ASSIGN_OR_RETURN(BufferedFileReader window, BufferedFileReader::Open(directory, log.name));
  constexpr uint64_t kStep = 4096;
  for (uint64_t offset = kLogHeaderBytes; offset < window.size(); offset += kStep) {
    ASSIGN_OR_RETURN(const std::string_view bytes, window.At(offset, kStep));
    if (bytes.find_first_not_of('\0') != std::string_view::npos) return false;
  }
  if (!log.header.has_value()) {
    // All its records may be in a ring.
    ASSIGN_OR_RETURN(const bool begun, GoesThroughARing(directory, log.named));
    return !begun;
  }
  if (log.header->ring.bytes == 0) return true;
  ASSIGN_OR_RETURN(LogReader reader, LogReader::Open(directory, log.name, *log.header));
  ASSIGN_OR_RETURN(std::optional<LogRecord> first, reader.At(kLogHeaderBytes, std::nullopt, nullptr));
  if (!first.has_value()) {  // a live writer may just have moved it
    RETURN_IF_ERROR(reader.RetryBesideWriter(kLogHeaderBytes));
    ASSIGN_OR_RETURN(first, reader.At(kLogHeaderBytes, std::nullopt, nullptr));
  }
  return !first.has_value();
}

absl::StatusOr<std::vector<LogFile>> ListLogs(Directory* directory) {
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> listing, directory->List());
  return ListLogs(directory, listing);
}

absl::StatusOr<std::vector<LogFile>> ListLogs(Directory* directory, std::span<const DirectoryEntry> listing) {
  std::vector<LogFile> logs;
  for (const DirectoryEntry& entry : listing) {
    const std::optional<ParsedFileName> parsed = ParseFileName(entry.name);
    if (!parsed.has_value() || parsed->kind != FileKind::kLog) continue;
    ASSIGN_OR_RETURN(LogFile log, ReadLogHeader(directory, entry.name, parsed->number));
    logs.push_back(std::move(log));
  }
  std::sort(logs.begin(), logs.end(), [](const LogFile& a, const LogFile& b) { return a.named < b.named; });
  return logs;
}

absl::StatusOr<std::vector<RingFile>> ListRings(Directory* directory) {
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> listing, directory->List());
  return ListRings(directory, listing);
}

absl::StatusOr<std::vector<RingFile>> ListRings(Directory* directory, std::span<const DirectoryEntry> listing) {
  std::vector<RingFile> rings;
  for (const DirectoryEntry& entry : listing) {
    const std::optional<ParsedFileName> parsed = ParseFileName(entry.name);
    if (!parsed.has_value() || parsed->kind != FileKind::kLogRing) continue;
    absl::StatusOr<BufferedFileReader> window = BufferedFileReader::Open(directory, entry.name, kRingHeaderBytes);
    if (absl::IsNotFound(window.status())) continue;  // a live writer has removed it
    RETURN_IF_ERROR(window.status());
    ASSIGN_OR_RETURN(const std::string_view bytes, window->At(0, kRingHeaderBytes));
    rings.push_back({entry.name, parsed->number, RingHeader::Decode(bytes)});
  }
  return rings;
}

FileNumber NewestNumber(const std::vector<RingFile>& rings) {
  FileNumber newest;
  for (const RingFile& ring : rings) {
    for (const FileNumber number : {ring.named, ring.header.has_value() ? ring.header->newest_log : FileNumber()}) {
      if (number.value() < kFileNumbersEnd) newest = std::max(newest, number);
    }
  }
  return newest;
}

ManifestReference NewestManifest(const std::vector<LogFile>& logs) {
  ManifestReference newest;
  for (const LogFile& log : logs) {
    if (!log.header.has_value()) continue;
    const ManifestReference& reference = log.header->manifest;
    if (std::pair(reference.number, reference.durable_bytes) > std::pair(newest.number, newest.durable_bytes)) {
      newest = reference;
    }
  }
  return newest;
}

}  // namespace sepal
