// One connection to a cluster, with what it does in the background: it removes the objects of removed files, sends what
// lingers in the buffers of logs, and keeps the pool's statistics fresh, so that nobody waits for a monitor.
#pragma once

#include <rados/librados.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rados/burials.h"
#include "rados/layout.h"
#include "sepal/rados.h"
#include "util/thread/sync.h"

namespace sepal::rados {

// A file whose buffer must not wait for long.
class Lingering {
 public:
  virtual ~Lingering() = default;
  virtual void SendWhatLingers() = 0;
};

struct AtomicCounts {
  std::atomic<uint64_t> index_reads{0}, index_writes{0}, data_reads{0}, data_writes{0}, size_queries{0}, removals{0},
      lock_calls{0}, monitor_calls{0};
};

class File;

// In a forked child threads wait for ever on what the parent's waited on, so that it is not destroyed there.
template <class T>
void LeakInChild(T* object) {
  if (!object->InChild()) delete object;
}

class Client {
 public:
  static absl::StatusOr<std::shared_ptr<Client>> Connect(const RadosOptions& options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const RadosOptions& options() const { return options_; }
  const std::string& addresses() const { return addresses_; }
  // As librados names it in lists of lock holders.
  const std::string& entity() const { return entity_; }
  // Of the cluster and the pool.
  const std::string& identity() const { return identity_; }
  rados_t cluster() const { return cluster_; }
  // No other ID of any client is the same.
  std::string NewId();
  // Of a namespace in a pool, by its number; lives as long as the client.
  absl::StatusOr<rados_ioctx_t> IoFor(const std::string& space, int64_t pool = kOwnPool);
  // Where new files of the kind lie.
  int64_t PoolFor(FileUseKind kind) const { return kind == FileUseKind::kTable ? data_pool_ : kOwnPool; }
  // In a process that the client's forked, librados must not be called.
  bool InChild() const { return ::getpid() != pid_; }

  // The status of a call; notes where it ends all writing of this client.
  absl::Status Note(int code, std::string_view what);
  void NoteLost(const absl::Status& status);
  // Why nothing may be changed any more.
  absl::Status Lost() const;

  // As of some seconds ago, less what was written since; nullopt before the first answer.
  std::optional<uint64_t> FreeBytes() const;
  void NoteWritten(uint64_t bytes) { written_since_.fetch_add(bytes, std::memory_order_relaxed); }

  // Removes the first `objects` objects of `entry`, or all where its size is unknown, and then its key `d:` in `space`:
  // when the time of grace is over.
  void Bury(const std::string& space, const Entry& entry, uint64_t objects);
  // Ends it for all that were removed.
  absl::Status AwaitBurials();
  // Removes the objects from `first` up to `end`, and where the size is unknown also those behind, which a client that
  // died may have left.
  absl::Status RemoveObjects(rados_ioctx_t io, const Entry& entry, uint64_t first, uint64_t end);

  // The file that is open under this ID, whatever its names and directories; null: none.
  std::shared_ptr<File> FindFile(const std::string& id);
  // That one, or one that is made.
  std::shared_ptr<File> ShareFile(const std::string& id, const std::function<std::shared_ptr<File>()>& make);

  void Register(Lingering* file);
  void Unregister(Lingering* file);
  // Refuses addresses from now on.
  absl::Status Fence(const std::string& address);

  // For all files together: what is read ahead lies in memory that no database counts.
  bool TakeAhead(uint64_t bytes) {
    constexpr uint64_t kMost = uint64_t{32} << 20;
    if (ahead_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= kMost) return true;
    LetGoAhead(bytes);
    return false;
  }
  void LetGoAhead(uint64_t bytes) { ahead_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

  // How many writes of a whole object one file may have in flight.
  static uint64_t InFlightWrites(uint64_t object_bytes) {
    return std::clamp<uint64_t>((uint64_t{32} << 20) / object_bytes, 4, 32);
  }
  // Another connection, for the reads of a client that is fenced: RADOS refuses those too.
  absl::StatusOr<rados_ioctx_t> IoAfterFence(const std::string& space, int64_t pool = kOwnPool);
  AtomicCounts counts;

 private:
  explicit Client(const RadosOptions& options);
  absl::Status Begin();
  absl::Status SetUp();
  absl::Status FindDataPool();
  absl::Status StartThreads();
  void RunReaper();
  absl::Status Remove(const Burials::Dead& dead);
  absl::StatusOr<bool> DropReference(rados_ioctx_t io, const Entry& entry);
  void RunLinger();
  void RunStatistics();
  void AskStatistics();

  const RadosOptions options_;
  const pid_t pid_ = ::getpid();
  rados_t cluster_ = nullptr;
  bool connected_ = false;
  std::string instance_;
  std::string addresses_;
  std::string entity_;
  std::string identity_;
  int64_t own_pool_ = kOwnPool;   // RadosOptions::pool
  int64_t data_pool_ = kOwnPool;  // RadosOptions::data_pool
  std::atomic<uint64_t> next_id_{1};

  mutable Mutex mutex_;
  std::map<std::pair<int64_t, std::string>, rados_ioctx_t> ios_ ABSL_GUARDED_BY(mutex_);
  absl::Status lost_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  CondVar changed_;
  Burials dead_ ABSL_GUARDED_BY(mutex_);
  size_t burying_ ABSL_GUARDED_BY(mutex_) = 0;
  int hurried_ ABSL_GUARDED_BY(mutex_) = 0;  // calls that wait until all are gone
  absl::Status burial_failure_ ABSL_GUARDED_BY(mutex_);

  std::shared_ptr<Client> reader_ ABSL_GUARDED_BY(mutex_);

  Mutex files_mutex_;
  std::map<std::string, std::weak_ptr<File>> files_ ABSL_GUARDED_BY(files_mutex_);

  Mutex linger_mutex_;
  std::set<Lingering*> lingering_ ABSL_GUARDED_BY(linger_mutex_);

  std::atomic<uint64_t> free_bytes_{UINT64_MAX};
  std::atomic<uint64_t> written_since_{0};
  std::atomic<uint64_t> ahead_bytes_{0};
  uint64_t written_before_ = 0;  // of the thread that asks

  struct Threads {
    std::deque<Thread> all;
  };
  std::unique_ptr<Threads> threads_;
};

}  // namespace sepal::rados
