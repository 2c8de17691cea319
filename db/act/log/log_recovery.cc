#include "db/act/log/log_recovery.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/act/files/buffered_file_reader.h"
#include "db/act/log/log_line.h"
#include "db/act/log/log_reader.h"
#include "db/format/batch_format.h"
#include "db/format/file_names.h"
#include "util/base/check.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

constexpr uint64_t kZeroPieceBytes = 4096;
constexpr size_t kWindow = size_t{1} << 20;
constexpr size_t kWindowToGoOn = size_t{64} << 10;
// A live writer may continue while its log is read; this many looks are enough to reach the point where it was at the
// beginning.
constexpr int kMostLooks = 64;

// The first bad place: its position, and the problem there.
struct Hole {
  size_t log = 0;  // the index in the line
  uint64_t offset = 0;
  LogPosition position;
  std::string what;
  std::string expected;
  std::string got;
};

// A batch of which not all fragments were read yet.
struct Pending {
  SequenceNumber first;
  std::string bytes;
  size_t log = 0;
  uint64_t offset = 0;
  LogPosition position;
};

// `window`: one that is open already, or null.
absl::StatusOr<LogReader> OpenLog(Directory* directory, const LogFile& log, bool goes_on,
                                  const std::shared_ptr<BufferedFileReader>& window) {
  if (window != nullptr) return LogReader(directory, *log.header, std::move(*window));
  size_t bytes = goes_on ? kWindowToGoOn : kWindow;
  if (directory->capabilities().remote) bytes = kLogWindowFarAway;
  return LogReader::Open(directory, log.name, *log.header, bytes);
}

// Returns the window on the log, or null if there is none, or if it lacks the end of the log, which has grown since.
std::shared_ptr<BufferedFileReader> WindowOn(std::span<const LogFile> line, size_t log) {
  const std::shared_ptr<BufferedFileReader>& window = line[log].window;
  const bool last = log + 1 == line.size();
  if (window == nullptr || last || window->size() >= line[log + 1].header->predecessor.length_bytes) return window;
  return nullptr;
}

class LineReader {
 public:
  LineReader(Directory* directory, const LogRecoveryOptions& options, const LogSink& sink, const LogLine& line,
             LogRecovery* result)
      : directory_(directory),
        options_(options),
        sink_(sink),
        line_(line.logs),
        witnessed_(line.witnessed),
        unused_(line.unused),
        result_(result) {}

  // Continues after `place`, which is in log `log` of the line.
  void GoOnFrom(const LogPlace& place, size_t log) {
    first_ = newest_ = log;
    first_offset_ = place.offset;
    window_ = WindowOn(line_, log);
    result_->last_sequence = place.last_sequence;
    result_->place = place;
  }

  absl::Status Run() {
    RETURN_IF_ERROR(FindClose());
    result_->durable = witnessed_;
    if (!line_.empty()) result_->end = line_.front().header->start;
    for (size_t i = 0; i < line_.size(); ++i) {
      const LogHeader& header = *line_[i].header;
      result_->logs.push_back({line_[i].name, header.number, header.salt, header.start, header.start});
      if (hole_.has_value()) continue;
      result_->durable = std::max(result_->durable, header.durable);
      if (i >= first_) RETURN_IF_ERROR(ReadLog(i, i == first_ ? first_offset_ : kLogHeaderBytes));
    }
    return JudgeEnd();
  }

 private:
  absl::Status FindClose() {
    if (!options_.closed.has_value() || options_.closed->number < options_.minimum) return absl::OkStatus();
    for (const LogFile& log : line_) {
      if (log.header->number != options_.closed->number) continue;
      closed_ = log.header->PositionAt(options_.closed->length_bytes);
      return absl::OkStatus();
    }
    return Damaged(PathOfLog(directory_, LogFileName(options_.closed->number)), 0,
                   "a write-ahead log that was closed cleanly is missing");
  }

