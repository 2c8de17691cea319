// What readers need, and keep alive after the database object is gone: memory, caches, statistics, open tables.
//
// Iterators and snapshots share ownership of the core. Pinned values hold a `PinKeeper`, so that pinning changes a
// per-thread counter rather than one that all threads share.
//
// Law: whatever lies in the cache or the tables (views, versions, readers) is released before the core is.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "db/act/files/info_log.h"
#include "db/act/files/obsolete_table_deleter.h"
#include "db/act/files/rate_limited_file.h"
#include "db/act/files/table_files.h"
#include "db/act/files/value_store.h"
#include "db/decide/writing/memtable_share.h"
#include "db/engine/core/call_timing.h"
#include "db/engine/core/database_memory.h"
#include "db/engine/core/expiry_clock.h"
#include "db/engine/core/open_mark.h"
#include "db/engine/core/time_marks.h"
#include "db/state/memtable/memtable.h"
#include "db/state/version/table_file.h"
#include "db/state/version/tuning.h"
#include "sepal/db.h"
#include "sepal/env.h"
#include "util/stats/statistics_impl.h"
#include "util/thread/epoch.h"
#include "util/thread/fork.h"
#include "util/thread/rate_limiter.h"
#include "util/thread/sync.h"
#include "util/thread/task_group.h"
#include "util/thread/thread_slot.h"

namespace sepal {

// The environment with every part filled in.
struct World {
  FileSystem* file_system;
  Clock* clock;
  Executor* executor;  // null until the database makes its own
  uint64_t random_seed;
  static World From(const Env& env);
};

class Core;

// Counts the pins taken by threads of one slot, and keeps the core alive until all are released.
class alignas(64) PinKeeper {
 public:
  void Start(std::shared_ptr<Core> core) { core_ = std::move(core); }
  void Take() { pins_.fetch_add(1, std::memory_order_relaxed); }
  // Releases one pin; the last one releases the core.
  void Drop();
  const Core* core() const { return core_.get(); }
  BlockCache* cache() const;

 private:
  std::atomic<int64_t> pins_{1};  // the first is the database's own
  std::shared_ptr<Core> core_;
};

class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(const World& world, const Options& options, const Tuning& tuning, std::unique_ptr<Directory> directory,
       std::unique_ptr<Directory> separate_log_directory);
  ~Core();

  // Makes the pin keepers; they hold the core until ReleaseKeepers and the last pin.
  void StartKeepers();
  void ReleaseKeepers();
  // Hands a value that was found in a cached block to the caller, pinned there, or copied if the block has been
  // evicted. Called inside the epoch guard of the lookup.
  void PinValue(std::string_view bytes, CachePin pin, const CachePeek& peek, PinnedValue* value);

  // `hash_seed` is the database's. The memtables of its `families` share one budget, most of which must remain after
  // their indexes.
  std::shared_ptr<MemTable> NewMemTable(KeyOrder order, uint64_t hash_seed, size_t families) {
    return std::make_shared<MemTable>(
        order, hash_seed, ExpectedBytes(families),
        MemTable::Memory{&budget, &memtable_chunks, &memtable_indexes, tuning.copy_value_bytes});
  }
  // Asks for the next memtable's index to be prepared.
  void PrepareMemTable(size_t families) {
    memtable_indexes.Prepare(MemTable::IndexBytes(ExpectedBytes(families)), ReadyPages::Content::kZero);
  }
  // Returns what the memtables of that many families may take.
  MemtableShare MemtableShareOf(size_t families) const {
    const size_t fixed = shared == nullptr ? families * MemTable::FixedBytes() : 0;
    return ShareOfMemtables(tuning.memtable_bytes, tuning.memtable_limit_bytes, fixed, budget.limit_bytes());
  }
  // For updates that are flushed before they are ever read.
  std::shared_ptr<MemTable> NewMemTableToFlush(KeyOrder order, uint64_t hash_seed) {
    return std::make_shared<MemTable>(order, hash_seed, tuning.memtable_bytes,
                                      MemTable::Memory{&budget, &memtable_chunks, nullptr, tuning.copy_value_bytes},
                                      /*indexed=*/false);
  }
  FamilyTableOpener Opener(KeyOrder order) {
    return {{directory.get(), &cache, &budget, &statistics, read_only, read_mode,
             read_mode == ReadMode::kBuffered && !directory->capabilities().remote ? &read_around : nullptr, &windows},
            order};
  }

