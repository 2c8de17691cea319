// Compression into a string, for tests.
#pragma once

#include <string>
#include <string_view>

#include "util/base/compression.h"

namespace sepal {

inline absl::Status CompressAll(CompressionKind kind, std::string_view in, std::string* out) {
  out->resize(MaxCompressedSize(kind, in.size()));
  const absl::StatusOr<size_t> size = Compress(kind, in, out->data());
  if (size.ok()) out->resize(*size);
  return size.status();
}

}  // namespace sepal
