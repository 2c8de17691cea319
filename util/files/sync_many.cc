#include "util/files/sync_many.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "util/base/status.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

// More threads gain almost nothing.
constexpr size_t kMostSyncThreads = 8;
// Fewer files are not worth a thread of their own.
constexpr size_t kFilesPerSyncThread = 4;

// Files that several threads take one by one.
class SharedFiles {
 public:
  explicit SharedFiles(std::span<WritableFile* const> files) : files_(files) {}

  void Sync() {
    for (size_t i = Next(); i < files_.size(); i = Next()) {
      const absl::Status synced = files_[i]->Sync();
      if (synced.ok()) [[likely]]
        continue;
      MutexLock lock(&mutex_);
      // A full disk is tried again, so it must not hide errors that are not.
      if (status_.ok() || absl::IsResourceExhausted(status_)) status_ = synced;
    }
  }
  absl::Status status() {
    MutexLock lock(&mutex_);
    return status_;
  }

 private:
  size_t Next() { return next_.fetch_add(1, std::memory_order_relaxed); }

  const std::span<WritableFile* const> files_;
  std::atomic<size_t> next_{0};
  Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Status SyncManyByThreads(std::span<WritableFile* const> files) {
  // The disk writes all of them while this thread waits for the first.
  if (files.size() > 1) {
    for (WritableFile* const file : files) RETURN_IF_ERROR(file->SyncRange(0, file->Size()));
  }
  SharedFiles shared(files);
  std::vector<Thread> threads;
  for (size_t i = 1; i < std::min(kMostSyncThreads, files.size() / kFilesPerSyncThread); ++i) {
    std::optional<Thread> thread = Thread::Make([&shared] { shared.Sync(); });
    if (!thread.has_value()) break;
    threads.push_back(*std::move(thread));
  }
  shared.Sync();
  for (Thread& thread : threads) thread.Join();
  return shared.status();
}

}  // namespace sepal
