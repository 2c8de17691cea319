// Any bytes as a footer and as properties: decoded and the same again, or an error of the kinds that are promised. The
// second time with magic number, version and checksum made right, so that what stands behind them is reached.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "table/file/table_format.h"
#include "util/base/check.h"
#include "util/base/coding.h"

namespace {

using namespace sepal;

void TakeFooter(const std::string& bytes, uint64_t file_size) {
  const absl::StatusOr<Footer> footer = Footer::Decode(bytes, "file", file_size);
  if (!footer.ok()) {
    SEPAL_CHECK(absl::IsDataLoss(footer.status()) || absl::IsFailedPrecondition(footer.status()));
    return;
  }
  SEPAL_CHECK(footer->root.offset + footer->root.size <= file_size);
  SEPAL_CHECK(footer->properties.offset + footer->properties.size <= file_size);
  const absl::StatusOr<Footer> again = Footer::Decode(footer->Encode(), "file", file_size);
  SEPAL_CHECK(again.ok() && again->Encode() == footer->Encode());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<TableProperties> properties = TableProperties::Decode(bytes, "file");
  if (properties.ok()) {
    const absl::StatusOr<TableProperties> again = TableProperties::Decode(properties->Encode(), "file");
    SEPAL_CHECK(again.ok() && again->Encode() == properties->Encode());
  } else {
    SEPAL_CHECK(absl::IsDataLoss(properties.status()) || absl::IsFailedPrecondition(properties.status()));
  }
  if (size < kFooterBytes) return 0;
  constexpr size_t kFileSizeAt = 80;
  constexpr size_t kVersionAt = 92;
  constexpr size_t kChecksumAt = 96;
  std::string footer = bytes.substr(size - kFooterBytes);
  TakeFooter(footer, size);
  EncodeFixed32(footer.data() + kVersionAt, 1);
  EncodeFixed64(footer.data() + kChecksumAt, Footer::ComputeChecksum(footer));
  EncodeFixed64(footer.data() + kChecksumAt + 8, kTableMagic);
  TakeFooter(footer, DecodeFixed64(footer.data() + kFileSizeAt));
  TakeFooter(footer, size);
  return 0;
}
