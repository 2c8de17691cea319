// Gives back what range tombstones make superfluous (db/decide/compaction/covered_tables.h), by edits alone: tables of
// which they cover everything, and then range tombstones that cover nothing.
//
// After each job of a family that has range tombstones in tables. Safe for concurrent use.
#pragma once

#include "db/engine/background/pause_gate.h"
#include "db/engine/background/snapshot_watch.h"
#include "db/engine/catalog/catalog.h"
#include "db/engine/core/database_state.h"

namespace sepal {

class CoveredSpace {
 public:
  CoveredSpace(EngineState* state, Catalog* catalog, PauseGate* pause, SnapshotWatch* snapshots)
      : state_(state), catalog_(catalog), pause_(pause), snapshots_(snapshots) {}

  // What fails is tried again after the next job; a failure that ends writing is told by the catalog.
  void GiveBack(const FamilyRef& family) EXCLUDES_STATE_LOCK;

 private:
  absl::Status DropTables(const FamilyRef& family) EXCLUDES_STATE_LOCK;
  absl::Status RemoveRangeTables(const Family& family) EXCLUDES_STATE_LOCK;

  EngineState* const state_;
  Catalog* const catalog_;
  PauseGate* const pause_;
  SnapshotWatch* const snapshots_;
};

}  // namespace sepal
