#include "util/base/strings.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace sepal {

std::string Printable(std::string_view bytes, size_t limit) {
  std::string out;
  for (char c : bytes.substr(0, limit)) {
    if (c >= ' ' && c <= '~' && c != '\\') {
      out.push_back(c);
    } else {
      out += absl::StrFormat("\\x%02x", static_cast<unsigned char>(c));
    }
  }
  if (bytes.size() > limit) out += "...";
  return out;
}

std::string ToHex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (unsigned char c : bytes) {
    out.push_back(kDigits[c >> 4]);
    out.push_back(kDigits[c & 15]);
  }
  return out;
}

std::string Hex64(uint64_t value) { return absl::StrFormat("0x%016x", value); }
std::string Hex32(uint32_t value) { return absl::StrFormat("0x%08x", value); }

std::string HumanBytes(uint64_t bytes) {
  if (bytes < 1024) return absl::StrFormat("%u B", bytes);
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  while (value >= 1024 && unit < 5) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

size_t CommonPrefixSize(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

void ShortenToCommonPrefix(std::string* prefix, std::string_view bytes) {
  prefix->resize(CommonPrefixSize(*prefix, bytes));
}

}  // namespace sepal
