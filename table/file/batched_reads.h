// Reads units of many tables together: those of one file that lie side by side in one read, all reads at once
// (`Directory::ReadMany`), each unit verified and kept as soon as its bytes are there, while others are on their way.
#pragma once

#include <functional>
#include <span>

#include "absl/status/statusor.h"
#include "table/file/block_source.h"

namespace sepal {

// A unit that was not in the cache.
struct UnitWant {
  const BlockSource* source = nullptr;
  BlockHandle handle = {};
  UnitKind kind = UnitKind::kDataBlock;
  bool fill_cache = true;
  HintWord* hint = nullptr;
  bool* from_disk = nullptr;  // see BlockSource::ReadForUser
};

// Calls `got` once for each want, with its place in `wants`. `directory` has opened all the files.
void FetchUnits(const Directory& directory, std::span<const UnitWant> wants,
                const std::function<void(size_t, absl::StatusOr<CachePin>)>& got);

}  // namespace sepal
