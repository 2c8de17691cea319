// Writes a database's contents at one moment to another directory, as a database of its own.
//
// The tables are written and synced first, then the directory is synced, then the manifest is written, sealed, synced
// and named. Until then the directory has tables without a manifest, which an opening refuses; so a crash leaves a
// whole checkpoint or none. There is no log: the memtables' entries go to tables of the checkpoint.
//
// A table is taken from the base checkpoint if its table id, size and footer checksum are equal; names are not enough,
// as they may have been reused.
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

// One family at the moment of the checkpoint. Its memtables do not change any more.
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
  // Returns numbers that the source never uses.
  std::function<FileNumber()> new_file_number;
  // Returns the context for writing tables of a family; the directory is replaced.
  std::function<TableOutputContext(const Family& family)> output_context;
};

// AlreadyExists if `path` is not empty. Aborted if the writer has removed a table beside a read-only database.
absl::Status WriteCheckpoint(const CheckpointSource& source, std::string_view path, const CheckpointOptions& options);

}  // namespace sepal
