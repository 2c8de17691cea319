// What one column family's tables are: an immutable picture.
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
//   before
//      the older in the same table. A reader that goes through `runs()` in order may stop at the first entry it sees.
//   4. Tables of level 0 keep their sequence numbers, and a newer run's are all above an older run's.
//   5. The last level that can exist (kMaxLevels - 1) has one run at most. A file number occurs once.
//
// Thread-safety: immutable after construction. Ownership: shared; runs and tables are shared between versions, so that
// an edit costs what it changes (and one pointer for each run).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "db/format/version_edit.h"
#include "db/state/table_file.h"
#include "sepal/statistics.h"
#include "table/internal_key.h"

namespace sepal {

// User keys, both ends inclusive; an unset end is open.
struct KeyRange {
  std::optional<std::string_view> begin = {};
  std::optional<std::string_view> end = {};
};

class Run {
 public:
  // Requires: at least one table, in order and disjoint under `order`.
  Run(RunNumber number, std::vector<TableRef> tables, KeyOrder order);

  RunNumber number() const { return number_; }
  const std::vector<TableRef>& tables() const { return tables_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t entries() const { return entries_; }
  uint64_t tombstones() const { return tombstones_; }

  // The only table that may hold `user_key`, or null. Cost: a branch-free search in an array of 8-byte prefixes (of
  // what follows the boundaries' common prefix); keys are only compared where prefixes tie.
  const TableFile* Find(std::string_view user_key) const {
    const size_t i = FindIndex(user_key);
    return i < tables_.size() ? tables_[i].get() : nullptr;
  }
  // Its index; tables().size() if there is none.
  size_t FindIndex(std::string_view user_key) const;
  // The first table whose largest user key is at or after `user_key`: where an iterator's Seek begins.
  size_t FirstAtOrAfter(std::string_view user_key) const;
  // The tables that overlap `range`.
  std::span<const TableRef> Overlapping(const KeyRange& range) const;

  // The table's metadata with the run it is in now.
  TableMetadata MetadataOf(const TableFile& table) const;

 private:
  // Less than, equal to or greater than zero: the key sorts before, begins with, sorts after the common prefix.
  int CompareToCommonPrefix(std::string_view user_key) const;
  // The first table whose largest key is not before `user_key`; `prefix` is the key's, after the common prefix.
  size_t SearchPrefixes(std::string_view user_key, uint64_t prefix) const;
  // The same by whole keys, among the tables [low, high) and `high`.
  size_t SearchKeys(std::string_view user_key, size_t low, size_t high) const;

  RunNumber number_;
  KeyOrder order_;
  std::vector<TableRef> tables_;
  std::string common_prefix_;
  // By table: the prefix of its largest and smallest user key, after `common_prefix_`.
  std::vector<uint64_t> largest_;
  std::vector<uint64_t> smallest_;
  uint64_t bytes_ = 0;
  uint64_t entries_ = 0;
  uint64_t tombstones_ = 0;
};

using RunRef = std::shared_ptr<const Run>;

// The order of ages: newest first.
struct LevelRun {
  int level = 0;
  const Run* run = nullptr;
};

class Version {
 public:
  // Of no tables.
  explicit Version(KeyOrder order) : order_(order) {}
  // `levels[i]`: newest run first.
  Version(KeyOrder order, std::array<std::vector<RunRef>, kMaxLevels> levels);

  KeyOrder order() const { return order_; }
  const std::vector<RunRef>& level(int level) const { return levels_[level]; }
  // All runs, newest first: level by level. The way of a read.
  std::span<const LevelRun> runs() const { return runs_; }

  int NumRuns(int level) const { return static_cast<int>(levels_[level].size()); }
  int NumRuns() const { return static_cast<int>(runs_.size()); }
  int NumTables(int level) const;
  int NumTables() const;
  uint64_t Bytes(int level) const;
  uint64_t Bytes() const;
  uint64_t Entries() const;
  // The deepest level with a table; -1 if there is none.
  int DeepestLevel() const;
  // Null if no run of that level has the number.
  const Run* FindRun(int level, RunNumber number) const;
  std::vector<TableRef> Tables() const;
  // As an edit of a fresh manifest lists them.
  std::vector<AddedTable> Contents(ColumnFamilyId family) const;

  // Verifies the laws above, as far as metadata can tell. DataLoss names what breaks which.
  absl::Status Check() const;
  // One line for each run, its tables as number[smallest..largest].
  std::string ToString() const;
  // Tables by level, runs of a level joined by '+', trailing empty levels left out: "1+1,2,0,8".
  std::string TablesPerLevel() const;

 private:
  KeyOrder order_;
  std::array<std::vector<RunRef>, kMaxLevels> levels_ = {};
  std::vector<LevelRun> runs_;
};

using VersionRef = std::shared_ptr<const Version>;

// Cuts `*prefix` to what it and all user keys of `tables` (in order, at least one) begin with alike. Unset, it becomes
// what they begin with.
void NarrowToCommonPrefix(std::span<const TableRef> tables, std::optional<std::string>* prefix);

}  // namespace sepal