  // If there is a hole, decides whether anything proves that it is damage.
  absl::Status JudgeEnd() {
    for (int looks = 0; hole_.has_value(); ++looks) {
      result_->dropped_bytes = 0;
      const absl::Status judged = JudgeHole();
      if (!absl::IsDataLoss(judged) || !IsLast(hole_->log)) return judged;
      // A live writer may have continued here before its later records were found and taken as proof. One that has done
      // so each time is past where it was when the reading began.
      if (looks == kMostLooks) return absl::OkStatus();
      const uint64_t offset = std::exchange(hole_, std::nullopt)->offset;
      RETURN_IF_ERROR(ReadLog(line_.size() - 1, offset));
      if (hole_.has_value() && hole_->offset == offset) return judged;
    }
    if (!pending_.has_value()) return absl::OkStatus();
    hole_ =
        Hole{pending_->log, pending_->offset, pending_->position, "batch", "all its fragments", "the end of the logs"};
    return JudgeHole();
  }

  bool IsLast(size_t i) const { return i + 1 == line_.size(); }
  // Reads the log from the record at `offset` on.
  absl::Status ReadLog(size_t i, uint64_t offset) {
    const LogHeader& log = *line_[i].header;
    ASSIGN_OR_RETURN(LogReader reader,
                     OpenLog(directory_, line_[i], options_.from.has_value(), std::exchange(window_, nullptr)));
    const std::optional<uint64_t> end = KnownEnd(i);
    BadPlace bad;
    uint64_t looked = 0;  // the offset at which the last look found nothing
    for (int looks = 0; offset < end.value_or(UINT64_MAX);) {
      ASSIGN_OR_RETURN(const std::optional<LogRecord> record, reader.At(offset, end, &bad));
      if (record.has_value()) {
        result_->durable = std::max(result_->durable, record->header.durable);
        RETURN_IF_ERROR(Accept(i, offset, record->header, record->payload));
        if (hole_.has_value()) return absl::OkStatus();
        offset = record->end;
      } else if (log.ring.bytes > 0 && looked != offset && looks++ < kMostLooks) {
        // A record that a live writer moved from the ring to the file may have been missed in both.
        looked = offset;
        RETURN_IF_ERROR(reader.RetryBesideWriter(offset));
      } else {
        RETURN_IF_ERROR(CheckRing(i, offset, &reader));
        const bool at_end = IsLast(i) && log.ring.bytes == 0 && offset >= reader.file()->size();
        if (!at_end) hole_ = MakeHole(i, offset, std::move(bad));
        break;
      }
    }
    if (IsLast(i) && !hole_.has_value() && std::max(closed_, witnessed_) > log.PositionAt(offset)) {
      hole_ = MakeHole(i, offset, {"log record", "a record up to where the log was synced", "the end of the file"});
    }
    return absl::OkStatus();
  }

  // The end of a log's records, if anything states it.
  std::optional<uint64_t> KnownEnd(size_t i) const {
    if (!IsLast(i)) return line_[i + 1].header->predecessor.length_bytes;
    const bool closed = options_.closed.has_value() && options_.closed->number == line_[i].header->number;
    return closed ? std::optional(options_.closed->length_bytes) : std::nullopt;
  }

  // A log that was not closed needs its ring: if a ring that existed is missing, the log's end is not a torn end.
  absl::Status CheckRing(size_t i, uint64_t offset, LogReader* reader) const {
    const LogHeader& log = *line_[i].header;
    const bool closed = options_.closed.has_value() && log.number <= options_.closed->number;
    if (closed || (IsLast(i) && EndsAt(log, offset, reader->file()->size()))) return absl::OkStatus();
    ASSIGN_OR_RETURN(const bool missing, reader->RingIsMissing());
    if (!missing) return absl::OkStatus();
    return Damaged(PathOfLog(directory_, RingFileName(log.ring.number)), 0,
                   "the ring of a write-ahead log that was not closed cleanly is missing or was cut short");
  }

