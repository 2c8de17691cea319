// What the updates of a key mean to a reader. Only this code decides it: other code that compares kinds of updates
// encodes, validates or counts them (tools/house_check.sh checks that). Code that keeps updates in order finds the
// newest visible one: table/block/block_view.cc, db/state/memtable/memtable_index.cc and
// db/engine/read/database_iterator.cc compare sequence numbers as ReadPoint::Sees does.
//
// Laws:
//   1. Of one key, updates are taken newest first from the read point down, and the first visible one decides.
//   2. An absence hides: a deletion hides older updates as a put does.
//   3. An operand of a merge decides nothing: older updates are taken too, down to a value or an absence, and the
//      operator combines them into the value (operands.h).
//   4. An expiring put is a value before its expiry and an absence from then on, at every read point: it hides older
//      updates, and operands over it then begin from nothing.
//   5. A flush or a compaction drops (retention.h) only what no present or future read point can distinguish.
//
// Pure. Cost: one compare for a put.
#pragma once

#include <cstdint>
#include <string_view>

#include "db/format/expiring_value.h"
#include "table/key/internal_key.h"
#include "util/base/numbers.h"

namespace sepal {

// The part of history that a reader sees: all updates at or below `visible`.
struct ReadPoint {
  SequenceNumber visible;
  bool Sees(Trailer trailer) const { return TrailerSequence(trailer) <= visible; }
};

enum class Meaning : uint8_t {
  kAbsent,     // the key is absent
  kValue,      // the update's bytes are the key's value
  kOperand,    // the update's bytes change what the older ones say: they are needed too
  kExpiring,   // a value (or a reference to one) or an absence, which the clock decides (MeaningNow)
  kReference,  // the key has a value, and the update says where it lies (db/format/value_reference.h)
};

// The present time for readers. Asked only if an expiring put is found.
class ReadClock {
 public:
  virtual ~ReadClock() = default;
  // Milliseconds since 1970. Never less than an earlier result.
  virtual uint64_t NowMillis() = 0;
};

// MeaningOf for every kind but a put.
Meaning MeaningOfNonPut(ValueKind kind);
// Returns what an update means to a reader for which it is the newest of its key.
inline Meaning MeaningOf(Trailer trailer) {
  if (TrailerKind(trailer) == ValueKind::kPut) [[likely]]
    return Meaning::kValue;
  return MeaningOfNonPut(TrailerKind(trailer));
}

// Returns what an expiring update means before its expiry: kValue or kReference.
Meaning MeaningUntilExpiry(Trailer trailer);
// Returns when an update expires, or kNoExpiryMillis if it does not.
uint64_t ExpiryOf(Trailer trailer, std::string_view payload);
// Returns the same at the present time, so never kExpiring. `*payload`, the update's bytes, becomes its value or
// reference alone.
Meaning MeaningNow(Trailer trailer, std::string_view* payload, ReadClock* clock);

// Takes the updates of one key, newest first, until they determine what the key is to a reader. Operands are only
// counted; operands.h makes the value.
class Resolver {
 public:
  explicit Resolver(ReadPoint point) : point_(point) {}

  // Returns true if this update decides; then no other may be added. False: the next older update is needed.
  bool Add(Trailer trailer, std::string_view payload) {
    if (!point_.Sees(trailer)) return false;
    meaning_ = MeaningOf(trailer);
    if (meaning_ == Meaning::kValue) value_ = payload;
    operands_ += meaning_ == Meaning::kOperand ? 1 : 0;
    return meaning_ != Meaning::kOperand;
  }
  // A key without a deciding update is absent. For an expiring put, kExpiring: the clock is not asked. With operands
  // the key is present, if the operator does not fail.
  Meaning meaning() const { return operands_ > 0 ? Meaning::kOperand : meaning_; }
  // The number of operands taken; some of a memtable's stand for several.
  uint64_t operands() const { return operands_; }
  // Points into the update that decided.
  std::string_view value() const { return value_; }

 private:
  const ReadPoint point_;
  Meaning meaning_ = Meaning::kAbsent;
  std::string_view value_;
  uint64_t operands_ = 0;
};

}  // namespace sepal
