// Reads units of many tables together: adjacent units of one file in one request, and all requests at once
// (`Directory::ReadMany`). Each unit is verified and kept as soon as its bytes are there, while others are still being
// read.
#pragma once

#include <functional>
#include <span>

#include "absl/status/statusor.h"
#include "table/file/block_source.h"

namespace sepal {

// A unit that was not found in the cache.
struct UnitWant {
  const BlockSource* source = nullptr;
  BlockHandle handle = {};
  UnitKind kind = UnitKind::kDataBlock;
  bool fill_cache = true;
  HintWord* hint = nullptr;
  bool* from_disk = nullptr;  // see BlockSource::ReadForUser
};

// Calls `got` once for each want, with its index in `wants`. All the files must have been opened by `directory`.
void FetchUnits(const Directory& directory, std::span<const UnitWant> wants,
                const std::function<void(size_t, absl::StatusOr<CachePin>)>& got);

}  // namespace sepal