  // Whether the last log's records end at `offset`, whatever its ring may have held. A file that ends there was cut by
  // a clean close, or when the log went on in the next file, after everything had been written to it. If the log had
  // continued in files that hold no records, the first of them states where it ended, and the last one is the one that
  // was cut.
  bool EndsAt(const LogHeader& last, uint64_t offset, uint64_t file_bytes) const {
    LogPredecessor end{last.number, last.salt, offset};
    bool empty = offset == file_bytes;
    for (auto next = unused_.rbegin(); next != unused_.rend(); ++next) {
      if (next->header.number < last.number) continue;
      if (next->header.predecessor != end) return false;
      end = {next->header.number, next->header.salt, kLogHeaderBytes};
      empty = next->empty;
    }
    return empty;
  }

  // Takes a record that passed its checks.
  absl::Status Accept(size_t i, uint64_t offset, const LogRecordHeader& record, std::string_view payload) {
    const bool begins = record.kind == LogRecordKind::kFull || record.kind == LogRecordKind::kFirst;
    if (begins == pending_.has_value() || (!begins && record.first_sequence != pending_->first)) {
      return Damaged(PathOfLog(directory_, line_[i].name), offset, "log record with a good checksum, out of order");
    }
    if (record.kind == LogRecordKind::kFull) return Deliver(i, offset, record.first_sequence, payload, payload.size());
    if (begins) {
      pending_ = Pending{record.first_sequence, std::string(payload), i, offset, line_[i].header->PositionAt(offset)};
      return absl::OkStatus();
    }
    pending_->bytes.append(payload);
    if (record.kind == LogRecordKind::kMiddle) return absl::OkStatus();
    whole_ = *std::exchange(pending_, std::nullopt);
    const absl::Status delivered = Deliver(i, offset, whole_->first, whole_->bytes, payload.size());
    std::optional<Pending> whole = std::exchange(whole_, std::nullopt);
    if (hole_.has_value()) {  // as if its last record were the bad one
      whole->bytes.resize(whole->bytes.size() - payload.size());
      pending_ = std::move(whole);
    }
    return delivered;
  }

  absl::Status Deliver(size_t i, uint64_t offset, SequenceNumber first, std::string_view batch, uint64_t last_payload) {
    const uint64_t count = batch.size() < kBatchHeaderBytes ? 0 : BatchCount(batch);
    const uint64_t steps = count == 0 ? 0 : count - 1;
    if (batch.size() < kBatchHeaderBytes || steps > kMaxSequenceNumber.value() - first.value() ||
        (first <= result_->last_sequence && !IsCarried(i, SequenceNumber(first.value() + steps)))) {
      return Damaged(PathOfLog(directory_, line_[i].name), offset,
                     "log record with a good checksum and an impossible batch or sequence number");
    }
    const bool is_new = first > result_->last_sequence;
    if (is_new) RETURN_IF_ERROR(DeliverNew(i, offset, first, batch, steps));
    if (hole_.has_value()) return absl::OkStatus();
    const uint64_t end = offset + kLogRecordHeaderBytes + last_payload;
    if (is_new) result_->place = {line_[i].header->number, line_[i].header->salt, end, result_->last_sequence};
    result_->end = line_[i].header->PositionAt(end);
    for (size_t j = 0; j < i; ++j) result_->logs[j].end = line_[j + 1].header->start;
    result_->logs[i].end = result_->end;
    return absl::OkStatus();
  }

  // Whether log `i` may hold a batch up to `last` that earlier ones hold too: it has no batch of its own yet.
  bool IsCarried(size_t i, SequenceNumber last) const { return newest_ < i && last <= result_->last_sequence; }

  absl::Status DeliverNew(size_t i, uint64_t offset, SequenceNumber first, std::string_view batch, uint64_t steps) {
    if (options_.look != nullptr) RETURN_IF_ERROR(LookAtValues(i, offset, first, batch));
    if (hole_.has_value()) return absl::OkStatus();
    const absl::Status taken = sink_(first, batch);
    if (absl::IsDataLoss(taken)) {
      return Annotate(taken, absl::StrFormat("%s: offset %u", PathOfLog(directory_, line_[i].name), offset));
    }
    RETURN_IF_ERROR(taken);
    newest_ = i;
    result_->last_sequence = SequenceNumber(first.value() + steps);
    ++result_->batches;
    return absl::OkStatus();
  }

