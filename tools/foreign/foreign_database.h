// A LevelDB or RocksDB database, to be read from its first entry to its last.
//
// The source is not written to, and need not be writable. LevelDB's lock is taken, so that nobody else writes; RocksDB
// is opened read-only, beside a writer too, and then shows what it held at that moment. One thread at a time.
//
// A source is read whole or refused: what cannot be read (logs that are elsewhere, values that a missing merge operator
// would have to make, wide columns) is an error that names it, and never left out.
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

// Entries of a column family in its order. `key` and `value` are good until the next call.
class ForeignCursor {
 public:
  virtual ~ForeignCursor() = default;
  virtual bool Valid() const = 0;
  virtual void Next() = 0;
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
  // When the entry is to be gone, in milliseconds since 1970; none: never.
  virtual std::optional<int64_t> ExpiresAtMillis() const { return std::nullopt; }
  // Once the cursor is not valid: ok at the end of the family, else why it stopped before.
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
  // Clauses that tell the user how it is read.
  virtual std::vector<std::string> Notes() const { return {}; }
  // Transactions that are prepared, but neither committed nor rolled back: no reader sees what they wrote.
  virtual std::vector<std::string> PreparedTransactions() const { return {}; }
};

// Where a source lies.
struct ForeignPlace {
  std::string directory = {};
  // RocksDB only. Its logs, if the user says so; else they are looked for where its OPTIONS file says.
  std::string wal_directory = {};
  // RocksDB only. More directories of tables, which it calls db_paths and cf_paths and does not record.
  std::vector<std::string> table_directories = {};
  // RocksDB only, by column family: operators that do what the family's own does, whose code is not at hand.
  std::map<std::string, std::shared_ptr<const MergeOperator>> merge_operators = {};
  // RocksDB only. For how long the values of DBWithTTL are there, 0: for ever; none: as its OPTIONS file says.
  std::optional<uint64_t> ttl_seconds = {};
  // A directory, to be made at opening and removed by the caller, for what LevelDB would write at opening: tables out
  // of its log, a manifest.
  std::string scratch = {};
};

// A new database of another engine, to be filled. One thread.
class ForeignWriter {
 public:
  virtual ~ForeignWriter() = default;
  // In the order of keys: it is written fastest so.
  virtual absl::Status Put(std::string_view key, std::string_view value) = 0;
  // Once, at the end: returns when all is in tables, durably. Without it nothing is.
  virtual absl::Status Finish() = 0;
};

// In `directory`, which holds no database.
absl::StatusOr<std::unique_ptr<ForeignWriter>> CreateLevelDb(const std::string& directory);
// Removes a LevelDB database's files, if any are there. Unavailable if some process has it open.
absl::Status DestroyLevelDb(const std::string& directory);

absl::StatusOr<std::unique_ptr<ForeignDatabase>> OpenLevelDb(const ForeignPlace& place);
absl::StatusOr<std::unique_ptr<ForeignDatabase>> OpenRocksDb(const ForeignPlace& place);

}  // namespace sepal::tools
