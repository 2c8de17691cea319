#include "db/decide/visibility/time_marks.h"

#include <algorithm>

namespace sepal {

namespace {

// Returns the first mark that is later.
std::span<const TimeMark>::iterator After(std::span<const TimeMark> marks, uint64_t unix_millis) {
  return std::partition_point(marks.begin(), marks.end(),
                              [&](const TimeMark& mark) { return mark.unix_millis <= unix_millis; });
}

// Returns the first mark at that number or above.
std::span<const TimeMark>::iterator AtOrAbove(std::span<const TimeMark> marks, SequenceNumber sequence) {
  return std::partition_point(marks.begin(), marks.end(),
                              [&](const TimeMark& mark) { return mark.sequence < sequence; });
}

}  // namespace

std::optional<SequenceNumber> SequenceAsOf(std::span<const TimeMark> marks, uint64_t period_millis,
                                           uint64_t unix_millis, SequenceNumber visible) {
  const auto next = After(marks, unix_millis);
  if (next == marks.begin()) return std::nullopt;
  const TimeMark& mark = *(next - 1);
  if (unix_millis - mark.unix_millis < period_millis) return mark.sequence;
  return next == marks.end() ? visible : next->sequence;
}

std::optional<uint64_t> OldestTime(std::span<const TimeMark> marks, uint64_t period_millis, SequenceNumber floor) {
  if (marks.empty()) return std::nullopt;
  const auto first = AtOrAbove(marks, floor);
  if (first == marks.begin()) return first->unix_millis;
  const uint64_t known = (first - 1)->unix_millis + period_millis;
  return first == marks.end() ? known : std::min(known, first->unix_millis);
}

std::optional<uint64_t> TimeOfUpdate(std::span<const TimeMark> marks, SequenceNumber sequence) {
  const auto next = AtOrAbove(marks, sequence);
  if (next == marks.begin()) return std::nullopt;
  return (next - 1)->unix_millis;
}

}  // namespace sepal
