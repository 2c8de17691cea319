// A window of a table file that an iterator reads in one piece. Not safe for concurrent use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "table/file/table_reader_impl.h"
#include "util/memory/mapped_memory.h"
#include "util/stats/perf_times.h"

namespace sepal {

enum class Travel : uint8_t { kForward, kBackward };

class ReadAhead {
 public:
  // The growth of the buffer at which others are asked to give up memory.
  static constexpr uint64_t kGrowthToAsk = uint64_t{64} << 10;

  ReadAhead(const TableReader::Impl& table, uint64_t first, uint64_t largest)
      : table_(table), first_(first), next_(first), largest_(largest) {}
  ~ReadAhead() { Drop(); }

  void Drop() {
    bytes_ = LargeBuffer();
    Charge(0);
    size_ = 0;
    next_ = first_;
  }

  // Returns the unit's bytes and trailer; empty if it is not in the window.
  std::string_view Find(BlockHandle handle) const {
    const uint64_t size = handle.size + kUnitTrailerBytes;
    if (handle.offset < begin_ || handle.offset + size > begin_ + size_) return {};
    return {bytes_.data() + (handle.offset - begin_), size};
  }

  // Moves the window to begin at the block, or to end with it; going forward it ends at or before `limit`. Consecutive
  // windows double in size; any other window starts small again. If it cannot be read, the window is empty, also for
  // the neighbouring blocks: the failure of one of them must not fail the others, which are read one by one.
  void Fill(BlockHandle handle, Travel travel, uint64_t limit) {
    const uint64_t end = EndOf(handle);
    const bool follows =
        size_ > 0 && (travel == Travel::kForward ? handle.offset > begin_ && handle.offset <= begin_ + size_
                                                 : end >= begin_ && end < begin_ + size_);
    next_ = follows ? std::min(2 * next_, largest_) : first_;
    const uint64_t wanted = std::max(next_, handle.size + kUnitTrailerBytes);
    size_ = 0;
    if (!table_.source->CheckHandle(handle, UnitKind::kDataBlock).ok() || end > table_.data_bytes()) return;
    if (handle.offset < failed_end_ && end > failed_begin_) return;
    const uint64_t first = travel == Travel::kForward ? handle.offset : end - std::min(wanted, end);
    const uint64_t length = std::min(wanted, (travel == Travel::kForward ? limit : end) - first);
    if (buffer_bytes_ < length || buffer_bytes_ > 2 * std::max(largest_, length)) {
      bytes_ = LargeBuffer(length);
      Charge(length);
    }
    const absl::StatusOr<size_t> got = Read(first, length);
    if (!got.ok()) {
      failed_begin_ = first;
      failed_end_ = first + length;
      return;
    }
    size_ = *got;
    begin_ = first;
    if (table_.options.statistics != nullptr) table_.options.statistics->Add(Ticker::kBlockReadBytes, size_);
  }

 private:
  absl::StatusOr<size_t> Read(uint64_t offset, uint64_t length) const {
    const PerfTimer timer(PerfPart::kRead);
    return table_.file->Read(offset, length, bytes_.data());
  }
  void Charge(uint64_t bytes) {
    if (MemoryBudget* budget = table_.options.budget; budget != nullptr) {
      budget->Charge(MemoryPart::kCompaction, bytes);
      budget->Release(MemoryPart::kCompaction, buffer_bytes_);
      if (bytes > buffer_bytes_ + kGrowthToAsk) budget->Relieve();
    }
    buffer_bytes_ = bytes;
  }

  const TableReader::Impl& table_;
  const uint64_t first_;
  uint64_t next_;
  const uint64_t largest_;
  LargeBuffer bytes_;
  uint64_t buffer_bytes_ = 0;
  uint64_t begin_ = 0;
  uint64_t size_ = 0;
  // The last window that could not be read.
  uint64_t failed_begin_ = 0;
  uint64_t failed_end_ = 0;
};

}  // namespace sepal
