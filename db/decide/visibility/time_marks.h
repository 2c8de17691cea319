// At which sequence number a database stood at a time.
//
// A *mark* says: at this time, everything up to this sequence number was visible, and nothing after it. One is made
// before something is written, if the newest one is older than the period. So
//   - marks ascend, in both;
//   - within a period behind a mark, it is not known what was visible: the mark is taken, which is late by less than a
//     period, and never early: nothing is shown that was written after the time;
//   - later than that, and before the next mark, nothing was written: the next mark's number is exact.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "db/format/time_mark.h"
#include "util/base/numbers.h"

namespace sepal {

// Of ascending marks, where a reader stands as of that time; `visible`: what is visible now. None: it lies before the
// first mark.
std::optional<SequenceNumber> SequenceAsOf(std::span<const TimeMark> marks, uint64_t period_millis,
                                           uint64_t unix_millis, SequenceNumber visible);
// The earliest time as of which a reader stands at `floor` or above; none: there are no marks.
std::optional<uint64_t> OldestTime(std::span<const TimeMark> marks, uint64_t period_millis, SequenceNumber floor);
// When the update with that number was written, early by less than a period; none: before the first mark.
std::optional<uint64_t> TimeOfUpdate(std::span<const TimeMark> marks, SequenceNumber sequence);

}  // namespace sepal
