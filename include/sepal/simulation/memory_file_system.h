// A file system in memory that can lose power. Tests run the whole engine on it.
//
// It keeps what the contract calls durable apart from what is there now (memory_node.h for bytes; names likewise), so
// that `Crash` can leave any state that the contract allows. The outcome depends on the calls and the seed only.
//
// Safe for concurrent use. Handles may outlive it. Memory: one copy of each file, and the unsynced sectors twice.
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
  kKillProcess,   // the process dies: all that was written stays, and stays unsynced
  kLoseUnsynced,  // power is lost, and with it all that was not synced
  kAnySubset,     // power is lost: any subset of unsynced sectors, sizes between, and changes of names persists
};

// What the in-memory file system's files and directories also are, for those who inject faults: makes all that is not
// synced pass for clean without being durable, as the page cache does after a failed sync. Later syncs do not cover it.
class UnsyncedLoser {
 public:
  virtual ~UnsyncedLoser() = default;
  virtual void LoseUnsynced() = 0;
};

class MemoryFileSystem final : public FileSystem {
 public:
  explicit MemoryFileSystem(Capabilities capabilities = {
                                .map = true, .hard_link = true, .allocate = true, .direct_reads = true});
  ~MemoryFileSystem() override;

  absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(std::string_view path, bool create) override;
  absl::Status RemoveDirectory(std::string_view path) override;

  // After it, every call on a handle from before fails, a Store into a mapping from before has no effect on the file,
  // and no lock is held.
  void Crash(CrashMode mode, uint64_t seed = 0);

  // A disk of its own that is as this one is now, with what is unsynced; no file is open there and no lock is held.
  MemoryFileSystem Clone() const;
  // A hash of all names and contents as a reader sees them.
  uint64_t Fingerprint() const;

  // The disk's size; unlimited at first. It may be set below what is taken.
  void SetCapacity(uint64_t bytes);
  uint64_t UsedBytes() const;

  // For tests, by the path `directory/name`. What is written is durable at once, its name too; missing directories are
  // made.
  absl::StatusOr<std::string> ReadFileContents(std::string_view path) const;
  absl::Status WriteFileContents(std::string_view path, std::string_view contents);
  // Changes one bit (0 to 7) of the byte at `offset`, as a fault of the disk would.
  absl::Status FlipBit(std::string_view path, uint64_t offset, int bit);

  struct State;

 private:
  explicit MemoryFileSystem(std::shared_ptr<State> state);

  const std::shared_ptr<State> state_;
};

}  // namespace sepal
