#include "db/engine/read/shown_entry.h"

#include "absl/base/attributes.h"
#include "db/engine/read/merged_lookup.h"
#include "util/base/status.h"

namespace sepal {

TakenVersions TakeBackward(SequenceNumber visible, const KeyOrder& order, ReadClock* clock, InternalIterator* entries,
                           std::string* key, std::string* value) {
  TakenVersions taken;
  for (; entries->Valid() && order.Equal(entries->key().user_key, *key); entries->Retreat()) {
    if (entries->key().sequence() > visible) continue;
    std::string_view payload = entries->value();
    const Trailer trailer = entries->key().trailer;
    taken.meaning = MeaningNow(trailer, &payload, clock);
    if (taken.meaning != Meaning::kValue && taken.meaning != Meaning::kReference) continue;
    key->assign(entries->key().user_key);
    value->assign(payload);
    taken.expiry_millis = ExpiryOf(trailer, entries->value());
  }
  return taken;
}

ABSL_ATTRIBUTE_NOINLINE bool HasExpired(InternalIterator* entries, ReadClock* clock) {
  return clock->NowMillis() >= ParseExpiringValue(entries->value()).expiry_millis;
}

absl::Status MakeShown(const DatabaseIteratorOptions& options, Meaning meaning, std::string_view key,
                       InternalIterator* entries, std::string* value) {
  if (meaning == Meaning::kExpiring) {
    value->assign(ParseExpiringValue(entries->value()).value);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(*value, MergeVersions(options.source.core, *options.source.family, options.visible, key, entries));
  return absl::OkStatus();
}

}  // namespace sepal
