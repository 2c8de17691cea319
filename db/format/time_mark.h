// Time marks: at a time, everything up to a sequence number was visible, and nothing after it
// (db/decide/visibility/time_marks.h). Rows of the system family (system_row.h):
//
// | part  | bytes | meaning                                                                           |
// |-------|-------|-----------------------------------------------------------------------------------|
// | name  | 8     | the sequence number, big-endian                                                   |
// | value | 8     | the time in milliseconds since 1970, little-endian                                |
// |       | 8     | how far time had come then (db/decide/visibility/removal_time.h), as the other    |
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "util/base/numbers.h"

namespace sepal {

struct TimeMark {
  uint64_t unix_millis = 0;
  SequenceNumber sequence;
  friend bool operator==(const TimeMark&, const TimeMark&) = default;
};

struct TimeMarkRow {
  TimeMark mark;
  uint64_t passed_millis = 0;
  friend bool operator==(const TimeMarkRow&, const TimeMarkRow&) = default;
};

// Add an update to a batch that creates the mark, or removes it.
void PutTimeMark(std::string* batch, const TimeMarkRow& row);
void DeleteTimeMark(std::string* batch, const TimeMark& mark);
// The name of a mark with that number.
std::string TimeMarkName(SequenceNumber sequence);
// nullopt if the row is no time mark.
std::optional<TimeMarkRow> ParseTimeMark(std::string_view name, std::string_view value);

}  // namespace sepal
