// Makes a new version from a version and edits.
//
// Within one edit, removals are applied before additions, so that an edit that removes a table and adds the same number
// elsewhere moves it: the TableFile, with its reader, is kept. Levels and runs that no edit touches are shared with the
// base, and so are the untouched chunks of the other runs (version.h states the remaining cost).
//
// Cost: what the edits add and remove, and the chunks in which it lies. Additions in key order (as in a manifest's
// snapshot) are not sorted; others are.
//
// Not safe for concurrent use. After an error the builder must not be used.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/format/version_edit.h"
#include "db/state/version/version.h"

namespace sepal {

// Creates the shared TableFile of a table that was not in the base.
using TableFactory = std::function<TableRef(TableMetadata)>;

class VersionBuilder {
 public:
  // `base` must not be null.
  VersionBuilder(VersionRef base, TableFactory factory);
  // Starts from nothing. The order may be set after the edits (Apply compares no keys), but before Build.
  explicit VersionBuilder(TableFactory factory);
  void OrderBy(KeyOrder order);

  // Applies the part of `edit` that concerns `family`. DataLoss if it removes an absent table, adds a present one
  // (which Build may report instead), or names an invalid level.
  absl::Status Apply(ColumnFamilyId family, const VersionEdit& edit);
  // The same, table by table, for a caller that goes through an edit of many families once: all removals of this family
  // come first.
  absl::Status Remove(const RemovedTable& removed);
  absl::Status Add(AddedTable added);

  // Returns the new version, or the base if no edit touched a level. Everything that differs from the base has passed
  // the checks of Version::Check, and with an empty base that is everything; so the version satisfies the laws if the
  // base does.
  absl::StatusOr<VersionRef> Build();
  // The tables that were added since the base and not removed, without regard to keys; for a family whose order is not
  // known.
  std::vector<AddedTable> Added(ColumnFamilyId family) const;
  // Tables that the new version no longer lists; to be marked obsolete once the edit is durable.
  std::vector<TableRef> RemovedTables() const;

 private:
  struct Place {
    RunNumber run;
    TableRef table;  // null once it was removed
  };
  // The tables of a level that were added since the base, in order of arrival. If tables are only added, as while a
  // snapshot is read, no index is needed.
  class AddedTables {
   public:
    // Returns false if the table is there already. Without an index that is not checked.
    bool Add(Place place);
    // Returns null if the table is not there, or is there twice.
    TableRef Remove(FileNumber number);
    const std::vector<Place>& places() const { return places_; }

   private:
    bool MakeIndex();

    std::vector<Place> places_;
    std::optional<absl::flat_hash_map<FileNumber, size_t>> index_;  // set once something was removed
  };
  struct LevelChange {
    AddedTables added;
    std::vector<Place> removed;  // removed from the base
  };
  // The change of one run, in key order.
  struct RunChange {
    std::vector<TableRef> added;
    std::vector<TableRef> removed;
  };
  // The change of tables of range tombstones.
  struct RangeTableChange {
    std::vector<TableRef> added;
    std::vector<FileNumber> removed;  // from the base
  };
  using RunChanges = std::map<RunNumber, RunChange, std::greater<>>;

  absl::Status AddRangeTable(AddedTable added);
  // Returns null if there is no such table of range tombstones.
  TableRef RemoveRangeTable(FileNumber number);
  std::vector<TableRef> BuildRangeTables() const;
  // Returns null if the level has no such table.
  TableRef RemoveFrom(int level, FileNumber number);
  // Whether the base has the table, and no edit removed it.
  bool StandsInBase(FileNumber number) const;
  LevelChange& Touch(int level);
  RunChanges ChangesOf(const LevelChange& change) const;
  absl::StatusOr<std::vector<RunRef>> BuildLevel(int level) const;
  // Returns null if no table is left. `base` is null if the base has no such run.
  absl::StatusOr<RunRef> BuildRun(int level, RunNumber number, const Run* base, RunChange change) const;
  absl::StatusOr<TableNumbers> BuildNumbers() const;

  VersionRef base_;
  TableFactory factory_;
  // Only of the levels that an edit touched.
  std::array<std::optional<LevelChange>, kMaxLevels> levels_;
  std::optional<RangeTableChange> range_tables_;  // set if an edit touched them
  // By number: tables that were removed and not added again.
  absl::flat_hash_map<FileNumber, TableRef> gone_;
  // Tables that were removed from the level where the base has them, even if they were added again.
  absl::flat_hash_set<FileNumber> taken_;
};

}  // namespace sepal
