// Reads every table once in a while, past the caches, and checks it: so that damage of what nobody reads is found while
// there still are backups. It stops nothing and mends nothing; it tells listeners, the info log and the statistics.
//
// One long piece of work on the executor. A pass takes the tables that there are at its beginning, from one drawn at
// random on, so that a process that is often started anew does not always read the same ones; it is spread evenly over
// the period, and begins again with the next. It holds one table at a time: others can be deleted meanwhile. It keeps
// to the rate limiter, behind all other work, and stands aside while background work is paused.
//
// Safe for concurrent use.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "db/engine/background/pause_gate.h"
#include "db/engine/core/database_state.h"

namespace sepal {

class Scrubber {
 public:
  Scrubber(EngineState* state, PauseGate* pause, Executor* executor)
      : state_(state), pause_(pause), executor_(executor) {}

  // Starts, where a period is set. Once.
  void Start() EXCLUDES_STATE_LOCK;
  // Returns when it has ended. Background work is marked as closing by then.
  void Stop() EXCLUDES_STATE_LOCK;

  // For people: how far the pass is, and each table that was last found damaged.
  std::string ToString() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Due {
    std::weak_ptr<const TableFile> table;
    uint64_t number;
    uint64_t bytes;
    std::string family;
    KeyOrder order;
  };
  struct TableDamage {
    uint64_t blocks = 0;
    DamageEvent first;
  };
  class Visit;

  uint64_t Now() const { return state_->core->world.clock->MonotonicMicros(); }
  void Run() EXCLUDES_STATE_LOCK;
  void Pass(uint64_t began_micros) ABSL_LOCKS_EXCLUDED(database_mutex, mutex_);
  std::vector<Due> List() const EXCLUDES_STATE_LOCK;
  // False if it is to end. Returns early once `while_needed`, where there is one, is needed no more.
  bool WaitUntil(uint64_t micros, const TableFile* while_needed = nullptr) EXCLUDES_STATE_LOCK;
  void ForgetOthers(const std::vector<Due>& tables) ABSL_LOCKS_EXCLUDED(mutex_);

  EngineState* const state_;
  PauseGate* const pause_;
  Executor* const executor_;
  std::atomic<bool> stop_{false};
  bool running_ ABSL_GUARDED_BY(database_mutex) = false;

  // A leaf lock.
  mutable Mutex mutex_;
  std::map<uint64_t, TableDamage> damage_ ABSL_GUARDED_BY(mutex_);  // by the table's number
  uint64_t tables_ ABSL_GUARDED_BY(mutex_) = 0, tables_done_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sepal
