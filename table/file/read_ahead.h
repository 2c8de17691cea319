// A window of a table file that an iterator reads in one piece. Not safe for concurrent use.
//
// A user's window comes from a pool, if there is one: it may be smaller than wanted or missing, and the pool may take
// it back between two uses. A compaction's window is its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "table/file/table_reader_impl.h"
#include "util/memory/mapped_memory.h"
#include "util/memory/window_pool.h"
#include "util/stats/perf_times.h"

namespace sepal {

enum class Travel : uint8_t { kForward, kBackward };

class ReadAhead {
 public:
  // The growth of the buffer at which others are asked to give up memory.
  static constexpr uint64_t kGrowthToAsk = uint64_t{64} << 10;

  enum class For : uint8_t { kUser, kCompaction };
  ReadAhead(const TableReader::Impl& table, uint64_t first, uint64_t largest, For whom)
      : table_(table),
        part_(whom == For::kUser ? MemoryPart::kReadAhead : MemoryPart::kCompaction),
        first_(first),
        next_(first),
        largest_(largest) {
    if (whom == For::kUser && table.options.windows != nullptr) pooled_.emplace(table.options.windows);
  }
  ~ReadAhead() { Drop(); }

  // The window's bytes stay while it is in use.
  class Use {
   public:
    explicit Use(ReadAhead* ahead) : ahead_(*ahead) {
      if (!ahead_.pooled_.has_value()) return;
      ahead_.pooled_->Hold();
      if (ahead_.pooled_->data() == nullptr) ahead_.size_ = 0;
    }
    ~Use() {
      if (ahead_.pooled_.has_value()) ahead_.pooled_->LetGo();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    ReadAhead& ahead_;
  };

  // Must not be in use.
  void Drop() {
    if (pooled_.has_value()) pooled_->Drop();
    bytes_ = LargeBuffer();
    Charge(0);
    size_ = 0;
    next_ = first_;
  }

  // Requires that the window is in use, as Fill does. Returns the unit's bytes and trailer; empty if it is not in the
  // window.
  std::string_view Find(BlockHandle handle) const {
    const uint64_t size = handle.size + kUnitTrailerBytes;
    if (handle.offset < begin_ || handle.offset + size > begin_ + size_) return {};
    return {data() + (handle.offset - begin_), size};
  }

  // Moves the window to begin at the block, or to end with it; going forward it ends at or before `limit`. Consecutive
  // windows double in size; any other window starts small again. In a remote file the following window is requested
  // first, so that two are on their way. If it cannot be read, the window is empty, and stays so for the neighbouring
  // blocks: the failure of one of them must not fail the others, which are read one by one.
  void Fill(BlockHandle handle, Travel travel, uint64_t limit) {
    const uint64_t end = EndOf(handle);
    const uint64_t part_end = travel == Travel::kForward ? limit : table_.data_bytes();
    const bool follows =
        size_ > 0 && (travel == Travel::kForward ? handle.offset > begin_ && handle.offset <= begin_ + size_
                                                 : end >= begin_ && end < begin_ + size_);
    next_ = follows ? std::min(2 * next_, largest_) : first_;
    const uint64_t wanted = std::max(next_, handle.size + kUnitTrailerBytes);
    // The beginning of the block is kept, so that consecutive windows read no byte twice.
    std::string kept;
    if (follows && travel == Travel::kForward)
      kept.assign(data() + (handle.offset - begin_), begin_ + size_ - handle.offset);
    size_ = 0;
    if (!table_.source->CheckHandle(handle, UnitKind::kDataBlock).ok() || end > part_end) return;
    if (handle.offset < failed_end_ && end > failed_begin_) return;
    const uint64_t reach = travel == Travel::kForward ? limit - handle.offset : end;
    const uint64_t length = MakeRoom(EndOf(handle) - handle.offset, std::min(wanted, reach));
    if (length == 0) return;
    const uint64_t first = travel == Travel::kForward ? handle.offset : end - length;
    kept.resize(std::min<uint64_t>(kept.size(), length));
    std::copy(kept.begin(), kept.end(), data());
    if (table_.options.remote && travel == Travel::kForward) AskForNext(first + length, length, limit);
    const absl::StatusOr<size_t> got = Read(first + kept.size(), length - kept.size(), data() + kept.size());
    if (!got.ok()) {
      failed_begin_ = first;
      failed_end_ = first + length;
      return;
    }
    size_ = kept.size() + *got;
    begin_ = first;
    if (table_.options.statistics != nullptr) table_.options.statistics->Add(Ticker::kBlockReadBytes, *got);
  }

 private:
  char* data() const { return pooled_.has_value() ? pooled_->data() : bytes_.data(); }
  // Makes room for `wanted` bytes, or for as many, at least `unit`, as the pool has; returns 0 if it has none.
  uint64_t MakeRoom(uint64_t unit, uint64_t wanted) {
    if (pooled_.has_value()) return pooled_->Take(unit, wanted);
    if (buffer_bytes_ < wanted || buffer_bytes_ > 2 * std::max(largest_, wanted)) {
      bytes_ = LargeBuffer(wanted);
      Charge(wanted);
    }
    return wanted;
  }
  // Requests what follows a window of `bytes` that ends at `next`. The file's store fetches it while that window is
  // read and used.
  void AskForNext(uint64_t next, uint64_t bytes, uint64_t limit) const {
    if (next < limit) table_.file->ReadAhead(next, std::min(std::min({2 * next_, 2 * bytes, largest_}), limit - next));
  }
  absl::StatusOr<size_t> Read(uint64_t offset, uint64_t length, char* to) const {
    const PerfTimer timer(PerfPart::kRead);
    return table_.file->Read(offset, length, to);
  }
  void Charge(uint64_t bytes) {
    if (MemoryBudget* budget = table_.options.budget; budget != nullptr) {
      budget->Charge(part_, bytes);
      budget->Release(part_, buffer_bytes_);
      if (bytes > buffer_bytes_ + kGrowthToAsk) budget->Relieve();
    }
    buffer_bytes_ = bytes;
  }

  const TableReader::Impl& table_;
  const MemoryPart part_;
  const uint64_t first_;
  uint64_t next_;
  const uint64_t largest_;
  std::optional<WindowPool::Window> pooled_;
  LargeBuffer bytes_;  // if it is not in a pool
  uint64_t buffer_bytes_ = 0;
  uint64_t begin_ = 0;
  uint64_t size_ = 0;
  // The last window that could not be read.
  uint64_t failed_begin_ = 0;
  uint64_t failed_end_ = 0;
};

}  // namespace sepal
