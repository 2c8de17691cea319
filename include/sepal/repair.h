// What DB::Repair found, dropped and changed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sepal/export.h"

namespace sepal {

// Data that could not be read. Its updates may be missing; if other files hold older ones, those reappear. A lost value
// of a value file (ColumnFamilyOptions::separate_from) is reported with its key as the first and the last one; of more
// than 1,000 lost values of a table, the rest are reported together.
struct DroppedData {
  std::string file = {};           // `lost` holds a copy of it, unless it is missing, or a value file that stays in use
  std::string column_family = {};  // empty: any
  // User keys, both inclusive; unset: unbounded on that side.
  std::optional<std::string> first_key = {};
  std::optional<std::string> last_key = {};
  // The range in the file, in bytes.
  uint64_t begin_offset = 0;
  uint64_t end_offset = 0;
  std::string reason = {};
};

struct RepairOptions {
  // Only report what a repair would do. Nothing is written and no lock is taken, so the database must not be open
  // elsewhere.
  bool dry_run = false;
  // The logs are lost for good. Without this, a repair that finds no log at all, although the manifest needs one or may
  // have needed one before it was damaged, is refused, because Options::log_directory is probably wrong. Checkpoints
  // have no logs.
  bool logs_lost = false;
  // Called in the calling thread after each table file, and now and then between values of value files, with the number
  // of bytes of these files that are done. If the manifest is damaged, tables are read twice and counted twice.
  std::function<void(uint64_t done_bytes, uint64_t total_bytes)> progress = nullptr;
};

struct RepairReport {
  // False: the database was undamaged and was not touched, except that a missing file CURRENT was restored.
  bool changed = false;
  // True: nothing was touched, and the rest says what a repair would do.
  bool dry_run = false;
  std::vector<DroppedData> dropped = {};
  // Files that were moved as they were to the directory `lost` of the database.
  std::vector<std::string> put_aside = {};
  uint64_t tables_kept = 0;
  uint64_t tables_rewritten = 0;
  uint64_t updates_from_logs = 0;

  // Several lines for people to read.
  SEPAL_EXPORT std::string ToString() const;
};

}  // namespace sepal
