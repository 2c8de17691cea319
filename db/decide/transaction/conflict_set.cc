#include "db/decide/transaction/conflict_set.h"

#include <algorithm>
#include <utility>

#include "db/format/range_end.h"

namespace sepal {

namespace {

// About how much memory a key takes besides its bytes.
constexpr size_t kBytesOfKey = 48;

size_t BytesOf(const ConflictRange& range) {
  return sizeof(range) + (range.begin.has_value() ? range.begin->size() : 0) +
         (range.end.has_value() ? range.end->size() : 0);
}

bool BeginsLater(const KeyOrder& order, const ConflictRange& a, const ConflictRange& b) {
  if (!a.begin.has_value()) return false;
  return !b.begin.has_value() || order.Less(*b.begin, *a.begin);
}

bool EndsLater(const KeyOrder& order, const ConflictRange& a, const ConflictRange& b) {
  if (!b.end.has_value()) return false;
  if (!a.end.has_value()) return true;
  const int compared = order.Compare(*a.end, *b.end);
  return compared > 0 || (compared == 0 && a.end_inclusive && !b.end_inclusive);
}

std::optional<std::string_view> TouchedByKey(const ConflictSet::Part& part, std::string_view key) {
  const auto it = part.keys.find(absl::string_view(key.data(), key.size()));
  if (it != part.keys.end()) return *it;
  // The last range that does not begin after the key.
  const auto behind = std::partition_point(part.ranges.begin(), part.ranges.end(), [&](const ConflictRange& range) {
    return !IsBefore(part.order, key, range);
  });
  if (behind == part.ranges.begin() || IsBehind(part.order, key, *std::prev(behind))) return std::nullopt;
  return key;
}

// Cost: a check of each range, and of each key unless all are outside.
std::optional<std::string_view> TouchedByRange(const ConflictSet::Part& part, std::string_view begin,
                                               const std::optional<std::string_view>& end) {
  const KeyOrder& order = part.order;
  const auto before_end = [&](std::string_view key) { return !end.has_value() || order.Less(key, *end); };
  const bool outside = !part.smallest.has_value() || order.Less(*part.largest, begin) || !before_end(*part.smallest);
  for (auto key = part.keys.begin(); !outside && key != part.keys.end(); ++key) {
    if (!order.Less(*key, begin) && before_end(*key)) return *key;
  }
  for (const ConflictRange& range : part.ranges) {
    if (IsBehind(order, begin, range)) continue;
    if (end.has_value() && range.begin.has_value() && !order.Less(*range.begin, *end)) continue;
    return begin;
  }
  return std::nullopt;
}

}  // namespace

ConflictRange RangeOf(const BatchEntry& range_delete) {
  ConflictRange range{.begin = std::string(range_delete.key), .end = {}, .end_inclusive = false};
  const std::optional<std::string_view> end = DecodeRangeEnd(range_delete.value).value_or(RangeEnd{}).key;
  if (end.has_value()) range.end = std::string(*end);
  return range;
}

bool Contains(const KeyOrder& order, const ConflictRange& outer, const ConflictRange& inner) {
  return !BeginsLater(order, outer, inner) && !EndsLater(order, inner, outer);
}

bool IsBefore(const KeyOrder& order, std::string_view key, const ConflictRange& range) {
  return range.begin.has_value() && order.Less(key, *range.begin);
}

bool IsBehind(const KeyOrder& order, std::string_view key, const ConflictRange& range) {
  if (!range.end.has_value()) return false;
  const int compared = order.Compare(key, *range.end);
  return compared > 0 || (compared == 0 && !range.end_inclusive);
}

ConflictSet::Part& ConflictSet::PartOf(ColumnFamilyId family, const KeyOrder& order) {
  for (Part& part : parts_) {
    if (part.family == family) return part;
  }
  parts_.push_back({.family = family, .order = order, .keys = {}, .ranges = {}});
  bytes_ += sizeof(Part);
  return parts_.back();
}

void ConflictSet::AddKey(ColumnFamilyId family, const KeyOrder& order, std::string_view key) {
  Part& part = PartOf(family, order);
  // In an order that considers different bytes equal, such a key is a range.
  if (!order.hashable()) {
    AddRange(family, order, {.begin = std::string(key), .end = std::string(key)});
  } else if (part.keys.emplace(key).second) {
    bytes_ += key.size() + kBytesOfKey;
  }
}

void ConflictSet::AddRange(ColumnFamilyId family, const KeyOrder& order, ConflictRange range) {
  if (order.hashable() && range.begin.has_value() && range.end_inclusive && range.begin == range.end) {
    return AddKey(family, order, *range.begin);
  }
  Part& part = PartOf(family, order);
  bytes_ += BytesOf(range);
  part.ranges.push_back(std::move(range));
  if (part.ranges.size() < part.join_at) return;
  Join(&part);
  part.join_at = std::max<size_t>(part.join_at, 2 * part.ranges.size());
}

void ConflictSet::Add(const ConflictSet& other) {
  for (const Part& part : other.parts_) {
    for (const std::string& key : part.keys) AddKey(part.family, part.order, key);
    for (const ConflictRange& range : part.ranges) AddRange(part.family, part.order, range);
  }
}

void ConflictSet::Seal() {
  for (Part& part : parts_) {
    Join(&part);
    part.smallest.reset();
    part.largest.reset();
    for (const std::string& key : part.keys) {
      if (!part.smallest.has_value() || part.order.Less(key, *part.smallest)) part.smallest = key;
      if (!part.largest.has_value() || part.order.Less(*part.largest, key)) part.largest = key;
    }
  }
}

void ConflictSet::Join(Part* part) {
  const KeyOrder& order = part->order;
  std::sort(part->ranges.begin(), part->ranges.end(),
            [&](const ConflictRange& a, const ConflictRange& b) { return BeginsLater(order, b, a); });
  std::vector<ConflictRange> joined;
  for (ConflictRange& range : part->ranges) {
    bytes_ -= BytesOf(range);
    const bool overlaps =
        !joined.empty() && (!range.begin.has_value() || !IsBehind(order, *range.begin, joined.back()));
    if (!overlaps) {
      joined.push_back(std::move(range));
    } else if (EndsLater(order, range, joined.back())) {
      joined.back().end = std::move(range.end);
      joined.back().end_inclusive = range.end_inclusive;
    }
  }
  part->ranges = std::move(joined);
  for (const ConflictRange& range : part->ranges) bytes_ += BytesOf(range);
}

std::optional<std::string_view> ConflictSet::Touched(const BatchEntry& entry) const {
  for (const Part& part : parts_) {
    if (part.family != entry.family) continue;
    if (!IsRangeDelete(entry.kind)) return TouchedByKey(part, entry.key);
    return TouchedByRange(part, entry.key, DecodeRangeEnd(entry.value).value_or(RangeEnd{}).key);
  }
  return std::nullopt;
}

}  // namespace sepal
