// The part of a log file that is mapped into memory, so that a record is stored there instead of written.
//
// A window is made when the first record comes that wants it. One that begins at a multiple of 2 MiB reaches to the
// next, so that the kernel can take one large page for it where the file system has them; others have 1 MiB at most.
// That costs a ninth of the time that small pages take (docs/decisions/0026-large-pages-for-the-log.md). But a store
// into a large page that is clean makes all of it dirty, and the next sync has to write all of it. So in a file that is
// synced in smaller pieces while it takes records, what is left of a large window is written instead, and the windows
// behind it are of small pages.
//
// Thread-safety: one thread at a time; only `OnSync` may be called beside it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "sepal/file_system.h"
#include "util/memory_budget.h"

namespace sepal {

class LogWindow {
 public:
  // `budget` is charged with what is mapped; may be null, else it must outlive the window.
  explicit LogWindow(MemoryBudget* budget) : budget_(budget) {}
  ~LogWindow() { Unmap(); }
  LogWindow(const LogWindow&) = delete;
  LogWindow& operator=(const LogWindow&) = delete;

  // Goes on with another file, of which nothing is mapped yet, and never is unless `enabled`.
  void SetFile(std::shared_ptr<WritableFile> file, bool enabled);
  // False once mapping has failed in this file.
  bool enabled() const { return enabled_; }
  void Disable() { enabled_ = false; }

  // Stores a record at `offset`. The file has space and length for `space` bytes. False: write the record.
  bool Store(uint64_t offset, std::string_view header, std::string_view payload, uint64_t space);
  void Unmap() { Replace(nullptr, 0); }

  // The file is synced, and `bytes` are new since the last time. From any thread.
  void OnSync(uint64_t bytes);

 private:
  // Records only go forward.
  bool Covers(uint64_t offset) const { return region_ != nullptr && offset < end(); }
  uint64_t end() const { return begin_ + region_->Contents().size(); }
  bool MapAt(uint64_t offset, uint64_t space);
  bool StorePieces(uint64_t offset, std::string_view bytes, uint64_t space);
  void Replace(std::unique_ptr<MappedRegion> region, uint64_t begin);

  MemoryBudget* const budget_;
  std::shared_ptr<WritableFile> file_;
  bool enabled_ = false;
  std::unique_ptr<MappedRegion> region_;
  uint64_t begin_ = 0;
  uint64_t large_end_ = 0;  // behind the last large window of this file
  std::atomic<bool> synced_in_pieces_{false};
};

}  // namespace sepal
