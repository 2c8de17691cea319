// Computes when puts with a time to live, or a given time, expire: milliseconds since 1970.
//
// A time to live becomes a time once, when the put is made, so that the log and every replay of it have the same time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sepal {

// Returns 0 if neither is given. InvalidArgument: both are, or the put would expire in the past, or too late.
absl::StatusOr<uint64_t> ExpiryOfPut(std::optional<std::chrono::milliseconds> ttl,
                                     std::optional<std::chrono::system_clock::time_point> expires_at,
                                     uint64_t now_millis);
// Returns the sum, or a time beyond the format's range if it would overflow.
uint64_t ExpiryAfter(uint64_t now_millis, std::chrono::milliseconds ttl);
// InvalidArgument: the time has passed, or is beyond the format's range.
absl::Status CheckExpiry(uint64_t expiry_millis, uint64_t now_millis);

}  // namespace sepal
