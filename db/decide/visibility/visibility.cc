#include "db/decide/visibility/visibility.h"

#include "util/base/check.h"

namespace sepal {

Meaning MeaningOfNonPut(ValueKind kind) {
  switch (kind) {
    case ValueKind::kPut:
      return Meaning::kValue;
    case ValueKind::kDelete:
    case ValueKind::kSingleDelete:
    case ValueKind::kRangeDelete:  // of its first key; for the others see db/state/ranges
      return Meaning::kAbsent;
    case ValueKind::kMerge:
    case ValueKind::kFoldedMerge:
      return Meaning::kOperand;
    case ValueKind::kReference:
      return Meaning::kReference;
    case ValueKind::kExpiringPut:
    case ValueKind::kExpiringReference:
      return Meaning::kExpiring;
  }
  // Every reader of files refuses other kinds.
  SEPAL_CHECK(false);
}

Meaning MeaningUntilExpiry(Trailer trailer) {
  return IsReference(TrailerKind(trailer)) ? Meaning::kReference : Meaning::kValue;
}

uint64_t ExpiryOf(Trailer trailer, std::string_view payload) {
  return Expires(TrailerKind(trailer)) ? ParseExpiringValue(payload).expiry_millis : kNoExpiryMillis;
}

Meaning MeaningNow(Trailer trailer, std::string_view* payload, ReadClock* clock) {
  const Meaning meaning = MeaningOf(trailer);
  if (meaning != Meaning::kExpiring) return meaning;
  const ExpiringValue expiring = ParseExpiringValue(*payload);
  if (clock->NowMillis() >= expiring.expiry_millis) return Meaning::kAbsent;
  *payload = expiring.value;
  return MeaningUntilExpiry(trailer);
}

}  // namespace sepal
