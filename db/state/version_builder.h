// A version and edits give a new version.
//
// Removals are applied before additions within one edit, so that one that removes a table and adds the same number
// elsewhere moves it: the TableFile, with its reader, is kept. Levels that no edit touches are shared with the base.
//
// Cost: linear in the tables of the levels that are touched, where they come in key order (as a manifest's snapshot has
// them); what comes out of order is sorted.
//
// One thread. After an error the builder is dead.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/format/version_edit.h"
#include "db/state/version.h"

namespace sepal {

// Makes the shared TableFile of a table that was not in the base.
using TableFactory = std::function<TableRef(const TableMetadata&)>;

class VersionBuilder {
 public:
  // `base` is not null.
  VersionBuilder(VersionRef base, TableFactory factory);

  // The part of `edit` that speaks of `family`. DataLoss: an absent table removed, a present one added, a level that
  // cannot be.
  absl::Status Apply(ColumnFamilyId family, const VersionEdit& edit);

  // The new version, which has passed Check; the base where no edit touched a level.
  absl::StatusOr<VersionRef> Build();
  // Tables that the new version no longer lists: to be marked obsolete once the edit is durable.
  std::vector<TableRef> RemovedTables() const;

 private:
  struct Place {
    RunNumber run;
    TableRef table;
    uint64_t arrival;  // among all that were placed
  };
  using LevelTables = absl::flat_hash_map<FileNumber, Place>;

  // The level's tables, to be changed.
  LevelTables& Touch(int level);
  Place Arrival(RunNumber run, TableRef table) { return {run, std::move(table), arrivals_++}; }
  std::vector<RunRef> BuildLevel(const LevelTables& tables) const;

  VersionRef base_;
  TableFactory factory_;
  // Of the levels that an edit touched.
  std::array<std::optional<LevelTables>, kMaxLevels> levels_;
  uint64_t arrivals_ = 0;
  // Removed and not added again, by number.
  absl::flat_hash_map<FileNumber, TableRef> gone_;
};

}  // namespace sepal
