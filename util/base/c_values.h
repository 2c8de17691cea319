// Converts values between this library and C.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include "absl/status/status.h"

namespace sepal {

// Copies the bytes, with a zero after them; the caller frees the copy.
char* NewCopy(std::string_view bytes);
// Returns true, and sets `*errptr`, for an error.
bool SaveError(char** errptr, const absl::Status& status);
// Null stands for no bytes.
inline std::string_view BytesOf(const char* bytes, size_t size) {
  return size == 0 ? std::string_view("") : std::string_view(bytes, size);
}
// Null stands for none.
inline std::optional<std::string_view> OptionalBytes(const char* end, size_t size) {
  if (end == nullptr) return std::nullopt;
  return BytesOf(end, size);
}

// Copies between a struct of this library and that of a caller, whose compiler knew `size` bytes of it.
template <class Struct>
Struct FromCaller(const Struct* given, size_t size) {
  Struct whole = {};
  std::memcpy(&whole, given, std::min(size, sizeof whole));
  return whole;
}
template <class Struct>
void ToCaller(const Struct& whole, Struct* given, size_t size) {
  std::memset(static_cast<void*>(given), 0, size);
  std::memcpy(static_cast<void*>(given), &whole, std::min(size, sizeof whole));
}

}  // namespace sepal
