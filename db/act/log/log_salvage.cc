#include "db/act/log/log_salvage.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/act/files/buffered_file_reader.h"
#include "db/act/log/log_reader.h"
#include "db/format/batch_format.h"
#include "db/format/file_names.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

class LogSalvage {
 public:
  LogSalvage(Directory* directory, const LogSink& sink, std::vector<LogGap>* gaps)
      : directory_(directory), sink_(sink), gaps_(gaps) {}

  // Reads the records of one log; they end at or before `limit`, if it is known.
  absl::Status Read(const LogFile& log, std::optional<uint64_t> limit) {
    ASSIGN_OR_RETURN(LogReader reader, LogReader::Open(directory_, log.name, *log.header));
    BufferedFileReader* const window = reader.file();
    name_ = log.name;
    any_new_ = false;
    uint64_t offset = kLogHeaderBytes;
    std::optional<uint64_t> bad;  // the beginning of the current gap
    while (offset < limit.value_or(UINT64_MAX)) {
      ASSIGN_OR_RETURN(const std::optional<LogRecord> record, reader.At(offset, limit, nullptr));
      if (record.has_value()) {
        if (bad.has_value()) Drop(*std::exchange(bad, std::nullopt), offset, "no readable record");
        RETURN_IF_ERROR(Accept(*record, offset));
        offset = record->end;
      } else {
        if (!bad.has_value()) bad = offset;
        // After a gap the ring holds no more than its size.
        if (++offset >= std::max(window->size(), *bad + reader.ring_bytes())) break;
      }
    }
    const uint64_t end = std::min(limit.value_or(UINT64_MAX), window->size());
    if (bad.has_value() && *bad < end) RETURN_IF_ERROR(DropEnd(window, *bad, end, limit.has_value()));
    if (limit.has_value() && std::max(offset, window->size()) < *limit)
      Drop(window->size(), *limit, "the log was cut short");
    ASSIGN_OR_RETURN(const bool missing, reader.RingIsMissing());
    if (missing && bad.has_value() && *bad < window->size()) MissingRing(log.header->ring.number);
    return absl::OkStatus();
  }

  void Finish() { DropPending("the end of the batch is missing"); }
  void Missing(const std::string& name, const std::string& why) {
    DropPending("the rest of the batch is in a log that is missing");
    gaps_->push_back({name, 0, 0, why});
  }

 private:
  struct Pending {
    SequenceNumber first;
    std::string bytes;
    std::string name;
    uint64_t offset = 0;
  };

  void MissingRing(FileNumber number) {
    gaps_->push_back({RingFileName(number), 0, 0, "the ring of a log that was not closed is missing or was cut short"});
  }
  void Drop(uint64_t begin, uint64_t end, std::string reason) {
    DropPending("the batch is incomplete");
    gaps_->push_back({name_, begin, end, std::move(reason)});
  }
  void DropPending(std::string reason) {
    if (!pending_.has_value()) return;
    const Pending lost = *std::exchange(pending_, std::nullopt);
    gaps_->push_back({lost.name, lost.offset, lost.offset + lost.bytes.size(), std::move(reason)});
  }
  // Zeros at the end of the last log are space that was never used.
  absl::Status DropEnd(BufferedFileReader* window, uint64_t begin, uint64_t end, bool known_end) {
    constexpr uint64_t kStep = 4096;
    uint64_t used = begin;
    for (uint64_t offset = begin; offset < end; offset += kStep) {
      ASSIGN_OR_RETURN(const std::string_view bytes, window->At(offset, std::min(kStep, end - offset)));
      if (const size_t last = bytes.find_last_not_of('\0'); last != bytes.npos) used = offset + last + 1;
    }
    if (known_end) used = end;
    if (used > begin) Drop(begin, used, "no readable record from here on");
    return absl::OkStatus();
  }

  absl::Status Accept(const LogRecord& record, uint64_t offset) {
    const LogRecordHeader& header = record.header;
    const bool begins = header.kind == LogRecordKind::kFull || header.kind == LogRecordKind::kFirst;
    if (begins) DropPending("the end of the batch is missing");
    if (header.kind == LogRecordKind::kFull) return Deliver(header.first_sequence, record.payload, offset, record.end);
    if (header.kind == LogRecordKind::kFirst) {
      pending_ = Pending{header.first_sequence, std::string(record.payload), name_, offset};
      return absl::OkStatus();
    }
    if (!pending_.has_value() || pending_->first != header.first_sequence) {
      Drop(offset, record.end, "a fragment of an incomplete batch");
      return absl::OkStatus();
    }
    pending_->bytes.append(record.payload);
    if (header.kind == LogRecordKind::kMiddle) return absl::OkStatus();
    const Pending whole = *std::exchange(pending_, std::nullopt);
    return Deliver(whole.first, whole.bytes, whole.offset, record.end);
  }