  // Returns the shared object of a table, which keeps alive the value files that the table refers to.
  TableRef MakeTable(TableMetadata metadata) {
    std::shared_ptr<ObsoleteTableSink> sink = values.SinkThatHolds(deleter, metadata.value_links);
    return std::make_shared<const TableFile>(std::move(metadata), std::move(sink));
  }

  // The number of bytes after which a writer checks whether memtables are full.
  size_t BytesPerLook() const;

  // Makes `tasks` prepare memory that writers will need, and shrink the cache when other charges have taken the budget
  // over its limit (where memory is shared, its owner does that). Called at most once, before any such need; the tasks
  // must be closed before the core goes.
  void PrepareBy(std::shared_ptr<TaskGroup> tasks);

  // Returns memory that is kept for later memtables and tables to the system, for all databases that share it.
  void ClearPools();
  // Does the same, and first frees what readers have left by now. Not to be called with a lock held.
  void GiveBackMemory();

  // True in a child made by `fork` of the process that opened the database: its threads are missing, and the state here
  // is as they left it. Objects that hold a part of it are then never freed (util/thread/fork.h).
  bool Forked() const { return open_mark.IsForked(); }
  // Ok while calls are served; otherwise says why not: the database is closed, or this is a forked child, in which the
  // background threads are missing and the files are the parent's.
  absl::Status CheckOpen() const {
    if (open_mark.IsOpen()) [[likely]]
      return absl::OkStatus();
    return NotOpen();
  }
  absl::Status NotOpen() const;

  // Removes the files of obsolete tables that nothing holds any more, and evicts their blocks from the cache. Not to be
  // called with a lock held.
  void RemoveUnusedFiles();
  // Schedules a task that removes them. Called after tables were released outside of jobs; each job removes them as it
  // ends.
  void AskToRemoveUnusedFiles() const;

  // Returns the pace of background work; unlimited where the options set none.
  Pacing PacingFor(Executor::Priority priority) {
    return {.limiter = rate_limiter.bytes_per_second() > 0 ? &rate_limiter : nullptr,
            .priority = priority,
            .statistics = &statistics};
  }

  const World world;
  ExpiryClock expiry;
  TimeMarkList time_marks;
  const Tuning tuning;
  const bool read_only;
  const ReadMode read_mode;  // for tables and value files
  const bool large_batches;
  // Shared with other databases; null if this database shares nothing.
  const std::shared_ptr<SharedMemory> shared;
  const std::shared_ptr<DatabaseMemory> memory;
  const std::unique_ptr<Directory> directory;
  // Null if the logs lie in `directory`.
  const std::unique_ptr<Directory> separate_log_directory;
  Directory* log_directory() const {
    return separate_log_directory != nullptr ? separate_log_directory.get() : directory.get();
  }
  const std::string path;
  MemoryBudget& budget;
  ReadyPages& memtable_chunks;
  ReadyPages& memtable_indexes;
  ReadyPages& table_buffers;
  WindowPool& windows;
  // This database's membership in the group that shares memory; null if there is none.
  const std::unique_ptr<MemtableGroup::Member> member;
  StatisticsImpl statistics;
  ReadAroundCredit read_around;
  // For tables that flushes and compactions write.
  RateLimiter rate_limiter;
  InfoLog info_log;
  CallWatch calls;
  // Declared before the epochs, because their retired views hold value files.
  ValueStore values;
  EpochDomain epochs;
  BlockCache cache;
  const std::shared_ptr<ObsoleteTableDeleter> deleter;
  // Every call checks this first, and is refused unless it is open.
  OpenMark open_mark;
  // The commit pipeline holds it for one batch at a time. It lies here for iterators, which outlive the pipeline.
  Mutex commit_mutex;

 private:
  size_t ExpectedBytes(size_t families) const;

  std::array<PinKeeper*, kThreadSlots> keepers_ = {};
  std::unique_ptr<RepeatedTask> relief_;
  std::unique_ptr<RepeatedTask> removal_;
  // Objects that users still hold may ask it for a task after it has closed, which does nothing.
  std::shared_ptr<TaskGroup> tasks_;
};

}  // namespace sepal
