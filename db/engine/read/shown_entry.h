// What a user's iterator shows for a key whose newest visible version is not a plain value, and how it takes the
// versions of a key when going backward.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "db/decide/visibility/visibility.h"
#include "db/engine/read/database_iterator.h"
#include "table/iterate/iterator.h"
#include "table/key/internal_key.h"

namespace sepal {

struct TakenVersions {
  Meaning meaning = Meaning::kAbsent;        // never kExpiring: the clock was asked
  uint64_t expiry_millis = kNoExpiryMillis;  // of a value, or a reference to one
};
// Moves `entries` from the oldest version of `*key` to before all of them. If the result is a value or a reference,
// `*key` is spelled as in that version, and `*value` holds it.
TakenVersions TakeBackward(SequenceNumber visible, const KeyOrder& order, ReadClock* clock, InternalIterator* entries,
                           std::string* key, std::string* value);

// Checks the entry at `entries`.
bool HasExpired(InternalIterator* entries, ReadClock* clock);
inline bool IsAbsent(InternalIterator* entries, ReadClock* clock) {
  const Meaning meaning = MeaningOf(entries->key().trailer);
  if (meaning == Meaning::kExpiring) [[unlikely]]
    return HasExpired(entries, clock);
  return meaning == Meaning::kAbsent;
}

// Makes the value of the key where `entries` stands: an expiring value that has not expired and is inline, or the
// result of a merge.
absl::Status MakeShown(const DatabaseIteratorOptions& options, Meaning meaning, std::string_view key,
                       InternalIterator* entries, std::string* value);

}  // namespace sepal
