// The changes of a database between two readings of its manifest and its logs: for `sepal db stats --watch`.
//
// Nothing is opened, locked or written: a reading costs only the reading of a manifest (at most some MiB), and does not
// disturb the program that has the database open. It shows durable changes of tables: flushes, compactions, removals,
// the state of the levels. Only that program knows reads, cache and throttling: its property sepal.prometheus has them.
//
// Exact as long as the same manifest is in use. After a change of manifests, tables that were created and removed in
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
  // Since the previous reading; zero at the first one.
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
  std::map<FileNumber, uint64_t> tables_;  // bytes, as of the last reading
};

}  // namespace sepal::tools
