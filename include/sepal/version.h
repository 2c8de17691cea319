// The version of the library, and the versions of the on-disk formats that it writes.
//
// Rule for files of other versions: the library opens every format version up to its own. It refuses a newer one with
// `FailedPrecondition`, naming the file, its version and the newest version that it knows, and changes nothing. Tables
// of version 2, which 0.1.0 wrote for lanes of fingerprints, are refused in the same way.
#pragma once

#include <cstdint>

#include "sepal/export.h"

namespace sepal {

inline constexpr int kMajorVersion = 0;
inline constexpr int kMinorVersion = 1;
inline constexpr int kPatchVersion = 0;

inline constexpr uint32_t kTableFormatVersion = 1;
inline constexpr uint32_t kLogFormatVersion = 2;
inline constexpr uint32_t kManifestFormatVersion = 1;

// The version of the linked library, as "major.minor.patch".
SEPAL_EXPORT const char* VersionString();

}  // namespace sepal
