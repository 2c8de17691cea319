// Reading what can be read of a damaged manifest. Unlike recovery (manifest_recovery.h), it passes over bad records:
// what it finds may lack edits. Nothing is written.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "db/format/version_edit.h"
#include "sepal/file_system.h"
#include "util/base/numbers.h"

namespace sepal {

struct SalvagedManifest {
  std::string name;                // empty: no manifest holds anything
  FileNumber highest;              // of all files named as manifests
  uint64_t database_id = 0;        // 0: not known
  std::vector<VersionEdit> edits;  // of the newest manifest that holds any, in order
  // By the older ones. A repair that died before it had removed them leaves a newest one that is whole and says nothing
  // of what went before it.
  std::set<FileNumber> removed;
  std::set<ColumnFamilyId> dropped;
};

absl::StatusOr<SalvagedManifest> SalvageManifest(Directory* directory);

}  // namespace sepal
