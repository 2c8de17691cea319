#include "db/act/log/log_line.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/act/log/log_reader.h"
#include "db/format/file_names.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

absl::StatusOr<UnusedLog> DescribeUnused(Directory* directory, const LogFile& log) {
  if (log.header->ring.bytes == 0) return UnusedLog{*log.header, /*empty=*/true};
  ASSIGN_OR_RETURN(LogReader reader, LogReader::Open(directory, log.name, *log.header));
  ASSIGN_OR_RETURN(const bool ring_missing, reader.RingIsMissing());
  return UnusedLog{*log.header, !ring_missing || reader.file()->size() == kLogHeaderBytes};
}

class LineFinder {
 public:
  LineFinder(Directory* directory, const LogRecoveryOptions& options) : directory_(directory), options_(options) {}

  absl::StatusOr<LogLine> Find(const std::vector<LogFile>& logs) {
    none_ = logs.empty();
    std::vector<LogFile> candidates;
    for (LogFile log : logs) {
      if (!log.header.has_value() && log.named < options_.minimum) continue;
      if (!log.header.has_value()) RETURN_IF_ERROR(LookBehindTheHeader(&log));
      if (!log.header.has_value()) {
        found_.leftovers.push_back(log.name);
        continue;
      }
      RETURN_IF_ERROR(CheckOwner(log));
      if (log.header->number >= options_.minimum) candidates.push_back(std::move(log));
    }
    std::sort(candidates.begin(), candidates.end(),
              [](const LogFile& a, const LogFile& b) { return a.header->number > b.header->number; });
    for (LogFile& log : candidates) {
      ASSIGN_OR_RETURN(const bool unused, IsUnused(log, found_.logs));
      if (unused) {
        found_.witnessed = std::max(found_.witnessed, log.header->durable);
        ASSIGN_OR_RETURN(UnusedLog described, DescribeUnused(directory_, log));
        found_.unused.push_back(std::move(described));
        found_.leftovers.push_back(log.name);
      } else {
        found_.logs.push_back(std::move(log));
      }
    }
    std::vector<LogFile>& line = found_.logs;
    std::reverse(line.begin(), line.end());
    RETURN_IF_ERROR(CheckFirst(line));
    for (size_t i = 1; i < line.size(); ++i) RETURN_IF_ERROR(CheckLink(line[i - 1], line[i]));
    RETURN_IF_ERROR(CheckUnused(line));
    return std::move(found_);
  }

 private:
  // A log without a header was created but never used, or is damaged; or a live writer has begun it since it was
  // listed.
  absl::Status LookBehindTheHeader(LogFile* log) const {
    if (!absl::IsDataLoss(log->problem)) return log->problem;
    ASSIGN_OR_RETURN(const bool empty, HoldsNoRecord(directory_, *log, options_.listing));
    if (empty) return absl::OkStatus();
    ASSIGN_OR_RETURN(*log, ReadLogHeader(directory_, log->name, log->named));
    if (log->header.has_value()) return absl::OkStatus();
    return Annotate(log->problem, "a write-ahead log holds records after a damaged header");
  }

  absl::Status CheckOwner(const LogFile& log) const {
    if (log.header->database_id == options_.database_id) return absl::OkStatus();
    return Damaged(PathOfLog(directory_, log.name), 16, "database id of the log", Hex64(options_.database_id),
                   Hex64(log.header->database_id));
  }

  // Whether no record was written to the log and nothing depends on it: its header may never have been synced, so that
  // no later log may name it. `line` holds the logs after it, the nearest last.
  absl::StatusOr<bool> IsUnused(const LogFile& log, const std::vector<LogFile>& line) const {
    const FileNumber number = log.header->number;
    if (!line.empty() && line.back().header->predecessor.number == number) return false;
    if (number == options_.minimum || (options_.closed.has_value() && number == options_.closed->number)) return false;
    return HoldsNoRecord(directory_, log, options_.listing);
  }

  absl::Status CheckFirst(const std::vector<LogFile>& line) const {
    if (options_.minimum == FileNumber(0)) {
      if (line.empty() || line.front().header->predecessor.number == FileNumber(0)) return absl::OkStatus();
      return Missing(line.front().header->predecessor.number);
    }
    if (line.empty() || line.front().header->number != options_.minimum) return Missing(options_.minimum);
    return absl::OkStatus();
  }

  absl::Status CheckLink(const LogFile& before, const LogFile& log) const {
    const LogPredecessor& predecessor = log.header->predecessor;
    const std::string path = PathOfLog(directory_, log.name);
    if (predecessor.number > before.header->number) return Missing(predecessor.number);
    if (predecessor.number != before.header->number) {
      return Damaged(path, 48, "number of the log before this one", ToString(before.header->number),
                     ToString(predecessor.number));
    }
    if (predecessor.salt != before.header->salt) {
      return Damaged(path, 56, "salt of the log before this one", Hex64(before.header->salt), Hex64(predecessor.salt));
    }
    const LogPosition start = before.header->PositionAt(predecessor.length_bytes);
    if (log.header->start != start) {
      return Damaged(path, 40, "start of the log", ToString(start), ToString(log.header->start));
    }
    return absl::OkStatus();
  }

  // When an unused log was created, every log that held records had a durable header.
  absl::Status CheckUnused(const std::vector<LogFile>& line) const {
    for (const UnusedLog& unused : found_.unused) {
      const LogPredecessor& before = unused.header.predecessor;
      if (before.number < options_.minimum || before.length_bytes <= kLogHeaderBytes) continue;
      const bool found = std::any_of(line.begin(), line.end(),
                                     [&](const LogFile& log) { return log.header->number == before.number; }) ||
                         std::any_of(found_.unused.begin(), found_.unused.end(),
                                     [&](const UnusedLog& log) { return log.header.number == before.number; });
      if (!found) return Missing(before.number);
    }
    return absl::OkStatus();
  }

  absl::Status Missing(FileNumber number) const {
    return Damaged(
        PathOfLog(directory_, LogFileName(number)), 0,
        absl::StrFormat(
            "a write-ahead log that is needed is missing%s",
            none_
                ? ", and there is no other log; if the logs are in another directory, set Options::log_directory to it"
                : ""));
  }

  Directory* const directory_;
  const LogRecoveryOptions& options_;
  bool none_ = false;  // there is no log at all
  LogLine found_;
};

}  // namespace

std::string PathOfLog(Directory* directory, std::string_view name) {
  return absl::StrFormat("%s/%s", directory->path(), name);
}

absl::StatusOr<LogLine> FindLogLine(Directory* directory, const LogRecoveryOptions& options,
                                    const std::vector<LogFile>& logs) {
  return LineFinder(directory, options).Find(logs);
}

}  // namespace sepal
