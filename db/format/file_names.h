// The names of the files in a database directory. All but the fixed ones are a number and a kind, so that no other file
// of the database needs to hold a name.
//
// | name            | meaning                                             |
// |-----------------|-----------------------------------------------------|
// | NNNNNN.sst      | sorted table; at least six digits                   |
// | NNNNNN.log      | write-ahead log                                     |
// | NNNNNN.ring     | the newest bytes of write-ahead logs (log_format.h) |
// | MANIFEST-NNNNNN | manifest                                            |
// | LOCK            | locked while a writer has the database open         |
// | LOG, LOG.old    | decisions and errors, for people                    |
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
// Where a repair puts what it takes out of use.
inline constexpr std::string_view kLostDirectoryName = "lost";

// Numbers from it on are no file of ours.
inline constexpr uint64_t kFileNumbersEnd = uint64_t{1} << 48;

enum class FileKind : uint8_t { kTable, kLog, kLogRing, kManifest, kLock, kInfoLog, kOldInfoLog };

struct ParsedFileName {
  FileKind kind = FileKind::kTable;
  FileNumber number;  // 0 for the fixed names
  friend bool operator==(const ParsedFileName&, const ParsedFileName&) = default;
};

std::string TableFileName(FileNumber number);
std::string LogFileName(FileNumber number);
std::string RingFileName(FileNumber number);
std::string ManifestFileName(FileNumber number);

// nullopt for every name that the functions above do not make.
std::optional<ParsedFileName> ParseFileName(std::string_view name);

}  // namespace sepal
