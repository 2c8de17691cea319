// Of one family: whether range tombstones may cover its entries, and at which sequence numbers their readers stand.
//
// Law: a range tombstone of a memtable is left out for the sake of a newer one only if no reader can stand between the
// two. Readers are inside an epoch guard, under which they loaded what they see, or they hold a snapshot, or they have
// said where they stand.
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

  // Whether there are any. Set before the first one is visible, and for good. Safe for concurrent use.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  void Begin() { any_.store(true, std::memory_order_relaxed); }

  // Held while a flush takes over range tombstones of tables, until they are in its own, and while such tables are
  // removed because they cover nothing. What was removed in between would come back, and cover what lost its sequence
  // number meanwhile. Taken before the mutexes of edits and of the database.
  Mutex* tables_mutex() ABSL_LOCK_RETURNED(tables_mutex_) { return &tables_mutex_; }

  // For a reader that goes on beyond the epoch guard under which it loaded `visible`: it stands there until the result
  // goes. Inside that guard. Safe for concurrent use.
  std::shared_ptr<const void> Stand(SequenceNumber visible) const;

  // Where readers may stand, without those at snapshots: ascending, the last being one that no reader to come, nor one
  // inside a guard, stands below. `published`: what every new reader sees. One thread at a time.
  std::vector<SequenceNumber> Standing(EpochDomain* epochs, SequenceNumber published);

 private:
  struct Readers {
    Mutex mutex;
    std::map<SequenceNumber, int> standing ABSL_GUARDED_BY(mutex);
  };
  struct Settling {
    SequenceNumber published;
    uint64_t stamp;  // of the epochs, taken after it was published
  };

  Mutex tables_mutex_;
  std::atomic<bool> any_{false};
  const std::shared_ptr<Readers> readers_ = std::make_shared<Readers>();
  const uint64_t fork_generation_ = WatchForks();
  // No reader inside a guard, or to come, stands below it; and what will be the next such number.
  SequenceNumber settled_;
  std::optional<Settling> settling_;
};

}  // namespace sepal
