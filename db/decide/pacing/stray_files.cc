#include "db/decide/pacing/stray_files.h"

#include "db/format/file_names.h"

namespace sepal {

namespace {

bool IsObsolete(const ParsedFileName& file, const LiveFiles& live) {
  switch (file.kind) {
    case FileKind::kTable:
      return !live.tables.contains(file.number) && !live.pending.contains(file.number);
    case FileKind::kLog:
      return file.number < live.min_log_number && !live.pending.contains(file.number);
    case FileKind::kLogRing:
      return file.number != live.ring_number;
    case FileKind::kValues:
      return false;  // they are removed with the last reference (db/act/files/value_store.h)
    case FileKind::kManifest:
      return file.number != live.manifest_number && !live.pending.contains(file.number);
    case FileKind::kLock:
    case FileKind::kInfoLog:
    case FileKind::kOldInfoLog:
    case FileKind::kGuard:
      return false;
  }
  return false;
}

bool BelongsToTheLog(FileKind kind) { return kind == FileKind::kLog || kind == FileKind::kLogRing; }

template <class Wanted>
std::vector<std::string> Obsolete(std::span<const std::string> directory_listing, const LiveFiles& live,
                                  const Wanted& wanted) {
  std::vector<std::string> names;
  for (const std::string& name : directory_listing) {
    const std::optional<ParsedFileName> file = ParseFileName(name);
    if (file.has_value() && wanted(file->kind) && IsObsolete(*file, live)) names.push_back(name);
  }
  return names;
}

}  // namespace

std::vector<std::string> ObsoleteFiles(std::span<const std::string> directory_listing, const LiveFiles& live) {
  return Obsolete(directory_listing, live, [](FileKind) { return true; });
}

std::vector<std::string> ObsoleteLogs(std::span<const std::string> directory_listing, const LiveFiles& live) {
  return Obsolete(directory_listing, live, BelongsToTheLog);
}

}  // namespace sepal
