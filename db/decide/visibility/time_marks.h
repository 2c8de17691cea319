// Maps times to sequence numbers.
//
// A *mark* states: at this time, everything up to this sequence number was visible, and nothing after it. A mark is
// made before a write if the newest one is older than the period. So
//   - times and numbers of marks ascend;
//   - within a period after a mark, it is not known what was visible: the mark is used, which may lag by less than a
//     period, but never shows anything written after the time;
//   - after that, and before the next mark, nothing was written, so the next mark's number is exact.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "db/format/time_mark.h"
#include "util/base/numbers.h"

namespace sepal {

// Returns, from ascending marks, the sequence number as of that time; `visible` is the one visible now. Unset if the
// time is before the first mark.
std::optional<SequenceNumber> SequenceAsOf(std::span<const TimeMark> marks, uint64_t period_millis,
                                           uint64_t unix_millis, SequenceNumber visible);
// Returns the earliest time as of which a reader reads at `floor` or above; unset if there are no marks.
std::optional<uint64_t> OldestTime(std::span<const TimeMark> marks, uint64_t period_millis, SequenceNumber floor);
// Returns when the update with that number was written, too early by less than a period; unset if that was before the
// first mark.
std::optional<uint64_t> TimeOfUpdate(std::span<const TimeMark> marks, SequenceNumber sequence);

}  // namespace sepal
