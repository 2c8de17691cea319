// Removes table files and value files that no edit and no reader refers to any more, and marks them as removed in the
// cache, where a compaction may have left blocks of a table that was never opened.
//
// A table file is handed in when its last reference is released, which may happen in any thread, including a reader's.
// So handing in only notes the number; the file is removed by the next background job, by an explicit Run, or by Close.
// A failed removal is retried with the next ones; files that remain are found when the database is opened again.
//
// If another process writes the database, no file is ever removed; only the cache learns of tables that are gone.
//
// Safe for concurrent use. The directory and the cache must outlive it.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "db/state/version/table_file.h"
#include "sepal/file_system.h"
#include "util/base/numbers.h"
#include "util/cache/block_cache.h"
#include "util/thread/sync.h"

namespace sepal {

class ObsoleteTableDeleter final : public ObsoleteTableSink {
 public:
  ObsoleteTableDeleter(Directory* directory, BlockCache* cache, bool beside_a_writer = false)
      : directory_(directory), cache_(cache), beside_a_writer_(beside_a_writer) {}

  // Receives a table that an edit removed and that has no reader any more.
  void OnLastRelease(FileNumber number) override;
  // Receives a value file that nothing refers to any more.
  void RemoveValueFile(FileNumber number);
  // Returns whether a file that was handed in still exists.
  bool HasWork() const { return has_work_.load(std::memory_order_acquire); }
  // Removes the files that were handed in. Must not be called with a lock held.
  void Run();
  // Nothing is removed after this: the directory may belong to another database.
  void Stop();

 private:
  void Keep(std::string name);

  Directory* const directory_;
  BlockCache* const cache_;
  const bool beside_a_writer_;
  Mutex mutex_;
  std::vector<std::string> pending_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> has_work_{false};  // `pending_` is not empty
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sepal
