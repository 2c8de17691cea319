// Writes what a database holds at one moment to another directory, as a database of its own.
//
// Order, and why: tables first, synced, then the directory, then the manifest, which is sealed, synced and named last.
// Until then the directory holds tables without a manifest, which opening refuses; so a crash leaves a whole checkpoint
// or none. There is no log: the memtables' entries go to tables of the checkpoint.
//
// A table of the source is taken for one of the base checkpoint by its table id, size and footer checksum: names may
// have been given twice.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "db/act/jobs/table_output.h"
#include "db/engine/core/core.h"
#include "db/engine/core/family_state.h"
#include "db/format/version_edit.h"
#include "db/state/memtable/memtable.h"
#include "util/base/numbers.h"

namespace sepal {

// One family at the moment of the checkpoint. Nothing is added to its memtables any more.
struct CheckpointFamily {
  FamilyRef family;
  VersionRef version;
  std::vector<std::shared_ptr<const MemTable>> memtables;
  FamilySchema schema;
};

struct CheckpointSource {
  Core* core = nullptr;
  uint64_t database_id = 0;
  Features features;
  uint64_t hash_seed = 0;
  // Every entry of the families is at or below it.
  SequenceNumber last;
  std::vector<CheckpointFamily> families;
  std::vector<KeptSnapshot> snapshots;
  // Numbers that the source never uses.
  std::function<FileNumber()> new_file_number;
  // What tables of a family are written with, but for the directory.
  std::function<TableOutputContext(const Family& family)> output_context;
};

// AlreadyExists if `path` holds anything. Aborted if a table is gone that a writer elsewhere removed.
absl::Status WriteCheckpoint(const CheckpointSource& source, std::string_view path, const CheckpointOptions& options);

}  // namespace sepal
