#include "db/format/file_names.h"

#include <limits>

#include "absl/strings/str_format.h"

namespace sepal {
namespace {

constexpr std::string_view kTableSuffix = ".sst";
constexpr std::string_view kLogSuffix = ".log";
constexpr std::string_view kRingSuffix = ".ring";
constexpr std::string_view kValuesSuffix = ".val";
constexpr std::string_view kManifestPrefix = "MANIFEST-";
constexpr size_t kMinDigits = 6;

// Accepts at least six digits, no leading zeros beyond those needed for that, and not zero.
std::optional<FileNumber> ParseNumber(std::string_view digits) {
  if (digits.size() < kMinDigits || (digits.size() > kMinDigits && digits.front() == '0')) return std::nullopt;
  uint64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    const uint64_t digit = static_cast<uint64_t>(c - '0');
    if (value > (std::numeric_limits<uint64_t>::max() - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  if (value == 0) return std::nullopt;
  return FileNumber(value);
}

std::optional<ParsedFileName> Numbered(FileKind kind, std::string_view digits) {
  const std::optional<FileNumber> number = ParseNumber(digits);
  if (!number.has_value()) return std::nullopt;
  return ParsedFileName{kind, *number};
}

}  // namespace

std::string TableFileName(FileNumber number) { return absl::StrFormat("%06u%s", number.value(), kTableSuffix); }
std::string LogFileName(FileNumber number) { return absl::StrFormat("%06u%s", number.value(), kLogSuffix); }
std::string ValueFileName(FileNumber number) { return absl::StrFormat("%06u%s", number.value(), kValuesSuffix); }
std::string RingFileName(FileNumber number) { return absl::StrFormat("%06u%s", number.value(), kRingSuffix); }
std::string ManifestFileName(FileNumber number) { return absl::StrFormat("%s%06u", kManifestPrefix, number.value()); }

std::optional<ParsedFileName> ParseFileName(std::string_view name) {
  if (name == kLockFileName) return ParsedFileName{FileKind::kLock, FileNumber()};
  if (name == kInfoLogFileName) return ParsedFileName{FileKind::kInfoLog, FileNumber()};
  if (name == kOldInfoLogFileName) return ParsedFileName{FileKind::kOldInfoLog, FileNumber()};
  if (name == kGuardFileName) return ParsedFileName{FileKind::kGuard, FileNumber()};
  if (name.starts_with(kManifestPrefix)) return Numbered(FileKind::kManifest, name.substr(kManifestPrefix.size()));
  if (name.ends_with(kTableSuffix)) return Numbered(FileKind::kTable, name.substr(0, name.size() - 4));
  if (name.ends_with(kLogSuffix)) return Numbered(FileKind::kLog, name.substr(0, name.size() - 4));
  if (name.ends_with(kValuesSuffix)) return Numbered(FileKind::kValues, name.substr(0, name.size() - 4));
  if (name.ends_with(kRingSuffix))
    return Numbered(FileKind::kLogRing, name.substr(0, name.size() - kRingSuffix.size()));
  return std::nullopt;
}

}  // namespace sepal
