#include "db/format/expiring_value.h"

#include <algorithm>

#include "util/base/check.h"
#include "util/base/coding.h"

namespace sepal {

ExpiringValue ParseExpiringValue(std::string_view payload) {
  SEPAL_CHECK(payload.size() >= kExpiryBytes);
  uint64_t expiry = 0;
  for (size_t i = kExpiryBytes; i > 0; --i) expiry = expiry << 8 | static_cast<uint8_t>(payload[i - 1]);
  return {expiry, payload.substr(kExpiryBytes)};
}

std::string EncodeExpiringValue(uint64_t expiry_millis, std::string_view value) {
  std::string payload;
  payload.reserve(kExpiryBytes + value.size());
  AppendExpiry(&payload, expiry_millis);
  payload.append(value);
  return payload;
}

void AppendExpiry(std::string* payload, uint64_t expiry_millis) {
  char bytes[8];
  EncodeFixed64(bytes, std::min(expiry_millis, kNoExpiryMillis));
  payload->append(bytes, kExpiryBytes);
}

}  // namespace sepal