  absl::Status Deliver(SequenceNumber first, std::string_view batch, uint64_t begin, uint64_t end) {
    // A log may begin with batches of earlier ones (LogStart::carried).
    if (!any_new_ && std::binary_search(delivered_.begin(), delivered_.end(), first)) return absl::OkStatus();
    if (!CheckBatch(batch).ok() || first <= last_ || BatchCount(batch) > kMaxSequenceNumber.value() - first.value()) {
      Drop(begin, end, "not a batch, or out of order");
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(sink_(first, batch));
    any_new_ = true;
    delivered_.push_back(first);
    last_ = SequenceNumber(first.value() + std::max<uint64_t>(BatchCount(batch), 1) - 1);
    return absl::OkStatus();
  }

  Directory* const directory_;
  const LogSink& sink_;
  std::vector<LogGap>* const gaps_;
  std::string name_;
  bool any_new_ = false;  // the log has delivered a batch
  SequenceNumber last_;
  std::vector<SequenceNumber> delivered_;  // the first ones of the batches, ascending
  std::optional<Pending> pending_;
};

// Reconstructs the header of a damaged log from the next log, as far as is needed to read the records.
std::optional<LogHeader> HeaderFromTheNextLog(const std::vector<LogFile>& logs, FileNumber number,
                                              uint64_t database_id) {
  for (const LogFile& next : logs) {
    if (!next.header.has_value() || next.header->predecessor.number != number) continue;
    if (database_id != 0 && next.header->database_id != database_id) continue;
    const LogPredecessor& log = next.header->predecessor;
    if (log.length_bytes <= kLogHeaderBytes) continue;
    const uint64_t bytes = log.length_bytes - kLogHeaderBytes;
    if (bytes > next.header->start.value()) continue;
    LogHeader header{.database_id = next.header->database_id,
                     .number = number,
                     .salt = log.salt,
                     .start = LogPosition(next.header->start.value() - bytes),
                     .predecessor = {},
                     .durable = {},
                     .manifest = {},
                     .ring = {}};
    // The ring belongs to one opening, and has the number of that opening's first log.
    if (next.header->ring.number <= number) header.ring = next.header->ring;
    return header;
  }
  return std::nullopt;
}

}  // namespace

absl::Status SalvageLogs(Directory* directory, const std::vector<LogFile>& logs, const LogRecoveryOptions& options,
                         const LogSink& sink, std::vector<LogGap>* gaps) {
  const uint64_t database_id = options.database_id;
  const FileNumber minimum = options.minimum;
  std::optional<LogEnd> closed = options.closed;
  if (closed.has_value() && (closed->number < minimum || closed->length_bytes <= kLogHeaderBytes)) closed.reset();
  std::vector<LogFile> line;
  LogSalvage salvage(directory, sink, gaps);
  for (const LogFile& log : logs) {
    if (!log.header.has_value()) {
      if (log.named < minimum) continue;
      if (std::optional<LogHeader> header = HeaderFromTheNextLog(logs, log.named, database_id)) {
        gaps->push_back({log.name, 0, kLogHeaderBytes, std::string(ToStd(log.problem.message()))});
        line.push_back({log.name, log.named, std::move(header), log.problem});
        continue;
      }
      // It was created but never used; the closed one is reported below.
      ASSIGN_OR_RETURN(const bool unused, HoldsNoRecord(directory, log));
      if (unused) continue;
      if (closed.has_value() && log.named == closed->number) closed.reset();
      ASSIGN_OR_RETURN(BufferedFileReader window, BufferedFileReader::Open(directory, log.name));
      gaps->push_back({log.name, 0, window.size(), std::string(ToStd(log.problem.message()))});
    } else if (log.header->number >= minimum && (database_id == 0 || log.header->database_id == database_id)) {
      line.push_back(log);
    }
  }
  std::sort(line.begin(), line.end(),
            [](const LogFile& a, const LogFile& b) { return a.header->number < b.header->number; });
  FileNumber before;
  for (size_t i = 0; i < line.size(); ++i) {
    const LogPredecessor& predecessor = line[i].header->predecessor;
    if (predecessor.number > before && predecessor.number >= minimum && predecessor.length_bytes > kLogHeaderBytes) {
      salvage.Missing(LogFileName(predecessor.number), "the log is missing, or its header is damaged");
    }
    before = line[i].header->number;
    std::optional<uint64_t> limit;
    if (i + 1 < line.size() && line[i + 1].header->predecessor.number == before) {
      limit = line[i + 1].header->predecessor.length_bytes;
    } else if (closed.has_value() && closed->number == before) {
      limit = closed->length_bytes;
    }
    if (closed.has_value() && closed->number == before) closed.reset();
    RETURN_IF_ERROR(salvage.Read(line[i], limit));
  }
  salvage.Finish();
  if (closed.has_value()) {
    const std::string name = LogFileName(closed->number);
    const bool there = std::any_of(logs.begin(), logs.end(), [&](const LogFile& log) { return log.name == name; });
    salvage.Missing(name, there ? "the log, which was closed cleanly, was cut short" : "the log is missing");
  }
  if (line.empty() && minimum > FileNumber(0) && gaps->empty()) {
    salvage.Missing(LogFileName(minimum), "the log is missing");
  }
  return absl::OkStatus();
}

}  // namespace sepal
