// A LevelDB or RocksDB database, to be read from its first entry to its last.
//
// The source is not changed, and need not be writable. LevelDB's lock is taken, so that no other process writes;
// RocksDB is opened read-only, also beside a writer, and then shows its state at that moment. Used by one thread at a
// time.
//
// A source is read completely or refused: unreadable data (logs in another place, values that need a missing merge
// operator, wide columns) is an error that names it, and never left out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/merge_operator.h"

namespace sepal::tools {

// Entries of a column family in its order. `key` and `value` are valid until the next call.
class ForeignCursor {
 public:
  virtual ~ForeignCursor() = default;
  virtual bool Valid() const = 0;
  virtual void Next() = 0;
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
  // When the entry expires, in milliseconds since 1970; unset: never.
  virtual std::optional<int64_t> ExpiresAtMillis() const { return std::nullopt; }
  // Once the cursor is not valid: ok at the end of the family, else the error that stopped it.
  virtual absl::Status status() const = 0;
};

class ForeignDatabase {
 public:
  virtual ~ForeignDatabase() = default;
  // Never empty; the default one has the name "default".
  virtual const std::vector<std::string>& column_families() const = 0;
  // Stands at the first entry of the family with that place in `column_families`.
  virtual std::unique_ptr<ForeignCursor> NewCursor(size_t family) = 0;
  // About how many bytes of files hold the entries before `key`, or all entries: for progress.
  virtual uint64_t BytesBefore(size_t family, std::string_view key) = 0;
  uint64_t BytesInAll(size_t family) { return BytesBefore(family, std::string(256, '\xff')); }
  // Clauses for the user that describe how it is read.
  virtual std::vector<std::string> Notes() const { return {}; }
  // Transactions that are prepared, but neither committed nor rolled back: no reader sees what they wrote.
  virtual std::vector<std::string> PreparedTransactions() const { return {}; }
};

// Where a source lies.
struct ForeignPlace {
  std::string directory = {};
  // RocksDB only. The directory of its logs, if the user gives it; otherwise that of its OPTIONS file.
  std::string wal_directory = {};
  // RocksDB only. More directories of tables, which it calls db_paths and cf_paths and does not record.
  std::vector<std::string> table_directories = {};
  // RocksDB only, by column family: operators that are equivalent to the family's own, whose code is not available.
  std::map<std::string, std::shared_ptr<const MergeOperator>> merge_operators = {};
  // RocksDB only. The time to live of DBWithTTL's values, 0: for ever; unset: that of its OPTIONS file.
  std::optional<uint64_t> ttl_seconds = {};
  // A directory, created at opening and removed by the caller, for files that LevelDB would write at opening: tables of
  // its log, a manifest.
  std::string scratch = {};
};

// A new database of another engine, to be filled. One thread.
class ForeignWriter {
 public:
  virtual ~ForeignWriter() = default;
  // In the order of keys, in which it is written fastest.
  virtual absl::Status Put(std::string_view key, std::string_view value) = 0;
  // Call it once, at the end: it returns when all entries are in durable tables. Without it none are.
  virtual absl::Status Finish() = 0;
};

// Creates one in `directory`, which contains no database.
absl::StatusOr<std::unique_ptr<ForeignWriter>> CreateLevelDb(const std::string& directory);
// Removes a LevelDB database's files, if any are there. Unavailable if some process has it open.
absl::Status DestroyLevelDb(const std::string& directory);

absl::StatusOr<std::unique_ptr<ForeignDatabase>> OpenLevelDb(const ForeignPlace& place);
absl::StatusOr<std::unique_ptr<ForeignDatabase>> OpenRocksDb(const ForeignPlace& place);

}  // namespace sepal::tools
