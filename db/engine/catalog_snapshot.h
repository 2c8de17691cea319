// All that a database is at one moment, as edits for a new manifest.
//
// It holds versions, and makes the edits as they are asked for: taking it costs nothing by table, so that neither the
// mutex under which it is taken nor memory is held for as many tables as there are.
//
// Not safe for concurrent use.
#pragma once

#include <cstddef>
#include <vector>

#include "db/act/manifest_writer.h"
#include "db/format/version_edit.h"
#include "db/state/version.h"

namespace sepal {

class CatalogSnapshot final : public EditSource {
 public:
  struct Family {
    ColumnFamilyId id;
    VersionEdit description;  // all but its tables
    VersionRef version;
  };

  CatalogSnapshot(VersionEdit head, std::vector<Family> families);

  // The head; then of each family its description, with the first of its tables, and the others.
  const VersionEdit* Next() override;

 private:
  void EnterFamily(size_t family);
  void EnterRun(size_t run);
  void TakeTables(const Family& family);

  VersionEdit head_;
  std::vector<Family> families_;
  bool head_taken_ = false;
  // Of the next edit; `run_` and `table_` of the next table.
  size_t family_ = 0;
  size_t run_ = 0;
  TableRange::Iterator table_;
  VersionEdit edit_;
};

}  // namespace sepal
