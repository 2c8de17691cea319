#include "db/act/log/log_listing.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/act/files/buffered_file_reader.h"
#include "db/act/log/log_reader.h"
#include "db/format/file_names.h"
#include "util/base/status.h"

namespace sepal {
namespace {

constexpr size_t kPage = 4096;

// Whether a ring says that log `number` was begun, and is the last one that was: the following log names each earlier
// one.
bool GoesThroughARing(const std::vector<RingFile>& rings, FileNumber number) {
  return std::any_of(rings.begin(), rings.end(), [&](const RingFile& ring) {
    return ring.header.has_value() && ring.header->newest_log == number;
  });
}

bool HasBytes(std::string_view bytes) { return bytes.find_first_not_of('\0') != std::string_view::npos; }

// `page`: the file's first bytes, up to a page.
void TakeFirstPage(std::string_view page, uint64_t file_bytes, const std::string& path, LogFile* log) {
  absl::StatusOr<LogHeader> header = LogHeader::Decode(page.substr(0, kLogHeaderBytes), path);
  log->problem = header.status();
  if (header.ok()) log->header = *std::move(header);
  const bool some = page.size() > kLogHeaderBytes && HasBytes(page.substr(kLogHeaderBytes));
  if (some || page.size() == file_bytes) log->has_bytes = some;
}

// The headers of logs in a store far away, and what one of them has behind a place, in one reading.
class HeaderReader {
 public:
  HeaderReader(Directory* directory, std::vector<LogFile>* logs) : directory_(directory), logs_(logs) {}

  absl::Status Run(std::optional<LogWindow> ahead) {
    for (LogFile& log : *logs_) {
      Opened& file = opened_.emplace_back();
      ASSIGN_OR_RETURN(file.file, directory_->OpenForRead(log.name));
      ASSIGN_OR_RETURN(file.bytes, file.file->Size());
      Ask(&file, 0, kPage, &file.page);
      if (!ahead.has_value() || ahead->named != log.named || ahead->offset > file.bytes) continue;
      file.window_begin = ahead->offset;
      Ask(&file, ahead->offset, kLogWindowFarAway, &file.window);
    }
    std::vector<ReadRequest> requests;
    for (const Asked& asked : asked_) requests.push_back(asked.request);
    directory_->ReadMany(requests, [](ReadRequest&) {});
    for (size_t i = 0; i < requests.size(); ++i) {
      RETURN_IF_ERROR(requests[i].status);
      asked_[i].to->resize(requests[i].bytes_read);
      // It was truncated meanwhile.
      uint64_t& bytes = asked_[i].of->bytes;
      if (requests[i].bytes_read < requests[i].length) {
        bytes = std::min(bytes, requests[i].offset + requests[i].bytes_read);
      }
    }
    for (size_t i = 0; i < opened_.size(); ++i) Take(&opened_[i], &(*logs_)[i]);
    return absl::OkStatus();
  }

 private:
  struct Opened {
    std::unique_ptr<ReadableFile> file;
    uint64_t bytes = 0;
    std::string page;
    std::optional<uint64_t> window_begin;
    std::string window;
  };
  struct Asked {
    ReadRequest request;
    Opened* of;
    std::string* to;
  };
  void Ask(Opened* file, uint64_t offset, uint64_t most, std::string* to) {
    to->resize(std::min(most, file->bytes - offset));
    if (to->empty()) return;
    ReadRequest request{.file = file->file.get(), .offset = offset, .length = to->size(), .buffer = to->data()};
    asked_.push_back({std::move(request), file, to});
  }
  void Take(Opened* file, LogFile* log) const {
    std::string path = absl::StrFormat("%s/%s", directory_->path(), log->name);
    TakeFirstPage(file->page, file->bytes, path, log);
    if (!file->window_begin.has_value()) return;
    log->window = std::make_shared<BufferedFileReader>(
        BufferedFileReader::Over(std::move(file->file), std::move(path), file->bytes, kLogWindowFarAway,
                                 *file->window_begin, std::move(file->window)));
  }

  Directory* const directory_;
  std::vector<LogFile>* const logs_;
  std::deque<Opened> opened_;  // requests point into these
  std::vector<Asked> asked_;
};

}  // namespace

absl::StatusOr<LogFile> ReadLogHeader(Directory* directory, const std::string& name, FileNumber named) {
  ASSIGN_OR_RETURN(BufferedFileReader window, BufferedFileReader::Open(directory, name, kPage));
  ASSIGN_OR_RETURN(const std::string_view page, window.At(0, kPage));
  LogFile log;
  log.name = name;
  log.named = named;
  TakeFirstPage(page, window.size(), window.path(), &log);
  return log;
}

namespace {

// Whether the file has nothing but zeros behind the header.
absl::StatusOr<bool> IsBlank(Directory* directory, const LogFile& log, bool as_listed) {
  if (log.has_bytes.has_value() && (as_listed || *log.has_bytes)) return !*log.has_bytes;
  ASSIGN_OR_RETURN(BufferedFileReader window, BufferedFileReader::Open(directory, log.name));
  for (uint64_t offset = kLogHeaderBytes; offset < window.size(); offset += kPage) {
    ASSIGN_OR_RETURN(const std::string_view bytes, window.At(offset, kPage));
    if (HasBytes(bytes)) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<bool> HoldsNoRecord(Directory* directory, const LogFile& log,
                                   std::optional<std::span<const DirectoryEntry>> listing) {
  ASSIGN_OR_RETURN(const bool blank, IsBlank(directory, log, listing.has_value()));
  if (!blank) return false;
  if (!log.header.has_value()) {
    // All its records may be in a ring.
    ASSIGN_OR_RETURN(const std::vector<RingFile> rings,
                     listing.has_value() ? ListRings(directory, *listing) : ListRings(directory));
    return !GoesThroughARing(rings, log.named);
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

absl::StatusOr<std::vector<LogFile>> ListLogs(Directory* directory, std::span<const DirectoryEntry> listing,
                                              std::optional<LogWindow> ahead) {
  std::vector<LogFile> logs;
  for (const DirectoryEntry& entry : listing) {
    const std::optional<ParsedFileName> parsed = ParseFileName(entry.name);
    if (!parsed.has_value() || parsed->kind != FileKind::kLog) continue;
    LogFile& log = logs.emplace_back();
    log.name = entry.name;
    log.named = parsed->number;
  }
  if (directory->capabilities().remote) {
    RETURN_IF_ERROR(HeaderReader(directory, &logs).Run(ahead));
  } else {
    for (LogFile& log : logs) {
      ASSIGN_OR_RETURN(log, ReadLogHeader(directory, log.name, log.named));
    }
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
