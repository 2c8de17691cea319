// The file format of filters (docs/reference/filter-format.md). All numbers are little-endian.
//
// | offset | size | meaning                                                                                |
// |--------|------|----------------------------------------------------------------------------------------|
// | 0      | 8    | magic: 89 53 46 4c 54 0d 0a 1a (".SFLT", then what a transfer as text would change)       |
// | 8      | 1    | version: 1                                                                             |
// | 9      | 1    | kind (FilterKind)                                                                      |
// | 10     | 1    | hash of keys: 1, XXH3-64                                                               |
// | 11     | 1    | probes                                                                                 |
// | 12     | 4    | width                                                                                  |
// | 16     | 8    | seed of the hash                                                                       |
// | 24     | 8    | keys                                                                                   |
// | 32     | 8    | size                                                                                   |
// | 40     | 8    | extra                                                                                  |
// | 48     | 8    | bytes of the body                                                                      |
// | 56     | 8    | XXH3-64 of the body, whose seed is the XXH3-64 (seed 0) of the 56 bytes before             |
// | 64     |      | the body                                                                               |
//
// The meaning of probes, width, keys, size and extra depends on the kind; unused fields are 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/filter/any_filter.h"

namespace sepal::filters {

inline constexpr std::string_view kFileMagic("\x89SFLT\r\n\x1a", 8);
inline constexpr uint8_t kFileVersion = 1;
inline constexpr uint8_t kHashXxh3 = 1;
inline constexpr size_t kFileHeaderBytes = 64;

struct FileHeader {
  FilterKind kind = {};
  uint8_t probes = 0;
  uint32_t width = 0;
  uint64_t seed = 0;
  uint64_t keys = 0;
  uint64_t size = 0;
  uint64_t extra = 0;
  std::string_view name = {};  // of the file, for errors
};

std::string EncodeFile(const FileHeader& header, std::string_view body);
inline std::string EncodeFile(const FileHeader& header, const FilterBytes& body) {
  return EncodeFile(header, std::string_view(body.data(), body.size()));
}

struct DecodedFile {
  FileHeader header;
  std::string_view body;  // of the bytes that were decoded
};
// Checks everything that does not depend on the kind.
absl::StatusOr<DecodedFile> DecodeFile(std::string_view bytes, std::string_view name);

// Returns DataLoss that names a field of the header, with the expected and the found value.
absl::Status BadField(const FileHeader& header, std::string_view field, std::string_view expected, uint64_t got);
absl::Status CheckField(const FileHeader& header, std::string_view field, uint64_t expected, uint64_t got);
// Returns memory with the body, which must have `size` bytes.
absl::StatusOr<FilterBytes> BodyOf(const FileHeader& header, std::string_view body, uint64_t size);
// BodyOf for bits; those beyond `bits` in the last word must be zero.
absl::StatusOr<FilterBytes> BitsOf(const FileHeader& header, std::string_view body, uint64_t bits);
// Reads the classic Bloom filters of a body, which has them as complete files one after another.
absl::StatusOr<std::vector<BloomFilter>> PartsOf(const FileHeader& header, std::string_view body);

// Checks the properties that two filters must share to be merged.
absl::Status CheckMergeable(std::string_view what, uint64_t mine, uint64_t theirs);

}  // namespace sepal::filters
