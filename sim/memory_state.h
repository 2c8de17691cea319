// The state that the in-memory file system and its handles share. Only the memory_*.cc files include it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "sepal/simulation/memory_file_system.h"
#include "sim/memory_node.h"
#include "util/thread/sync.h"

namespace sepal {

using MemoryNodePtr = std::shared_ptr<MemoryNode>;

// The names of one directory. `durable` is what a power loss leaves if nothing of `pending` has persisted.
struct MemoryNames {
  // One change, which persists whole or not at all: `removed`, if not empty, no longer names `node`; `added`, if not
  // empty, does.
  struct Change {
    std::string removed;
    std::string added;
    MemoryNodePtr node;
  };
  using Map = std::map<std::string, MemoryNodePtr, std::less<>>;

  static void Apply(const Change& change, Map* names);
  void Sync();

  Map current;
  Map durable;
  std::vector<Change> pending;
};

// One user of a store. The store's mutex guards it.
struct MemoryClient {
  uint64_t life = 0;   // counts deaths; a handle of an earlier life is dead
  std::string fenced;  // why it is fenced; empty: it is not
  // The store's generation; an opening after a crash counts as a new process.
  uint64_t fenced_generation = 0;
};

// The condition for using a handle: its client has not died since the handle was made.
class MemoryLife {
 public:
  MemoryLife(std::shared_ptr<MemoryFileSystem::State> state, std::shared_ptr<MemoryClient> client);

  // Errors name `path` and `operation`. Both require the state's mutex.
  absl::Status CheckAlive(std::string_view path, std::string_view operation) const;
  absl::Status CheckMayChange(std::string_view path, std::string_view operation) const;
  // False once the store has crashed, which has forgotten all handles.
  bool counted() const;

  const std::shared_ptr<MemoryFileSystem::State> state;
  const std::shared_ptr<MemoryClient> client;

 private:
  const uint64_t generation_;
  const uint64_t life_;
};

struct MemoryFileSystem::State {
  explicit State(Capabilities given) : capabilities(given) {}

  // Updates the space that is charged for `node`.
  void Recharge(MemoryNode* node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  uint64_t FreeBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return capacity > used ? capacity - used : 0; }
  MemoryNames* MakeDirectories(const std::string& path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  MemoryNodePtr Find(std::string_view path) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void ForgetHandles() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void LosePower(Random* random) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Drops the unsent changes of `client`, or of all clients if it is null.
  void LoseUnsent(const MemoryClient* client, Random* random) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // From now on `client` cannot change anything.
  void Fence(MemoryClient* client, std::string why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  const Capabilities capabilities;
  std::atomic<bool> keeps_removed{false};
  // Counts crashes; a handle of an earlier generation is dead. Changes only with the mutex held.
  std::atomic<uint64_t> generation{0};
  mutable Mutex mutex;
  std::map<std::string, std::shared_ptr<MemoryNames>, std::less<>> directories ABSL_GUARDED_BY(mutex);
  // The holder of a file's lock, and the lock's number. An expired lock is free for all.
  struct Holder {
    std::shared_ptr<MemoryClient> client;
    uint64_t number = 0;
    bool expired = false;
  };
  std::map<const MemoryNode*, Holder> locked ABSL_GUARDED_BY(mutex);
  uint64_t locks_taken ABSL_GUARDED_BY(mutex) = 0;
  uint64_t capacity ABSL_GUARDED_BY(mutex) = UINT64_MAX / 2;
  uint64_t used ABSL_GUARDED_BY(mutex) = 0;
};

// The base of every open file: while one is open, its node stays alive and its space stays in use.
class MemoryHandle {
 public:
  using State = MemoryFileSystem::State;
  // Requires the state's mutex.
  MemoryHandle(MemoryLife life, MemoryNodePtr node, std::string path);
  ~MemoryHandle();
  MemoryHandle(const MemoryHandle&) = delete;
  MemoryHandle& operator=(const MemoryHandle&) = delete;

  State& state() const { return *life_.state; }
  const MemoryLife& life() const { return life_; }
  const MemoryNodePtr& node() const { return node_; }
  const std::string& path() const { return path_; }
  // Returns an error once the file system has crashed, or the client died. Requires the state's mutex, as do the
  // others.
  absl::Status CheckAlive(std::string_view operation) const { return life_.CheckAlive(path_, operation); }
  // Until EndWriting, or the end of the handle, newly opened readers see that the file is being written.
  void BeginWriting();
  void EndWriting();
  // Returns an error, too, once another client has removed the file.
  absl::Status CheckReadable(std::string_view operation) const;
  // Also returns an error once the client is fenced; notes that the client has written.
  absl::Status CheckWritable(std::string_view operation) const;

 private:
  const MemoryLife life_;
  const MemoryNodePtr node_;
  const std::string path_;
  bool writing_ = false;
};

absl::Status DiedInCrash(std::string_view path, std::string_view operation);

std::unique_ptr<ReadableFile> MakeMemoryReadableFile(std::unique_ptr<MemoryHandle> handle);
std::unique_ptr<WritableFile> MakeMemoryWritableFile(std::unique_ptr<MemoryHandle> handle, uint64_t size);

}  // namespace sepal
