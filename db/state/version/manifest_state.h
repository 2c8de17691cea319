// The result of a manifest's edits. Opening, repair and the tools read a manifest only through this.
//
// Edits compare no keys, so the order of a family's tables is needed only after the last edit, and only for families
// that still exist: the comparator of a dropped one is not needed.
//
// Cost of an edit: what it names, however many families there are. Not safe for concurrent use.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "db/format/version_edit.h"
#include "db/state/version/version_builder.h"
#include "util/base/numbers.h"

namespace sepal {

struct ManifestFamily {
  ColumnFamilyCreation creation;
  std::string kept_options;  // db/format/kept_options.h
  FamilySchema schema;
  SequenceNumber flushed_through;
  VersionBuilder tables;
};

class ManifestState {
 public:
  // For tables whose files are not deleted when they are released.
  ManifestState();
  explicit ManifestState(TableFactory make_table) : make_table_(std::move(make_table)) {}

  // DataLoss: the edit contradicts earlier ones. The state must not be used then.
  absl::Status Take(VersionEdit&& edit);
  // Takes everything but families and tables; no edit contradicts that.
  void TakeNumbers(const VersionEdit& edit);
  // DataLoss: there is a family with that id.
  absl::Status CreateFamily(const ColumnFamilyCreation& creation);

  uint64_t hash_seed = 0;
  Features features;  // VersionEdit::features
  FileNumber next_file_number{1};
  SequenceNumber last_sequence;
  FileNumber min_log_number;
  std::optional<ClosedLog> closed_log;
  ClockFloor clock_floor;
  std::map<ColumnFamilyId, ManifestFamily> families;
  std::map<std::string, KeptSnapshot> snapshots;  // by name

 private:
  void TakeSnapshots(const VersionEdit& edit);

  TableFactory make_table_;
};

}  // namespace sepal