  absl::Status LookAtValues(size_t i, uint64_t offset, SequenceNumber first, std::string_view batch) {
    // The position of its first record.
    const LogPosition position = whole_.has_value() ? whole_->position : line_[i].header->PositionAt(offset);
    const absl::Status looked = options_.look(first, batch);
    if (!absl::IsDataLoss(looked)) return looked;
    hole_ = Hole{i, offset, position, "what a log record refers to", "its value", std::string(looked.message())};
    return absl::OkStatus();
  }

  // A bad place within a batch makes the whole batch bad.
  Hole MakeHole(size_t i, uint64_t offset, BadPlace bad) const {
    Hole hole{i,
              offset,
              line_[i].header->PositionAt(offset),
              std::move(bad.what),
              std::move(bad.expected),
              std::move(bad.got)};
    if (pending_.has_value()) hole.position = pending_->position;
    return hole;
  }

  // Returns DataLoss if anything proves that the bytes at the hole were durable.
  absl::Status JudgeHole() {
    if (closed_ > hole_->position) return CoveredBy("the log was closed cleanly after this offset");
    if (witnessed_ > hole_->position) return CoveredBy("a later log's header says that this offset was synced");
    for (size_t i = hole_->log; i < line_.size(); ++i) {
      if (i > hole_->log && line_[i].header->durable > hole_->position) {
        return CoveredBy(absl::StrFormat("the header of %s says that this offset was synced", line_[i].name));
      }
      if (options_.look_behind_the_end || !IsLast(i)) RETURN_IF_ERROR(LookBehind(i));
    }
    if (result_->dropped_bytes == 0 && IsLast(hole_->log) && !pending_.has_value()) return absl::OkStatus();
    result_->torn = absl::StrFormat("%s: offset %u: %s: expected %s, got %s: torn end, %u bytes dropped",
                                    PathOfLog(directory_, line_[hole_->log].name), hole_->offset, hole_->what,
                                    hole_->expected, hole_->got, result_->dropped_bytes);
    return absl::OkStatus();
  }

  // Looks at every byte for records whose watermark is after the hole, and counts what is dropped.
  absl::Status LookBehind(size_t i) {
    const LogHeader& log = *line_[i].header;
    ASSIGN_OR_RETURN(BufferedFileReader window, BufferedFileReader::Open(directory_, line_[i].name));
    const uint64_t begin = i == hole_->log ? hole_->offset : kLogHeaderBytes;
    uint64_t used_end = begin;  // the offset after the last byte that is not zero
    for (uint64_t offset = begin; offset < window.size();) {
      // No header consists of zeros only, but one may begin in the last bytes of such a piece.
      ASSIGN_OR_RETURN(const std::string_view piece, window.At(offset, kZeroPieceBytes));
      if (piece.size() == kZeroPieceBytes && piece.find_first_not_of('\0') == std::string_view::npos) {
        offset += kZeroPieceBytes - kLogRecordHeaderBytes;
        continue;
      }
      const std::string_view bytes = piece.substr(0, kLogRecordHeaderBytes);
      if (bytes.empty()) break;  // the file was truncated meanwhile
      if (bytes.front() != '\0') used_end = offset + 1;
      std::optional<LogRecordHeader> record;
      if (bytes.size() == kLogRecordHeaderBytes) {
        record = DecodeLogRecordHeader(bytes.data(), log.salt, log.PositionAt(offset));
      }
      if (!record.has_value()) {
        ++offset;
        continue;
      }
      if (record->durable > hole_->position) {
        return CoveredBy(
            absl::StrFormat("the record at offset %u of %s says that this offset was synced", offset, line_[i].name));
      }
      offset = std::min(offset + kLogRecordHeaderBytes + record->payload_bytes, window.size());
      used_end = offset;
    }
    result_->dropped_bytes += used_end - begin;
    return LookBehindInRing(i, begin, used_end);
  }

