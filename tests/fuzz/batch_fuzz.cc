// Any bytes are a batch that reads the same both ways, or DataLoss.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "db/format/batch_format.h"
#include "sepal/write_batch.h"
#include "util/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sepal;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<WriteBatch> batch = WriteBatch::FromBytes(bytes);
  SEPAL_CHECK(batch.ok() || absl::IsDataLoss(batch.status()));
  if (!batch.ok()) return 0;
  std::string again(kBatchHeaderBytes, '\0');
  BatchReader reader(bytes);
  BatchEntry entry;
  uint32_t entries = 0;
  while (reader.Next(&entry)) {
    AppendBatchEntry(&again, entry.kind, entry.family, entry.key, entry.value);
    ++entries;
  }
  SEPAL_CHECK(entries == batch->Count());
  // Varints may be longer than they need to be; nothing else may differ.
  SEPAL_CHECK(again.size() <= bytes.size() && CheckBatch(again).ok());
  return 0;
}
