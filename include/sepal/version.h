// The library's version and the versions of the on-disk formats that it writes.
//
// Rule for files of other versions: a reader opens every format version up to its own; it refuses a newer one with
// `FailedPrecondition` that names the file, its version and the newest version known, and changes nothing.
// Tables of version 2, which 0.1.0 wrote where lanes were of fingerprints, are refused in the same way.
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
