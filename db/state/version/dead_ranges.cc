#include "db/state/version/dead_ranges.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

namespace sepal {

bool DeadRanges::Less(const KeyPosition& a, const KeyPosition& b) const {
  const int c = order_.Compare(a.key, b.key);
  return c != 0 ? c < 0 : a.after < b.after;
}

std::optional<size_t> DeadRanges::Find(std::string_view key) const {
  const auto begins_at_or_before = [&](const Range& range) {
    const int c = order_.Compare(range.begin.key, key);
    return c < 0 || (c == 0 && !range.begin.after);
  };
  const auto next = std::partition_point(ranges_.begin(), ranges_.end(), begins_at_or_before);
  if (next == ranges_.begin()) return std::nullopt;
  const Range& range = *std::prev(next);
  const int c = order_.Compare(key, range.end.key);
  if (c > 0 || (c == 0 && !range.end.after)) return std::nullopt;
  return static_cast<size_t>(std::prev(next) - ranges_.begin());
}

std::optional<KeyPosition> DeadRanges::EndFrom(std::string_view key, SequenceNumber visible) const {
  MutexLock lock(&mutex_);
  const std::optional<size_t> found = Find(key);
  if (!found.has_value() || ranges_[*found].as_of > visible) return std::nullopt;
  size_t last = *found;
  while (Adjoins(last) && ranges_[last + 1].as_of <= visible) ++last;
  return ranges_[last].end;
}

std::optional<KeyPosition> DeadRanges::BeginFrom(std::string_view key, SequenceNumber visible) const {
  MutexLock lock(&mutex_);
  const std::optional<size_t> found = Find(key);
  if (!found.has_value() || ranges_[*found].as_of > visible) return std::nullopt;
  size_t first = *found;
  while (first > 0 && Adjoins(first - 1) && ranges_[first - 1].as_of <= visible) --first;
  return ranges_[first].begin;
}

void DeadRanges::Add(const KeyPosition& begin, const KeyPosition& end, SequenceNumber as_of, uint64_t keys) {
  if (begin.key.size() > kMostKeyBytes || end.key.size() > kMostKeyBytes || !Less(begin, end)) return;
  MutexLock lock(&mutex_);
  const size_t at = Clear(begin, end);
  ranges_.insert(ranges_.begin() + static_cast<ptrdiff_t>(at), {begin, end, as_of, keys});
  MergeAround(at);
  if (ranges_.size() > kMostRanges) ForgetSome();
  count_.store(ranges_.size(), std::memory_order_relaxed);
}

void DeadRanges::Forget() {
  if (!any()) return;
  MutexLock lock(&mutex_);
  ranges_.clear();
  count_.store(0, std::memory_order_relaxed);
}

void DeadRanges::Cut(std::string_view key) {
  MutexLock lock(&mutex_);
  if (!Find(key).has_value()) return;
  Clear({std::string(key), false}, {std::string(key), true});
  if (ranges_.size() > kMostRanges) ForgetSome();
  count_.store(ranges_.size(), std::memory_order_relaxed);
}

size_t DeadRanges::Clear(const KeyPosition& begin, const KeyPosition& end) {
  const auto first =
      std::partition_point(ranges_.begin(), ranges_.end(), [&](const Range& range) { return !Less(begin, range.end); });
  auto last = first;
  std::vector<Range> left_over;
  for (; last != ranges_.end() && Less(last->begin, end); ++last) {
    const bool before = Less(last->begin, begin);
    const bool behind = Less(end, last->end);
    // It is not known how the keys are distributed.
    const uint64_t keys = before && behind ? (last->keys + 1) / 2 : last->keys;
    if (before) left_over.push_back({last->begin, begin, last->as_of, keys});
    if (behind) left_over.push_back({end, last->end, last->as_of, keys});
  }
  size_t at = static_cast<size_t>(first - ranges_.begin());
  const auto place = ranges_.erase(first, last);
  ranges_.insert(place, left_over.begin(), left_over.end());
  while (at < ranges_.size() && Less(ranges_[at].begin, begin)) ++at;
  return at;
}

bool DeadRanges::Adjoins(size_t left) const {
  return left + 1 < ranges_.size() && ranges_[left].end == ranges_[left + 1].begin;
}

void DeadRanges::MergeAround(size_t at) {
  size_t first = at;
  size_t last = at;
  while (first > 0 && Adjoins(first - 1)) --first;
  while (Adjoins(last)) ++last;
  for (size_t i = first; i < last;) {
    const Range& a = ranges_[i];
    const Range& b = ranges_[i + 1];
    uint64_t younger = 0;
    for (size_t j = first; j <= last; ++j) {
      if (ranges_[j].as_of > std::max(a.as_of, b.as_of)) younger += ranges_[j].keys;
    }
    if (a.as_of == b.as_of || a.keys + b.keys <= 2 * younger) {
      Merge(i);
      --last;
    } else {
      ++i;
    }
  }
}

void DeadRanges::Merge(size_t left) {
  Range& range = ranges_[left];
  Range& next = ranges_[left + 1];
  range.end = std::move(next.end);
  range.as_of = std::max(range.as_of, next.as_of);
  range.keys += next.keys;
  ranges_.erase(ranges_.begin() + static_cast<ptrdiff_t>(left) + 1);
}

// Merges adjoining ranges first, which costs only readers that are behind.
void DeadRanges::ForgetSome() {
  for (size_t i = ranges_.size(); i-- > 0;) {
    if (Adjoins(i)) Merge(i);
  }
  while (ranges_.size() > kMostRanges) {
    ranges_.erase(std::min_element(ranges_.begin(), ranges_.end(),
                                   [](const Range& a, const Range& b) { return a.keys < b.keys; }));
  }
}

absl::Status DeadRanges::Check() const {
  MutexLock lock(&mutex_);
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (!Less(ranges_[i].begin, ranges_[i].end) || (i > 0 && Less(ranges_[i].begin, ranges_[i - 1].end))) {
      return absl::InternalError(absl::StrFormat("dead ranges: range %u is out of order", i));
    }
  }
  return absl::OkStatus();
}

}  // namespace sepal
