// The names of the files in a database directory. Except for the fixed ones, a name consists of a number and a kind, so
// that no file needs to hold the name of another.
//
// | name            | meaning                                             |
// |-----------------|-----------------------------------------------------|
// | NNNNNN.sst      | sorted table; at least six digits                   |
// | NNNNNN.log      | write-ahead log                                     |
// | NNNNNN.val      | values of puts (value_file.h)                       |
// | NNNNNN.ring     | the newest bytes of write-ahead logs (log_format.h) |
// | MANIFEST-NNNNNN | manifest                                            |
// | LOCK            | locked while a writer has the database open         |
// | LOG, LOG.old    | decisions and errors, for people                    |
// | CURRENT         | the guard (guard.h): keeps LevelDB and RocksDB away |
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "util/base/numbers.h"

namespace sepal {

inline constexpr std::string_view kLockFileName = "LOCK";
inline constexpr std::string_view kInfoLogFileName = "LOG";
inline constexpr std::string_view kOldInfoLogFileName = "LOG.old";
inline constexpr std::string_view kGuardFileName = "CURRENT";
// The directory into which a repair moves files that are no longer used.
inline constexpr std::string_view kLostDirectoryName = "lost";

// Files with this number or a larger one do not belong to the database.
inline constexpr uint64_t kFileNumbersEnd = uint64_t{1} << 48;

enum class FileKind : uint8_t { kTable, kLog, kLogRing, kValues, kManifest, kLock, kInfoLog, kOldInfoLog, kGuard };

struct ParsedFileName {
  FileKind kind = FileKind::kTable;
  FileNumber number;  // 0 for the fixed names
  friend bool operator==(const ParsedFileName&, const ParsedFileName&) = default;
};

std::string TableFileName(FileNumber number);
std::string LogFileName(FileNumber number);
std::string ValueFileName(FileNumber number);
std::string RingFileName(FileNumber number);
std::string ManifestFileName(FileNumber number);

// Returns nullopt for every name that the functions above do not create.
std::optional<ParsedFileName> ParseFileName(std::string_view name);

}  // namespace sepal
