// The value of an expiring put, in batches and tables:
//
// | offset | size | meaning                                                                           |
// |--------|------|-----------------------------------------------------------------------------------|
// | 0      | 6    | expiry: milliseconds since 1970, little-endian; from then on the key is not there |
// | 6      |      | the value                                                                         |
//
// Readers of batches and blocks refuse shorter ones as damage (LeastValueBytes in table/key/internal_key.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "table/key/internal_key.h"

namespace sepal {

// Means "never": 2^48 - 1, in the year 10889. It replaces times that are too late for the format.
inline constexpr uint64_t kNoExpiryMillis = (uint64_t{1} << (8 * kExpiryBytes)) - 1;

struct ExpiringValue {
  uint64_t expiry_millis;
  std::string_view value;  // borrowed
};

// `payload` must have kExpiryBytes at least.
ExpiringValue ParseExpiringValue(std::string_view payload);
// An expiry beyond the range of the format becomes kNoExpiryMillis.
std::string EncodeExpiringValue(uint64_t expiry_millis, std::string_view value);
// Appends the expiry, which stands before the value.
void AppendExpiry(std::string* payload, uint64_t expiry_millis);

}  // namespace sepal
