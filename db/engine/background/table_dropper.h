// Drops, by edits alone, expired named snapshots, tables in which nothing is visible, and range tombstones that cover
// nothing any more (db/decide/compaction/droppable_tables.h).
//
// Runs after each job of a family, and when a caller waits for background work. Safe for concurrent use.
#pragma once

#include "db/engine/background/pause_gate.h"
#include "db/engine/background/snapshot_watch.h"
#include "db/engine/catalog/catalog.h"
#include "db/engine/core/database_state.h"

namespace sepal {

class TableDropper {
 public:
  TableDropper(EngineState* state, Catalog* catalog, PauseGate* pause, SnapshotWatch* snapshots)
      : state_(state), catalog_(catalog), pause_(pause), snapshots_(snapshots) {}

  // What fails is tried again after the next job; the catalog reports a failure that ends writing.
  void Drop(const FamilyRef& family) EXCLUDES_STATE_LOCK;

 private:
  void DropExpired() EXCLUDES_STATE_LOCK;
  absl::Status DropTables(const FamilyRef& family, uint64_t expired_through_millis) EXCLUDES_STATE_LOCK;
  absl::Status RemoveRangeTables(const FamilyRef& family) EXCLUDES_STATE_LOCK;
  absl::Status RemoveLocked(const Family& family) EXCLUDES_STATE_LOCK;

  EngineState* const state_;
  Catalog* const catalog_;
  PauseGate* const pause_;
  SnapshotWatch* const snapshots_;
};

}  // namespace sepal
