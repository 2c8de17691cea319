#include "db/format/expiring_value.h"

#include <algorithm>

#include "util/base/check.h"

namespace sepal {

ExpiringValue ParseExpiringValue(std::string_view payload) {
  SEPAL_CHECK(payload.size() >= kExpiryBytes);
  uint64_t expiry = 0;
  for (size_t i = kExpiryBytes; i > 0; --i) expiry = expiry << 8 | static_cast<uint8_t>(payload[i - 1]);
  return {expiry, payload.substr(kExpiryBytes)};
}

std::string EncodeExpiringValue(uint64_t expiry_millis, std::string_view value) {
  uint64_t rest = std::min(expiry_millis, kNoExpiryMillis);
  std::string payload;
  payload.reserve(kExpiryBytes + value.size());
  for (size_t i = 0; i < kExpiryBytes; ++i, rest >>= 8) payload.push_back(static_cast<char>(rest & 0xff));
  payload.append(value);
  return payload;
}

}  // namespace sepal
