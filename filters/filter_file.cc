#include "filters/filter_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "util/base/coding.h"
#include "util/base/hash.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal::filters {
namespace {

constexpr size_t kVersionOffset = 8;
constexpr size_t kBodyBytesOffset = 48;
constexpr size_t kChecksumOffset = 56;
constexpr int kMostParts = 48;  // each twice as large as the previous one

uint64_t ChecksumOf(std::string_view header, std::string_view body) {
  return Checksum64(body, Checksum64(header.substr(0, kChecksumOffset), 0));
}

absl::Status Unknown(std::string_view name, std::string_view what, int value) {
  return absl::FailedPreconditionError(
      absl::StrFormat("%s: %s %d is not known here: a newer version of Sepal wrote it", name, what, value));
}

}  // namespace

std::string EncodeFile(const FileHeader& header, std::string_view body) {
  std::string bytes;
  bytes.reserve(kFileHeaderBytes + body.size());
  bytes += kFileMagic;
  bytes += static_cast<char>(kFileVersion);
  bytes += static_cast<char>(header.kind);
  bytes += static_cast<char>(kHashXxh3);
  bytes += static_cast<char>(header.probes);
  PutFixed32(&bytes, header.width);
  for (const uint64_t field : {header.seed, header.keys, header.size, header.extra, uint64_t{body.size()}}) {
    PutFixed64(&bytes, field);
  }
  PutFixed64(&bytes, ChecksumOf(bytes, body));
  return bytes.append(body);
}

absl::StatusOr<DecodedFile> DecodeFile(std::string_view bytes, std::string_view name) {
  if (bytes.empty()) return absl::InvalidArgumentError(absl::StrFormat("%s is empty, and no filter", name));
  if (!bytes.starts_with(kFileMagic.substr(0, bytes.size()))) {
    return absl::InvalidArgumentError(absl::StrFormat("%s is no filter file: it begins with %s, and not with %s", name,
                                                      ToHex(bytes.substr(0, kFileMagic.size())), ToHex(kFileMagic)));
  }
  if (bytes.size() < kFileHeaderBytes) {
    return Damaged(name, 0, "header of the filter", absl::StrFormat("%d bytes", kFileHeaderBytes),
                   absl::StrFormat("%d bytes", bytes.size()));
  }
  Decoder in(bytes.substr(kVersionOffset));
  const uint8_t version = in.Byte();
  if (version != kFileVersion) return Unknown(name, "version", version);
  DecodedFile file;
  file.header.name = name;
  file.header.kind = static_cast<FilterKind>(in.Byte());
  const uint8_t hash = in.Byte();
  file.header.probes = in.Byte();
  file.header.width = in.Fixed32();
  file.header.seed = in.Fixed64();
  file.header.keys = in.Fixed64();
  file.header.size = in.Fixed64();
  file.header.extra = in.Fixed64();
  const uint64_t body_bytes = in.Fixed64();
  const uint64_t checksum = in.Fixed64();
  file.body = in.rest();
  if (file.body.size() != body_bytes) {
    return Damaged(name, kFileHeaderBytes, "body of the filter", absl::StrFormat("%u bytes", body_bytes),
                   absl::StrFormat("%u bytes", file.body.size()));
  }
  const uint64_t computed = ChecksumOf(bytes, file.body);
  if (checksum != computed) {
    return Damaged(name, kChecksumOffset, "checksum of the filter", Hex64(checksum), Hex64(computed));
  }
  if (NameOf(file.header.kind).empty()) return Unknown(name, "kind of filter", static_cast<int>(file.header.kind));
  if (hash != kHashXxh3) return Unknown(name, "hash of keys", hash);
  return file;
}

absl::Status BadField(const FileHeader& header, std::string_view field, std::string_view expected, uint64_t got) {
  return Damaged(header.name, 0, absl::StrFormat("%s of the %s filter", field, NameOf(header.kind)), expected,
                 absl::StrFormat("%u", got));
}

absl::Status CheckField(const FileHeader& header, std::string_view field, uint64_t expected, uint64_t got) {
  return expected == got ? absl::OkStatus() : BadField(header, field, absl::StrFormat("%u", expected), got);
}

absl::StatusOr<FilterBytes> BodyOf(const FileHeader& header, std::string_view body, uint64_t size) {
  RETURN_IF_ERROR(CheckField(header, "bytes of the body", size, body.size()));
  ASSIGN_OR_RETURN(FilterBytes bytes, FilterBytes::Zeroed(size));
  std::memcpy(bytes.data(), body.data(), body.size());
  return bytes;
}

absl::StatusOr<FilterBytes> BitsOf(const FileHeader& header, std::string_view body, uint64_t bits) {
  if (bits == 0 || bits > kMostFilterBytes * 8) return BadField(header, "bits", "a possible number", bits);
  ASSIGN_OR_RETURN(FilterBytes bytes, BodyOf(header, body, (bits + 63) / 64 * 8));
  if (bits % 64 != 0) {
    const uint64_t beyond = DecodeFixed64(body.data() + body.size() - 8) >> bits % 64;
    RETURN_IF_ERROR(CheckField(header, "bits behind the last", 0, beyond));
  }
  return bytes;
}

absl::StatusOr<std::vector<BloomFilter>> PartsOf(const FileHeader& header, std::string_view body) {
  std::vector<BloomFilter> parts;
  while (!body.empty()) {
    if (parts.size() == size_t{kMostParts})
      return BadField(header, "parts", absl::StrFormat("at most %d", kMostParts), kMostParts + 1);
    // The length of the part is in its header, if that is complete.
    uint64_t size = body.size();
    if (size >= kFileHeaderBytes) {
      size = kFileHeaderBytes + std::min(DecodeFixed64(body.data() + kBodyBytesOffset), size - kFileHeaderBytes);
    }
    const absl::StatusOr<DecodedFile> part = DecodeFile(body.substr(0, size), header.name);
    if (!part.ok()) return absl::DataLossError(part.status().message());
    RETURN_IF_ERROR(CheckField(header, "kind of a part", static_cast<uint64_t>(FilterKind::kClassicBloom),
                               static_cast<uint64_t>(part->header.kind)));
    RETURN_IF_ERROR(CheckField(header, "seed of a part", header.seed, part->header.seed));
    ASSIGN_OR_RETURN(BloomFilter filter, BloomFilter::FromFile(part->header, part->body));
    parts.push_back(std::move(filter));
    body.remove_prefix(size);
  }
  if (parts.empty()) return BadField(header, "parts", "at least 1", 0);
  return parts;
}

absl::Status CheckMergeable(std::string_view what, uint64_t mine, uint64_t theirs) {
  if (mine == theirs) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("filters of different parameters: %s %u and %u", what, mine, theirs));
}

}  // namespace sepal::filters
