// Bytes as text for people: valid UTF-8 unchanged, everything else escaped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sepal::tools {

bool IsUtf8(std::string_view bytes);

// `bytes` on one line: invalid UTF-8, control characters and backslashes are \xNN, one for each byte, so that the text
// determines the bytes. Cut to about `limit` bytes, never within a character, and then followed by "...".
std::string Escaped(std::string_view bytes, size_t limit = SIZE_MAX);
// The bytes of such a text; nullopt if a backslash in it begins no \xNN.
std::optional<std::string> Unescaped(std::string_view text);

}  // namespace sepal::tools
