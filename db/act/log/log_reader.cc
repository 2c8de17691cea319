#include "db/act/log/log_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/format/file_names.h"
#include "util/base/coding.h"
#include "util/base/hash.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

constexpr uint64_t kRingWindowBytes = uint64_t{256} << 10;

}  // namespace

absl::StatusOr<LogReader> LogReader::Open(Directory* directory, std::string_view name, const LogHeader& header,
                                          size_t window_bytes) {
  ASSIGN_OR_RETURN(BufferedFileReader file, BufferedFileReader::Open(directory, name, window_bytes));
  return LogReader(directory, header, std::move(file));
}

// Reads the whole record in the ring first: one that is missing there because it was overwritten was in the file by
// then.
absl::Status LogReader::RetryBesideWriter(uint64_t offset) {
  ring_sought_ = false;
  ring_.reset();
  ring_window_.clear();
  if (header_.ring.bytes > 0) RETURN_IF_ERROR(InRing(offset, UINT64_MAX).status());
  return file_.RetryBesideWriter();
}

absl::StatusOr<std::optional<LogRecord>> LogReader::At(uint64_t offset, std::optional<uint64_t> limit, BadPlace* bad) {
  ASSIGN_OR_RETURN(std::optional<LogRecord> record, InFile(offset, limit.value_or(file_.size()), bad));
  if (record.has_value() || header_.ring.bytes == 0) return record;
  return InRing(offset, limit.value_or(UINT64_MAX));
}

absl::StatusOr<std::optional<LogRecord>> LogReader::InFile(uint64_t offset, uint64_t limit, BadPlace* bad) {
  const auto is_bad = [bad](std::string what, std::string expected, std::string got) {
    if (bad != nullptr) *bad = {std::move(what), std::move(expected), std::move(got)};
    return std::nullopt;
  };
  const LogPosition position = header_.PositionAt(offset);
  ASSIGN_OR_RETURN(std::string_view bytes, file_.At(offset, kLogRecordHeaderBytes));
  if (bytes.size() < kLogRecordHeaderBytes || limit - offset < kLogRecordHeaderBytes)
    return is_bad("log record", "a header of 28 bytes", absl::StrFormat("%u bytes", bytes.size()));
  const std::optional<LogRecordHeader> header = DecodeLogRecordHeader(bytes.data(), header_.salt, position);
  if (!header.has_value()) {
    if (bad == nullptr) return std::nullopt;
    const uint32_t computed = Checksum32(bytes.substr(4, kLogRecordHeaderBytes - 4), LogSeed(header_.salt, position));
    return is_bad("checksum of a log record's header", Hex32(DecodeFixed32(bytes.data())), Hex32(computed));
  }
  const uint64_t total = kLogRecordHeaderBytes + uint64_t{header->payload_bytes};
  if (total > limit - offset) {
    return is_bad("log record", absl::StrFormat("%u bytes", total),
                  absl::StrFormat("%u bytes up to the end of the log", limit - offset));
  }
  ASSIGN_OR_RETURN(bytes, file_.At(offset, total));
  const std::string_view payload = bytes.substr(std::min(kLogRecordHeaderBytes, bytes.size()));
  const uint32_t computed = Checksum32(payload, LogSeed(header_.salt, position));
  if (bytes.size() < total || computed != header->payload_checksum)
    return is_bad("checksum of a log record's payload", Hex32(header->payload_checksum), Hex32(computed));
  return LogRecord{*header, payload, offset + total};
}

absl::StatusOr<std::optional<LogRecord>> LogReader::InRing(uint64_t offset, uint64_t limit) {
  RETURN_IF_ERROR(OpenRing());
  if (ring_bytes() < kLogRecordHeaderBytes) return std::nullopt;
  const LogPosition position = header_.PositionAt(offset);
  uint64_t total = kLogRecordHeaderBytes;
  std::optional<LogRecordHeader> header;
  std::string_view bytes;
  // Repeats if the window had only the header. The bytes read then may belong to another lap of the ring.
  do {
    ASSIGN_OR_RETURN(bytes, RingBytes(position, total));
    header = DecodeLogRecordHeader(bytes.data(), header_.salt, position);
    if (!header.has_value()) return std::nullopt;
    total = kLogRecordHeaderBytes + uint64_t{header->payload_bytes};
    if (total > ring_bytes() || total > limit - offset) return std::nullopt;
  } while (bytes.size() < total);
  const std::string_view payload = bytes.substr(kLogRecordHeaderBytes, header->payload_bytes);
  if (Checksum32(payload, LogSeed(header_.salt, position)) != header->payload_checksum) return std::nullopt;
  return LogRecord{*header, payload, offset + total};
}

