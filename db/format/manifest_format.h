// A manifest: the edits that describe the database. A header, then records without gaps.
//
// Header:
//
// | offset | size | meaning                          |
// |--------|------|----------------------------------|
// | 0      | 8    | kManifestMagic                   |
// | 8      | 4    | format version: 1                |
// | 12     | 4    | 0                                |
// | 16     | 8    | number of this manifest          |
// | 24     | 8    | database id                      |
// | 32     | 8    | Checksum64(bytes 0..31, 0)       |
//
// Record:
//
// | offset | size | meaning                                                                                       |
// |--------|------|-----------------------------------------------------------------------------------------------|
// | 0      | 4    | length of the payload                                                                         |
// | 4      | 8    | Checksum64(kind and payload, the checksum of the record before; the first: of the header)     |
// | 12     | 1    | ManifestRecordKind                                                                            |
// | 13     |      | payload                                                                                       |
//
// | kind           | payload                                                                                       |
// |----------------|-----------------------------------------------------------------------------------------------|
// | 1 edit         | a version edit                                                                                |
// | 2 seal         | u64 number of records before it, u64 checksum of the last of them (of the header if none)     |
// | 3 continued in | control: the number of the manifest that takes the edits from here on                         |
// | 4 synced       | control: the length of this manifest up to which it was synced when this was written          |
//
// A control payload can be verified without its predecessors, so that it is a witness even after a damaged record:
//
// | offset | size | meaning                                                                                       |
// |--------|------|-----------------------------------------------------------------------------------------------|
// | 0      | 8    | value                                                                                         |
// | 8      | 8    | Checksum64(value u64, offset of the record u64, kind; the header's checksum)                  |
//
// The records up to the seal are a snapshot of the whole database. The seal occurs once; only edits precede it. Records
// after a "continued in" do not count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/version.h"
#include "util/base/numbers.h"

namespace sepal {

inline constexpr uint64_t kManifestMagic = 0x314e414d4c415053ull;  // "SPALMAN1"
inline constexpr size_t kManifestHeaderBytes = 40;
inline constexpr size_t kManifestRecordHeaderBytes = 13;
inline constexpr size_t kManifestControlBytes = 16;

enum class ManifestRecordKind : uint8_t { kEdit = 1, kSeal = 2, kContinuedIn = 3, kSynced = 4 };

struct ManifestHeader {
  FileNumber number;
  uint64_t database_id = 0;

  // kManifestHeaderBytes bytes; the last 8 are the checksum that seeds the chain.
  std::string Encode() const;
  // `bytes` may be short. `DataLoss` for bytes that are not a header; `FailedPrecondition` for a newer format version.
  static absl::StatusOr<ManifestHeader> Decode(std::string_view bytes, std::string_view file);
  friend bool operator==(const ManifestHeader&, const ManifestHeader&) = default;
};

// The checksum in an encoded header.
uint64_t ManifestHeaderChecksum(std::string_view header);

// Checks that a record's length field can hold the length. FailedPrecondition: no manifest can hold the payload.
absl::Status CheckManifestPayload(uint64_t bytes);
// Appends a record to `out`; returns its checksum, which seeds the next. Requires that the payload passes
// CheckManifestPayload.
uint64_t AppendManifestRecord(std::string* out, ManifestRecordKind kind, std::string_view payload,
                              uint64_t previous_checksum);

std::string EncodeManifestSeal(uint64_t records, uint64_t checksum);
std::string EncodeManifestControl(ManifestRecordKind kind, uint64_t value, uint64_t offset, uint64_t header_checksum);

struct ManifestSeal {
  uint64_t records = 0;
  uint64_t checksum = 0;
};
std::optional<ManifestSeal> DecodeManifestSeal(std::string_view payload);
// Returns the value of a control payload that belongs at `offset` of the manifest.
std::optional<uint64_t> DecodeManifestControl(ManifestRecordKind kind, std::string_view payload, uint64_t offset,
                                              uint64_t header_checksum);

}  // namespace sepal
