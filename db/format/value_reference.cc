#include "db/format/value_reference.h"

#include <algorithm>

#include "db/format/value_file.h"
#include "sepal/db.h"
#include "util/base/coding.h"
#include "util/base/compression.h"

namespace sepal {

namespace {

constexpr uint8_t kChunkedFlag = 1;
constexpr uint8_t kCompressedFlag = 2;

}  // namespace

ValueReference ReferenceTo(FileNumber file, uint64_t offset, std::string_view value) {
  return {file, offset, value.size(), Checksum32(value, ReferenceSeed(file, offset))};
}

ValueReference ReferenceToChunked(FileNumber file, uint64_t offset, uint64_t bytes, std::string_view sums) {
  return {file, offset, bytes, Checksum32(sums, ReferenceSeed(file, offset)), /*chunked=*/true};
}

void AppendChunkSums(FileNumber file, uint64_t offset, std::string_view bytes, std::string* sums) {
  for (uint64_t at = 0; at < bytes.size(); at += kValueChunkBytes) {
    PutFixed32(sums, Checksum32(bytes.substr(at, kValueChunkBytes), ReferenceSeed(file, offset + at)));
  }
}

uint32_t ChecksumAs(const ValueReference& reference, std::string_view stored) {
  const uint64_t seed = ReferenceSeed(reference.file, reference.offset);
  if (!reference.chunked) [[likely]]
    return Checksum32(stored, seed);
  std::string sums;
  AppendChunkSums(reference.file, reference.offset, stored, &sums);
  return Checksum32(sums, seed);
}

std::string EncodeValueReference(const ValueReference& reference) {
  const int flags = (reference.chunked ? kChunkedFlag : 0) | (reference.compressed() ? kCompressedFlag : 0);
  std::string bytes(1, static_cast<char>(flags));
  PutVarint(&bytes, reference.file.value());
  PutVarint(&bytes, reference.offset);
  PutVarint(&bytes, reference.stored_bytes);
  if (reference.compressed()) {
    bytes.push_back(static_cast<char>(reference.codec));
    PutVarint(&bytes, reference.uncompressed_bytes);
  }
  PutFixed32(&bytes, reference.checksum);
  return bytes;
}

std::optional<ValueReference> ParseValueReference(std::string_view bytes) {
  Decoder in(bytes);
  const uint8_t flags = in.Byte();
  ValueReference reference;
  reference.chunked = flags == kChunkedFlag;
  reference.file = FileNumber(in.Varint());
  reference.offset = in.Varint();
  reference.stored_bytes = in.Varint();
  bool possible = flags <= std::max(kChunkedFlag, kCompressedFlag);
  if (flags == kCompressedFlag) {
    const uint8_t codec = in.Byte();
    reference.uncompressed_bytes = in.Varint();
    possible = IsKnownCompression(codec) && reference.uncompressed_bytes > reference.stored_bytes &&
               reference.uncompressed_bytes <= kMaxValueBytes;
    reference.codec = static_cast<CompressionKind>(codec);
    possible = possible && reference.compressed();
  }
  reference.checksum = in.Fixed32();
  possible = possible && reference.offset >= kValueFileHeaderBytes && reference.offset < kMostValueFileBytes &&
             reference.stored_bytes > 0 && reference.stored_bytes <= kMaxValueBytes;
  if (!in.Done() || !possible || reference.file == FileNumber(0)) return std::nullopt;
  return reference;
}

}  // namespace sepal
