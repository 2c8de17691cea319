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

absl::StatusOr<LogReader> LogReader::Open(Directory* directory, std::string_view name, const LogHeader& header) {
  ASSIGN_OR_RETURN(BufferedFileReader file, BufferedFileReader::Open(directory, name));
  return LogReader(directory, header, std::move(file));
}

// Reads the ring first: a record that is missing in it because it was overwritten was in the file by then.
absl::Status LogReader::RetryBesideWriter() {
  ring_.reset();
  if (header_.ring.bytes > 0) RETURN_IF_ERROR(ReadRing());
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
  RETURN_IF_ERROR(ReadRing());
  if (ring_->size() < kLogRecordHeaderBytes) return std::nullopt;
  const LogPosition position = header_.PositionAt(offset);
  const std::optional<LogRecordHeader> header =
      DecodeLogRecordHeader(RingBytes(position, kLogRecordHeaderBytes).data(), header_.salt, position);
  if (!header.has_value()) return std::nullopt;
  const uint64_t total = kLogRecordHeaderBytes + uint64_t{header->payload_bytes};
  if (total > ring_->size() || total > limit - offset) return std::nullopt;
  const std::string_view payload = RingBytes(position, total).substr(kLogRecordHeaderBytes);
  if (Checksum32(payload, LogSeed(header_.salt, position)) != header->payload_checksum) return std::nullopt;
  return LogRecord{*header, payload, offset + total};
}

absl::StatusOr<LogReader::RingRecords> LogReader::InRingBehind(uint64_t offset) {
  RingRecords found;
  if (header_.ring.bytes == 0) return found;
  RETURN_IF_ERROR(ReadRing());
  if (ring_->size() < kLogRecordHeaderBytes) return found;
  const std::string_view bytes = RingBytes(header_.PositionAt(offset), ring_->size());
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
  RETURN_IF_ERROR(ReadRing());
  return ring_missing_;
}

absl::Status LogReader::ReadRing() {
  if (ring_.has_value()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<ReadableFile>> file = directory_->OpenForRead(RingFileName(header_.ring.number));
  ring_missing_ = absl::IsNotFound(file.status());
  if (ring_missing_) {
    ring_.emplace();
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(file.status());
  // If its length was not synced, it may be shorter after a power loss, and holds no records then.
  std::string ring;
  ASSIGN_OR_RETURN(const uint64_t size, (*file)->Size());
  const bool whole = size >= kRingHeaderBytes + header_.ring.bytes;
  ring_missing_ = !whole && header_.ring.length_is_durable;
  if (whole) ring.resize(header_.ring.bytes);
  RETURN_IF_ERROR((*file)->Read(kRingHeaderBytes, ring.size(), ring.data()).status());
  ring_ = std::move(ring);
  return absl::OkStatus();
}

std::string_view LogReader::RingBytes(LogPosition position, uint64_t length) {
  const std::string_view ring = *ring_;
  const uint64_t place = position.value() % ring.size();
  if (length <= ring.size() - place) return ring.substr(place, length);
  wrapped_.assign(ring.substr(place));
  wrapped_.append(ring.substr(0, length - wrapped_.size()));
  return wrapped_;
}

}  // namespace sepal
