// What happens to a database between two looks at its manifest and its logs: for `sepal stats --watch`.
//
// Nothing is opened, locked or written, so that a look costs the program that has the database open nothing but the
// reading of a manifest (at most some MiB). It tells what becomes durable in tables: flushes, compactions, what was
// removed, the state of the levels. What only that program knows (reads, cache, throttling) is in the property
// sepal.prometheus of its own.
//
// Exact as long as the manifest that was looked at goes on. Where a new one has begun, tables that came and went in
// between are not counted.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/sepal/database_access.h"

namespace sepal::tools {

struct LevelState {
  uint64_t runs = 0, tables = 0, bytes = 0;
};

struct TreeChange {
  // Now. All column families together; levels up to the last that has tables.
  std::vector<LevelState> levels = {};
  uint64_t tables = 0, bytes = 0;
  uint64_t logs = 0, log_bytes = 0;  // files, and the space that they take; it is taken ahead of what is written
  uint64_t flushed_sequence = 0;     // the last sequence number that the manifest knows of
  // Since the look before; zero at the first one.
  uint64_t flushed_tables = 0, flushed_bytes = 0;
  uint64_t compacted_tables = 0, compacted_bytes = 0;  // that compactions wrote
  uint64_t moved_tables = 0;                           // to another level, without being rewritten
  uint64_t removed_tables = 0, removed_bytes = 0;
};

class TreeWatch {
 public:
  explicit TreeWatch(Place place) : place_(std::move(place)) {}

  absl::StatusOr<TreeChange> Look();

 private:
  void TakeNewEdits(const std::vector<VersionEdit>& edits, TreeChange* change) const;
  void TakeDifference(const Tree& tree, TreeChange* change) const;

  const Place place_;
  bool looked_ = false;
  FileNumber manifest_;
  size_t edits_seen_ = 0;
  std::map<FileNumber, uint64_t> tables_;  // bytes, as of the last look
};

}  // namespace sepal::tools
