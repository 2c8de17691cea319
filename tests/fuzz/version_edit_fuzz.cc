// Any bytes are an edit that is decoded again as it was, or an error of the kinds that are promised.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "db/format/version_edit.h"
#include "util/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sepal;
  const absl::StatusOr<VersionEdit> edit = VersionEdit::Decode({reinterpret_cast<const char*>(data), size});
  if (!edit.ok()) {
    SEPAL_CHECK(absl::IsDataLoss(edit.status()) || absl::IsFailedPrecondition(edit.status()));
    return 0;
  }
  const absl::StatusOr<VersionEdit> again = VersionEdit::Decode(edit->Encode());
  SEPAL_CHECK(again.ok() && *again == *edit);
  SEPAL_CHECK(ToString(*edit) == ToString(*again));
  return 0;
}
