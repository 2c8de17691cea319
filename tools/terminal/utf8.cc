#include "tools/terminal/utf8.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/str_format.h"

namespace sepal::tools {
namespace {

// The bytes of the character that `bytes` begins with; 0 if they are no UTF-8.
size_t CharacterSize(std::string_view bytes) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(bytes[at]); };
  const unsigned char first = byte(0);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xC2 && first < 0xE0 ? 2
                        : (first & 0xF0) == 0xE0        ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (length == 0 || length > bytes.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and numbers beyond Unicode.
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) >= 0xA0) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) >= 0x90) return 0;
  return length;
}

// Control characters (those of two bytes too, U+0080 to U+009F), the line and paragraph separators, and characters that
// change the direction of text.
bool Acts(std::string_view character) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(character[at]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7f;
  if (character.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
  if (character.size() != 3 || byte(0) != 0xE2) return false;
  return (byte(1) == 0x80 && byte(2) >= 0xA8 && byte(2) <= 0xAE) ||  // U+2028 to U+202E
         (byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9);    // U+2066 to U+2069
}

}  // namespace

bool IsUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t size = CharacterSize(bytes);
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

std::string Escaped(std::string_view bytes, size_t limit) {
  std::string text;
  for (size_t at = 0; at < bytes.size();) {
    if (at >= limit) return text + "...";
    const size_t size = CharacterSize(bytes.substr(at));
    const std::string_view character = bytes.substr(at, size == 0 ? 1 : size);
    if (size == 0 || Acts(character) || character == "\\") {
      for (const char byte : character) absl::StrAppendFormat(&text, "\\x%02x", static_cast<unsigned char>(byte));
    } else {
      text.append(character);
    }
    at += character.size();
  }
  return text;
}

std::optional<std::string> Unescaped(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (;;) {
    const size_t backslash = std::min(text.find('\\'), text.size());
    bytes.append(text.substr(0, backslash));
    text.remove_prefix(backslash);
    if (text.empty()) return bytes;
    unsigned byte = 0;
    const bool whole = text.size() >= 4 && text[1] == 'x';
    if (!whole || std::from_chars(text.data() + 2, text.data() + 4, byte, 16).ptr != text.data() + 4) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<char>(byte));
    text.remove_prefix(4);
  }
}

}  // namespace sepal::tools
