// The state that the in-memory file system and its handles share. Only the memory_*.cc files include it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
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

struct MemoryFileSystem::State {
  explicit State(Capabilities given) : capabilities(given) {}

  // Updates the space that is charged for `node`.
  void Recharge(MemoryNode* node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  uint64_t FreeBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return capacity > used ? capacity - used : 0; }
  MemoryNames* MakeDirectories(const std::string& path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  MemoryNodePtr Find(std::string_view path) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void ForgetHandles() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void LosePower(Random* random) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  const Capabilities capabilities;
  // Counts crashes; a handle of an earlier generation is dead. Changes only with the mutex held.
  std::atomic<uint64_t> generation{0};
  mutable Mutex mutex;
  std::map<std::string, std::shared_ptr<MemoryNames>, std::less<>> directories ABSL_GUARDED_BY(mutex);
  std::set<const MemoryNode*> locked ABSL_GUARDED_BY(mutex);
  uint64_t capacity ABSL_GUARDED_BY(mutex) = UINT64_MAX / 2;
  uint64_t used ABSL_GUARDED_BY(mutex) = 0;
};

// The base of every open file: while one is open, its node stays alive and its space stays in use.
class MemoryHandle {
 public:
  using State = MemoryFileSystem::State;
  // Requires the state's mutex.
  MemoryHandle(std::shared_ptr<State> state, MemoryNodePtr node, std::string path);
  ~MemoryHandle();
  MemoryHandle(const MemoryHandle&) = delete;
  MemoryHandle& operator=(const MemoryHandle&) = delete;

  State& state() const { return *state_; }
  const std::shared_ptr<State>& shared_state() const { return state_; }
  const MemoryNodePtr& node() const { return node_; }
  const std::string& path() const { return path_; }
  // Returns an error once the file system has crashed. Requires the state's mutex.
  absl::Status CheckAlive(std::string_view operation) const;

 private:
  const std::shared_ptr<State> state_;
  const MemoryNodePtr node_;
  const std::string path_;
  const uint64_t generation_;
};

absl::Status DiedInCrash(std::string_view path, std::string_view operation);

std::unique_ptr<ReadableFile> MakeMemoryReadableFile(std::unique_ptr<MemoryHandle> handle);
std::unique_ptr<WritableFile> MakeMemoryWritableFile(std::unique_ptr<MemoryHandle> handle, uint64_t size);

}  // namespace sepal