  // The same in the ring, which holds the records that follow those in the file.
  absl::Status LookBehindInRing(size_t i, uint64_t begin, uint64_t used_end) {
    const LogHeader& log = *line_[i].header;
    if (log.ring.bytes == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(LogReader reader, LogReader::Open(directory_, line_[i].name, log));
    ASSIGN_OR_RETURN(LogReader::RingRecords found, reader.InRingBehind(used_end));
    result_->dropped_bytes += found.bytes;
    // A file that was truncated lacks bytes that the ring may still have.
    if (begin < used_end) {
      ASSIGN_OR_RETURN(const LogReader::RingRecords nearer, reader.InRingBehind(begin));
      found.durable = std::max(found.durable, nearer.durable);
    }
    if (found.durable <= hole_->position) return absl::OkStatus();
    return CoveredBy(absl::StrFormat("a record in %s says that this offset was synced", RingFileName(log.ring.number)));
  }

  absl::Status CoveredBy(const std::string& proof) const {
    return Damaged(PathOfLog(directory_, line_[hole_->log].name), hole_->offset,
                   absl::StrFormat("%s (%s)", hole_->what, proof), hole_->expected, hole_->got);
  }

  Directory* const directory_;
  const LogRecoveryOptions& options_;
  const LogSink& sink_;
  const std::vector<LogFile>& line_;
  const LogPosition witnessed_;
  const std::vector<UnusedLog>& unused_;
  LogRecovery* const result_;
  LogPosition closed_;  // 0: not closed cleanly
  size_t first_ = 0;    // the index of the log that is read first, from that offset on
  uint64_t first_offset_ = kLogHeaderBytes;
  std::shared_ptr<BufferedFileReader> window_;  // there, until it is taken
  size_t newest_ = 0;                           // the index of the log that holds the last batch delivered
  std::optional<Pending> pending_;
  std::optional<Pending> whole_;  // a batch of fragments that is being delivered
  std::optional<Hole> hole_;
};

// The log of the line that holds the place; none: the line does not go on from there.
std::optional<size_t> FindPlace(const std::vector<LogFile>& line, const LogPlace& place) {
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i].header->number != place.log) continue;
    const bool cut = i + 1 < line.size() && line[i + 1].header->predecessor.length_bytes < place.offset;
    return cut || line[i].header->salt != place.salt ? std::nullopt : std::optional(i);
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<LogRecovery> RecoverLogs(Directory* directory, const std::vector<LogFile>& logs,
                                        const LogRecoveryOptions& options, const LogSink& sink) {
  LogRecovery result;
  ASSIGN_OR_RETURN(LogLine line, FindLogLine(directory, options, logs));
  result.leftovers = std::move(line.leftovers);
  LineReader reader(directory, options, sink, line, &result);
  if (options.from.has_value()) {
    const std::optional<size_t> log = FindPlace(line.logs, *options.from);
    result.goes_on = log.has_value();
    if (!result.goes_on) return result;
    reader.GoOnFrom(*options.from, *log);
  }
  RETURN_IF_ERROR(reader.Run());
  return result;
}

LogStart LogRecovery::Next(FileNumber number, SequenceNumber last_used, ManifestReference manifest) const {
  LogStart next{.number = number,
                .position = end,
                .durable = durable,
                .predecessor = {},
                .last_sequence = std::max(last_sequence, last_used),
                .manifest = manifest};
  if (logs.empty()) return next;
  // The line continues from its last file, even if that file lies after a hole and none of its records count.
  const RecoveredLog& last = logs.back();
  next.position = last.end;
  next.predecessor = {last.number, last.salt, kLogHeaderBytes + last.end.value() - last.start.value()};
  return next;
}

}  // namespace sepal
