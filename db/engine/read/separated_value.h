// Reads values that lie in value files, for lookups and iterators that found a reference. The view in which it was
// found keeps the file alive.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/engine/core/core.h"
#include "db/engine/read/point_lookup.h"
#include "sepal/value_stream.h"

namespace sepal {

// Reads the value of a reference of `key`, for internal use: the cache is asked but not filled. Errors name the key;
// DataLoss also names the file and the offset.
absl::Status FetchValue(Core* core, std::string_view key, std::string_view reference, std::string* value);
// The same for an iterator that shows the value: it is pinned, and stays in the cache if `fill_cache`.
// ResourceExhausted: there is no room for so large a value (MemoryBudget::CheckRoomToPin).
absl::StatusOr<CachePin> FetchShown(Core* core, std::string_view key, std::string_view reference, bool fill_cache);
// The same for a result of kReference, which becomes kFound, pinned in the cache; or kMaybe if only memory may be used
// (`cached_only`) and the value is not there.
absl::Status FetchResult(Core* core, std::string_view key, const TableLookupOptions& options, PointResult* result);
// The same for all results that are kReference, read together.
void FetchResults(Core* core, std::span<const LookupKey> keys, const TableLookupOptions& options,
                  std::span<PointResult> results, std::span<absl::Status> statuses);
// Copies the value of a reference from `offset` on into `buffer`, as much as exists and fits.
absl::StatusOr<ValuePart> ReadPartOf(Core* core, std::string_view key, std::string_view reference, uint64_t offset,
                                     std::span<char> buffer, bool fill_cache);

}  // namespace sepal
