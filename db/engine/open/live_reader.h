// How a database that is open read-only comes to what another process has written since: DB::CatchUp.
//
// Laws:
//   - after a call, readers see whatever was in the logs, or in an edit of the manifest, when it began. What they see
//   is
//     the writer's state at one sequence number, of all families together (db/state/version/joint_view.h); the next
//     call's number is no lower, unless a new writer has lost the end of the logs;
//   - the manifest is read before the logs: what its tables hold of a batch, the logs have whole;
//   - a memtable never holds what the version of its view has in tables: where a flush has moved the mark of any
//     family, the logs above the marks are replayed into new memtables. Else the replay goes on where it stopped, in
//     the memtables that are being read;
//   - where a new writer cut off a part of the logs that was read here, all of that goes: everything is replayed anew,
//     so that no update stands beside another of the same number;
//   - after a failure readers see what they saw, and the next call reads everything anew;
//   - damage in the last log passes for its end for a second at most, since not every call looks behind that.
//
// Cost: a listing of the directory, the headers of the logs, what the manifest and the last log have grown by, and some
// reads of the log's ring. After a flush also the logs that are not flushed; after a new manifest, and in the first
// call, that manifest. Tables that stay keep their readers and their blocks in the cache. Memory: while logs are
// replayed anew, the memtables before and after.
//
// A view does not move by itself, so the tables of a new one are opened as it is taken: what is open can be read when
// the writer has removed it. That goes for as many tables and value files as a half of those that may be open at a time
// (fd_limited_directory.h), the upper levels' first, as they are compacted soonest. A read that needs another one of
// which the file is gone is Aborted.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "db/engine/catalog/catalog.h"
#include "db/engine/core/core.h"
#include "db/engine/core/database_state.h"
#include "db/engine/open/catching_up.h"
#include "util/thread/sync.h"

namespace sepal {

class LiveReader {
 public:
  // All must outlive it.
  LiveReader(Core* core, EngineState* state, Catalog* catalog) : core_(core), state_(state), catalog_(catalog) {}

  // Calls wait for each other.
  absl::Status CatchUp() ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs `call` while nothing is added to memtables.
  absl::Status BetweenCalls(const std::function<absl::Status()>& call) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::StatusOr<bool> Try() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Core* const core_;
  EngineState* const state_;
  Catalog* const catalog_;
  Mutex mutex_;  // taken before all others
  ReaderHistory history_ ABSL_GUARDED_BY(mutex_);
  // None: the next call reads everything.
  std::optional<ReaderPosition> position_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal
