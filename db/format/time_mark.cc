#include "db/format/time_mark.h"

#include "db/format/system_row.h"
#include "util/base/coding.h"

namespace sepal {

std::string TimeMarkName(SequenceNumber sequence) {
  std::string name;
  for (int shift = 56; shift >= 0; shift -= 8) name += static_cast<char>(sequence.value() >> shift & 0xff);
  return name;
}

void PutTimeMark(std::string* batch, const TimeMark& mark) {
  std::string time;
  PutFixed64(&time, mark.unix_millis);
  PutSystemRow(batch, SystemRowKind::kTimeMark, TimeMarkName(mark.sequence), time);
}

void DeleteTimeMark(std::string* batch, const TimeMark& mark) {
  DeleteSystemRow(batch, SystemRowKind::kTimeMark, TimeMarkName(mark.sequence));
}

std::optional<TimeMark> ParseTimeMark(std::string_view name, std::string_view value) {
  if (name.size() != 8 || value.size() != 8) return std::nullopt;
  uint64_t sequence = 0;
  for (const char c : name) sequence = sequence << 8 | static_cast<unsigned char>(c);
  if (sequence > kMaxSequenceNumber.value()) return std::nullopt;
  Decoder time(value);
  return TimeMark{time.Fixed64(), SequenceNumber(sequence)};
}

}  // namespace sepal
