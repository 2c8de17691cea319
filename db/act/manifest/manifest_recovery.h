// Finds the newest manifest and reads it.
//
// No file names the newest manifest. Of the files that are named as manifests, the lowest-numbered one that is sealed
// (or says that it continues elsewhere) begins the chain, and "continued in" records lead to the last one, whose
// snapshot and edits define the database. A damaged or missing successor is `DataLoss`.
//
// In the last manifest, records are read up to the first damaged one. If anything proves that the bytes there were once
// durable (a "synced" record after it, or the header of a log), or that a later manifest took over, this is `DataLoss`;
// otherwise it is the torn end of an edit that was never acknowledged.
//
// Files that are not part of the chain are leftovers of a crash during the creation of a manifest, or superseded ones
// whose removal was not durable; if another one took edits, that is `DataLoss`. A database that has no other file yet
// may consist of a first manifest of which nothing can be read; that is a leftover too, unless files of other programs
// are beside it. Damage in a manifest that was continued elsewhere does no harm.
//
// Nothing is written. Beside a live writer a manifest may disappear; the caller then starts again.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/format/log_format.h"
#include "db/format/version_edit.h"
#include "sepal/file_system.h"
#include "util/base/numbers.h"

namespace sepal {

// The number of a new database's manifest.
inline constexpr FileNumber kFirstManifest{1};

struct ManifestRecovery {
  bool found = false;  // false: there is no database here, and only `leftovers` is set
  FileNumber number;
  uint64_t database_id = 0;
  uint64_t length_bytes = 0;  // up to the end of the last good record
  uint64_t checksum = 0;      // of that record
  uint64_t header_checksum = 0;
  uint64_t edits = 0;                  // the number of edits delivered
  std::string torn;                    // where and why, for people; empty: the manifest ended without damage
  std::vector<FileNumber> older;       // manifests that the last one supersedes, ascending
  std::vector<std::string> leftovers;  // to be removed before another manifest is created
};

// Receives the edits of the snapshot and those after it, in order, and may keep them. An error ends the recovery, which
// returns it; a DataLoss gets the place of the edit.
using EditSink = std::function<absl::Status(VersionEdit&& edit)>;

// `floor` is what the headers of logs say (NewestManifest; number 0: nothing). If there is neither a sealed manifest
// nor a table or log in the directory, there is no database; `other_files` says whether there are any in other
// directories.
absl::StatusOr<ManifestRecovery> RecoverManifest(Directory* directory, ManifestReference floor, bool other_files,
                                                 const EditSink& sink);
// The same, from a listing of the directory.
absl::StatusOr<ManifestRecovery> RecoverManifest(Directory* directory, std::span<const DirectoryEntry> listing,
                                                 ManifestReference floor, bool other_files, const EditSink& sink);

// Delivers the edits that a live writer has added after those that `known`, of an earlier recovery, has read, and
// advances `known`. Returns false if there may be more, because another manifest continues, or because something else
// than a complete record follows; then the caller reads everything anew. Cost: what was added.
absl::StatusOr<bool> ContinueManifest(Directory* directory, ManifestRecovery* known, const EditSink& sink);

// Returns whether another process has continued since `known` was read, by more edits or in another manifest.
absl::StatusOr<bool> ManifestHasGoneOn(Directory* directory, const ManifestRecovery& known);

// For a caller that removes the remains of a checkpoint after a crash. Returns false only if every manifest in
// `directory`, if there is any, ends before its seal and is good up to there, like one whose creation was interrupted.
// Returns true for one that may be a damaged but finished manifest; so may an error.
absl::StatusOr<bool> MayHoldFinishedManifest(Directory* directory);

}  // namespace sepal
