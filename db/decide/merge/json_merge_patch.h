// JSON merge patches (RFC 7386), for the merge operator of that name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sepal {

// Appends to `*result` the text of `base` (absent if there is no value) after `patches`, oldest first. InvalidArgument
// for text that is not JSON, or is nested deeper than 256 levels.
absl::Status ApplyJsonMergePatches(std::optional<std::string_view> base, std::span<const std::string_view> patches,
                                   std::string* result);
// Appends the one patch with the effect of `patches`, at least two, and returns true; returns false if there is none.
// Errors are the same.
absl::StatusOr<bool> CombineJsonMergePatches(std::span<const std::string_view> patches, std::string* result);

}  // namespace sepal
