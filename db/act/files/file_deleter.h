// Removes table files that no edit and no reader refers to any more, and notes in the cache that they are gone: a merge
// may have left blocks there of a table that nobody has opened.
//
// A table file is handed in when its last reference goes, which may be in any thread, a reader's too; so handing in
// only notes the number, and the removal is done by the next background job, by who is asked to, or by Close. A failed
// removal is tried again with the next ones; what is left over is found when the database is opened again.
//
// Safe for concurrent use. The directory and the cache must outlive it.
#pragma once

#include <atomic>
#include <vector>

#include "db/state/version/table_file.h"
#include "sepal/file_system.h"
#include "util/base/numbers.h"
#include "util/cache/block_cache.h"
#include "util/thread/sync.h"

namespace sepal {

class FileDeleter final : public ObsoleteTableSink {
 public:
  FileDeleter(Directory* directory, BlockCache* cache) : directory_(directory), cache_(cache) {}

  // A table that an edit removed and that nobody reads any more.
  void OnLastRelease(FileNumber number) override;
  // Whether something was handed in that is still there.
  bool HasWork() const { return has_work_.load(std::memory_order_acquire); }
  // Removes what was handed in. Must not be called with a lock held.
  void Run();
  // From now on nothing is removed: the directory may be another's.
  void Stop();

 private:
  void Keep(FileNumber number);

  Directory* const directory_;
  BlockCache* const cache_;
  Mutex mutex_;
  std::vector<FileNumber> pending_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> has_work_{false};  // `pending_` is not empty
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sepal
