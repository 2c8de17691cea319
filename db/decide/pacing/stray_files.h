// Decides which files of a database directory are no longer needed. Pure.
//
// Only tables, logs, their rings and manifests are ever named; LOCK, LOG and whatever else lies in the directory never
// are.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "util/base/numbers.h"

namespace sepal {

struct LiveFiles {
  // The tables of every version that may still be read, in all column families.
  absl::flat_hash_set<FileNumber> tables = {};
  // Files of any kind that are being written, or kept for reuse.
  absl::flat_hash_set<FileNumber> pending = {};
  // Logs below it are not needed.
  FileNumber min_log_number = {};
  // Rings of the log other than this one are not needed.
  FileNumber ring_number = {};
  // Manifests other than this one and those in `pending` are not needed.
  FileNumber manifest_number = {};
};

// Returns their names in the order of the listing.
std::vector<std::string> ObsoleteFiles(std::span<const std::string> directory_listing, const LiveFiles& live);
// The same for a directory with logs only: nothing else in it belongs to the database.
std::vector<std::string> ObsoleteLogs(std::span<const std::string> directory_listing, const LiveFiles& live);

}  // namespace sepal
