// One sorted table file:
//
//   data blocks | leaf pages | root | range deletes | guard | properties | footer
//
// Units follow each other without gaps. Every unit but the footer is followed by a trailer:
//
// | offset | size | meaning                                                                                |
// |--------|------|----------------------------------------------------------------------------------------|
// | 0      | 1    | CompressionKind of the unit's bytes                                                    |
// | 1      | 4    | checksum: low 32 bits of ChecksumWithTail(bytes, kind) ^ UnitMix(table id, offset)     |
//
// so that a block in the wrong place or the wrong file fails its check, and only the checksum of a block that is moved
// verbatim must be mixed again. Only data blocks and properties are compressed.
//
// The footer is the last kFooterBytes of the file:
//
// | offset | size | meaning                                                                                 |
// |--------|------|-----------------------------------------------------------------------------------------|
// | 0      | 16   | root: offset, size                                                                      |
// | 16     | 16   | range deletes: offset, size; 0, 0 without any (no writer makes any yet)                 |
// | 32     | 16   | guard; 0, 0 without one                                                                 |
// | 48     | 16   | properties                                                                              |
// | 64     | 8    | table id: random                                                                        |
// | 72     | 8    | hash seed of lanes, guard and tags                                                      |
// | 80     | 8    | size of the whole file                                                                  |
// | 88     | 1    | checksum kind: 1, XXH3                                                                  |
// | 89     | 1    | hash kind: 1, XXH3 with seed                                                            |
// | 90     | 2    | flags: 1 keys are hashable (tags and filters may be used)                               |
// | 92     | 4    | format version: 1                                                                       |
// | 96     | 8    | Checksum64(bytes 0..95, 0)                                                              |
// | 104    | 8    | kTableMagic                                                                             |
//
// A reader checks magic, then version (newer: FailedPrecondition), then checksum, then everything else. Version 2,
// which 0.1.0 wrote for lanes of fingerprints, is also refused with FailedPrecondition.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/filter_policy.h"
#include "sepal/options.h"
#include "sepal/version.h"
#include "table/index/index_page.h"
#include "table/key/internal_key.h"
#include "table/key/unit_handle.h"
#include "util/base/hash.h"

namespace sepal {

inline constexpr uint64_t kTableMagic = 0x314c42544c415053ull;  // "SPALTBL1"
inline constexpr size_t kFooterBytes = 112;
inline constexpr uint8_t kChecksumXxh3 = 1;
inline constexpr uint8_t kHashXxh3 = 1;

inline uint64_t UnitMix(uint64_t table_id, uint64_t offset) { return Mix64(table_id + offset * 0x9e3779b97f4a7c15ull); }
inline uint32_t UnitChecksum(std::string_view bytes, CompressionKind kind, uint64_t table_id, uint64_t offset) {
  return static_cast<uint32_t>(ChecksumWithTail(bytes, static_cast<uint8_t>(kind)) ^ UnitMix(table_id, offset));
}

struct Footer {
  BlockHandle root, range_deletes, guard, properties;
  uint64_t table_id = 0;
  uint64_t hash_seed = 0;
  uint64_t file_size = 0;
  bool hashable = true;
  uint32_t version = kTableFormatVersion;

  std::string Encode() const;
  // `file` names the file in errors; `file_size` is its real size.
  static absl::StatusOr<Footer> Decode(std::string_view bytes, std::string_view file, uint64_t file_size);
  // The part of a footer that the manifest keeps: its checksum field.
  static uint64_t ChecksumOf(std::string_view bytes);
  // The correct value of that field. Requires at least kFooterBytes; reads the last of them.
  static uint64_t ComputeChecksum(std::string_view bytes);
};

// Metadata that a table has about itself. On disk: fields of (tag varint32, length varint32, bytes), in ascending tag
// order; numbers as varints, rates as the 8 bytes of an IEEE double. A reader skips tags that it does not know.
struct TableProperties {
  uint64_t entries = 0;               // 1
  uint64_t tombstones = 0;            // 2
  uint64_t distinct_keys = 0;         // 3
  uint64_t raw_key_bytes = 0;         // 4: user keys, before compression
  uint64_t raw_value_bytes = 0;       // 5
  uint64_t data_blocks = 0;           // 6
  uint64_t data_bytes = 0;            // 7: data blocks on disk with trailers
  uint64_t leaf_pages = 0;            // 8
  uint64_t leaf_page_bytes = 0;       // 9
  uint64_t guard_bytes = 0;           // 10
  SequenceNumber lowest_sequence;     // 11
  SequenceNumber highest_sequence;    // 12
  std::string smallest_key;           // 13: internal key, encoded
  std::string largest_key;            // 14
  std::string comparator_name;        // 15
  std::string column_family_name;     // 16
  uint32_t column_family_id = 0;      // 17
  uint64_t creation_unix_micros = 0;  // 18
  FilterPolicy filter_policy;         // 19, 20: lane and guard bits per key
  uint32_t lane_probes = 0;           // 21
  uint32_t guard_probes = 0;          // 22
  double expected_filter_rate = 1;    // 23
  uint32_t compression = 0;           // 24: CompressionKind asked for
  uint32_t block_bytes = 0;           // 25: target
  std::string key_sketch;             // 26: HyperLogLog registers of the user keys (util/base/hyperloglog.h)
  std::string writer_version;         // 27: library version
  uint64_t database_id = 0;           // 28
  uint64_t lane_bytes = 0;            // 29: of the leaf pages' bytes, those of the lanes
                                      // 30 is taken: tables of version 2 have it

  std::string Encode() const;
  static absl::StatusOr<TableProperties> Decode(std::string_view bytes, std::string_view file);
};

}  // namespace sepal
