// Where a separated value lies: the value of an update of kind `reference`, in logs, memtables and tables.
//
// | size   | meaning                                                                                              |
// |--------|------------------------------------------------------------------------------------------------------|
// | 1      | flags: 1, the value is chunked; 2, it is compressed. Not both. Others are for later versions, and    |
// |        | refused                                                                                              |
// | varint | number of the value file (value_file.h)                                                              |
// | varint | offset of the value in it, at least kValueFileHeaderBytes                                            |
// | varint | bytes that are stored there, at least one and at most kMaxValueBytes                                 |
// | 1      | of a compressed value: the codec, as a CompressionKind (util/base/compression.h says what is stored) |
// | varint | of a compressed value: its own bytes, more than are stored and at most kMaxValueBytes                |
// | 4      | Checksum32(stored bytes, ReferenceSeed(file, offset)), so that bytes of another place never pass the |
// |        | check; of a chunked value, the same of its chunk sums                                                |
//
// A chunked value has its chunk sums behind it, so that a part of it can be checked by itself: for each of its chunks
// of kValueChunkBytes, the last of which may be shorter, Checksum32(chunk, ReferenceSeed(file, offset of the chunk)),
// in 4 bytes. The sums follow from the value and its place: to check a whole value takes no look at them.
//
// A reference never changes as long as any update has it. An update of kind `expiring reference` has its expiry
// (expiring_value.h) before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sepal/options.h"
#include "table/key/internal_key.h"
#include "util/base/hash.h"
#include "util/base/numbers.h"

namespace sepal {

inline constexpr uint64_t kValueChunkBytes = uint64_t{64} << 10;
inline constexpr uint64_t kChunkSumBytes = 4;

struct ValueReference {
  FileNumber file;
  uint64_t offset = 0;
  uint64_t stored_bytes = 0;
  uint32_t checksum = 0;
  bool chunked = false;
  CompressionKind codec = CompressionKind::kNone;
  uint64_t uncompressed_bytes = 0;  // of a compressed value alone
  bool compressed() const { return codec != CompressionKind::kNone; }
  // Of the value that readers get. What a file has of it are `stored_bytes`.
  uint64_t value_bytes() const { return compressed() ? uncompressed_bytes : stored_bytes; }
  // Of the chunk sums: where they lie, and how long they are.
  uint64_t sums_offset() const { return offset + stored_bytes; }
  uint64_t sums_bytes() const { return (stored_bytes + kValueChunkBytes - 1) / kValueChunkBytes * kChunkSumBytes; }
  friend bool operator==(const ValueReference&, const ValueReference&) = default;
};

inline uint64_t ReferenceSeed(FileNumber file, uint64_t offset) { return Mix64(Mix64(file.value()) ^ offset); }
// Of `value` at that place, as it is.
ValueReference ReferenceTo(FileNumber file, uint64_t offset, std::string_view value);
// Of a chunked value of `bytes` bytes at that place, by its chunk sums.
ValueReference ReferenceToChunked(FileNumber file, uint64_t offset, uint64_t bytes, std::string_view sums);
// Appends the sums of the chunks of `bytes`, which lie at `offset` of the file: a value, or whole chunks of one.
void AppendChunkSums(FileNumber file, uint64_t offset, std::string_view bytes, std::string* sums);
// The checksum that the reference would have if that were stored in its place.
uint32_t ChecksumAs(const ValueReference& reference, std::string_view stored);
inline bool IsStoredOf(const ValueReference& reference, std::string_view stored) {
  return stored.size() == reference.stored_bytes && ChecksumAs(reference, stored) == reference.checksum;
}
// Of a chunked one.
inline bool AreSumsOf(const ValueReference& reference, std::string_view sums) {
  return sums.size() == reference.sums_bytes() &&
         Checksum32(sums, ReferenceSeed(reference.file, reference.offset)) == reference.checksum;
}

std::string EncodeValueReference(const ValueReference& reference);
// nullopt for bytes that are no reference.
std::optional<ValueReference> ParseValueReference(std::string_view bytes);

// Returns the encoded reference in the value of an update that refers (IsReference): the value without its expiry.
inline std::string_view ReferencePart(ValueKind kind, std::string_view value) {
  return Expires(kind) ? value.substr(kExpiryBytes) : value;
}
// Returns the reference of an update, or nullopt if its kind has none or its bytes are not one.
inline std::optional<ValueReference> ReferenceOf(ValueKind kind, std::string_view value) {
  return IsReference(kind) ? ParseValueReference(ReferencePart(kind, value)) : std::nullopt;
}
// Return the kinds of an update with a reference and with its value inline; they expire if `kind` does.
inline constexpr ValueKind ReferringKind(ValueKind kind) {
  return Expires(kind) ? ValueKind::kExpiringReference : ValueKind::kReference;
}
inline constexpr ValueKind InlineKind(ValueKind kind) {
  return Expires(kind) ? ValueKind::kExpiringPut : ValueKind::kPut;
}
// Returns the value of an update with `rest` in the place of its value or reference. Its expiry, if any, stays.
inline std::string WithSameExpiry(ValueKind kind, std::string_view value, std::string_view rest) {
  std::string bytes(value.substr(0, Expires(kind) ? kExpiryBytes : 0));
  bytes.append(rest);
  return bytes;
}

}  // namespace sepal
