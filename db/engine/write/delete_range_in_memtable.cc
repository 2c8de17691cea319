#include "db/engine/write/delete_range_in_memtable.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/format/range_end.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

RangeTombstone TombstoneOf(const BatchEntry& entry, SequenceNumber sequence) {
  return {.begin = entry.key, .end = DecodeRangeEnd(entry.value)->key, .sequence = sequence};
}

// Where readers may stand. A snapshot that is being taken has been added to the list once the database mutex is free,
// or stands at what is settled or above.
std::vector<SequenceNumber> StripesNow(EngineState* state, const RangeDeletes& deletes) {
  const SequenceNumber settled = deletes.settled();
  std::vector<SequenceNumber> stripes;
  {
    StateLock lock(state);
    stripes = state->snapshots->Sequences();
  }
  while (!stripes.empty() && stripes.back() >= settled) stripes.pop_back();
  stripes.push_back(settled);
  return stripes;
}

}  // namespace

absl::Status CheckRange(const Family& family, const BatchEntry& entry) {
  const std::optional<std::string_view> end = DecodeRangeEnd(entry.value)->key;
  if (!end.has_value() || !family.order.Less(*end, entry.key)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("the range to delete ends before it begins, from \"%s\" to \"%s\"; nothing was written",
                      Printable(entry.key), Printable(*end)));
}

void DeleteRangeInMemTable(EngineState* state, Family* family, MemTable* active, SequenceNumber sequence,
                           const BatchEntry& entry) {
  const RangeTombstone tombstone = TombstoneOf(entry, sequence);
  if (tombstone.end.has_value() && !family->order.Less(tombstone.begin, *tombstone.end)) return;
  family->BeginRangeDeletes();
  const RangeDeletes& deletes = family->range_deletes;
  const SequenceNumber published = state->VisibleSequence();
  std::shared_ptr<const RangeTombstoneSet> before = active->AddRangeTombstone(tombstone, StripesNow(state, deletes));
  // Once all readers of now have left, those that are there see all that is published now.
  state->core->epochs.Defer([settle = deletes.Settler(published), before = std::move(before)]() mutable {
    settle();
    before.reset();
  });
}

}  // namespace sepal
