// Values that lie in value files: what a lookup or an iterator does that met a reference. The view in which it was
// found holds the file.
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

// Reads the value that a reference of `key` is to, for who makes something of it: the cache is asked and not filled.
// Errors name the key, and DataLoss the file and the offset too.
absl::Status FetchValue(Core* core, std::string_view key, std::string_view reference, std::string* value);
// The same for an iterator that shows it: pinned, in the cache if `fill_cache`. ResourceExhausted: there is no room for
// so large a value (MemoryBudget::CheckRoomToPin).
absl::StatusOr<CachePin> FetchShown(Core* core, std::string_view key, std::string_view reference, bool fill_cache);
// The same of a result of kReference, which is found then: pinned in the cache. From memory alone (`cached_only`) it is
// kMaybe.
absl::Status FetchResult(Core* core, std::string_view key, const TableLookupOptions& options, PointResult* result);
// The same of all results that are kReference, read together.
void FetchResults(Core* core, std::span<const LookupKey> keys, const TableLookupOptions& options,
                  std::span<PointResult> results, std::span<absl::Status> statuses);
// Copies what the value of a reference has from `offset` on into `buffer`, as much as there is, and fits.
absl::StatusOr<ValuePart> ReadPartOf(Core* core, std::string_view key, std::string_view reference, uint64_t offset,
                                     std::span<char> buffer, bool fill_cache);

}  // namespace sepal
