// What lies in a database's directory, parsed and sorted out once: tables, of which there may be a million, and the few
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
  std::vector<DirectoryEntry> others;  // all else, as it was listed
};

absl::StatusOr<DirectoryListing> ListSortedOut(Directory* directory);

// Where tables are among `listed`, which must outlive this. Cost of a search: a few comparisons where numbers ascend by
// small steps, else a binary search over the distance to the one before.
class ListedTableFinder {
 public:
  explicit ListedTableFinder(const std::vector<ListedTable>& listed) : listed_(listed) {}
  // listed.size() if there is none.
  size_t Find(FileNumber number);

 private:
  const std::vector<ListedTable>& listed_;
  size_t at_ = 0;  // the first whose number is not below the one that was last asked for
};

// Whether the directory has a regular file with this name, readable or not. ResourceExhausted: too many files are open.
absl::StatusOr<bool> FileExists(Directory* directory, std::string_view name);
// Whether it has any that is named as a database's. Cost: no listing in a directory that was once opened.
absl::StatusOr<bool> HoldsDatabaseFiles(Directory* directory);

}  // namespace sepal
