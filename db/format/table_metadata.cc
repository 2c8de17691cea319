#include "db/format/table_metadata.h"

#include "absl/strings/str_format.h"
#include "util/base/strings.h"

namespace sepal {

uint64_t ValueBytes(const TableMetadata& table) {
  uint64_t bytes = 0;
  for (const ValueLinks& links : table.value_links) bytes += links.bytes;
  return bytes;
}

std::string ToString(const TableMetadata& table) {
  std::string text = absl::StrFormat(
      "table %06u run %u, %s, %u entries (%u tombstones), %s .. %s, sequences %u .. %u", table.number.value(),
      table.run.value(), HumanBytes(table.size_bytes), table.entries, table.tombstones, ToString(table.smallest.view()),
      ToString(table.largest.view()), table.lowest_sequence.value(), table.highest_sequence.value());
  if (table.expired_at_millis > 0) absl::StrAppendFormat(&text, ", expired at %u ms", table.expired_at_millis);
  if (table.swept_through > SequenceNumber(0)) {
    absl::StrAppendFormat(&text, ", swept through %u", table.swept_through.value());
  }
  if (table.filtered_through > SequenceNumber(0)) {
    absl::StrAppendFormat(&text, ", filtered through %u", table.filtered_through.value());
  }
  for (const ValueLinks& links : table.value_links) {
    absl::StrAppendFormat(&text, ", %u values of %06u.val", links.values, links.file.value());
  }
  return text;
}

}  // namespace sepal
