// A value file, `NNNNNN.val`: values of puts that are kept apart from their keys, each written once. The updates that
// refer to them (value_reference.h) are in logs and tables.
//
// | offset | size | meaning                                                                                            |
// |--------|------|----------------------------------------------------------------------------------------------------|
// | 0      | 8    | kValueFileMagic                                                                                    |
// | 8      | 4    | format version: 1                                                                                  |
// | 12     | 4    | 0                                                                                                  |
// | 16     | 8    | database id                                                                                        |
// | 24     | 8    | number of this file                                                                                |
// | 32     | 8    | file id: random; tells the file from another of its number in a copy of the database               |
// | 40     | 16   | 0                                                                                                  |
// | 56     | 8    | Checksum64(bytes 0..55, 0)                                                                         |
// | 64     |      | values, in the order in which they were written; what lies between them means nothing              |
//
// Only a reference says where a value begins, and has the value's checksum; the file does not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "util/base/numbers.h"

namespace sepal {

inline constexpr uint64_t kValueFileMagic = 0x314c41564c415053ull;  // "SPALVAL1"
inline constexpr uint32_t kValueFileVersion = 1;
inline constexpr size_t kValueFileHeaderBytes = 64;
inline constexpr uint64_t kMostValueFileBytes = uint64_t{1} << 62;

struct ValueFileHeader {
  uint64_t database_id = 0;
  FileNumber number;
  uint64_t file_id = 0;

  // Returns kValueFileHeaderBytes bytes.
  std::string Encode() const;
  // `bytes` may be short. `DataLoss` for bytes that are no header; `FailedPrecondition` for a newer format version.
  static absl::StatusOr<ValueFileHeader> Decode(std::string_view bytes, std::string_view file);
  friend bool operator==(const ValueFileHeader&, const ValueFileHeader&) = default;
};

}  // namespace sepal
