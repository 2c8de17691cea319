// A file system in memory that can lose power. Tests run the whole engine on it.
//
// It keeps the durable state of bytes (memory_node.h) and of names apart from the current one, so that `Crash` can
// leave any state that the contract allows. The outcome depends only on the calls and the seed.
//
// Several clients may share one store, like processes on several machines: `AnotherClient`. A client that takes a lock
// over fences the former holder (see DirectoryLock). Without the capability `outlives_process`, a client that dies or
// is fenced loses, of each file that it was writing, a suffix of the unsynced bytes.
//
// Safe for concurrent use. Handles may outlive it. Memory: one copy of each file, and unsynced sectors twice.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/file_system.h"

namespace sepal {

enum class CrashMode : uint8_t {
  // The process dies, with every client in it: everything that was written stays, and stays unsynced. Without the
  // capability `outlives_process` a suffix of the unsynced bytes is lost, which the seed chooses.
  kKillProcess,
  kLoseUnsynced,  // power is lost, and with it everything that was not synced
  // Power is lost: any subset of the unsynced sectors and name changes persists, with any size in between. Without the
  // capability `outlives_process` a file loses a suffix, as when the process dies.
  kAnySubset,
};

// A second interface of the in-memory file system's files and directories, for fault injection. It marks unsynced bytes
// as clean without making them durable, as the page cache does after a failed sync. Later syncs do not cover them.
class UnsyncedLoser {
 public:
  virtual ~UnsyncedLoser() = default;
  virtual void LoseUnsynced() = 0;
};

struct MemoryClient;

class MemoryFileSystem final : public FileSystem {
 public:
  explicit MemoryFileSystem(
      Capabilities capabilities = {
          .map = true, .hard_link = true, .allocate = true, .direct_reads = true, .fences = true});
  ~MemoryFileSystem() override;

  absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(std::string_view path, bool create) override;
  absl::Status RemoveDirectory(std::string_view path) override;

  // Simulates a crash. Afterwards every call on an older handle fails, a Store into an older mapping has no effect on
  // the file, and no lock is held.
  void Crash(CrashMode mode, uint64_t seed = 0);

  // Returns another client of the same store, with its own locks; its handles die only with it.
  MemoryFileSystem AnotherClient() const;
  // Simulates the death of this client: every later call on its handles fails, its locks are free, and bytes that it
  // had not sent are lost. Directories that are opened afterwards work, also those of this client.
  void KillClient(uint64_t seed = 0);
  // Makes this client's locks free for others, as if it had slept for longer than a lease. A client that takes one
  // fences it.
  void ExpireLocks();

  // While it is set, files that a client removes can be read by others that have them open, as on a store that keeps
  // removed files for a time. It is not set at first.
  void KeepRemoved(bool keep);

  // Returns an independent disk with the current state of this one, unsynced data included; no file is open on it and
  // no lock is held.
  MemoryFileSystem Clone() const;
  // A hash of all names and contents, as a reader sees them.
  uint64_t Fingerprint() const;

  // Sets the size of the disk, which is unlimited at first. It may be less than the bytes in use.
  void SetCapacity(uint64_t bytes);
  uint64_t UsedBytes() const;

  // For tests; `path` is `directory/name`. WriteFileContents creates missing directories; the name and the bytes are
  // durable at once.
  absl::StatusOr<std::string> ReadFileContents(std::string_view path) const;
  absl::Status WriteFileContents(std::string_view path, std::string_view contents);
  // Flips one bit (0 to 7) of the byte at `offset`, as a disk fault would.
  absl::Status FlipBit(std::string_view path, uint64_t offset, int bit);

  struct State;

 private:
  explicit MemoryFileSystem(std::shared_ptr<State> state);

  const std::shared_ptr<State> state_;
  const std::shared_ptr<MemoryClient> client_;
};

}  // namespace sepal
