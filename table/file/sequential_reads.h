// How an iterator reads the data blocks of a table that are not in the cache: one by one, or from a window of the file
// once it continues in one direction. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "table/file/read_ahead.h"
#include "table/file/table_reader_impl.h"
#include "util/base/status.h"

namespace sepal {

class SequentialReads {
 public:
  // Windows take at most `window_bytes`.
  SequentialReads(const TableReader::Impl& table, TableReader::ReadKind kind, uint64_t window_bytes)
      : table_(table),
        ahead_(table, std::min(window_bytes, WindowsFor(table, kind).first),
               std::min(window_bytes, WindowsFor(table, kind).most),
               IsCompaction(kind) ? ReadAhead::For::kCompaction : ReadAhead::For::kUser) {}

  // Returns whether the block is next to the one that the iterator was at last, after it or before it.
  bool IsNext(BlockHandle handle) const { return handle.offset == last_begin_ + last_bytes_; }
  bool IsPrevious(BlockHandle handle) const { return EndOf(handle) == last_begin_; }
  // Notes that the iterator is at the block, which was in the cache or was read here.
  void CameTo(BlockHandle handle) {
    last_begin_ = handle.offset;
    last_bytes_ = EndOf(handle) - handle.offset;
  }
  void FoundInCache() { misses_ = 0; }

  // For users: in windows from the third consecutive block on that was not cached.
  absl::StatusOr<BlockBuffer> ReadForUser(BlockHandle handle) {
    const bool backward = IsPrevious(handle);
    misses_ = backward || IsNext(handle) ? misses_ + 1 : 0;
    if (misses_ < (table_.options.remote ? 1 : kMissesBeforeReadAhead))
      return table_.source->ReadForUser(handle, UnitKind::kDataBlock);
    return ReadFromWindow(handle, backward ? Travel::kBackward : Travel::kForward, table_.data_bytes());
  }
  // For compactions, which go forward: in windows up to `limit`.
  absl::StatusOr<BlockBuffer> ReadForCompaction(BlockHandle handle, uint64_t limit) {
    if (handle.offset < last_begin_) return table_.source->Read(handle, UnitKind::kDataBlock);
    return ReadFromWindow(handle, Travel::kForward, limit);
  }
  // Releases the window, and forgets where the iterator was.
  void Rest() {
    ahead_.Drop();
    last_begin_ = 0;
    last_bytes_ = kNowhere;
    misses_ = 0;
  }

 private:
  struct Windows {
    uint64_t first;
    uint64_t most;
  };
  static Windows WindowsFor(const TableReader::Impl& table, TableReader::ReadKind kind) {
    constexpr uint64_t kKiB = 1024;
    if (table.options.remote) return {256 * kKiB, 4096 * kKiB};
    return IsCompaction(kind) ? Windows{256 * kKiB, 1024 * kKiB} : Windows{16 * kKiB, 256 * kKiB};
  }
  static constexpr int kMissesBeforeReadAhead = 2;
  static constexpr uint64_t kNowhere = ~uint64_t{0};

  static bool IsCompaction(TableReader::ReadKind kind) { return kind == TableReader::ReadKind::kCompaction; }

  absl::StatusOr<BlockBuffer> ReadFromWindow(BlockHandle handle, Travel travel, uint64_t limit) {
    const ReadAhead::Use use(&ahead_);
    std::string_view bytes = ahead_.Find(handle);
    if (bytes.empty()) {
      ahead_.Fill(handle, travel, limit);
      bytes = ahead_.Find(handle);
    }
    absl::StatusOr<BlockBuffer> buffer = table_.source->Decode(handle, UnitKind::kDataBlock, bytes);
    // A block that is damaged in the window, or not in it, is read alone.
    if (!buffer.ok()) return table_.source->Read(handle, UnitKind::kDataBlock);
    return buffer;
  }

  const TableReader::Impl& table_;
  ReadAhead ahead_;
  uint64_t last_begin_ = 0;
  uint64_t last_bytes_ = kNowhere;
  int misses_ = 0;
};

}  // namespace sepal
