// The whole state of a database at one moment, as edits for a new manifest: the database's own, a checkpoint's, or a
// repaired one's.
//
// It holds versions and makes the edits on demand: creating it costs nothing per table, so that neither the time under
// the mutex nor the memory used grows with the number of tables. The tables and key bytes of an edit are limited, so
// that the memory that writing and reading a manifest takes does not grow with the database.
//
// Not safe for concurrent use.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "db/act/manifest/manifest_writer.h"
#include "db/format/version_edit.h"
#include "db/state/version/version.h"

namespace sepal {

class ManifestContents final : public EditSource {
 public:
  struct Family {
    ColumnFamilyId id;
    VersionEdit description;  // everything but its tables
    VersionRef version;
    std::span<const AddedTable> tables = {};  // tables besides those of the version; they must outlive the snapshot
  };

  ManifestContents(VersionEdit head, std::vector<Family> families);

  // Returns the head first; then, for each family, its description with its first tables, and edits with the rest.
  const VersionEdit* Next() override;

 private:
  void EnterFamily(size_t family);
  void EnterRun(size_t run);
  void TakeTables(const Family& family);
  void TakeTable(const Family& family, AddedTable* table);
  bool HasMore(const Family& family) const {
    return run_ < family.version->runs().size() ||
           beside_ < family.version->range_tables().size() + family.tables.size();
  }

  VersionEdit head_;
  std::vector<Family> families_;
  bool head_taken_ = false;
  // The position of the next edit: `run_` and `table_` are those of the next table; after the last run, `beside_`
  // counts the tables of range tombstones and then the family's additional ones.
  size_t family_ = 0;
  size_t run_ = 0;
  TableRange::Iterator table_;
  size_t beside_ = 0;
  VersionEdit edit_;
};

}  // namespace sepal
