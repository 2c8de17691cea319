#include "rados/layout.h"

#include <algorithm>
#include <array>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "util/base/strings.h"

namespace sepal::rados {
namespace {

constexpr uint64_t kLeastObjectBytes = 64;
constexpr uint64_t kMostObjectBytes = uint64_t{64} << 20;

// Of decimal digits alone, without leading zeros, so that one number has one text.
bool ParseNumber(std::string_view text, uint64_t* number) {
  if (text.empty() || (text.size() > 1 && text[0] == '0') || text.find_first_not_of("0123456789") != text.npos)
    return false;
  return absl::SimpleAtoi(ToAbsl(text), number);
}

}  // namespace

uint64_t ObjectsOf(const Entry& entry) {
  const uint64_t size = static_cast<uint64_t>(std::max<int64_t>(entry.size, 0));
  return (size + entry.object_bytes - 1) / entry.object_bytes;
}

std::string EncodeEntry(const Entry& entry) {
  const std::string pool = entry.pool == kOwnPool ? "" : absl::StrCat("@", entry.pool);
  return absl::StrCat(entry.id, " ", entry.object_bytes, pool, " ", entry.size < 0 ? "-" : absl::StrCat(entry.size),
                      " ", entry.ref.empty() ? "-" : entry.ref, " ", entry.home.empty() ? "." : entry.home);
}

absl::StatusOr<Entry> DecodeEntry(std::string_view text) {
  const auto refuse = [&] {
    return absl::DataLossError(absl::StrFormat("an index entry is \"%s\", which no version known writes", text));
  };
  std::array<std::string_view, 4> fields;
  std::string_view rest = text;
  for (std::string_view& field : fields) {
    const size_t space = rest.find(' ');
    if (space == rest.npos || space == 0) return refuse();
    field = rest.substr(0, space);
    rest.remove_prefix(space + 1);
  }
  Entry entry;
  uint64_t size = 0;
  if (const size_t at = fields[1].find('@'); at != fields[1].npos) {
    uint64_t pool = 0;
    if (!ParseNumber(fields[1].substr(at + 1), &pool) || pool > std::numeric_limits<int64_t>::max()) return refuse();
    entry.pool = static_cast<int64_t>(pool);
    fields[1] = fields[1].substr(0, at);
  }
  if (rest.empty() || !ParseNumber(fields[1], &entry.object_bytes) || entry.object_bytes < kLeastObjectBytes ||
      entry.object_bytes > kMostObjectBytes) {
    return refuse();
  }
  if (fields[2] != "-") {
    if (!ParseNumber(fields[2], &size) || size > std::numeric_limits<int64_t>::max()) return refuse();
    entry.size = static_cast<int64_t>(size);
  }
  entry.id = std::string(fields[0]);
  if (fields[3] != "-") entry.ref = std::string(fields[3]);
  if (rest != ".") entry.home = std::string(rest);
  return entry;
}

std::string NameKey(std::string_view name) { return absl::StrCat("n:", ToAbsl(name)); }
std::string DeadKey(const Entry& entry) {
  return absl::StrCat("d:", entry.id, entry.ref.empty() ? "" : "/", entry.ref);
}
std::string ObjectName(std::string_view id, uint64_t number) { return absl::StrCat(ToAbsl(id), ".", number); }
std::string RefsObject(std::string_view id) { return absl::StrCat(ToAbsl(id), ".refs"); }
std::string_view IdOfObject(std::string_view object) {
  const size_t dot = object.rfind('.');
  return dot == object.npos ? std::string_view() : object.substr(0, dot);
}

std::string NamespaceOf(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    if (part.empty() || part == ".") continue;
    if (!out.empty()) out += '/';
    out += part;
  }
  return out.empty() ? "." : out;
}

}  // namespace sepal::rados
