// Hostile bytes as a data block: refused, or read within bounds and in order. The first byte chooses how.
#include <cstddef>
#include <cstdint>
#include <string>

#include "table/block/block.h"
#include "table/block/block_cursor.h"
#include "tests/table/block/block_fixture.h"
#include "util/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sepal;
  static const BackwardComparator backward(true);
  if (size == 0) return 0;
  const KeyOrder order = (data[0] & 1) != 0 ? KeyOrder(&backward) : KeyOrder();
  const PaddedBytes bytes(std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  std::string why;
  if (!BlockView::Validate(bytes.view(), order, &why)) return 0;
  const BlockView view(bytes.view());
  BlockCursor cursor;
  cursor.Attach(bytes.view(), order);
  uint32_t i = 0;
  uint8_t sum = 0;
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next(), ++i) {
    for (const char c : cursor.value()) sum ^= static_cast<uint8_t>(c);
    SEPAL_CHECK(view.LowerBound(cursor.key(), order) == i);
    view.Find(cursor.key().user_key, TestHash(cursor.key().user_key), cursor.key().sequence(), order);
    // Every entry's tag is tried: whatever the tags are, reads stay within bounds.
    view.Find(cursor.key().user_key, i * 0x9e3779b97f4a7c15ull + sum, cursor.key().sequence(), order);
  }
  SEPAL_CHECK(i == view.count());
  for (cursor.SeekToLast(); cursor.Valid(); cursor.Prev()) --i;
  SEPAL_CHECK(i == 0);
  return 0;
}
