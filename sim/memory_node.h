// The contents of one file of the in-memory file system: what a reader sees now, and what a power loss leaves.
//
// The disk consists of sectors of 512 bytes that persist whole or not at all. Every sector that was written since the
// last sync is kept beside its durable bytes, and any subset of these sectors, in any order, may persist. A failed sync
// makes unsynced sectors *lost*: readers still see them, later syncs skip them, and a power loss drops them.
//
// Not safe for concurrent use: the file system's mutex guards it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "util/base/random.h"

namespace sepal {

// Receives every write to a file, to show it in a mapping.
class MemoryMapping {
 public:
  virtual ~MemoryMapping() = default;
  virtual void Show(uint64_t file_offset, std::string_view bytes) = 0;
};

class MemoryNode {
 public:
  static constexpr uint64_t kSectorBytes = 512;

  const std::string& contents() const { return contents_; }
  uint64_t size() const { return contents_.size(); }

  void Write(uint64_t offset, std::string_view bytes);
  void Resize(uint64_t size);
  void Reserve(uint64_t end);
  // The bytes of disk that the file takes.
  uint64_t SpaceTaken() const;
  // Flips a bit in place, as a disk fault would: no sector becomes unsynced.
  void FlipBit(uint64_t offset, int bit);

  void Sync();
  void LoseUnsynced();
  // Undoes a suffix of the changes since the last sync, which a dying client had not sent: all of them, or as many as
  // `random` says. Requires that `RememberUnsent` was called before them.
  void RememberUnsent() { remembers_unsent_ = true; }
  void LoseUnsent(Random* random);
  // Applies a power loss: keeps only the durable state or, if `random` is not null, also any subset of the unsynced
  // sectors, with sectors that were never written before as zeros or garbage, and any size between the durable and the
  // current one.
  void LosePower(Random* random);

  // A number that no other file of this process has. It changes when bytes are undone, or are going to change.
  uint64_t number() const { return number_; }
  void Renumber();

  // The file system's counts of names and of open handles; when both are 0, the space is free.
  int names = 0;
  int writers = 0;                // those that are open for writing
  const void* writer = nullptr;   // the client that wrote last
  const void* remover = nullptr;  // the client that removed the last name
  int handles = 0;
  uint64_t charged_bytes = 0;
  std::vector<MemoryMapping*> mappings;

 private:
  using Sectors = std::map<uint64_t, std::string>;  // number -> the bytes on the disk; short at the file's end

  // The state that a change since the last sync replaced.
  struct Replaced {
    uint64_t offset = 0;
    std::string bytes;
    uint64_t size = 0;
  };

  void Remember(uint64_t offset, uint64_t length);
  void Touch(uint64_t offset, uint64_t length);
  uint64_t PickSize(Random* random) const;

  static uint64_t NextNumber();

  uint64_t number_ = NextNumber();
  std::string contents_;
  uint64_t reserved_end_ = 0;
  uint64_t durable_size_ = 0;
  uint64_t durable_reserved_end_ = 0;
  Sectors unsynced_;
  Sectors lost_;
  bool remembers_unsent_ = false;
  std::vector<Replaced> unsent_;
};

}  // namespace sepal
