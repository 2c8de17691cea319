#include "db/engine/read/newest_update.h"

#include <algorithm>
#include <memory>

#include "db/engine/read/held_view.h"
#include "db/engine/read/point_lookup.h"
#include "db/engine/read/range_cover.h"
#include "db/engine/read/view_iterator.h"
#include "util/base/hash.h"
#include "util/base/status.h"

namespace sepal {

namespace {

bool IsUpdatedIn(const MemTable& memtable, const LookupKey& key, SequenceNumber after) {
  if (memtable.empty() || memtable.LastSequence() <= after) return false;
  const std::optional<MemTable::Found> found = memtable.Lookup(key.user_key, key.hash, key.visible);
  return found.has_value() && TrailerSequence(found->trailer) > after;
}

// Returns the first key at or after `key`, and within the range, that a delete newer than `after` covers.
std::optional<std::string> FindDeletedFrom(const RangeCover& cover, const KeyOrder& order, std::string_view key,
                                           const ConflictRange& range, SequenceNumber after) {
  std::string at(key);
  while (!IsBehind(order, at, range)) {
    const RangeStretch stretch = cover.StretchAt(at);
    if (stretch.newest > after) return at;
    if (!stretch.end.has_value()) break;
    at = *stretch.end;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<bool> IsUpdatedAfter(Core* core, const Family& family, uint64_t hash_seed, std::string_view key,
                                    SequenceNumber after) {
  const EpochDomain::Guard guard(&core->epochs);
  const ReadView* const view = family.view();
  if (view == nullptr) return family.CheckThere();
  const uint64_t hash = family.order.hashable() ? HashKey(key, hash_seed) : 0;
  const LookupKey lookup{.user_key = key, .hash = hash, .hash_seed = hash_seed, .visible = kMaxSequenceNumber};
  if (IsUpdatedIn(*view->active, lookup, after)) return true;
  for (const std::shared_ptr<const MemTable>& memtable : view->immutables) {
    if (IsUpdatedIn(*memtable, lookup, after)) return true;
  }
  if (family.range_deletes.any() && CoveringIn(*view, family.order, key, kMaxSequenceNumber, after) > after)
    return true;
  for (const LevelRun& run : view->version->runs()) {
    if (run.run->highest_sequence() <= after) continue;
    const TableFile* const file = run.run->Find(key);
    if (file == nullptr || file->metadata().highest_sequence <= after) continue;
    ASSIGN_OR_RETURN(const TableReader* reader, ReaderOf(*file, family, {}, core));
    LevelFilterStatistics filters;
    TableHit hit;
    RETURN_IF_ERROR(reader->Lookup(lookup, {}, &filters, &hit, /*guard_asked=*/false));
    if (hit.kind == TableHit::Kind::kFound && TrailerSequence(hit.trailer) > after) return true;
  }
  return false;
}

absl::StatusOr<std::optional<std::string>> FindUpdatedAfter(Core* core, const Family& family,
                                                            const ConflictRange& range, SequenceNumber after) {
  std::optional<HeldView> view;
  std::optional<RangeCover> cover;
  {
    const EpochDomain::Guard guard(&core->epochs);
    const ReadView* const found = family.view();
    if (found == nullptr) return family.CheckThere();
    view.emplace(core->shared_from_this(), found->shared_from_this());
    if (family.range_deletes.any()) {
      cover.emplace(*found, family.order, kMaxSequenceNumber, family.range_deletes.Stand(after));
    }
  }
  KeyRange bounds;
  if (range.begin.has_value()) bounds.begin = *range.begin;
  if (range.end.has_value()) bounds.end = *range.end;
  const std::unique_ptr<InternalIterator> entries =
      NewViewIterator(core, family, **view, kMaxSequenceNumber, nullptr, bounds, /*fill_cache=*/false, after);
  if (range.begin.has_value()) {
    entries->Seek({*range.begin, kFirstTrailer});
  } else {
    entries->SeekToFirst();
  }
  for (; entries->Valid() && !IsBehind(family.order, entries->key().user_key, range); entries->Next()) {
    if (entries->key().sequence() > after) return std::string(entries->key().user_key);
  }
  RETURN_IF_ERROR(entries->status());
  if (!cover.has_value() || cover->newest() <= after) return std::nullopt;
  // In another order the first key is unknown, so any such delete counts.
  if (!range.begin.has_value() && !family.order.bytewise()) return std::string();
  return FindDeletedFrom(*cover, family.order, range.begin.value_or(""), range, after);
}

}  // namespace sepal
