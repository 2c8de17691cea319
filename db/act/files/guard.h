// The guard: a file CURRENT in every database directory that LevelDB and RocksDB refuse to open.
//
// They name their files as Sepal does, and take a directory without CURRENT for an empty one: with create_if_missing
// they would create a database there and remove Sepal's files as obsolete. With the guard they report corruption
// ("CURRENT file does not end with newline") and touch nothing but LOG and LOCK.
//
// | offset | size | meaning                     |
// |--------|------|-----------------------------|
// | 0      | 5    | "Sepal", without a newline  |
//
// It is durable before the manifest is. If a loss of power interrupts its writing, at most five bytes of it remain,
// with any contents; a CURRENT of the other engines has sixteen or more.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/file_system.h"

namespace sepal {

inline constexpr std::string_view kGuardContents = "Sepal";

enum class GuardState : uint8_t {
  kAbsent,
  kWhole,
  kUnfinished,  // at most five other bytes, or an unreadable file, which may be anyone's
  kForeign,     // another engine's
};

// ResourceExhausted: too many files are open.
absl::StatusOr<GuardState> ReadGuard(Directory* directory);

// Writes and syncs a guard if there is none; its name is durable once the directory is synced. If it cannot be written,
// it is removed.
absl::Status WriteGuard(Directory* directory);

}  // namespace sepal
