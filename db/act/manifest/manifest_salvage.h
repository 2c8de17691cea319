// Reads what can be read of a damaged manifest. Unlike recovery (manifest_recovery.h), it skips damaged records, so its
// result may lack edits. Nothing is written.
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
  std::string name;                // empty: no manifest has any contents
  FileNumber highest;              // of all files that are named as manifests
  uint64_t database_id = 0;        // 0: unknown
  std::vector<VersionEdit> edits;  // those of the newest manifest that has any, in order
  // Tables removed by the older manifests. A repair that died before it had removed these leaves a newest manifest that
  // is intact but says nothing about their history.
  std::set<FileNumber> removed;
  std::set<ColumnFamilyId> dropped;
};

absl::StatusOr<SalvagedManifest> SalvageManifest(Directory* directory);

}  // namespace sepal
