// Any name and value are no time mark, or one that reads the same both ways.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "db/format/batch_format.h"
#include "db/format/time_mark.h"
#include "util/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sepal;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string_view name = bytes.substr(0, 8), value = bytes.substr(name.size());
  const std::optional<TimeMarkRow> row = ParseTimeMark(name, value);
  if (!row.has_value()) return 0;
  std::string batch(kBatchHeaderBytes, '\0');
  PutTimeMark(&batch, *row);
  BatchReader reader(batch);
  BatchEntry entry;
  SEPAL_CHECK(reader.Next(&entry) && entry.key.substr(1) == name && entry.value == value);
  return 0;
}
