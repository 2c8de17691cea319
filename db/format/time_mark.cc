#include "db/format/time_mark.h"

#include "db/format/system_row.h"
#include "util/base/coding.h"

namespace sepal {

std::string TimeMarkName(SequenceNumber sequence) {
  std::string name;
  for (int shift = 56; shift >= 0; shift -= 8) name += static_cast<char>(sequence.value() >> shift & 0xff);
  return name;
}

void PutTimeMark(std::string* batch, const TimeMarkRow& row) {
  std::string times;
  PutFixed64(&times, row.mark.unix_millis);
  PutFixed64(&times, row.passed_millis);
  PutSystemRow(batch, SystemRowKind::kTimeMark, TimeMarkName(row.mark.sequence), times);
}

void DeleteTimeMark(std::string* batch, const TimeMark& mark) {
  DeleteSystemRow(batch, SystemRowKind::kTimeMark, TimeMarkName(mark.sequence));
}

std::optional<TimeMarkRow> ParseTimeMark(std::string_view name, std::string_view value) {
  if (name.size() != 8 || value.size() != 16) return std::nullopt;
  uint64_t sequence = 0;
  for (const char c : name) sequence = sequence << 8 | static_cast<unsigned char>(c);
  if (sequence > kMaxSequenceNumber.value()) return std::nullopt;
  Decoder times(value);
  const uint64_t unix_millis = times.Fixed64();
  return TimeMarkRow{{unix_millis, SequenceNumber(sequence)}, times.Fixed64()};
}

}  // namespace sepal
