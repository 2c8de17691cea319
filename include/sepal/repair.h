// What DB::Repair found, dropped and changed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sepal/export.h"

namespace sepal {

// Something that could not be read. Updates in it may be missing; where older ones lie in other files, those show
// again.
struct DroppedData {
  std::string file = {};           // a copy of it is in `lost`, unless it is missing
  std::string column_family = {};  // empty: any
  // User keys, both inclusive; unset: to the end.
  std::optional<std::string> first_key = {};
  std::optional<std::string> last_key = {};
  // Where in the file, in bytes.
  uint64_t begin_offset = 0;
  uint64_t end_offset = 0;
  std::string reason = {};
};

struct RepairOptions {
  // Only say what a repair would do: nothing is written, and no lock is taken, so that the database must not be open
  // elsewhere.
  bool dry_run = false;
  // The logs are gone for good. Without it, a repair that finds no log at all where the manifest needs one, or may have
  // before it was damaged, is refused: Options::log_directory is likelier wrong. Checkpoints have no logs.
  bool logs_lost = false;
  // Told how far it is, in bytes of table files, after each, in the thread of the call; where the manifest is damaged
  // they are read twice, and counted so.
  std::function<void(uint64_t done_bytes, uint64_t total_bytes)> progress = nullptr;
};

struct RepairReport {
  // False: nothing was wrong, and nothing was touched.
  bool changed = false;
  // Nothing was touched in any case: all else is what a repair would do.
  bool dry_run = false;
  std::vector<DroppedData> dropped = {};
  // Files that were put aside into the directory `lost` of the database, as they were.
  std::vector<std::string> put_aside = {};
  uint64_t tables_kept = 0;
  uint64_t tables_rewritten = 0;
  uint64_t updates_from_logs = 0;

  // Several lines for people.
  SEPAL_EXPORT std::string ToString() const;
};

}  // namespace sepal
