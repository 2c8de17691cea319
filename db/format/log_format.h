// A write-ahead log file: a header sector, then records without gaps. Whatever follows the last record (zeros of
// preallocated space, remains of an earlier use) is ignored.
//
// Header sector:
//
// | offset | size | meaning                                                                                    |
// |--------|------|--------------------------------------------------------------------------------------------|
// | 0      | 8    | kLogMagic                                                                                  |
// | 8      | 4    | format version: 2; 1 where there is no ring                                                |
// | 12     | 4    | 0                                                                                          |
// | 16     | 8    | database id                                                                                |
// | 24     | 8    | number of this log                                                                         |
// | 32     | 8    | salt: random, never used before                                                            |
// | 40     | 8    | start: the LogPosition of the byte at offset 512; below 2^62                               |
// | 48     | 8    | number of the log before this one; 0: none                                                 |
// | 56     | 8    | its salt                                                                                   |
// | 64     | 8    | its length in bytes: where its last record ends                                            |
// | 72     | 8    | durable: the LogPosition up to which the logs before were synced when this was written     |
// | 80     | 8    | number of the manifest then                                                                |
// | 88     | 8    | its durable length in bytes                                                                |
// | 96     | 8    | number in the name of the ring's file; 0: there is none                                    |
// | 104    | 8    | bytes of the ring                                                                          |
// | 112    | 8    | 1: the ring's length was durable when this was written; 0: it was not (version 0.1.0), or  |
// |        |      | there is no ring                                                                           |
// | 120    | 384  | 0                                                                                          |
// | 504    | 8    | Checksum64(bytes 0..503, 0)                                                                |
//
// The LogPosition of the byte at offset o is start + o - 512. The start is the end of the previous log, so that the
// positions of all logs form one continuous line.
//
// Record:
//
// | offset | size | meaning                                                                                    |
// |--------|------|--------------------------------------------------------------------------------------------|
// | 0      | 4    | Checksum32(bytes 4..27, seed)                                                              |
// | 4      | 4    | Checksum32(payload, seed)                                                                  |
// | 8      | 4    | length of the payload                                                                      |
// | 12     | 8    | sequence number of the batch's first entry << 8, and the LogRecordKind                     |
// | 20     | 8    | durable: the LogPosition up to which the logs were synced when the record was written      |
// | 28     |      | payload: the batch (batch_format.h), or a fragment of it                                   |
//
// where seed = LogSeed(salt, position of the record), so that bytes of another log or from another position never pass
// the check. All fragments of a batch carry its sequence number; they may lie in different files. A batch counts once
// its last fragment is complete. Sequence numbers grow from batch to batch and may jump (updates that bypass the log
// also take numbers). A `durable` never exceeds the position of the record that carries it.
//
// Ring, `NNNNNN.ring`: a header and, from offset 4096 on, the newest bytes of the logs that name it; the byte at
// LogPosition p is at 4096 + p modulo the ring's size. A record that is missing or incomplete in its log's file may be
// found there. Nothing else in the ring (records that are also in their files, older records that were partly
// overwritten, zeros) is ever taken for such a record. If a log was closed cleanly, the ring is not needed. Header:
//
// | offset | size | meaning                                                                                    |
// |--------|------|--------------------------------------------------------------------------------------------|
// | 0      | 8    | kRingMagic                                                                                 |
// | 8      | 4    | format version: kLogFormatVersion                                                          |
// | 12     | 4    | 0                                                                                          |
// | 16     | 8    | bytes of the ring, without the header                                                      |
// | 24     | 8    | number of the newest log that goes through it, whose header is durable                     |
// | 32     | 8    | Checksum64(bytes 0..31, 0)                                                                 |
//
// The ring's records are never synced: after a power loss any of its sectors, the header's included, may be an older
// one. If a log's header says that the ring's length was durable, no loss of power explains a shorter ring: it was
// truncated. The header only says that a log was begun, so that a log whose own header is damaged is not taken for one
// that was never begun. A library that knows only version 1 refuses a log of version 2, because it would take it for
// one that ends where its file does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/version.h"
#include "util/base/hash.h"
#include "util/base/numbers.h"

namespace sepal {

inline constexpr uint64_t kLogMagic = 0x31474f4c4c415053ull;   // "SPALLOG1"
inline constexpr uint64_t kRingMagic = 0x31474e524c415053ull;  // "SPALRNG1"
inline constexpr size_t kLogHeaderBytes = 512;
inline constexpr size_t kRingHeaderBytes = 4096;
inline constexpr size_t kLogRecordHeaderBytes = 28;
inline constexpr uint64_t kMaxLogPosition = uint64_t{1} << 62;
// Of one batch: a record's length has four bytes.
inline constexpr size_t kMaxLoggedBatchBytes = (size_t{1} << 32) - (size_t{64} << 10);

enum class LogRecordKind : uint8_t { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

inline uint64_t LogSeed(uint64_t salt, LogPosition position) {
  return Mix64(salt + position.value() * 0x9e3779b97f4a7c15ull);
}

// The previous log.
struct LogPredecessor {
  FileNumber number;
  uint64_t salt = 0;
  uint64_t length_bytes = 0;
  friend bool operator==(const LogPredecessor&, const LogPredecessor&) = default;
};

// A manifest, and how much of it is known to be durable.
struct ManifestReference {
  FileNumber number;
  uint64_t durable_bytes = 0;
  friend bool operator==(const ManifestReference&, const ManifestReference&) = default;
};

// The ring that may hold records that are not yet in their files.
struct RingReference {
  FileNumber number;  // 0: there is none
  uint64_t bytes = 0;
  bool length_is_durable = false;
  friend bool operator==(const RingReference&, const RingReference&) = default;
};

struct LogHeader {
  uint64_t database_id = 0;
  FileNumber number;
  uint64_t salt = 0;
  LogPosition start;
  LogPredecessor predecessor;
  LogPosition durable;
  ManifestReference manifest;
  RingReference ring;

  LogPosition PositionAt(uint64_t offset) const { return LogPosition(start.value() + offset - kLogHeaderBytes); }
  // Returns kLogHeaderBytes bytes.
  std::string Encode() const;
  // `bytes` may be short. `DataLoss` for bytes that are not a header; `FailedPrecondition` for a newer format version.
  static absl::StatusOr<LogHeader> Decode(std::string_view bytes, std::string_view file);
  friend bool operator==(const LogHeader&, const LogHeader&) = default;
};

struct RingHeader {
  uint64_t bytes = 0;
  FileNumber newest_log;

  // Returns the bytes of the table above; zeros follow them in the file.
  std::string Encode() const;
  // Returns nullopt for bytes that are not a header.
  static std::optional<RingHeader> Decode(std::string_view bytes);
  friend bool operator==(const RingHeader&, const RingHeader&) = default;
};

struct LogRecordHeader {
  uint32_t payload_checksum = 0;
  uint32_t payload_bytes = 0;
  SequenceNumber first_sequence;
  LogRecordKind kind = LogRecordKind::kFull;
  LogPosition durable;
};

// Writes the header of a record with this payload, kLogRecordHeaderBytes bytes, to `out`.
void EncodeLogRecordHeader(char* out, uint64_t salt, LogPosition position, SequenceNumber first_sequence,
                           LogRecordKind kind, LogPosition durable, std::string_view payload);

// Decodes the kLogRecordHeaderBytes at `bytes` if they are a header that belongs at `position` of the log with `salt`.
// Does not read the payload.
std::optional<LogRecordHeader> DecodeLogRecordHeader(const char* bytes, uint64_t salt, LogPosition position);

}  // namespace sepal
