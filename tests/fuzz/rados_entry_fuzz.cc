// Entries of an index on RADOS: any bytes are refused, or are what the same entry is written as.
#include <cstdint>
#include <string>
#include <string_view>

#include "rados/layout.h"
#include "util/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<sepal::rados::Entry> entry = sepal::rados::DecodeEntry(text);
  if (entry.ok()) SEPAL_CHECK(sepal::rados::EncodeEntry(*entry) == text);
  (void)sepal::rados::NamespaceOf(text);
  return 0;
}
