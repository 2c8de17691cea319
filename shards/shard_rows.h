// The rows of a map of shards, which are entries of its database:
//
// | key                     | value                                                                              |
// |-------------------------|------------------------------------------------------------------------------------|
// | "m"                     | version 1 (1 byte), epoch of the map (varint), next id (varint), place of the       |
// |                         | databases (length varint, bytes)                                                   |
// | "s", begin of the shard | version 1 (1 byte), id (varint), epoch (varint), flags (1 byte): 1 take over,       |
// |                         | 2 unmade, 4 untrimmed, 8 has a split; database and owner (length varint, bytes      |
// |                         | each); the key of the split, if it has one (length varint, bytes)                   |
//
// A shard ends where the next one begins.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/shards.h"

namespace sepal {

struct ShardRows {
  uint64_t epoch = 0;
  uint64_t next_id = 1;
  std::string databases;
  std::map<std::string, Shard, std::less<>> shards;  // by begin; `end` is set by Link

  // Has each shard end where the next begins. DataLoss: the first one does not begin with the first key.
  absl::Status Link();
};

inline constexpr std::string_view kMapRow = "m";
std::string ShardKey(std::string_view begin);
std::string EncodeMapRow(const ShardRows& rows);
std::string EncodeShardRow(const Shard& shard);
// Adds an entry of the database. DataLoss: no such row. FailedPrecondition: of a version that only a newer library
// knows.
absl::Status TakeRow(std::string_view key, std::string_view value, ShardRows* rows);

}  // namespace sepal
