// Opens the tables of one column family.
//
// Safe for concurrent use. The objects in `Parts` must outlive it and every reader that it opened.
#pragma once

#include <memory>
#include <string>

#include "db/state/version/table_file.h"
#include "sepal/file_system.h"
#include "table/file/table_reader.h"
#include "util/cache/block_cache.h"
#include "util/memory/memory_budget.h"
#include "util/stats/statistics_impl.h"

namespace sepal {

class FamilyTableOpener final : public TableOpener {
 public:
  struct Parts {
    Directory* directory;
    BlockCache* cache;
    MemoryBudget* budget;
    StatisticsImpl* statistics;
    // A writer may run in another process: then a missing table gives `Aborted` rather than DataLoss.
    bool beside_a_writer = false;
    ReadMode read_mode = ReadMode::kBuffered;
    ReadAroundCredit* read_around = nullptr;  // may be null
    WindowPool* windows = nullptr;            // may be null
  };
  FamilyTableOpener(Parts parts, KeyOrder order) : parts_(parts), order_(order) {}

  absl::StatusOr<std::shared_ptr<TableReader>> OpenTable(const TableMetadata& metadata) override;
  bool IsFar() const override { return parts_.directory->capabilities().remote; }
  std::unique_ptr<ReadableFile> Ask(const TableMetadata& metadata) override;
  absl::StatusOr<std::shared_ptr<TableReader>> OpenAsked(const TableMetadata& metadata,
                                                         std::unique_ptr<ReadableFile> asked) override;

 private:
  const Parts parts_;
  const KeyOrder order_;
};

}  // namespace sepal
