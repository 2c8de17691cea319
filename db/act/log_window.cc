#include "db/act/log_window.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "util/mapped_memory.h"

namespace sepal {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kLargePageBytes = MappedMemory::kHugePageBytes;
constexpr uint64_t kMostSmallWindowBytes = uint64_t{1} << 20;

uint64_t RoundDown(uint64_t offset, uint64_t multiple) { return offset / multiple * multiple; }

}  // namespace

LogWindow::LogWindow(uint64_t step_bytes, MemoryBudget* budget, TaskGroup* tasks)
    : small_window_bytes_(std::clamp(RoundDown(step_bytes / 4, kPageBytes), kPageBytes, kMostSmallWindowBytes)),
      budget_(budget),
      tasks_(tasks) {}

void LogWindow::SetFile(std::shared_ptr<WritableFile> file, bool enabled) {
  Unmap();
  file_ = std::move(file);
  enabled_ = enabled;
  large_end_ = 0;
  synced_in_pieces_.store(false, std::memory_order_relaxed);
}

bool LogWindow::Store(uint64_t offset, std::string_view header, std::string_view payload, uint64_t space) {
  // A store cannot report a full disk.
  if (offset + header.size() + payload.size() > RoundDown(space, kPageBytes)) return false;
  // What was stored before mapping failed is written again: the same bytes.
  return StorePieces(offset, header, space) && StorePieces(offset + header.size(), payload, space);
}

bool LogWindow::StorePieces(uint64_t offset, std::string_view bytes, uint64_t space) {
  if (synced_in_pieces() && offset < large_end_) {
    Unmap();
    return false;
  }
  while (!bytes.empty()) {
    if (!region_.Covers(offset) && !EnterWindowAt(offset, space)) return false;
    const std::string_view piece = bytes.substr(0, region_.begin + region_.size() - offset);
    region_.bytes->Store(offset - region_.begin, piece);
    offset += piece.size();
    bytes.remove_prefix(piece.size());
  }
  return true;
}

bool LogWindow::EnterWindowAt(uint64_t offset, uint64_t space) {
  if (!enabled_) return false;
  Region entered = TakePrepared(offset);
  Leave();
  if (entered.bytes == nullptr) {
    uint64_t end = 0;
    entered = Extent(offset, space, &end);
    absl::StatusOr<std::unique_ptr<MappedRegion>> bytes = file_->Map(entered.begin, end - entered.begin);
    enabled_ = bytes.ok();
    if (!enabled_) return false;
    entered.bytes = std::move(bytes).value();
    entered.bytes->Populate();
  }
  Replace(std::move(entered));
  if (region_.large) large_end_ = region_.begin + region_.size();
  if (WantsSpaceAhead()) PrepareNext(space);
  return true;
}

LogWindow::Region LogWindow::TakePrepared(uint64_t offset) {
  const std::shared_ptr<Ahead> ahead = std::exchange(ahead_, nullptr);
  if (ahead == nullptr) return {};
  Region prepared;
  {
    MutexLock lock(&ahead->mutex);
    prepared = std::move(ahead->region);
  }
  const bool too_large = prepared.large && synced_in_pieces();
  if (prepared.Covers(offset) && !too_large) return prepared;
  if (prepared.bytes != nullptr) (void)tasks_->Run([bytes = std::move(prepared.bytes)] {});
  return {};
}

// What fails here is tried again when the window is entered. What comes too late goes with the task, which is the last
// to know of it.
void LogWindow::PrepareNext(uint64_t space) {
  const uint64_t begin = region_.begin + region_.size();
  if (begin % kPageBytes != 0 || begin >= RoundDown(space, kPageBytes)) return;
  uint64_t end = 0;
  Region next = Extent(begin, space, &end);
  auto ahead = std::make_shared<Ahead>();
  const bool runs = tasks_->Run([ahead, next, end, file = file_]() mutable {
    absl::StatusOr<std::unique_ptr<MappedRegion>> bytes = file->Map(next.begin, end - next.begin);
    if (!bytes.ok()) return;
    next.bytes = std::move(bytes).value();
    next.bytes->Populate();
    MutexLock lock(&ahead->mutex);
    ahead->region = std::move(next);
  });
  if (runs) ahead_ = std::move(ahead);
}

LogWindow::Region LogWindow::Extent(uint64_t offset, uint64_t space, uint64_t* end) const {
  const uint64_t begin = RoundDown(offset, kPageBytes);
  const uint64_t boundary = RoundDown(begin, kLargePageBytes) + kLargePageBytes;
  // The first page has been written and synced with the header.
  const bool large = begin > 0 && boundary - begin == kLargePageBytes && !synced_in_pieces();
  *end = std::min({boundary, begin + (large ? kLargePageBytes : small_window_bytes_), RoundDown(space, kPageBytes)});
  return {.bytes = nullptr, .begin = begin, .large = large};
}

void LogWindow::OnSync(uint64_t bytes) {
  if (bytes < kLargePageBytes) synced_in_pieces_.store(true, std::memory_order_relaxed);
}

void LogWindow::Unmap() {
  (void)TakePrepared(UINT64_MAX);
  Replace({});
}

// Unmaps beside the writer where that is possible.
void LogWindow::Leave() {
  if (region_.bytes != nullptr && tasks_ != nullptr) (void)tasks_->Run([bytes = region_.bytes] {});
  Replace({});
}

void LogWindow::Replace(Region by) {
  if (budget_ != nullptr) {
    budget_->Release(MemoryPart::kLog, region_.size());
    budget_->Charge(MemoryPart::kLog, by.size());
  }
  region_ = std::move(by);
}

}  // namespace sepal
