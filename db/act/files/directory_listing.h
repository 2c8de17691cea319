// The contents of a database directory, parsed and sorted once: tables, of which there may be a million, and the few
// other files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sepal/file_system.h"
#include "util/base/numbers.h"

namespace sepal {

struct ListedTable {
  FileNumber number;
  uint64_t size_bytes = 0;
  friend bool operator==(const ListedTable&, const ListedTable&) = default;
};

struct DirectoryListing {
  std::vector<ListedTable> tables;     // by number
  std::vector<DirectoryEntry> others;  // everything else, as it was listed
};

absl::StatusOr<DirectoryListing> ListSortedOut(Directory* directory);

// Finds tables in `listed`, which must outlive this object. Cost of a search: a few comparisons if numbers ascend in
// small steps, otherwise a binary search over the distance from the previous one.
class ListedTableFinder {
 public:
  explicit ListedTableFinder(const std::vector<ListedTable>& listed) : listed_(listed) {}
  // Returns listed.size() if the table is not there.
  size_t Find(FileNumber number);

 private:
  const std::vector<ListedTable>& listed_;
  size_t at_ = 0;  // the first table whose number is not below the one of the last search
};

// Whether the directory has a regular file of this name, readable or not. ResourceExhausted: too many files are open.
absl::StatusOr<bool> FileExists(Directory* directory, std::string_view name);
// Whether the directory has any file with a name that a database uses. Cost: no listing if a database was ever opened
// in it.
absl::StatusOr<bool> HoldsDatabaseFiles(Directory* directory);

}  // namespace sepal
