// All that a database is at one moment, as edits for a new manifest: its own, a checkpoint's or a repaired one's.
//
// It holds versions, and makes the edits as they are asked for: taking it costs nothing by table, so that neither the
// mutex under which it is taken nor memory is held for as many tables as there are. An edit has so many tables, and
// keys of so many bytes, that the memory of a manifest's writer and readers does not grow with the database.
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
    VersionEdit description;  // all but its tables
    VersionRef version;
    std::span<const AddedTable> tables = {};  // beside those of the version; to outlive the snapshot
  };

  ManifestContents(VersionEdit head, std::vector<Family> families);

  // The head; then of each family its description, with the first of its tables, and the others.
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
  // Of the next edit; `run_` and `table_` of the next table, behind the last run `beside_`,
  // first among those of range tombstones.
  size_t family_ = 0;
  size_t run_ = 0;
  TableRange::Iterator table_;
  size_t beside_ = 0;
  VersionEdit edit_;
};

}  // namespace sepal