absl::StatusOr<LogReader::RingRecords> LogReader::InRingBehind(uint64_t offset) {
  RingRecords found;
  if (header_.ring.bytes == 0) return found;
  RETURN_IF_ERROR(OpenRing());
  if (ring_bytes() < kLogRecordHeaderBytes) return found;
  ASSIGN_OR_RETURN(const std::string_view bytes, RingBytes(header_.PositionAt(offset), ring_bytes()));
  for (uint64_t i = 0; i + kLogRecordHeaderBytes <= bytes.size();) {
    const std::optional<LogRecordHeader> header =
        DecodeLogRecordHeader(bytes.data() + i, header_.salt, header_.PositionAt(offset + i));
    const uint64_t total = header.has_value() ? kLogRecordHeaderBytes + uint64_t{header->payload_bytes} : 1;
    if (header.has_value()) {
      found.bytes += total;
      found.durable = std::max(found.durable, header->durable);
    }
    i += total;
  }
  return found;
}

absl::StatusOr<bool> LogReader::RingIsMissing() {
  if (header_.ring.bytes == 0) return false;
  RETURN_IF_ERROR(OpenRing());
  return ring_missing_;
}

absl::Status LogReader::OpenRing() {
  if (ring_sought_) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<ReadableFile>> file = directory_->OpenForRead(RingFileName(header_.ring.number));
  ring_missing_ = absl::IsNotFound(file.status());
  if (!ring_missing_) {
    RETURN_IF_ERROR(file.status());
    // If its length was not synced, it may be shorter after a power loss, and holds no records then.
    ASSIGN_OR_RETURN(const uint64_t size, (*file)->Size());
    const bool whole = size >= kRingHeaderBytes + header_.ring.bytes;
    ring_missing_ = !whole && header_.ring.length_is_durable;
    if (whole) ring_ = *std::move(file);
  }
  ring_sought_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::string_view> LogReader::RingBytes(LogPosition position, uint64_t length) {
  const uint64_t size = ring_bytes();
  if (ring_window_.size() < size) {
    const uint64_t skipped = position.value() - ring_window_begin_.value();
    const bool there = position >= ring_window_begin_ && skipped < ring_window_.size();
    if (there && length <= ring_window_.size() - skipped) return std::string_view(ring_window_).substr(skipped);
    RETURN_IF_ERROR(ReadRing(position, length));
    if (ring_window_.size() < size) return std::string_view(ring_window_);
  }
  const std::string_view ring = ring_window_;
  const uint64_t place = position.value() % size;
  if (length <= size - place) return ring.substr(place);
  wrapped_.assign(ring.substr(place));
  wrapped_.append(ring.substr(0, length - wrapped_.size()));
  return std::string_view(wrapped_);
}

absl::Status LogReader::ReadRing(LogPosition position, uint64_t length) {
  const uint64_t size = ring_bytes();
  const uint64_t unwrapped = size - position.value() % size;
  const bool part = size > kRingWindowBytes && length <= unwrapped;
  const uint64_t begin = part ? size - unwrapped : 0;
  // Zeros stay where the ring was cut short meanwhile.
  ring_window_.assign(part ? std::min(unwrapped, std::max(length, kRingWindowBytes)) : size, '\0');
  ring_window_begin_ = position;
  const absl::Status status = ring_->Read(kRingHeaderBytes + begin, ring_window_.size(), ring_window_.data()).status();
  if (!status.ok()) ring_window_.clear();
  return status;
}

}  // namespace sepal
