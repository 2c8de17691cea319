// Hostile bytes as a guard and as a lane are refused or read within bounds; and what was added is never ruled out.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "table/filter/filter.h"
#include "tests/table/block/block_fixture.h"
#include "util/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sepal;
  if (size < 2) return 0;
  const PaddedBytes bytes(std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  std::string why;
  if (GuardView::Validate(bytes.view(), &why)) {
    const GuardView guard(bytes.view());
    for (uint64_t hash = 1; hash != 0; hash <<= 1) guard.MayContain(hash - 1);
    SEPAL_CHECK(guard.Fill() <= 1);
  }
  const int probes = 1 + data[0] % kMaxLaneProbes;
  std::vector<char> lane(data + 1, data + 1 + (size - 1) / 8 * 8);
  for (uint64_t hash = 1; hash != 0; hash <<= 1) {
    LaneMayContain(lane.data(), lane.size(), probes, hash - 1);
    if (lane.empty()) continue;
    LaneAdd(lane.data(), lane.size(), probes, hash - 1);
    SEPAL_CHECK(LaneMayContain(lane.data(), lane.size(), probes, hash - 1));
  }
  return 0;
}
