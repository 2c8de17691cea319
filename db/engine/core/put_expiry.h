// When puts expire that users give a time to live, or a time: milliseconds since 1970.
//
// A time to live becomes a time once, as the put is made, so that the log and every replay of it have that time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sepal {

// 0: neither is given. InvalidArgument: both are, or the put would expire before it is made, or too late.
absl::StatusOr<uint64_t> ExpiryOfPut(std::optional<std::chrono::milliseconds> ttl,
                                     std::optional<std::chrono::system_clock::time_point> expires_at,
                                     uint64_t now_millis);
// A sum that stays beyond the format where it would overflow.
uint64_t ExpiryAfter(uint64_t now_millis, std::chrono::milliseconds ttl);
// InvalidArgument: that time has passed, or the format does not have it.
absl::Status CheckExpiry(uint64_t expiry_millis, uint64_t now_millis);

}  // namespace sepal
