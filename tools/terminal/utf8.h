// Bytes as text for people: UTF-8 as it is, all else escaped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sepal::tools {

bool IsUtf8(std::string_view bytes);

// `bytes` on one line: what is no UTF-8, control characters and backslashes are \xNN, a byte each, so that the bytes
// can be told from the text. Cut to about `limit` bytes, never within a character, with "..." behind.
std::string Escaped(std::string_view bytes, size_t limit = SIZE_MAX);
// The bytes that such a text stands for; nullopt if a backslash in it begins no \xNN.
std::optional<std::string> Unescaped(std::string_view text);

}  // namespace sepal::tools
