// The tables of one column family, as an immutable value.
//
//   level 0:  run 9   run 8   run 7      each flush is a run of its own
//   level 1:  run 6   run 5              lower levels: newest run first
//   level 3:  run 2
//
// A *run* is a list of tables in key order that are disjoint in user keys. Laws, which `Check` verifies:
//   1. Tables of a run are sorted and no user key lies in two of them: output splitting never separates the versions of
//      one user key. So at most one table of a run holds a given key.
//   2. Runs of a level are listed newest first, that is by falling run number; no run is empty.
//   3. Of two entries of one user key the newer is in the smaller level, or in the newer run of the same level, or
//      before the older in the same table. A reader that goes through `runs()` in order may stop at the first entry it
//      sees.
//   4. Tables of level 0 keep their sequence numbers, and a newer run's are all above an older run's.
//   5. The last level that can exist (kMaxLevels - 1) has one run at most. A file number occurs once.
// Tables of range tombstones belong to no run. They are found by sequence number alone, and the laws above do not apply
// to them.
//
// Thread-safety: immutable after construction. Ownership: shared. Versions share runs, runs share chunks of tables
// (run.h), and the index of tables by number (table_numbers.h) is in chunks as well. So an edit costs what it changes,
// and one pointer for each run, for each chunk of a run that it changes, and for each chunk of numbers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "db/format/version_edit.h"
#include "db/state/version/run.h"
#include "db/state/version/table_numbers.h"
#include "sepal/statistics.h"
#include "table/key/internal_key.h"

namespace sepal {

// One entry of the search order, which is newest first.
struct LevelRun {
  int level = 0;
  const Run* run = nullptr;
};

class Version {
 public:
  // Without tables.
  explicit Version(KeyOrder order) : order_(order) {}
  // `levels[i]` lists the newest run first. Cost: linear in the tables.
  Version(KeyOrder order, std::array<std::vector<RunRef>, kMaxLevels> levels);
  // The same for a caller that knows the numbers of these tables. Cost: linear in the runs.
  // `range_tables`: those of range tombstones, in any order.
  Version(KeyOrder order, std::array<std::vector<RunRef>, kMaxLevels> levels, TableNumbers numbers,
          std::vector<TableRef> range_tables = {});

  KeyOrder order() const { return order_; }
  const std::vector<RunRef>& level(int level) const { return levels_[level]; }
  // All runs in the order in which reads search them: level by level, the newest first.
  std::span<const LevelRun> runs() const { return runs_; }

  int NumRuns(int level) const { return static_cast<int>(levels_[level].size()); }
  int NumRuns() const { return static_cast<int>(runs_.size()); }
  int NumTables(int level) const;
  int NumTables() const;
  uint64_t Bytes(int level) const;
  uint64_t Bytes() const;
  // The bytes of separated values that tables refer to.
  uint64_t ValueBytes() const;
  uint64_t Entries(int level) const;
  uint64_t Entries() const;
  // What sketches say about all tables. Cost: 1 KiB for each run, once all tables are settled (key_sums.h).
  KeySums Keys() const;
  // The deepest level with a table; -1 if there is none.
  int DeepestLevel() const;
  // Null if no run of that level has the number.
  const Run* FindRun(int level, RunNumber number) const;
  const TableNumbers& numbers() const { return numbers_; }  // including tables of range tombstones
  const std::vector<TableRef>& range_tables() const { return range_tables_; }
  // Their contents, as far as they are in memory (TableFile::SetRangeTombstones).
  const RangeTombstoneSet& range_tombstones() const { return *range_tombstones_; }
  // The same tables, once the range tombstones are in memory.
  std::shared_ptr<const Version> WithRangeTombstones() const;
  // Returns the tables of runs, followed by those of range tombstones.
  std::vector<TableRef> Tables() const;
  // All tables, as an edit of a new manifest lists them.
  std::vector<AddedTable> Contents(ColumnFamilyId family) const;

  // Verifies the laws above and those of chunks, as far as metadata can tell. DataLoss names what violates which law.
  // Cost: linear in the tables; VersionBuilder uses the functions below to check only what an edit changes.
  absl::Status Check() const;
  // Checks the runs against each other: laws 2 and 4, and the law of the last level. Cost: linear in the runs.
  absl::Status CheckRuns() const;
  // One line for each run, with its tables as number[smallest..largest].
  std::string ToString() const;
  // The number of tables by level, with the runs of a level joined by '+' and trailing empty levels left out:
  // "1+1,2,0,8".
  std::string TablesPerLevel() const;

 private:
  KeyOrder order_;
  std::array<std::vector<RunRef>, kMaxLevels> levels_ = {};
  std::vector<LevelRun> runs_;
  TableNumbers numbers_;
  std::vector<TableRef> range_tables_;
  std::shared_ptr<const RangeTombstoneSet> range_tombstones_ = NoRangeTombstones();
};

using VersionRef = std::shared_ptr<const Version>;

// Checks the tables of one chunk of `run`: each by itself, their order, and the order across the borders to the
// neighbouring chunks.
absl::Status CheckChunk(const KeyOrder& order, int level, const Run& run, size_t chunk);
// Checks that no number occurred twice when `numbers` was made.
absl::Status CheckNumbers(const TableNumbers& numbers);

}  // namespace sepal
