#include "db/engine/read/range_cover.h"

#include <algorithm>

namespace sepal {

namespace {

template <class Visit>
void ForEachSet(const ReadView& view, Visit visit) {
  if (const RangeTombstoneSet* set = view.active->range_tombstones(); set != nullptr) visit(*set);
  for (const std::shared_ptr<const MemTable>& memtable : view.immutables) {
    if (const RangeTombstoneSet* set = memtable->range_tombstones(); set != nullptr) visit(*set);
  }
  if (const RangeTombstoneSet& set = view.version->range_tombstones(); !set.empty()) visit(set);
}

}  // namespace

// Newer memtables first: the lists behind are mostly older than what was found.
SequenceNumber CoveringIn(const ReadView& view, const KeyOrder& order, std::string_view key, SequenceNumber visible) {
  SequenceNumber newest;
  ForEachSet(view, [&](const RangeTombstoneSet& set) {
    for (const RangeTombstonesRef& list : set.lists()) {
      if (list->highest_sequence() > newest) newest = std::max(newest, list->Covering(order, key, visible));
    }
  });
  return newest;
}

RangeCover::RangeCover(const ReadView& view, KeyOrder order, SequenceNumber visible)
    : order_(order), visible_(visible) {
  ForEachSet(view, [&](const RangeTombstoneSet& set) {
    sets_.push_back(set.shared_from_this());
    for (const RangeTombstonesRef& list : set.lists()) {
      if (list->lowest_sequence() > visible) continue;
      lists_.push_back(list.get());
      newest_ = std::max(newest_, std::min(visible, list->highest_sequence()));
    }
  });
}

SequenceNumber RangeCover::Covering(std::string_view key) const {
  SequenceNumber newest;
  for (const RangeTombstones* list : lists_) {
    if (list->highest_sequence() > newest) newest = std::max(newest, list->Covering(order_, key, visible_));
  }
  return newest;
}

RangeCover::Stretch RangeCover::StretchAt(std::string_view key) const {
  Stretch stretch;
  const auto narrow_begin = [&](std::string_view begin) {
    if (!stretch.begin.has_value() || order_.Less(*stretch.begin, begin)) stretch.begin = begin;
  };
  const auto narrow_end = [&](std::string_view end) {
    if (!stretch.end.has_value() || order_.Less(end, *stretch.end)) stretch.end = end;
  };
  for (const RangeTombstones* list : lists_) {
    const size_t at = list->FindAtOrAfter(order_, key);
    if (at > 0) narrow_begin(*(*list)[at - 1].end);
    if (at == list->size()) continue;
    const RangeTombstones::Fragment fragment = (*list)[at];
    if (order_.Less(key, fragment.begin)) {
      narrow_end(fragment.begin);
      continue;
    }
    narrow_begin(fragment.begin);
    if (fragment.end.has_value()) narrow_end(*fragment.end);
    stretch.newest = std::max(stretch.newest, NewestThrough(fragment.sequences, visible_));
  }
  return stretch;
}

bool RangeCover::AnyIn(std::string_view smallest, std::string_view largest, SequenceNumber lowest) const {
  return std::any_of(lists_.begin(), lists_.end(), [&](const RangeTombstones* list) {
    if (list->highest_sequence() <= lowest) return false;
    const size_t at = list->FindAtOrAfter(order_, smallest);
    return at < list->size() && !order_.Less(largest, (*list)[at].begin);
  });
}

}  // namespace sepal
