// Finding the newest manifest and reading it back.
//
// There is no file that names the newest one. Of the files named as manifests, the lowest-numbered one that is sealed
// (or says that it goes on elsewhere) begins the chain, and "continued in" leads to the last, whose snapshot and edits
// are what the database is. A successor that is damaged or missing is `DataLoss`.
//
// In the last manifest, records are read up to the first bad one. If anything proves that the bytes there were once
// durable (a "synced" record behind it, the word of a log's header), or that a later manifest took over, that is
// `DataLoss`; otherwise it is the torn end of an edit that was never acknowledged.
//
// Files that are not part of the chain are leftovers of a crash while a manifest was made; one among them that took
// edits is `DataLoss`. A database that has no other file yet may consist of a first manifest of which nothing can be
// read; it is a leftover, too, unless files of other programs lie beside it. Damage in a manifest that was continued
// elsewhere harms nothing.
//
// Nothing is written. Beside a live writer a manifest may vanish: the caller starts again.
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
  bool found = false;  // false: there is no database here; only `leftovers` is set
  FileNumber number;
  uint64_t database_id = 0;
  uint64_t length_bytes = 0;  // up to the end of the last good record
  uint64_t checksum = 0;      // of that record
  uint64_t header_checksum = 0;
  uint64_t edits = 0;                  // delivered
  std::string torn;                    // where and why, for people; empty: the manifest ended well
  std::vector<FileNumber> older;       // manifests that the last one supersedes, ascending
  std::vector<std::string> leftovers;  // to be removed before another manifest is made
};

// Receives the edits of the snapshot and those after it, in order, and may keep them. An error ends the recovery and is
// returned.
using EditSink = std::function<absl::Status(VersionEdit&& edit)>;

// `floor` is what the logs' headers say (NewestManifest; number 0: nothing). With neither a sealed manifest nor a table
// or log in the directory there is no database; `other_files` tells whether there are any in other directories.
absl::StatusOr<ManifestRecovery> RecoverManifest(Directory* directory, ManifestReference floor, bool other_files,
                                                 const EditSink& sink);
// The same from a listing of the directory.
absl::StatusOr<ManifestRecovery> RecoverManifest(Directory* directory, std::span<const DirectoryEntry> listing,
                                                 ManifestReference floor, bool other_files, const EditSink& sink);

// For who removes what a crash has left of a checkpoint: false only if every manifest in `directory`, if there is any,
// ends before its seal and is good up to there, as one does whose making was cut off. True for what may be a damaged
// one that was finished; an error says no more than that.
absl::StatusOr<bool> MayHoldFinishedManifest(Directory* directory);

}  // namespace sepal
