// Any bytes are a row of a prepared transaction that reads the same both ways, or a status that says what they are.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "db/format/prepared_transaction.h"
#include "util/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sepal;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<PreparedRow> row = PreparedRow::Decode(bytes);
  if (!row.ok()) {
    SEPAL_CHECK(absl::IsDataLoss(row.status()) || absl::IsFailedPrecondition(row.status()));
    return 0;
  }
  // Varints may be longer than they need to be; nothing else may differ.
  const std::string again = row->Encode();
  SEPAL_CHECK(again.size() <= bytes.size() && *PreparedRow::Decode(again) == *row);
  LocksOfWrites(row->batch);
  return 0;
}
