// A name is one of ours only if it is the one that its number and kind make.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "db/format/file_names.h"
#include "util/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sepal;
  const std::string_view name(reinterpret_cast<const char*>(data), size);
  const std::optional<ParsedFileName> parsed = ParseFileName(name);
  if (!parsed.has_value()) return 0;
  switch (parsed->kind) {
    case FileKind::kTable:
      SEPAL_CHECK(TableFileName(parsed->number) == name);
      break;
    case FileKind::kLog:
      SEPAL_CHECK(LogFileName(parsed->number) == name);
      break;
    case FileKind::kLogRing:
      SEPAL_CHECK(RingFileName(parsed->number) == name);
      break;
    case FileKind::kValues:
      SEPAL_CHECK(ValueFileName(parsed->number) == name);
      break;
    case FileKind::kManifest:
      SEPAL_CHECK(ManifestFileName(parsed->number) == name);
      break;
    case FileKind::kLock:
      SEPAL_CHECK(name == kLockFileName);
      break;
    case FileKind::kInfoLog:
      SEPAL_CHECK(name == kInfoLogFileName);
      break;
    case FileKind::kOldInfoLog:
      SEPAL_CHECK(name == kOldInfoLogFileName);
      break;
    case FileKind::kGuard:
      SEPAL_CHECK(name == kGuardFileName);
      break;
  }
  return 0;
}
