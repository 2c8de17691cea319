// What readers need, and keep alive after the database object is gone: memory, caches, statistics, open tables.
//
// Iterators and snapshots share ownership of the core. Pinned values hold a `PinKeeper`, so that taking a pin touches a
// counter of the thread's own and not one that all threads share.
//
// Law: whatever lies in the cache or the tables (views, versions, readers) is let go before the core is.
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

// The world with every part filled in.
struct World {
  FileSystem* file_system;
  Clock* clock;
  Executor* executor;  // null until the database makes its own
  uint64_t random_seed;
  static World From(const Env& env);
};

class Core;

// Counts the pins that threads of one slot took, and holds the core until all are gone.
class alignas(64) PinKeeper {
 public:
  void Start(std::shared_ptr<Core> core) { core_ = std::move(core); }
  void Take() { pins_.fetch_add(1, std::memory_order_relaxed); }
  // Drops the core with the last pin.
  void Drop();
  const Core* core() const { return core_.get(); }
  BlockCache* cache() const;

 private:
  std::atomic<int64_t> pins_{1};  // one is the database's
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
  // Hands a value that was found in a cached block to the caller, pinned there; copied if the block is gone already.
  // Inside the epoch guard of the lookup.
  void PinValue(std::string_view bytes, CachePin pin, const CachePeek& peek, PinnedValue* value);

  // With `hash_seed`, the database's, for one of so many families: their memtables share one budget, of which the
  // indexes of all must leave the most.
  std::shared_ptr<MemTable> NewMemTable(KeyOrder order, uint64_t hash_seed, size_t families) {
    return std::make_shared<MemTable>(
        order, hash_seed, ExpectedBytes(families),
        MemTable::Memory{&budget, &memtable_chunks, &memtable_indexes, tuning.copy_value_bytes});
  }
  // Has an index made ready for the next one.
  void PrepareMemTable(size_t families) {
    memtable_indexes.Prepare(MemTable::IndexBytes(ExpectedBytes(families)), ReadyPages::Content::kZero);
  }
  // What the memtables of so many families may take.
  MemtableShare MemtableShareOf(size_t families) const {
    const size_t fixed = shared == nullptr ? families * MemTable::FixedBytes() : 0;
    return ShareOfMemtables(tuning.memtable_bytes, tuning.memtable_limit_bytes, fixed, budget.limit_bytes());
  }
  // For updates that are flushed before anybody looks for them.
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

  // The shared object of a table, which holds the value files that the table refers to.
  TableRef MakeTable(TableMetadata metadata) {
    std::shared_ptr<ObsoleteTableSink> sink = values.SinkThatHolds(deleter, metadata.value_links);
    return std::make_shared<const TableFile>(std::move(metadata), std::move(sink));
  }

  // The writes, in bytes, after which a writer looks whether memtables are full.
  size_t BytesPerLook() const;

  // From now on `tasks` make memory ready that writers will need, and shrink the cache when others have charged the
  // budget beyond its limit, which is no task of theirs where memory is shared. Once at most, before any does; to be
  // closed before the core goes.
  void PrepareBy(std::shared_ptr<TaskGroup> tasks);

  // Gives the system what is kept for later use: memory of memtables and tables to come, of all that share it.
  void ClearPools();
  // The same, and what readers have left by now. Not with a lock held.
  void GiveBackMemory();

  // In a child made by `fork` of the process that opened the database: its threads are missing, and what lies here is
  // as they left it. Objects that hold a part of it are then never freed (util/thread/fork.h).
  bool Forked() const { return open_mark.IsForked(); }
  // Ok while calls are served; else why they are not: the database is closed, or this is such a child, in which the
  // background threads are missing and the files are the parent's.
  absl::Status CheckOpen() const {
    if (open_mark.IsOpen()) [[likely]]
      return absl::OkStatus();
    return NotOpen();
  }
  absl::Status NotOpen() const;

  // Removes the files of tables that nobody can reach any more, and what the cache holds of tables that have gone. Not
  // with a lock held.
  void RemoveUnusedFiles();
  // Has a task remove them. Called after tables were released outside of jobs; each job removes them as it ends.
  void AskToRemoveUnusedFiles() const;

  // The pace of background work; none where the options set none.
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
  const ReadMode read_mode;  // of tables and value files
  const bool large_batches;
  // What other databases have too; null: none.
  const std::shared_ptr<SharedMemory> shared;
  const std::shared_ptr<DatabaseMemory> memory;
  const std::unique_ptr<Directory> directory;
  // Null: the logs lie in `directory`.
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
  // Among them; null: there are none.
  const std::unique_ptr<MemtableGroup::Member> member;
  StatisticsImpl statistics;
  ReadAroundCredit read_around;
  // Of tables that flushes and compactions write.
  RateLimiter rate_limiter;
  InfoLog info_log;
  CallWatch calls;
  // Before the epochs, whose retired views hold value files.
  ValueStore values;
  EpochDomain epochs;
  BlockCache cache;
  const std::shared_ptr<ObsoleteTableDeleter> deleter;
  // Every call is refused where this says that the database is not open.
  OpenMark open_mark;
  // The commit pipeline's: one batch at a time. It lies here for iterators, which outlive the pipeline.
  Mutex commit_mutex;

 private:
  size_t ExpectedBytes(size_t families) const;

  std::array<PinKeeper*, kThreadSlots> keepers_ = {};
  std::unique_ptr<RepeatedTask> relief_;
  std::unique_ptr<RepeatedTask> removal_;
  std::shared_ptr<TaskGroup> tasks_;  // what users still hold may ask it for a task, in vain
};

}  // namespace sepal
