#include "db/engine/core/put_expiry.h"

#include "absl/strings/str_format.h"
#include "db/format/expiring_value.h"
#include "util/base/status.h"

namespace sepal {

absl::Status CheckExpiry(uint64_t expiry_millis, uint64_t now_millis) {
  if (expiry_millis >= kNoExpiryMillis) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a put would expire at %u ms after 1970 or later, beyond what the format has: at most %u; "
                        "nothing was written",
                        expiry_millis, kNoExpiryMillis - 1));
  }
  if (expiry_millis > now_millis) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("a put would expire at %u ms after 1970, which has passed: it is %u; delete the key instead; "
                      "nothing was written",
                      expiry_millis, now_millis));
}

uint64_t ExpiryAfter(uint64_t now_millis, std::chrono::milliseconds ttl) {
  const auto millis = static_cast<uint64_t>(ttl.count());
  return millis >= kNoExpiryMillis ? kNoExpiryMillis : now_millis + millis;
}

absl::StatusOr<uint64_t> ExpiryOfPut(std::optional<std::chrono::milliseconds> ttl,
                                     std::optional<std::chrono::system_clock::time_point> expires_at,
                                     uint64_t now_millis) {
  if (ttl.has_value() && expires_at.has_value()) {
    return absl::InvalidArgumentError("a put has both a ttl and expires_at: give one; nothing was written");
  }
  uint64_t expiry = 0;
  if (expires_at.has_value()) {
    const auto since_1970 = std::chrono::floor<std::chrono::milliseconds>(expires_at->time_since_epoch());
    expiry = since_1970.count() < 0 ? 0 : static_cast<uint64_t>(since_1970.count());
  } else if (ttl.has_value()) {
    if (ttl->count() <= 0) {
      return absl::InvalidArgumentError(
          absl::StrFormat("a ttl of %d ms is not positive; nothing was written", ttl->count()));
    }
    expiry = ExpiryAfter(now_millis, *ttl);
  } else {
    return 0;
  }
  RETURN_IF_ERROR(CheckExpiry(expiry, now_millis));
  return expiry;
}

}  // namespace sepal
