// Hostile bytes as an index page: refused, or read within bounds, every separator found where it is. The first byte
// chooses the order.
#include <cstddef>
#include <cstdint>
#include <string>

#include "table/index/index_page.h"
#include "tests/table/block/block_fixture.h"
#include "util/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sepal;
  static const BackwardComparator backward(true);
  if (size == 0) return 0;
  const KeyOrder order = (data[0] & 1) != 0 ? KeyOrder(&backward) : KeyOrder();
  const PaddedBytes bytes(std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  constexpr uint64_t kFileSize = uint64_t{1} << 33;
  std::string why;
  if (!IndexPageView::Validate(bytes.view(), kFileSize, order, &why)) return 0;
  const IndexPageView view(bytes.view());
  IndexPageView::PrefetchFences(bytes.view().data());
  view.PrefetchBlock(view.count() - 1);
  for (uint32_t i = 0; i < view.count(); ++i) {
    const Separator separator = view.separator(i);
    const Trailer trailer = separator.has_trailer ? separator.trailer : kLastTrailer;
    SEPAL_CHECK(view.Find({separator.user_key, trailer}, order) == i);
    SEPAL_CHECK(view.handle(i).offset + view.handle(i).size <= kFileSize);
    view.LaneMayContain(i, TestHash(separator.user_key));
    SEPAL_CHECK(view.lane(i).size() <= bytes.view().size());
  }
  return 0;
}
