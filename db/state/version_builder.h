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
using TableFactory = std::function<TableRef(TableMetadata)>;

class VersionBuilder {
 public:
  // `base` is not null.
  VersionBuilder(VersionRef base, TableFactory factory);

  // The part of `edit` that speaks of `family`. DataLoss: an absent table removed, a present one added (or Build says
  // so), a level that cannot be.
  absl::Status Apply(ColumnFamilyId family, const VersionEdit& edit);
  // The same for an edit that is not needed any more: what it says of added tables is taken out of it.
  absl::Status Apply(ColumnFamilyId family, VersionEdit&& edit);

  // The new version, which has passed Check; the base where no edit touched a level.
  absl::StatusOr<VersionRef> Build();
  // Tables that the new version no longer lists: to be marked obsolete once the edit is durable.
  std::vector<TableRef> RemovedTables() const;

 private:
  struct Place {
    RunNumber run;
    TableRef table;  // null once it was removed
  };
  // The tables of a level as they came. What only grows, as while a snapshot is read, needs no index.
  class LevelTables {
   public:
    void Reserve(size_t tables) { places_.reserve(tables); }
    // False: the table is there already. Without an index nobody looks.
    bool Add(Place place);
    // Null: it is not there, or twice.
    TableRef Remove(FileNumber number);
    const std::vector<Place>& places() const { return places_; }

   private:
    bool MakeIndex();

    std::vector<Place> places_;
    std::optional<absl::flat_hash_map<FileNumber, size_t>> index_;  // once something was removed
  };

  absl::Status Remove(ColumnFamilyId family, const std::vector<RemovedTable>& removed_tables);
  // The part of an edit's table that goes into a TableFile is moved where `added` may be changed.
  template <class Added>
  absl::Status Add(ColumnFamilyId family, Added* added_tables);
  // The level's tables, to be changed.
  LevelTables& Touch(int level);
  std::vector<RunRef> BuildLevel(const LevelTables& tables) const;

  VersionRef base_;
  TableFactory factory_;
  // Of the levels that an edit touched.
  std::array<std::optional<LevelTables>, kMaxLevels> levels_;
  // Removed and not added again, by number.
  absl::flat_hash_map<FileNumber, TableRef> gone_;
};

}  // namespace sepal
