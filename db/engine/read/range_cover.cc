#include "db/engine/read/range_cover.h"

#include <algorithm>
#include <utility>

namespace sepal {

namespace {

template <class Visit>
void ForEachMap(const ReadView& view, Visit visit) {
  if (const RangeTombstoneMap* map = view.active->range_tombstones(); map != nullptr) visit(*map);
  for (const std::shared_ptr<const MemTable>& memtable : view.immutables) {
    if (const RangeTombstoneMap* map = memtable->range_tombstones(); map != nullptr) visit(*map);
  }
}

// Intersects two overlapping stretches, and keeps the newer delete.
void Narrow(const KeyOrder& order, const RangeStretch& other, RangeStretch* stretch) {
  if (other.begin.has_value() && (!stretch->begin.has_value() || order.Less(*stretch->begin, *other.begin)))
    stretch->begin = other.begin;
  if (other.end.has_value() && (!stretch->end.has_value() || order.Less(*other.end, *stretch->end)))
    stretch->end = other.end;
  stretch->newest = std::max(stretch->newest, other.newest);
}

}  // namespace

// Searches newer memtables first, because the lists of tables are mostly older than what was found.
SequenceNumber CoveringIn(const ReadView& view, const KeyOrder& order, std::string_view key, SequenceNumber visible,
                          SequenceNumber known) {
  SequenceNumber newest;
  ForEachMap(view, [&](const RangeTombstoneMap& map) {
    if (map.newest() > std::max(newest, known)) newest = std::max(newest, map.Covering(key, visible));
  });
  for (const RangeTombstonesRef& list : view.version->range_tombstones().lists()) {
    if (list->highest_sequence() > std::max(newest, known))
      newest = std::max(newest, list->Covering(order, key, visible));
  }
  return newest;
}

RangeCover::RangeCover(const ReadView& view, KeyOrder order, SequenceNumber visible,
                       std::shared_ptr<const void> standing)
    : order_(order), visible_(visible), standing_(std::move(standing)) {
  ForEachMap(view, [&](const RangeTombstoneMap& map) {
    maps_.push_back(&map);
    newest_ = std::max(newest_, std::min(visible, map.newest()));
  });
  for (const RangeTombstonesRef& list : view.version->range_tombstones().lists()) {
    if (list->lowest_sequence() > visible) continue;
    lists_.push_back(list.get());
    newest_ = std::max(newest_, std::min(visible, list->highest_sequence()));
  }
}

SequenceNumber RangeCover::Covering(std::string_view key) const {
  SequenceNumber newest;
  for (const RangeTombstoneMap* map : maps_) {
    if (map->newest() > newest) newest = std::max(newest, map->Covering(key, visible_));
  }
  for (const RangeTombstones* list : lists_) {
    if (list->highest_sequence() > newest) newest = std::max(newest, list->Covering(order_, key, visible_));
  }
  return newest;
}

RangeStretch RangeCover::StretchAt(std::string_view key) const {
  RangeStretch stretch;
  for (const RangeTombstoneMap* map : maps_) Narrow(order_, map->StretchAt(key, visible_), &stretch);
  for (const RangeTombstones* list : lists_) Narrow(order_, list->StretchAt(order_, key, visible_), &stretch);
  return stretch;
}

bool RangeCover::MayCoverAny(std::string_view smallest, std::string_view largest, SequenceNumber lowest) const {
  const auto map_may = [&](const RangeTombstoneMap* map) { return map->MayCoverAny(smallest, largest, lowest); };
  const auto list_may = [&](const RangeTombstones* list) {
    if (list->highest_sequence() <= lowest) return false;
    const size_t at = list->FindAtOrAfter(order_, smallest);
    return at < list->size() && !order_.Less(largest, (*list)[at].begin);
  };
  return std::any_of(maps_.begin(), maps_.end(), map_may) || std::any_of(lists_.begin(), lists_.end(), list_may);
}

}  // namespace sepal
