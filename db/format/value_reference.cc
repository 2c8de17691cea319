#include "db/format/value_reference.h"

#include "db/format/value_file.h"
#include "sepal/db.h"
#include "util/base/coding.h"

namespace sepal {

namespace {

constexpr uint8_t kChunkedFlag = 1;

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

uint32_t ChecksumAs(const ValueReference& reference, std::string_view value) {
  const uint64_t seed = ReferenceSeed(reference.file, reference.offset);
  if (!reference.chunked) [[likely]]
    return Checksum32(value, seed);
  std::string sums;
  AppendChunkSums(reference.file, reference.offset, value, &sums);
  return Checksum32(sums, seed);
}

std::string EncodeValueReference(const ValueReference& reference) {
  std::string bytes(1, static_cast<char>(reference.chunked ? kChunkedFlag : 0));
  PutVarint(&bytes, reference.file.value());
  PutVarint(&bytes, reference.offset);
  PutVarint(&bytes, reference.bytes);
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
  reference.bytes = in.Varint();
  reference.checksum = in.Fixed32();
  const bool possible = flags <= kChunkedFlag && reference.offset >= kValueFileHeaderBytes &&
                        reference.offset < kMostValueFileBytes && reference.bytes > 0 &&
                        reference.bytes <= kMaxValueBytes;
  if (!in.Done() || !possible || reference.file == FileNumber(0)) return std::nullopt;
  return reference;
}

}  // namespace sepal
