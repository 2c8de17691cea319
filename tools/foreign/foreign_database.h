// A LevelDB or RocksDB database, to be read from its first entry to its last.
//
// The source is not written to, and needs not be writable. LevelDB's lock is taken, so that nobody else writes; RocksDB
// is opened read-only, beside a writer too, and then shows what it held at that moment. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sepal::tools {

// Entries of a column family in its order. `key` and `value` are good until the next call.
class ForeignCursor {
 public:
  virtual ~ForeignCursor() = default;
  virtual bool Valid() const = 0;
  virtual void Next() = 0;
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
  // To be asked once the cursor is not valid: whether that is the end.
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
  virtual uint64_t BytesInAll(size_t family) = 0;
};

// `scratch` is a directory, to be made here and removed by the caller, for what LevelDB would write at opening: tables
// out of its log, a manifest.
absl::StatusOr<std::unique_ptr<ForeignDatabase>> OpenLevelDb(const std::string& path, const std::string& scratch);
absl::StatusOr<std::unique_ptr<ForeignDatabase>> OpenRocksDb(const std::string& path);

}  // namespace sepal::tools
