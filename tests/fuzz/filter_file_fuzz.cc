// Hostile bytes as a file of a filter are refused, or give a filter that answers within bounds and is saved again as it
// was; whatever the checksum says.
#include <cstddef>
#include <cstdint>
#include <string>

#include "filters/filter_file.h"
#include "util/base/check.h"
#include "util/base/coding.h"
#include "util/base/hash.h"

namespace {

// With the length of the body and the checksum that the other bytes ask for, so that fields are reached behind them.
std::string Sealed(std::string_view bytes) {
  using namespace sepal;  // NOLINT(google-build-using-namespace)
  std::string sealed(bytes);
  if (sealed.size() < filters::kFileHeaderBytes) return sealed;
  sealed.replace(0, filters::kFileMagic.size(), filters::kFileMagic);
  const std::string_view whole = sealed;
  EncodeFixed64(sealed.data() + 48, sealed.size() - filters::kFileHeaderBytes);
  EncodeFixed64(sealed.data() + 56,
                Checksum64(whole.substr(filters::kFileHeaderBytes), Checksum64(whole.substr(0, 56), 0)));
  return sealed;
}

void Use(std::string_view bytes) {
  using namespace sepal::filters;  // NOLINT(google-build-using-namespace)
  absl::StatusOr<AnyFilter> filter = ParseFilter(bytes, "fuzz");
  if (!filter.ok()) return;
  SEPAL_CHECK(ParseFilter(Serialize(*filter), "again").ok());
  const FilterInfo info = Describe(*filter);
  SEPAL_CHECK(!NameOf(info.kind).empty());
  static_cast<void>(MayContain(*filter, "key"));
  if (Add(&*filter, "key").ok() && info.kind != FilterKind::kHyperLogLog) SEPAL_CHECK(*MayContain(*filter, "key"));
  static_cast<void>(Remove(&*filter, "key"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Use(bytes);
  Use(Sealed(bytes));
  return 0;
}
