// For one family: whether range tombstones may cover its entries, and at which sequence numbers its readers read.
//
// Law: a range tombstone of a memtable may be left out in favour of a newer one only if no reader reads between the
// two. A reader is inside the epoch guard under which it loaded its view, or it holds a snapshot, or it has registered
// its sequence number with Stand.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "util/base/numbers.h"
#include "util/thread/epoch.h"
#include "util/thread/fork.h"
#include "util/thread/sync.h"

namespace sepal {

class RangeDeletes {
 public:
  RangeDeletes();
  RangeDeletes(const RangeDeletes&) = delete;
  RangeDeletes& operator=(const RangeDeletes&) = delete;

  // Whether there are any range tombstones. Set before the first one is visible, and never unset. Safe for concurrent
  // use.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  void Begin() { any_.store(true, std::memory_order_relaxed); }

  // Held while a flush takes over range tombstones of tables, until they are in its own table, and while tables of
  // range tombstones that cover nothing are removed. Otherwise a removed tombstone could return, and cover entries
  // whose sequence numbers have become 0 meanwhile. Taken before the edit mutex and the database mutex.
  Mutex* tables_mutex() ABSL_LOCK_RETURNED(tables_mutex_) { return &tables_mutex_; }

  // For a reader that goes on after the epoch guard under which it loaded `visible`: registers that number until the
  // result is destroyed. Called inside that guard. Safe for concurrent use.
  std::shared_ptr<const void> Stand(SequenceNumber visible) const;

  // Returns the sequence numbers at which readers may read, except for snapshots: ascending; no later reader, and none
  // inside a guard now, reads below the last. `published`: what every new reader sees. One thread at a time.
  std::vector<SequenceNumber> Standing(EpochDomain* epochs, SequenceNumber published);

 private:
  struct Readers {
    Mutex mutex;
    std::map<SequenceNumber, int> standing ABSL_GUARDED_BY(mutex);
  };
  struct Settling {
    SequenceNumber published;
    uint64_t stamp;  // of the epochs, taken after `published` was visible
  };

  Mutex tables_mutex_;
  std::atomic<bool> any_{false};
  const std::shared_ptr<Readers> readers_ = std::make_shared<Readers>();
  const uint64_t fork_generation_ = WatchForks();
  // No reader inside a guard, and no later one, reads below `settled_`; `settling_` will be the next such number.
  SequenceNumber settled_;
  std::optional<Settling> settling_;
};

}  // namespace sepal
