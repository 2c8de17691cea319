#include "db/engine/write/delete_range_in_memtable.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/format/range_end.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

RangeTombstone TombstoneOf(const BatchEntry& entry, SequenceNumber sequence) {
  return {.begin = entry.key, .end = DecodeRangeEnd(entry.value)->key, .sequence = sequence};
}

// Returns the sequence numbers at which readers may read. A snapshot that is being taken has been added to the list
// once the database mutex is free, or reads at or above the settled number.
std::vector<SequenceNumber> StripesNow(EngineState* state, Family* family) {
  std::vector<SequenceNumber> stripes = family->range_deletes.Standing(&state->core->epochs, state->VisibleSequence());
  if (family->history.on()) stripes = StandingThrough(stripes, family->history.Limit(stripes.back()));
  const SequenceNumber settled = stripes.back();
  std::vector<SequenceNumber> snapshots;
  {
    StateLock lock(state);
    snapshots = state->snapshots->Sequences();
  }
  if (snapshots.empty()) return stripes;
  stripes.insert(stripes.end(), snapshots.begin(), std::lower_bound(snapshots.begin(), snapshots.end(), settled));
  std::sort(stripes.begin(), stripes.end());
  return stripes;
}

}  // namespace

absl::Status CheckRange(const Family& family, const BatchEntry& entry) {
  const std::optional<std::string_view> end = DecodeRangeEnd(entry.value)->key;
  if (end.has_value()) RETURN_IF_ERROR(CheckEntrySize(end->size(), 0));
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
  std::vector<SequenceNumber> stripes;
  active->AddRangeTombstone(tombstone, [&]() -> Stripes {
    stripes = StripesNow(state, family);
    return stripes;
  });
}

}  // namespace sepal
