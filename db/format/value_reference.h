// Where a separated value lies: the value of an update of kind `reference`, in logs, memtables and tables.
//
// | size   | meaning                                                                                              |
// |--------|------------------------------------------------------------------------------------------------------|
// | 1      | flags: 0. Others are for later versions (expiry, compression), and refused                           |
// | varint | number of the value file (value_file.h)                                                              |
// | varint | offset of the value in it, at least kValueFileHeaderBytes                                            |
// | varint | bytes of the value, at least one and at most kMaxValueBytes                                          |
// | 4      | Checksum32(value, ReferenceSeed(file, offset)), so that bytes of another place never pass the check  |
//
// A reference never changes as long as any update has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "util/base/hash.h"
#include "util/base/numbers.h"

namespace sepal {

struct ValueReference {
  FileNumber file;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint32_t checksum = 0;
  friend bool operator==(const ValueReference&, const ValueReference&) = default;
};

inline uint64_t ReferenceSeed(FileNumber file, uint64_t offset) { return Mix64(Mix64(file.value()) ^ offset); }
// Of `value` at that place.
ValueReference ReferenceTo(FileNumber file, uint64_t offset, std::string_view value);
inline bool IsValueOf(const ValueReference& reference, std::string_view value) {
  return value.size() == reference.bytes &&
         Checksum32(value, ReferenceSeed(reference.file, reference.offset)) == reference.checksum;
}

std::string EncodeValueReference(const ValueReference& reference);
// nullopt for bytes that are no reference.
std::optional<ValueReference> ParseValueReference(std::string_view bytes);

}  // namespace sepal
