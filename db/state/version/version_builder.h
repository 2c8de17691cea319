// A version and edits give a new version.
//
// Removals are applied before additions within one edit, so that one that removes a table and adds the same number
// elsewhere moves it: the TableFile, with its reader, is kept. Levels and runs that no edit touches are shared with the
// base, and so are the chunks of the others that it does not touch (version.h has what remains of the cost).
//
// Cost: what the edits add and remove, with the chunks that it lies in. What is added in key order (as a manifest's
// snapshot has it) is not sorted; what comes out of order is.
//
// One thread. After an error the builder is dead.
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

// Makes the shared TableFile of a table that was not in the base.
using TableFactory = std::function<TableRef(TableMetadata)>;

class VersionBuilder {
 public:
  // `base` is not null.
  VersionBuilder(VersionRef base, TableFactory factory);
  // From nothing, in an order that may be told after the edits (Apply compares no keys), and before Build.
  explicit VersionBuilder(TableFactory factory);
  void OrderBy(KeyOrder order);

  // The part of `edit` that speaks of `family`. DataLoss: an absent table removed, a present one added (or Build says
  // so), a level that cannot be.
  absl::Status Apply(ColumnFamilyId family, const VersionEdit& edit);
  // The same table by table, for who goes through an edit of many families once: first all that it removes of this one.
  absl::Status Remove(const RemovedTable& removed);
  absl::Status Add(AddedTable added);

  // The new version; the base where no edit touched a level. What differs from the base has passed Version::Check's
  // checks, and of an empty base that is all; so the version keeps the laws as the base does.
  absl::StatusOr<VersionRef> Build();
  // Tables that the new version no longer lists: to be marked obsolete once the edit is durable.
  std::vector<TableRef> RemovedTables() const;

 private:
  struct Place {
    RunNumber run;
    TableRef table;  // null once it was removed
  };
  // The tables of a level that were added since the base, as they came. What only grows, as while a snapshot is read,
  // needs no index.
  class AddedTables {
   public:
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
  struct LevelChange {
    AddedTables added;
    std::vector<Place> removed;  // from the base
  };
  // What changes in one run, in key order.
  struct RunChange {
    std::vector<TableRef> added;
    std::vector<TableRef> removed;
  };
  using RunChanges = std::map<RunNumber, RunChange, std::greater<>>;

  // Null: the level has no such table.
  TableRef RemoveFrom(int level, FileNumber number);
  // Whether the base has the table, and no edit removed it.
  bool StandsInBase(FileNumber number) const;
  LevelChange& Touch(int level);
  RunChanges ChangesOf(const LevelChange& change) const;
  absl::StatusOr<std::vector<RunRef>> BuildLevel(int level) const;
  // Null where no table is left. `base` is null where the base has no such run.
  absl::StatusOr<RunRef> BuildRun(int level, RunNumber number, const Run* base, RunChange change) const;
  absl::StatusOr<TableNumbers> BuildNumbers() const;

  VersionRef base_;
  TableFactory factory_;
  // Of the levels that an edit touched.
  std::array<std::optional<LevelChange>, kMaxLevels> levels_;
  // Removed and not added again, by number.
  absl::flat_hash_map<FileNumber, TableRef> gone_;
  // Of the base, removed from the level where they stood, even if they were added again.
  absl::flat_hash_set<FileNumber> taken_;
};

}  // namespace sepal
