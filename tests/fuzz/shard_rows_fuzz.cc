// A row of a map of shards: whatever the bytes are, they are refused or read within bounds, and what is read is written
// as the same row.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "shards/shard_rows.h"
#include "util/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  sepal::ShardRows rows;
  if (sepal::TakeRow("sbegin", bytes, &rows).ok()) {
    sepal::ShardRows again;
    const std::string row = sepal::EncodeShardRow(rows.shards.at("begin"));
    SEPAL_CHECK(sepal::TakeRow("sbegin", row, &again).ok());
    SEPAL_CHECK(again.shards == rows.shards);
  }
  if (sepal::TakeRow(sepal::kMapRow, bytes, &rows).ok()) {
    sepal::ShardRows again;
    SEPAL_CHECK(sepal::TakeRow(sepal::kMapRow, sepal::EncodeMapRow(rows), &again).ok());
    SEPAL_CHECK(again.epoch == rows.epoch && again.databases == rows.databases);
  }
  return 0;
}
