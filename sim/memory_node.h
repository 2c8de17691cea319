// The contents of one file of the in-memory file system: what a reader sees now, and what a loss of power leaves.
//
// The disk is sectors of 512 bytes that persist whole or not at all. Every sector that was written since the last sync
// is kept beside its durable bytes, and any subset of them, in any order, may persist. A failed sync makes unsynced
// sectors *lost*: readers see them, later syncs pass them over, a loss of power takes them.
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

// Hears of every write to a file, to show it in a mapping.
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
  // Bytes of disk that the file takes.
  uint64_t SpaceTaken() const;
  // The byte changes where it lies, as a fault of the disk: no sector becomes unsynced by it.
  void FlipBit(uint64_t offset, int bit);

  void Sync();
  void LoseUnsynced();
  // What power loss leaves: the durable state only, or (random != null) that with any subset of the unsynced sectors,
  // sectors never written before as zeros or garbage, and any size between the durable and the current one.
  void LosePower(Random* random);

  // The file system's count of names and open handles; at none, the space is free.
  int names = 0;
  int handles = 0;
  uint64_t charged_bytes = 0;
  std::vector<MemoryMapping*> mappings;

 private:
  using Sectors = std::map<uint64_t, std::string>;  // number -> the bytes that the disk has; short at the file's end

  void Touch(uint64_t offset, uint64_t length);
  uint64_t PickSize(Random* random) const;

  std::string contents_;
  uint64_t reserved_end_ = 0;
  uint64_t durable_size_ = 0;
  uint64_t durable_reserved_end_ = 0;
  Sectors unsynced_;
  Sectors lost_;
};

}  // namespace sepal
