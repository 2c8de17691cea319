#include "db/format/log_format.h"

#include "absl/strings/str_format.h"
#include "util/base/check.h"
#include "util/base/coding.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

constexpr size_t kUsedHeaderBytes = 120;
// The version of a log without a ring.
constexpr uint32_t kVersionWithoutRing = 1;
// A ring is read as a whole.
constexpr uint64_t kMaxRingBytes = uint64_t{64} << 20;
constexpr size_t kLogChecksumOffset = kLogHeaderBytes - 8;

}  // namespace

std::string LogHeader::Encode() const {
  std::string bytes;
  bytes.reserve(kLogHeaderBytes);
  PutFixed64(&bytes, kLogMagic);
  PutFixed32(&bytes, ring.number == FileNumber(0) ? kVersionWithoutRing : kLogFormatVersion);
  PutFixed32(&bytes, 0);
  PutFixed64(&bytes, database_id);
  PutFixed64(&bytes, number.value());
  PutFixed64(&bytes, salt);
  PutFixed64(&bytes, start.value());
  PutFixed64(&bytes, predecessor.number.value());
  PutFixed64(&bytes, predecessor.salt);
  PutFixed64(&bytes, predecessor.length_bytes);
  PutFixed64(&bytes, durable.value());
  PutFixed64(&bytes, manifest.number.value());
  PutFixed64(&bytes, manifest.durable_bytes);
  PutFixed64(&bytes, ring.number.value());
  PutFixed64(&bytes, ring.bytes);
  PutFixed64(&bytes, ring.length_is_durable ? 1 : 0);
  SEPAL_DCHECK(bytes.size() == kUsedHeaderBytes);
  bytes.resize(kLogChecksumOffset, '\0');
  PutFixed64(&bytes, Checksum64(bytes, 0));
  return bytes;
}

absl::StatusOr<LogHeader> LogHeader::Decode(std::string_view bytes, std::string_view file) {
  if (bytes.size() < kLogHeaderBytes) {
    return Damaged(file, 0, "log header", absl::StrFormat("%u bytes", kLogHeaderBytes),
                   absl::StrFormat("%u", bytes.size()));
  }
  const uint64_t magic = DecodeFixed64(bytes.data());
  if (magic != kLogMagic) return Damaged(file, 0, "log magic", Hex64(kLogMagic), Hex64(magic));
  const uint64_t stored = DecodeFixed64(bytes.data() + kLogChecksumOffset);
  const uint64_t computed = Checksum64(bytes.substr(0, kLogChecksumOffset), 0);
  if (stored != computed) return Damaged(file, 0, "checksum of the log header", Hex64(stored), Hex64(computed));
  const uint32_t version = DecodeFixed32(bytes.data() + 8);
  if (version < kVersionWithoutRing || version > kLogFormatVersion) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s: log format version %u; this library supports %u to %u: use a newer version of Sepal", file,
                        version, kVersionWithoutRing, kLogFormatVersion));
  }
  Decoder in(bytes.substr(16, kUsedHeaderBytes - 16));
  LogHeader h;
  h.database_id = in.Fixed64();
  h.number = FileNumber(in.Fixed64());
  h.salt = in.Fixed64();
  h.start = LogPosition(in.Fixed64());
  h.predecessor = {FileNumber(in.Fixed64()), 0, 0};
  h.predecessor.salt = in.Fixed64();
  h.predecessor.length_bytes = in.Fixed64();
  h.durable = LogPosition(in.Fixed64());
  h.manifest.number = FileNumber(in.Fixed64());
  h.manifest.durable_bytes = in.Fixed64();
  h.ring.number = FileNumber(in.Fixed64());
  h.ring.bytes = in.Fixed64();
  h.ring.length_is_durable = in.Fixed64() == 1;
  SEPAL_CHECK(in.Done());
  const bool has_ring = h.ring.number > FileNumber(0);
  const bool ring_is_possible = has_ring == (version > kVersionWithoutRing) && has_ring == (h.ring.bytes > 0) &&
                                h.ring.bytes <= kMaxRingBytes && h.ring.number <= h.number;
  const bool has_predecessor = h.predecessor.number > FileNumber(0);
  if (h.number == FileNumber(0) || h.start.value() >= kMaxLogPosition || h.durable > h.start ||
      h.predecessor.number >= h.number || !ring_is_possible ||
      (has_predecessor && h.predecessor.length_bytes < kLogHeaderBytes)) {
    return Damaged(file, 16, "log header with a good checksum and impossible numbers");
  }
  return h;
}

std::string RingHeader::Encode() const {
  std::string encoded;
  PutFixed64(&encoded, kRingMagic);
  PutFixed32(&encoded, kLogFormatVersion);
  PutFixed32(&encoded, 0);
  PutFixed64(&encoded, bytes);
  PutFixed64(&encoded, newest_log.value());
  PutFixed64(&encoded, Checksum64(encoded, 0));
  return encoded;
}

std::optional<RingHeader> RingHeader::Decode(std::string_view encoded) {
  constexpr size_t kSummed = 32;
  if (encoded.size() < kSummed + 8) return std::nullopt;
  if (DecodeFixed64(encoded.data() + kSummed) != Checksum64(encoded.substr(0, kSummed), 0)) return std::nullopt;
  if (DecodeFixed64(encoded.data()) != kRingMagic) return std::nullopt;
  return RingHeader{DecodeFixed64(encoded.data() + 16), FileNumber(DecodeFixed64(encoded.data() + 24))};
}

void EncodeLogRecordHeader(char* out, uint64_t salt, LogPosition position, SequenceNumber first_sequence,
                           LogRecordKind kind, LogPosition durable, std::string_view payload) {
  const uint64_t seed = LogSeed(salt, position);
  EncodeFixed32(out + 4, Checksum32(payload, seed));
  EncodeFixed32(out + 8, static_cast<uint32_t>(payload.size()));
  EncodeFixed64(out + 12, (first_sequence.value() << 8) | static_cast<uint8_t>(kind));
  EncodeFixed64(out + 20, durable.value());
  EncodeFixed32(out, Checksum32({out + 4, kLogRecordHeaderBytes - 4}, seed));
}

std::optional<LogRecordHeader> DecodeLogRecordHeader(const char* bytes, uint64_t salt, LogPosition position) {
  // The cheap conditions come first, because recovery tries this at every byte after a hole.
  const uint64_t sequence_and_kind = DecodeFixed64(bytes + 12);
  const uint8_t kind = sequence_and_kind & 0xff;
  if (kind < static_cast<uint8_t>(LogRecordKind::kFull) || kind > static_cast<uint8_t>(LogRecordKind::kLast)) {
    return std::nullopt;
  }
  const LogPosition durable(DecodeFixed64(bytes + 20));
  if (durable > position) return std::nullopt;
  if (DecodeFixed32(bytes) != Checksum32({bytes + 4, kLogRecordHeaderBytes - 4}, LogSeed(salt, position))) {
    return std::nullopt;
  }
  return LogRecordHeader{.payload_checksum = DecodeFixed32(bytes + 4),
                         .payload_bytes = DecodeFixed32(bytes + 8),
                         .first_sequence = SequenceNumber(sequence_and_kind >> 8),
                         .kind = static_cast<LogRecordKind>(kind),
                         .durable = durable};
}

}  // namespace sepal
