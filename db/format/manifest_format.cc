#include "db/format/manifest_format.h"

#include "absl/strings/str_format.h"
#include "util/base/check.h"
#include "util/base/coding.h"
#include "util/base/hash.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

constexpr size_t kManifestChecksumOffset = kManifestHeaderBytes - 8;

uint64_t ControlChecksum(ManifestRecordKind kind, uint64_t value, uint64_t offset, uint64_t header_checksum) {
  char bytes[17];
  EncodeFixed64(bytes, value);
  EncodeFixed64(bytes + 8, offset);
  bytes[16] = static_cast<char>(kind);
  return Checksum64({bytes, sizeof bytes}, header_checksum);
}

}  // namespace

std::string ManifestHeader::Encode() const {
  std::string bytes;
  PutFixed64(&bytes, kManifestMagic);
  PutFixed32(&bytes, kManifestFormatVersion);
  PutFixed32(&bytes, 0);
  PutFixed64(&bytes, number.value());
  PutFixed64(&bytes, database_id);
  PutFixed64(&bytes, Checksum64(bytes, 0));
  return bytes;
}

absl::StatusOr<ManifestHeader> ManifestHeader::Decode(std::string_view bytes, std::string_view file) {
  if (bytes.size() < kManifestHeaderBytes) {
    return Damaged(file, 0, "manifest header", absl::StrFormat("%u bytes", kManifestHeaderBytes),
                   absl::StrFormat("%u", bytes.size()));
  }
  const uint64_t magic = DecodeFixed64(bytes.data());
  if (magic != kManifestMagic) return Damaged(file, 0, "manifest magic", Hex64(kManifestMagic), Hex64(magic));
  const uint64_t stored = ManifestHeaderChecksum(bytes);
  const uint64_t computed = Checksum64(bytes.substr(0, kManifestChecksumOffset), 0);
  if (stored != computed) return Damaged(file, 0, "checksum of the manifest header", Hex64(stored), Hex64(computed));
  const uint32_t version = DecodeFixed32(bytes.data() + 8);
  if (version != kManifestFormatVersion) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s: manifest format version %u; this library supports %u: use a newer version of Sepal", file,
                        version, kManifestFormatVersion));
  }
  return ManifestHeader{FileNumber(DecodeFixed64(bytes.data() + 16)), DecodeFixed64(bytes.data() + 24)};
}

uint64_t ManifestHeaderChecksum(std::string_view header) {
  return DecodeFixed64(header.data() + kManifestChecksumOffset);
}

absl::Status CheckManifestPayload(uint64_t bytes) {
  if (bytes <= UINT32_MAX) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("a version edit of %u bytes; a manifest's record has %u at most", bytes, UINT32_MAX));
}

uint64_t AppendManifestRecord(std::string* out, ManifestRecordKind kind, std::string_view payload,
                              uint64_t previous_checksum) {
  SEPAL_CHECK(CheckManifestPayload(payload.size()).ok());
  const size_t begin = out->size();
  PutFixed32(out, static_cast<uint32_t>(payload.size()));
  PutFixed64(out, 0);
  out->push_back(static_cast<char>(kind));
  out->append(payload);
  const uint64_t checksum = Checksum64(std::string_view(*out).substr(begin + 12), previous_checksum);
  EncodeFixed64(out->data() + begin + 4, checksum);
  return checksum;
}

std::string EncodeManifestSeal(uint64_t records, uint64_t checksum) {
  std::string payload;
  PutFixed64(&payload, records);
  PutFixed64(&payload, checksum);
  return payload;
}

std::string EncodeManifestControl(ManifestRecordKind kind, uint64_t value, uint64_t offset, uint64_t header_checksum) {
  std::string payload;
  PutFixed64(&payload, value);
  PutFixed64(&payload, ControlChecksum(kind, value, offset, header_checksum));
  return payload;
}

std::optional<ManifestSeal> DecodeManifestSeal(std::string_view payload) {
  if (payload.size() != 16) return std::nullopt;
  return ManifestSeal{DecodeFixed64(payload.data()), DecodeFixed64(payload.data() + 8)};
}

std::optional<uint64_t> DecodeManifestControl(ManifestRecordKind kind, std::string_view payload, uint64_t offset,
                                              uint64_t header_checksum) {
  if (payload.size() != kManifestControlBytes) return std::nullopt;
  const uint64_t value = DecodeFixed64(payload.data());
  if (DecodeFixed64(payload.data() + 8) != ControlChecksum(kind, value, offset, header_checksum)) return std::nullopt;
  return value;
}

}  // namespace sepal
